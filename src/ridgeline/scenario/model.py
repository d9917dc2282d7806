"""The scenario: arrivals, lengths, prefix identity and placement of requests, as columns.

Content is a list of segments per request: two prompts share a prefix exactly as far as their segment ids
agree. Segment ``j`` of request ``i`` is ``segment_id[offsets[i] + j]``, of ``segment_tokens`` tokens. A request
without segments shares nothing.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

PS = 1_000_000_000_000

COLUMNS: dict[str, int] = {
    "arrival_ps": 0, "input_tokens": 1, "output_tokens": 1, "max_new_tokens": 1, "routing_key": 0, "dp_rank": -1,
    "lora": 0, "priority": 0, "namespace": 0, "kind": 0, "ignore_eos": 0, "grammar_us": 0, "storage_us": 0,
    "cancel_ps": 0, "output_segment": 0, "work_us": 0,
}  # fmt: skip
"""Per-request columns and what a scenario that lacks them means by it.

``routing_key``, ``lora`` 0: none (else a number from 1); ``dp_rank`` -1: not asked; ``kind``: the request class
that perturbations and class search name; ``cancel_ps`` 0: never (else an absolute time); ``output_segment`` 0:
an id of its own; ``work_us``: extra work when its prefill starts (an image to encode).
"""

BITS: dict[str, int] = {
    "arrival_ps": 62, "input_tokens": 24, "output_tokens": 24, "max_new_tokens": 30, "routing_key": 31, "dp_rank": 15,
    "lora": 31, "priority": 15, "namespace": 31, "kind": 15, "grammar_us": 31, "storage_us": 31, "cancel_ps": 62,
    "output_segment": 31, "work_us": 40,
}  # fmt: skip
"""How large a column's values may be (the engine keeps them in records of this size)."""


@dataclass(frozen=True)
class Scenario:
    """Requests in order of arrival; ``offsets`` has one more entry than there are requests."""

    columns: dict[str, Ints]
    offsets: Ints
    segment_id: Ints
    segment_tokens: Ints
    source: str = ""

    @property
    def n(self) -> int:
        """How many requests."""
        return len(self.offsets) - 1

    def __getitem__(self, name: str) -> Ints:
        """The column ``name``."""
        return self.columns[name]

    def __post_init__(self) -> None:
        """Refuse what no service could have received.

        Raises:
            ScenarioError: arrivals out of order, lengths below one, a segment without tokens.
        """
        n = self.n
        for name in COLUMNS:
            if name not in self.columns or len(self.columns[name]) != n:
                raise ScenarioError(f"scenario column {name} is missing or not {n} long")
        if n and (np.diff(self["arrival_ps"]) < 0).any():
            raise ScenarioError("scenario arrivals are not in order of time")
        if n and self["arrival_ps"][0] < 0:
            raise ScenarioError("scenario arrivals start before time zero")
        for name in ("input_tokens", "output_tokens", "max_new_tokens"):
            if n and self[name].min() < 1:
                raise ScenarioError(f"scenario column {name} holds a value below 1")
        for name, bits in BITS.items():
            if n and (self[name].min() < -(2**bits) or self[name].max() >= 2**bits):
                raise ScenarioError(f"scenario column {name} holds a value beyond {bits} bits")
        if len(self.segment_id) and (self.segment_id.min() <= -(2**31) or self.segment_id.max() >= 2**31):
            raise ScenarioError("scenario has a segment id beyond 31 bits")
        if len(self.segment_tokens) and self.segment_tokens.min() < 1:
            raise ScenarioError("scenario has a segment without tokens")


class ScenarioError(ValueError):
    """A scenario that cannot be: one line saying what is wrong and where."""


def make(columns: dict[str, Ints], segments: tuple[Ints, Ints, Ints] | None = None, source: str = "") -> Scenario:
    """A scenario from at least arrivals and lengths; missing columns get their defaults.

    ``segments``: offsets, ids, tokens. ``max_new_tokens`` defaults to the output length. Rows are put in order
    of arrival (stable).

    Raises:
        ScenarioError: see `Scenario`.
    """
    n = len(columns["arrival_ps"])
    full = {name: np.asarray(columns.get(name, np.full(n, default)), np.int64) for name, default in COLUMNS.items()}
    if "max_new_tokens" not in columns:
        full["max_new_tokens"] = full["output_tokens"].copy()
    empty = np.zeros(0, np.int64)
    parts = segments if segments is not None else (np.zeros(n + 1, np.int64), empty, empty)
    order = np.argsort(full["arrival_ps"], kind="stable")
    if not (order == np.arange(n)).all():
        full = {name: values[order] for name, values in full.items()}
        parts = segment_rows(*parts, order)
    return Scenario(full, *parts, source)


def segment_rows(offsets: Ints, ids: Ints, tokens: Ints, rows: Ints) -> tuple[Ints, Ints, Ints]:
    """Offsets, ids and tokens of the given rows, in the given order."""
    lengths = np.diff(offsets)[rows]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    at = np.repeat(offsets[:-1][rows] - starts[:-1], lengths) + np.arange(starts[-1])
    return starts, ids[at], tokens[at]


def take(scenario: Scenario, rows: Ints) -> Scenario:
    """The given rows (in order of arrival) with their segments."""
    columns = {name: values[rows] for name, values in scenario.columns.items()}
    parts = segment_rows(scenario.offsets, scenario.segment_id, scenario.segment_tokens, rows)
    return Scenario(columns, *parts, scenario.source)
