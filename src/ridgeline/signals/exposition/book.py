"""The series of one source: each distinct `name{labels}` text is parsed once and stands for a slot from then on."""

import json
from dataclasses import dataclass, field
from math import inf, nan
from typing import Final

import numpy as np
import numpy.typing as npt

from ridgeline.signals.exposition.keys import key_of
from ridgeline.signals.rows import Reading, Rows, rows_of
from ridgeline.words.metrics import canonical_metric, strip_prefix

# What a slot contributes to the histogram it belongs to.
BUCKET, SUM, COUNT, GAUGE_BUCKET, NO_PART = 0, 1, 2, 3, 4
PARTS: Final = {"_bucket": BUCKET, "_sum": SUM, "_count": COUNT, "_gsum": SUM, "_gcount": COUNT}
SERIES_LIMIT: Final = 200_000
SLOT_LIMIT: Final = 20 * SERIES_LIMIT  # one per series and per bucket
NONE: Final = -1

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]


class TooManySeries(Exception):
    """The source has more distinct series than `SERIES_LIMIT`."""


@dataclass(frozen=True)
class Slots:
    """Per slot: number of the plain series and of the histogram it feeds (-1: none), which part, its bounds."""

    series: I64
    histogram: I64
    part: I64
    le: F64
    gt: F64
    rank: I64  # place in the order by histogram, part and bound; equal where all three are


@dataclass(frozen=True)
class Series:
    """One series as exposed; `target` is the host it was scraped from, where the file says."""

    raw: str
    kind: str
    labels: dict[str, str]
    target: str | None


@dataclass
class Book:
    """Series numbers are unique within the source and start at 1; ingest renumbers them across sources."""

    types: dict[str, str] = field(default_factory=dict)
    numbers: dict[tuple[str | None, str, bool, str], int] = field(default_factory=dict)
    series: list[Series] = field(default_factory=list)
    targets: set[str | None] = field(default_factory=set)
    slots: list[tuple[int, int, int, float, float]] = field(default_factory=list)
    memos: dict[str | None, dict[bytes, int]] = field(default_factory=dict)
    _arrays: Slots | None = None

    def memo(self, target: str | None) -> dict[bytes, int]:
        """Key text → slot for one scraped host; the same key on another host is another series."""
        return self.memos.setdefault(target, {})

    def declare(self, name: str, kind: str) -> None:
        """A `# TYPE` line. A type that changes (another version behind the same port) makes all keys new."""
        known = self.types.get(name)
        if known == kind:
            return
        self.types[name] = kind
        if known is not None:
            for memo in self.memos.values():
                memo.clear()

    def slot(self, target: str | None, key: bytes) -> int | None:
        """The slot of a key, parsed where it is new; None where the key is not `name{labels}`.

        Raises TooManySeries where the limit is reached.
        """
        memo = self.memo(target)
        slot = memo.get(key)
        if slot is None:
            parsed = key_of(key.decode("utf-8", "replace"))
            if parsed is None:
                return None
            slot = memo[key] = self.slot_of(target, *parsed)
        return slot

    def slot_of(self, target: str | None, name: str, labels: dict[str, str]) -> int:
        """A new slot for a name and labels. Raises TooManySeries where the limit is reached."""
        if len(self.series) >= SERIES_LIMIT or len(self.slots) >= SLOT_LIMIT:
            raise TooManySeries
        kind, base, part = self._kind(name, labels)
        le, gt = _bound(labels.get("le")), _bound(labels.get("gt"))
        series, histogram = NONE, NONE
        if part in (BUCKET, SUM, COUNT):
            rest = {k: v for k, v in labels.items() if part != BUCKET or k != "le"}
            histogram = self._number(Series(base, kind, rest, target), whole=True)
        else:
            series = self._number(Series(name, kind, labels, target), whole=False)
            if part == GAUGE_BUCKET:
                rest = {k: v for k, v in labels.items() if k not in ("le", "gt")}
                histogram = self._number(Series(name, kind, rest, target), whole=True)
        self.slots.append((series, histogram, part, nan if le is None else le, nan if gt is None else gt))
        return len(self.slots) - 1

    def arrays(self) -> Slots:
        """The slots as arrays, indexed by slot number."""
        if self._arrays is None or len(self._arrays.part) != len(self.slots):
            series, histogram, part, le, gt = zip(*self.slots, strict=True) if self.slots else ((),) * 5
            ints = [np.array(column, dtype=np.int64) for column in (series, histogram, part)]
            floats = [np.array(column, dtype=np.float64) for column in (le, gt)]
            self._arrays = Slots(ints[0], ints[1], ints[2], floats[0], floats[1], _ranks(ints[1], ints[2], floats[0]))
        return self._arrays

    def series_rows(self, reading: Reading) -> Rows:
        """Rows of `series`; where several hosts were scraped into one file, the host is the label `instance`."""
        several = len({target for target in self.targets if target is not None}) > 1
        labels = [
            {"instance": one.target, **one.labels} if several and one.target is not None else one.labels
            for one in self.series
        ]
        return rows_of(
            "series",
            {
                "series": range(1, len(self.series) + 1),
                "name": [_canonical(one.raw, one.kind) for one in self.series],
                "raw": [one.raw for one in self.series],
                "kind": [one.kind for one in self.series],
                "labels": [json.dumps(text, sort_keys=True, ensure_ascii=False) for text in labels],
                "dp_rank": [_dp_rank(one) for one in self.series],
                "role": [one.labels.get("engine_type") for one in self.series],
                "stage": [one.labels.get("stage") for one in self.series],
                "source": [reading.source] * len(self.series),
            },
        )

    def roles(self) -> set[str]:
        """The engine roles that the labels name."""
        return {role for one in self.series if (role := one.labels.get("engine_type"))}

    def _number(self, one: Series, whole: bool) -> int:
        """The number of a series; `whole` for a histogram taken as one."""
        identity = (one.target, one.raw, whole, json.dumps(one.labels, sort_keys=True))
        number = self.numbers.get(identity)
        if number is None:
            self.series.append(one)
            number = self.numbers[identity] = len(self.series)
        return number

    def _kind(self, name: str, labels: dict[str, str]) -> tuple[str, str, int]:
        """(kind, name of the histogram it belongs to, part) of one exposed name."""
        kind = self.types.get(name)
        if kind is not None and kind not in ("histogram", "gaugehistogram"):
            return ("gaugehistogram", name, GAUGE_BUCKET) if _both_bounds(labels) else (kind, name, NO_PART)
        for suffix, part in PARTS.items():
            if not name.endswith(suffix):
                continue
            base = name.removesuffix(suffix)
            told = self.types.get(base) or self._guess(base, part, labels)
            if told in ("histogram", "gaugehistogram") and (part != BUCKET or _bound(labels.get("le")) is not None):
                return "histogram", base, part
            if told == "summary":
                return "summary", name, NO_PART
        if name.endswith("_total") and self.types.get(name.removesuffix("_total")) == "counter":
            return "counter", name, NO_PART  # OpenMetrics declares a counter without the suffix
        if _both_bounds(labels):
            return "gaugehistogram", name, GAUGE_BUCKET
        entry = canonical_metric(name)
        # An older name of a metric may have been of another kind.
        guessed = entry.kind_in(None) if entry is not None and entry.name in name else None
        return (guessed if guessed in ("gauge", "counter") else "untyped"), name, NO_PART

    def _guess(self, base: str, part: int, labels: dict[str, str]) -> str | None:
        """The type of a family whose TYPE line is missing (the head of the scrape was cut)."""
        if part == BUCKET and "le" in labels:
            return "histogram"
        entry = canonical_metric(base)
        return "histogram" if entry is not None and entry.kind == "histogram" else None


def _ranks(histogram: I64, part: I64, le: F64) -> I64:
    order = np.lexsort((le, part, histogram))
    fresh = np.ones(len(order), dtype=np.int64)
    for column in (histogram, part, np.where(np.isnan(le), np.inf, le)):
        fresh[1:] &= column[order][1:] == column[order][:-1]
    fresh[:1] = 0
    ranks = np.zeros(len(order), dtype=np.int64)
    ranks[order] = np.cumsum(1 - fresh)
    return ranks


def _dp_rank(one: Series) -> int | None:
    """The label dp_rank; vLLM calls it engine."""
    text = one.labels.get("dp_rank", one.labels.get("engine", "") if one.raw.startswith("vllm") else "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _both_bounds(labels: dict[str, str]) -> bool:
    return _bound(labels.get("gt")) is not None and _bound(labels.get("le")) is not None


def _bound(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        bound = float(text)
    except ValueError:
        return None
    return None if bound != bound or bound == -inf else bound


def _canonical(raw: str, kind: str) -> str:
    """The name without prefix and `_total`, in the vocabulary's spelling where it knows the metric."""
    if kind == "summary":
        for suffix in ("_sum", "_count"):
            if raw.endswith(suffix):
                return _canonical(raw.removesuffix(suffix), "") + suffix
    entry = canonical_metric(raw)
    if entry is not None:
        return entry.name
    rest = strip_prefix(raw)[1]
    return rest.removesuffix("_total") if kind == "counter" else rest
