"""Classes of requests that may pay for what the others win: length bands, routing keys, priorities, adapters, ranks."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.scenario.model import Scenario

BANDS: Final = (256, 1024, 4096, 16_384)
"""Upper ends of the prompt bands, in tokens; what is longer is a band of its own."""
COLUMNS: Final = (("routing_key", 0), ("priority", None), ("lora", None), ("dp_rank", None))
"""Columns that make classes, and the value that means none (None: every value is one)."""
MOST_VALUES: Final = 5
LEAST_SHARE: Final = 0.02
FEWEST: Final = 5


@dataclass(frozen=True)
class Group:
    """A class and its requests."""

    name: str
    rows: NDArray[np.int64]
    share: float


Names = Mapping[str, Mapping[int, str]]
"""Column → number → what the evidence calls it (as it was read: a hash where ids are hashed)."""


def names_of(scenario: Scenario, texts: Mapping[str, Sequence[str | None]]) -> dict[str, dict[int, str]]:
    """What the evidence calls the numbers of a column; ``texts``: column → the name on each request, None: not known.

    Where requests of one number have several names (a rid used twice) the most frequent counts.
    """
    out: dict[str, dict[int, str]] = {}
    for column, told in texts.items():
        counts: dict[int, Counter[str]] = {}
        for number, text in zip(scenario[column].tolist(), told, strict=True):
            if number > 0 and text is not None:
                counts.setdefault(int(number), Counter())[text] += 1
        out[column] = {number: min(c, key=lambda t: (-c[t], t)) for number, c in sorted(counts.items())}
    return out


def groups_of(scenario: Scenario, called: Names | None = None) -> list[Group]:
    """Classes with enough requests to tell; of a dimension only where it tells requests apart."""
    out: list[Group] = []
    edges = np.searchsorted(np.array(BANDS), scenario["input_tokens"])
    names = [f"prompts up to {BANDS[0]} tokens"]
    names += [f"prompts of {low + 1} to {high} tokens" for low, high in pairwise(BANDS)]
    names.append(f"prompts above {BANDS[-1]} tokens")
    out += apart([(name, edges == band) for band, name in enumerate(names)], scenario.n)
    for column, none in COLUMNS:
        values, counts = np.unique(scenario[column], return_counts=True)
        order = [int(v) for v in values[np.argsort(-counts, kind="stable")] if v != none][:MOST_VALUES]
        named = [(label(column, value, called or {}), scenario[column] == value) for value in order]
        if none is not None and len(order) > 0:
            named.append((f"every other {column}", ~np.isin(scenario[column], order)))
        if len(values) > 1:
            out += apart(named, scenario.n)
    return out


def label(column: str, value: int, called: Names) -> str:
    """How a value is called: by its name where the evidence has one; 0 and -1 mean none."""
    if column in ("lora", "dp_rank") and value == (0 if column == "lora" else -1):
        return f"no {column}"
    name = called.get(column, {}).get(value)
    if name is not None:
        return f"{column} {name}"
    return f"{column} {value}" if column in ("priority", "dp_rank") else f"{column} number {value}"


def apart(named: list[tuple[str, NDArray[np.bool_]]], n: int) -> list[Group]:
    """Groups with enough requests, where at least two have any."""
    if sum(bool(marks.any()) for _, marks in named) < 2:
        return []
    return [
        Group(name, np.flatnonzero(marks), float(marks.sum() / n))
        for name, marks in named
        if marks.sum() >= max(FEWEST, LEAST_SHARE * n)
    ]
