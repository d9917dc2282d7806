"""Whether requests wait because prompts bring more to compute than before."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.backlog import queued
from ridgeline.facts.change import change
from ridgeline.facts.make import restated
from ridgeline.model.fact import Fact

GROWN: Final = 1.3  # times what a request brought to compute before


def prompts_queue(view: View) -> Fact:
    """Whether a queue stands while a request brings clearly more uncached tokens to compute than before.

    Then too much is to be computed, however it is cut; without a queue the same prompts only come between tokens.
    """
    stood = queued(view)
    if not stood.value:
        return stood
    grown = change(view, "fresh_tokens")
    if grown.value is None:
        return grown
    return restated(grown, bool(grown.value >= GROWN), "", grown.statement.key)
