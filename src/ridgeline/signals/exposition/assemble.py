"""Samples of many scrapes as arrays → rows of `samples` and `histograms`."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ridgeline.signals.exposition.book import BUCKET, COUNT, F64, GAUGE_BUCKET, I64, SUM, Slots
from ridgeline.signals.rows import Reading, Rows, rows_of

Bools = npt.NDArray[np.bool_]


@dataclass
class Pending:
    """Samples not handed over yet; each entry of the lists belongs to one scrape."""

    slots: list[I64] = field(default_factory=list)
    values: list[F64] = field(default_factory=list)
    lines: list[I64] = field(default_factory=list)
    ts: list[F64] = field(default_factory=list)
    scrapes: list[I64] = field(default_factory=list)
    count: int = 0

    def add(self, slots: I64, values: F64, lines: I64, ts: F64, scrape: int) -> None:
        """n samples of one scrape; `ts` is NaN where no time is known."""
        self.slots.append(slots)
        self.values.append(values)
        self.lines.append(lines)
        self.ts.append(ts)
        self.scrapes.append(np.full(len(slots), scrape, dtype=np.int64))
        self.count += len(slots)

    def take(self, table: Slots, reading: Reading) -> list[Rows]:
        """Rows of everything pending, and start anew."""
        if self.count == 0:
            return []
        slots, values = np.concatenate(self.slots), np.concatenate(self.values)
        lines, ts, scrapes = np.concatenate(self.lines), np.concatenate(self.ts), np.concatenate(self.scrapes)
        self.__init__()  # type: ignore[misc]
        out = []
        series = table.series[slots]
        plain, parts = series >= 0, table.histogram[slots] >= 0
        if plain.any():
            out.append(_samples(series[plain], values[plain], lines[plain], ts[plain], scrapes[plain], reading))
        if parts.any():
            picked = (slots[parts], values[parts], lines[parts], ts[parts], scrapes[parts])
            out.append(_histograms(table, *picked, reading))
        return [rows for rows in out if rows.data.num_rows]


def _samples(series: I64, values: F64, lines: I64, ts: F64, scrapes: I64, reading: Reading) -> Rows:
    return rows_of(
        "samples",
        {
            "series": series,
            "ts": _known(ts),
            "value": _known(values),
            "scrape": scrapes,
            "source": np.full(len(series), reading.source),
            "line": lines,
        },
    )


def _histograms(table: Slots, slots: I64, values: F64, lines: I64, ts: F64, scrapes: I64, reading: Reading) -> Rows:
    """One row per histogram, scrape and time; buckets ordered by bound.

    A part that comes twice in one scrape begins another row, so that no figure is lost or mixed.
    """
    order, turn = _order(table, slots, ts, scrapes)
    slots, values, lines, ts, scrapes = slots[order], values[order], lines[order], ts[order], scrapes[order]
    number, part, le = table.histogram[slots], table.part[slots], table.le[slots]
    when = np.where(np.isnan(ts), -np.inf, ts)
    starts = np.flatnonzero(_changed(scrapes, number, when, turn))
    bucket = (part == BUCKET) | (part == GAUGE_BUCKET)
    sizes = np.add.reduceat(bucket.astype(np.int64), starts)
    group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(slots))))
    counts = values[bucket].copy()
    ends = np.cumsum(sizes)
    total, summed = np.full(len(starts), np.nan), np.full(len(starts), np.nan)
    total[group[part == COUNT]] = values[part == COUNT]
    summed[group[part == SUM]] = values[part == SUM]
    keep = np.ones(len(starts), dtype=np.bool_)
    gauge = np.flatnonzero(part[starts] == GAUGE_BUCKET)
    bounds = le[bucket]
    lower = table.gt[slots][bucket]
    for g in gauge:
        at = slice(int(ends[g] - sizes[g]), int(ends[g]))
        # These buckets hold gt < v <= le each; only an unbroken row of them can be summed up.
        keep[g] = bool(np.array_equal(lower[at][1:], bounds[at][:-1]))
        counts[at] = np.cumsum(counts[at])
        if keep[g] and np.isinf(bounds[at][-1]):
            total[g] = counts[at][-1]
    offsets = pa.array(np.concatenate(([0], ends)).astype(np.int32))
    rows = rows_of(
        "histograms",
        {
            "series": number[starts],
            "ts": _known(ts[starts]),
            "le": pa.ListArray.from_arrays(offsets, pa.array(bounds)),
            "cumulative": pa.ListArray.from_arrays(offsets, _known(counts)),
            "sum": _known(summed),
            "count": _known(total),
            "scrape": scrapes[starts],
            "source": np.full(len(starts), reading.source),
            "line": np.minimum.reduceat(lines, starts),
        },
    )
    return rows if keep.all() else Rows(rows.table, rows.data.filter(pa.array(keep)))


def _order(table: Slots, slots: I64, ts: F64, scrapes: I64) -> tuple[I64, I64]:
    """The order by scrape, time, turn, histogram and bound, and the turn: how often that part came before."""
    when = np.where(np.isnan(ts), -np.inf, ts)
    moment: I64 = np.cumsum(_changed(scrapes, when))
    if moment[-1] > len(np.unique(scrapes)):  # some samples name times of their own
        moment = np.unique(np.stack((scrapes, when)), axis=1, return_inverse=True)[1].reshape(-1)
    key = moment * (int(table.rank.max()) + 1) + table.rank[slots]
    order = np.argsort(key, kind="stable")
    turn = _repeats(key[order])
    if turn.any():
        again = np.lexsort((turn, table.histogram[slots][order], moment[order]))
        order, turn = order[again], turn[again]
    return order, turn


def _known(values: F64) -> pa.Array:
    """NaN is how exposition says "not measured": null in the tables."""
    return pa.array(values, mask=np.isnan(values))


def _changed(*columns: I64 | F64) -> Bools:
    """True where a row differs from the one before it in any column; the first row is True."""
    out = np.zeros(len(columns[0]), dtype=np.bool_)
    out[0] = True
    for column in columns:
        out[1:] |= column[1:] != column[:-1]
    return out


def _repeats(*columns: I64 | F64) -> I64:
    """How many rows before it, in its run, equal each row of sorted columns."""
    fresh = _changed(*columns)
    run = np.cumsum(fresh) - 1
    before: I64 = np.arange(len(fresh)) - np.flatnonzero(fresh)[run]
    return before
