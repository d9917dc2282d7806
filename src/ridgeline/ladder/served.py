"""Which engine the evidence is of: what is asked for, tried and recommended speaks that engine's own language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ridgeline.bundle.view import View
from ridgeline.model.fact import Missing
from ridgeline.words.asks import Family, ask_of, filled, in_order
from ridgeline.words.messages_en import MESSAGES

ENGINES: Final = """
SELECT count(*) FILTER (WHERE engine = 'vllm') AS vllm, count(*) FILTER (WHERE engine = 'sglang') AS sglang,
    (SELECT count(*) FROM batches WHERE kind = 'stats') AS stats,
    (SELECT count(*) FROM batches WHERE kind IN ('prefill', 'decode')) AS steps,
    (SELECT count(*) FROM series WHERE starts_with(raw, 'vllm:')) AS exposed,
    (SELECT count(*) FROM series WHERE starts_with(raw, 'sglang')) AS exposed_sglang,
    -- Of the two, only vLLM's lines carry no year (SIGNALS §15.2).
    (SELECT count(*) FROM sources
     WHERE kind = 'log' AND contains(array_to_string(notes, ' '), 'carry no year')) AS yearless,
    min(version) FILTER (WHERE engine = 'sglang') AS version
FROM servers
"""


@dataclass(frozen=True)
class Served:
    """The engine family, and the version of SGLang where one is stated."""

    engine: Family
    version: str | None

    @property
    def vllm(self) -> bool:
        """Whether it is vLLM."""
        return self.engine == "vllm"


def served(view: View) -> Served:
    """The engine of the servers in the evidence; where none is named, by metric names and by the kind of log lines."""
    vllm, sglang, stats, steps, exposed, exposed_sglang, yearless, version = view.one(ENGINES)
    unnamed = not sglang and not steps and not exposed_sglang
    other = vllm > sglang or (unnamed and bool(stats or exposed or yearless))
    return Served("vllm" if other else "sglang", None if other else version)


def asked_for(missing: Sequence[Missing], of: Served) -> tuple[Missing, ...]:
    """What is missing as asks of this engine, the most useful first; signals that one thing supplies are one ask."""
    known = {m: ask_of(m.signal) for m in missing}
    asks = [
        Missing(MESSAGES[f"ask.{name}.signal"], filled(MESSAGES[f"ask.{name}.{of.engine}"], of.version), name)
        for name in in_order(name for name in known.values() if name is not None)
    ]
    return tuple(dict.fromkeys([*asks, *(m for m, name in known.items() if name is None)]))
