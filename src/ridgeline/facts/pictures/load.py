"""Load over time: waiting, running and usage of each rank, and the queues of a disaggregated pair."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.disagg import HOW_PD
from ridgeline.facts.points import ready
from ridgeline.model.chart import Column, Curve, Panel, Panels, Picture, Tone, Unit
from ridgeline.model.diagnosis import Window
from ridgeline.model.fact import Missing

BINS: Final = 120
FEWEST: Final = 24
MOST: Final = 16
HOW_LOAD: Final = "a server log, /metrics, or /v1/loads polled over the time"

# The mean of what each place said in each stretch of time, from the lane (the kind of source that says most).
PLACES: Final = """
WITH told AS (
    SELECT ts, place, dp_rank, waiting, busy AS running, usage, cap FROM lane
    WHERE ts IS NOT NULL
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
),
span AS (SELECT min(ts) AS lo, max(ts) AS hi FROM told)
SELECT place, any_value(dp_rank) AS dp_rank,
    CAST(least(floor((ts - lo) / (hi - lo) * $bins), $bins - 1) AS BIGINT) AS bin,
    avg(waiting) AS waiting, avg(running) AS running, avg(usage) AS usage, max(cap) AS cap,
    any_value(lo) AS lo, any_value(hi) AS hi, max(waiting), max(running), max(usage)
FROM told, span
WHERE hi > lo
GROUP BY place, bin
ORDER BY place, bin
"""
# Bins narrower than the time between two readings would draw gaps where nothing is missing.
READINGS: Final = """
SELECT CAST(median(n) AS BIGINT) FROM (
    SELECT count(*) AS n FROM lane
    WHERE ts IS NOT NULL AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
    GROUP BY place
)
"""
SIGNALS: Final[tuple[tuple[str, int, Unit], ...]] = (
    ("waiting", 3, "requests"), ("running", 4, "requests"), ("usage", 5, "share"),
)  # fmt: skip
COLUMNS: Final = (
    Column("rank"), Column("waiting, mean", "requests"), Column("waiting, peak", "requests"),
    Column("running, mean", "requests"), Column("running, peak", "requests"), Column("usage, mean", "share"),
    Column("usage, peak", "share"),
)  # fmt: skip


def ranks(view: View, marked: tuple[str, ...] = (), window: Window | None = None) -> Picture:
    """One line for each rank (the `MOST` with the longest queues); `marked` ranks stand out."""
    edge = {"since": window.from_ts if window else None, "until": window.to_ts if window else None}
    readings = ready(view).one(READINGS, edge)[0] or 0
    bins = min(BINS, max(FEWEST, readings // 2))
    rows = view.query(PLACES, {**edge, "bins": bins})
    if not rows:
        return Picture("ranks", None, missing=(Missing("waiting, running and usage over time", HOW_LOAD),))
    lo, hi = rows[0][7], rows[0][8]
    middles = tuple(lo + (hi - lo) * (k + 0.5) / bins for k in range(bins))
    lines: dict[str, dict[str, list[float | None]]] = {}
    rank_of: dict[str, str] = {}
    peaks: dict[tuple[str, str], float] = {}
    for place, rank, at, *values in rows:
        rank_of[place] = "" if rank is None else str(rank)
        for name, column, _ in SIGNALS:
            lines.setdefault(place, {}).setdefault(name, [None] * bins)[at] = values[column - 3]
            if (peak := values[column + 3]) is not None:
                peaks[place, name] = max(peak, peaks.get((place, name), peak))
    kept = sorted(sorted(lines), key=lambda p: -(_mean(lines[p]["waiting"]) or 0.0))[:MOST]
    kept.sort(key=list(lines).index)
    short = _short(kept)
    caps = {row[6] for row in rows if row[6] is not None}
    panels, table = [], []
    for name, _, unit in SIGNALS:
        curves = tuple(
            Curve(short[p], _tone(rank_of[p], marked, len(kept)), middles, tuple(lines[p][name]))
            for p in kept
            if any(v is not None for v in lines[p][name])
        )
        if curves:
            cap = caps.copy().pop() if name == "running" and len(caps) == 1 else 1.0 if name == "usage" else None
            panels.append(Panel(name, "time", unit, curves, cap=cap))
    for p in kept:
        figures = [v for name, _, _ in SIGNALS for v in (_mean(lines[p][name]), peaks.get((p, name)))]
        table.append((short[p], *figures))
    shade = (view.incident.from_ts, view.incident.to_ts) if view.incident else None
    busiest = max(table, key=lambda row: row[1] or 0.0)
    told = (
        ("left", len(lines) - len(kept)), ("n", len(kept)), ("peak", busiest[2]), ("rank", busiest[0] or "the server"),
        ("running", busiest[4]), ("usage", busiest[6]),
    )  # fmt: skip
    says = "picture.ranks.more" if len(lines) > len(kept) else "picture.ranks.all"
    return Picture("ranks", Panels(tuple(panels), shade), told, COLUMNS, tuple(table), says=says)


def _tone(rank: str, marked: tuple[str, ...], n: int) -> Tone:
    return "marked" if rank in marked or n == 1 else "other"


def _short(places: list[str]) -> dict[str, str]:
    """`server unified DP1` → the words in which the places differ: `DP1`."""
    words = [list(dict.fromkeys(p.split(" "))) for p in places]
    common = set(words[0]).intersection(*words[1:]) if len(words) > 1 else set()
    return {p: " ".join(w for w in own if w not in common) or p for p, own in zip(places, words, strict=True)}


def _mean(values: list[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return sum(known) / len(known) if known else None


# Each place's mean in a stretch of time, added up over the places that one kind of source tells of; where several kinds
# tell of the same queues (log, scrapes, load answers), the one that tells most.
PAIR: Final = """
WITH told AS (
    SELECT ts, class, place, bootstrap, inflight, prealloc, transfer, retracted FROM points
    WHERE ts IS NOT NULL AND coalesce(bootstrap, inflight, prealloc, transfer, retracted) IS NOT NULL
),
span AS (SELECT min(ts) AS lo, max(ts) AS hi FROM told),
binned AS (
    SELECT class, place, CAST(least(floor((ts - lo) / (hi - lo) * $bins), $bins - 1) AS BIGINT) AS bin,
        avg(bootstrap) AS bootstrap, avg(inflight) AS inflight, avg(prealloc) AS prealloc, avg(transfer) AS transfer,
        avg(retracted) AS retracted, any_value(lo) AS lo, any_value(hi) AS hi
    FROM told, span WHERE hi > lo GROUP BY class, place, bin
),
summed AS (
    SELECT class, bin, sum(bootstrap) AS bootstrap, sum(inflight) AS inflight, sum(prealloc) AS prealloc,
        sum(transfer) AS transfer, sum(retracted) AS retracted, any_value(lo) AS lo, any_value(hi) AS hi
    FROM binned GROUP BY class, bin
)
SELECT bin, max(bootstrap), max(inflight), max(prealloc), max(transfer), max(retracted), any_value(lo), any_value(hi)
FROM summed
GROUP BY bin
ORDER BY bin
"""
QUEUES: Final = ("bootstrap", "inflight", "prealloc", "transfer", "retracted")
PAIR_COLUMNS: Final = (
    Column("queue"), Column("first", "requests"), Column("last", "requests"), Column("mean", "requests"),
    Column("peak", "requests"),
)  # fmt: skip


def pair(view: View) -> Picture:
    """Lengths of the queues of both sides over time."""
    rows = ready(view).query(PAIR, {"bins": BINS})
    if not rows:
        return Picture("pair", None, missing=(Missing("the queues of a prefill and a decode side", HOW_PD),))
    lo, hi = rows[0][6], rows[0][7]
    middles = tuple(lo + (hi - lo) * (k + 0.5) / BINS for k in range(BINS))
    panels, table = [], []
    for k, queue in enumerate(QUEUES):
        values: list[float | None] = [None] * BINS
        for row in rows:
            values[row[0]] = row[1 + k]
        known = [v for v in values if v is not None]
        if known and (queue != "retracted" or max(known) > 0):
            panels.append(Panel(queue, "time", "requests", (Curve(queue, "marked", middles, tuple(values)),)))
            table.append((queue, known[0], known[-1], sum(known) / len(known), max(known)))
    shade = (view.incident.from_ts, view.incident.to_ts) if view.incident else None
    longest = max(table, key=lambda row: row[4])
    figures = (("first", longest[1]), ("last", longest[2]), ("peak", longest[4]), ("queue", longest[0]))
    return Picture("pair", Panels(tuple(panels), shade), figures, PAIR_COLUMNS, tuple(table))
