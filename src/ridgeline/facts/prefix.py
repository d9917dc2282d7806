"""The exact prefix split as measures: what share of the prompt tokens each reason costs, and what differs first."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ridgeline.bundle.view import View
from ridgeline.facts.make import bounds, found, lacking, rounded, spans_of
from ridgeline.model.fact import Fact
from ridgeline.prefix.drift import drifts
from ridgeline.prefix.split import REASONS, Split, split

HOW_PROMPTS: Final = "--log-requests --log-requests-level 3, a request dump, or a trace with hash_ids"
# What each reason needs besides prompts, where it could not be told.
HOW: Final[dict[str, tuple[str, str]]] = {
    "scattered_routing": ("the rank of each prompt", "dp_rank in the request log (0.5.23)"),
    "eviction": ("the size of the pool", "max_total_num_tokens in /server_info or the start-up line, beside token ids"),
    "key_split": ("adapter, extra key and salt of each prompt", HOW_PROMPTS),
    "page_misaligned": ("the page size, and ids finer than it", "page_size in /server_info, beside token ids"),
    "prompt_drift": ("the content of prompts", "--log-requests --log-requests-level 3"),
}


@lru_cache(maxsize=2)
def _splits(con: Any) -> tuple[Split, ...]:
    """The splits of one set of tables; a view's windows change nothing in them."""
    return tuple(split(View(con)))


def _inside(view: View, s: Split) -> npt.NDArray[np.bool_]:
    """Which prompts arrived within the window; one without a time only where no window is set."""
    edge = bounds(view)
    mask = np.ones(s.prompts.n, np.bool_)
    if edge["since"] is not None:
        mask &= s.prompts.ts >= edge["since"]
    if edge["until"] is not None:
        mask &= s.prompts.ts <= edge["until"]
    return mask


def prefix_loss(view: View, reason: str) -> Fact:
    """Share of the prompt tokens lost for one reason of `prefix.split.REASONS`; missing where it cannot be told.

    Raises ValueError for another reason: a mistake in a cause, not in the input.
    """
    if reason not in REASONS:
        raise ValueError(f"{reason} is no reason of the prefix split")
    splits = _splits(view.con)
    if not splits:
        return lacking("prompts or their ids", HOW_PROMPTS)
    s = splits[0]
    inside = _inside(view, s)
    totals = s.totals(inside)
    lost = getattr(totals, reason)
    if not totals.tokens:
        return lacking("prompts within the window", HOW_PROMPTS)
    if lost is None:
        return lacking(*HOW[reason], totals.requests)
    cites = spans_of(list(zip(s.prompts.source[inside].tolist(), s.prompts.line[inside].tolist(), strict=True)))
    return found(
        view,
        lost / totals.tokens,
        "share",
        totals.requests,
        cites,
        lost=lost,
        of=totals.tokens,
        hit=rounded(totals.hit / totals.tokens),
        share=rounded(lost / totals.tokens),
        reason=reason.replace("_", "-"),
        counts="tokens" if s.prompts.unit == "tokens" else "characters",
    )


def first_difference(view: View) -> Fact:
    """The kind of difference between prompts that should share which costs most; empty where nothing differs."""
    splits = [s for s in _splits(view.con) if s.prompts.drifts_known]
    if not splits:
        return lacking("the content of prompts", "--log-requests --log-requests-level 3, or a file of the prompts")
    s = splits[0]
    kinds = drifts(s)
    cites = spans_of(list(zip(s.prompts.source.tolist(), s.prompts.line.tolist(), strict=True)))
    if not kinds:
        return found(view, "", "", s.prompts.n, cites, key="first_difference.none")
    worst = kinds[0]
    total = int(s.parts.length.sum())
    return found(
        view,
        worst.kind,
        "",
        s.prompts.n,
        cites,
        prompts=worst.prompts,
        lost=worst.tokens,
        share=rounded(worst.tokens / total),
        position=worst.position,
        counts="tokens" if s.prompts.unit == "tokens" else "characters",
    )
