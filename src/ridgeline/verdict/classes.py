"""The same question class by class: length bands, routing key, LoRA, DP rank. Reported, never the verdict itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.model.comparison import ClassChange
from ridgeline.verdict.figures import ALPHA, MARGIN, spread_of
from ridgeline.verdict.requests import LABELS, Requests
from ridgeline.verdict.rows import QUANTITIES, pairs_of
from ridgeline.verdict.sections import contrast, correlated_s, holm, plan, statistic

FEWEST: Final = 40  # requests of a class on either side
MOST_VALUES: Final = 8
BANDS: Final = ((0, 256), (256, 1024), (1024, 4096), (4096, 16384), (16384, 65536), (65536, None))
SEEN: Final = ("ttft_s", "e2e_s")


@dataclass(frozen=True, slots=True)
class Class:
    """A class and which requests of either side belong to it."""

    attribute: str
    value: str
    masks: tuple[NDArray[np.bool_], NDArray[np.bool_]]


def classes_of(
    incident: Requests | None, after: Requests | None, *, paired: bool = False
) -> tuple[ClassChange, ...]:  # fmt: skip
    """Mean TTFT and E2E of each class with enough requests on both sides, false discovery held by Holm.

    `paired`: row k of both is the same request.
    """
    if incident is None or after is None:
        return ()
    rows = [row for c in _classes(incident, after) for column in SEEN
            if (row := _row(c, column, incident, after, paired))]  # fmt: skip
    adjusted = holm([row.contrast.p_value for row in rows])
    return tuple(_judged(row, p) for row, p in zip(rows, adjusted, strict=True))


def _judged(row: ClassChange, p: float | None) -> ClassChange:
    certain = row.contrast.verdict == "different" and p is not None and p < ALPHA
    if certain:
        return replace(row, p_adjusted=p, change="better" if (row.contrast.difference or 0) < 0 else "worse")
    return replace(row, p_adjusted=p, change="same" if row.contrast.verdict == "same" else "unclear")


def _classes(a: Requests, b: Requests) -> list[Class]:
    out = []
    for column, name in (("prompt_tokens", "prompt tokens"), ("completion_tokens", "output tokens")):
        for low, high in BANDS:
            top = np.inf if high is None else high
            masks = [(side.columns[column] >= low) & (side.columns[column] < top) for side in (a, b)]
            out.append(Class(name, f"{low} to {high}" if high is not None else f"from {low}", (masks[0], masks[1])))
    for label in LABELS:
        counts = Counter(value for value in b.labels[label] if value is not None)
        for value, _ in sorted(counts.most_common(MOST_VALUES), key=lambda item: (-item[1], str(item[0]))):
            out.append(Class(label, str(value), (a.labels[label] == value, b.labels[label] == value)))
    whole = [c for c in out if not all(bool(mask.all()) for mask in c.masks)]
    return [c for c in whole if all(int(mask.sum()) >= FEWEST for mask in c.masks)]


def _row(c: Class, column: str, a: Requests, b: Requests, paired: bool) -> ClassChange | None:
    quantity = next(q for q in QUANTITIES if q.column == column)
    samples, masks = [], []
    for side, mask in zip((a, b), c.masks, strict=True):
        values = side.columns[column]
        kept = mask & ~np.isnan(values) & (values >= 0)
        if int(kept.sum()) < FEWEST:
            return None
        masks.append(kept)
        samples.append((side.at[kept], values[kept]))
    correlated = max(correlated_s(at, np.log(values + quantity.floor_s)) for at, values in samples)
    estimates = [
        statistic(at, values, lambda x: float(x.mean()), plan(at, correlated), floor=quantity.floor_s)
        for at, values in samples
    ]
    spread = None
    if paired and np.array_equal(masks[0], masks[1]):  # the same requests make up the class on both sides
        blocks = pairs_of(samples, quantity, (("mean", None),)).get("mean")
        spread = None if blocks is None else spread_of(blocks, (0, 1), estimates[0], estimates[1])
    found = contrast(f"{quantity.name}_mean", estimates[0], estimates[1], margin=MARGIN, margin_abs=quantity.margin_s,
                     alpha=ALPHA, paired=spread)  # fmt: skip
    return ClassChange(c.attribute, c.value, f"{quantity.name}_mean", found.n_a, found.n_b, found, None, "unclear")
