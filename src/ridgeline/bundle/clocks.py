"""How far clocks are apart, and how well that is known. Nothing is mixed without such a row.

Three kinds of anchor, each a pair of times of one happening:

- a ReqTimeStats line of 0.5.3 to 0.5.9: monotonic stamps inside, the log's wall time (whole seconds) in front. The
  line is written after the finish it reports: `wall <= line < wall + 1 s`, over all lines an interval.
- a request seen by client and server: it is sent before it is received, answered before it is seen to be.
- a pair of a disaggregated request: both sides receive it at once.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import duckdb

from ridgeline.bundle.zones import Zone

LINE_S: Final = 1.0  # resolution of log times
LATE_S: Final = 0.5  # a line may be written this late without making its anchor useless

MONOTONIC_SQL: Final = """
    SELECT
        source,
        clock,
        logged_ts,
        coalesce(queued_ts, received_ts)
            + coalesce(bootstrap_s, 0) + coalesce(prealloc_s, coalesce(alloc_wait_s, 0)) + coalesce(transfer_s, 0)
            + coalesce(queue_s, 0) + coalesce(forward_s, 0) AS end_mono
    FROM raw_records
    WHERE clock LIKE 'monotonic%' AND logged_ts IS NOT NULL AND coalesce(queued_ts, received_ts) IS NOT NULL
    ORDER BY source, line
"""

CLIENT_SQL: Final = """
    SELECT
        c.source,
        min(s.received_ts - c.received_ts) AS most,
        max(coalesce(s.response_sent_ts, s.first_token_ts, s.finished_ts)
            - coalesce(c.first_token_ts, c.finished_ts)) AS least,
        count(*) AS n
    FROM requests AS c
    JOIN requests AS s
        ON s.rid = c.rid AND s.role IS DISTINCT FROM 'client'
    WHERE c.role = 'client' AND c.received_ts IS NOT NULL AND s.received_ts IS NOT NULL
    GROUP BY c.source
    ORDER BY c.source
"""

PAIR_SQL: Final = """
    SELECT
        median(d.received_ts - p.received_ts) AS apart_s,
        quantile_cont(abs(d.received_ts - p.received_ts), 0.9) AS spread_s,
        count(*) AS n,
        any_value(d.server) AS decode,
        any_value(p.server) AS prefill,
        min(d.source) AS source
    FROM requests AS p
    JOIN requests AS d ON d.request = p.pair
    WHERE p.role = 'prefill' AND d.role = 'decode'
    GROUP BY p.server, d.server
    HAVING count(d.received_ts - p.received_ts) > 0
    ORDER BY p.server, d.server
"""


class Anchor(NamedTuple):
    """Add `offset_s` to a time on `clock` in `source` to get wall-clock time; wrong by at most `error_s`."""

    clock: str
    source: int
    offset_s: float
    error_s: float
    basis: str


def monotonic_anchors(con: duckdb.DuckDBPyConnection, zones: Sequence[Zone]) -> list[Anchor]:
    """Offsets of monotonic clocks, one per source and clock, from the lines that carry both."""
    pairs: dict[tuple[int, str], list[float]] = defaultdict(list)
    for source, clock, logged_ts, end_mono in con.execute(MONOTONIC_SQL).fetchall():
        pairs[source, clock].append(logged_ts - end_mono)
    zone_s = {z.source: z.add_s for z in zones}
    return [
        Anchor(clock, source, offset + zone_s.get(source, 0.0), error, f"{len(apart)} log lines that carry both times")
        for (source, clock), apart in sorted(pairs.items())
        for offset, error in [interval(apart)]
    ]


def interval(apart_s: Sequence[float]) -> tuple[float, float]:
    """(offset, error) from `line - monotonic end` of lines with whole seconds.

    Truly `line <= end + offset + lateness < line + 1`, so offset lies above the largest `line - end` less the lateness
    and below the smallest `line - end + 1`. Where late lines contradict each other, only the upper bound is firm.
    """
    low, high = max(apart_s), min(apart_s) + LINE_S
    if low <= high:
        return (low + high) / 2, (high - low) / 2
    return high - LATE_S / 2, max(LATE_S, low - high)


def skews(con: duckdb.DuckDBPyConnection) -> list[Anchor]:
    """What joined requests say of clients' and peers' clocks. Nothing is corrected by these: they are stated."""
    found: list[Anchor] = []
    for source, most, least, n in con.execute(CLIENT_SQL).fetchall():
        if most is None or least is None:
            continue
        middle, half = (most + least) / 2, abs(most - least) / 2
        told = "the server's clock less the client's" if least <= most else "no single offset fits: a clock moved"
        found.append(Anchor("client", source, 0.0 if least <= 0 <= most else middle, half, f"{told}, {n} requests"))
    for apart_s, spread_s, n, decode, prefill, source in con.execute(PAIR_SQL).fetchall():
        basis = f"{decode}'s clock less {prefill}'s, from {n} pairs posted to both"
        found.append(Anchor(f"{decode} - {prefill}", source, apart_s, spread_s, basis))
    return found


def rows(
    sources: Sequence[Mapping[str, Any]], zones: Sequence[Zone], anchors: Sequence[Anchor], skew: Sequence[Anchor]
) -> list[dict[str, Any]]:
    """Rows of the table `clocks`: one per source, then monotonic clocks, then skews."""
    zone = {z.source: z for z in zones}
    out: list[dict[str, Any]] = []
    for s in sources:
        number = s["source"]
        clock = s["clock"] or "wall"
        if number in zone:
            z = zone[number]
            moved = f"moved by {z.add_s / 3600:+g} h" if z.add_s else "are UTC"
            basis = f"naive times {moved}: {z.basis} ({z.anchors})"
            out.append({"clock": clock, "source": number, "offset_s": z.add_s, "error_s": LINE_S, "basis": basis})
        elif s["from_ts"] is None:
            continue
        elif clock == "naive":
            basis = "no zone given and no anchor: read as UTC"
            out.append({"clock": clock, "source": number, "offset_s": None, "error_s": None, "basis": basis})
        else:
            basis = "as the source states it"
            out.append({"clock": clock, "source": number, "offset_s": 0.0, "error_s": None, "basis": basis})
    out += [a._asdict() for a in (*anchors, *skew)]
    return out
