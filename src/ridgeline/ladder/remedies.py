"""Remedies name flags of the server they are for: SGLang's as declared, vLLM's counterpart, or no flag at all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ridgeline.bundle.view import View
from ridgeline.model.cause import Remedy
from ridgeline.words.launch import counterpart, launch_arg

ENGINES: Final = "SELECT DISTINCT engine FROM servers WHERE engine IS NOT NULL ORDER BY engine"
FLAG: Final = re.compile(r"--([a-z][a-z-]*)(?: \((raise|lower|remove)\))?")


def fitting(remedies: Sequence[Remedy], view: View) -> tuple[Remedy, ...]:
    """The remedies as they are, or with vLLM's flags where only vLLM servers are in the evidence."""
    if [engine for (engine,) in view.query(ENGINES)] != ["vllm"]:
        return tuple(remedies)
    return tuple(replace(r, flag=_for_vllm(r.flag)) for r in remedies)


def _for_vllm(flag: str | None) -> str | None:
    """vLLM's flag for the same thing with the same direction; None where it has none (the action still stands)."""
    matched = FLAG.fullmatch(flag or "")
    known = launch_arg(matched[1].replace("-", "_"), "sglang") if matched else None
    other = counterpart(known) if known else None
    if matched is None or other is None:
        return None
    way = f" ({matched[2]})" if matched[2] else ""
    return f"--{other.name.replace('_', '-')}{way}"
