"""How far clocks are apart, and how well that is known. Nothing is mixed without such a row.

Three kinds of anchor, each a pair of times of one happening:

- an arrival that the request log stamps on the wall and on the monotonic clock; else a ReqTimeStats line of 0.5.3 to
  0.5.9, monotonic inside, the log's wall time (whole seconds) in front. It is written after the finish it reports, so
  the lines together bound the offset.
- a request seen by client and server: it is sent before it is received, answered before it is seen to be.
- a pair of a disaggregated request: both sides receive it at once.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import duckdb

from ridgeline.bundle.zones import Zone

LINE_S: Final = 1.0  # resolution of log times
LATE_S: Final = 0.5  # a line may be written this late without making its anchor useless

# Both clocks of one moment: exact. The request log of 0.5.9 and later has them (obj.received_time, meta_info).
BOTH_SQL: Final = """
    SELECT server, received_ts - received_mono AS apart_s
    FROM records
    WHERE received_mono IS NOT NULL AND received_ts > 631152000 AND server IS NOT NULL
    ORDER BY server, source, line, rid
    LIMIT 20000
"""
# The end by the monotonic clock, and the line that reports it.
LINES_SQL: Final = """
    SELECT server, logged_ts - (queued_mono + queue_s + forward_s) AS apart_s
    FROM records
    WHERE queued_mono + queue_s + forward_s IS NOT NULL AND logged_ts > 631152000 AND server IS NOT NULL
    ORDER BY server, source, line, rid
    LIMIT 20000
"""

CLIENT_SQL: Final = """
    SELECT
        c.source,
        min(s.received_ts - c.received_ts) AS most,
        max(s.finished_ts - c.finished_ts) AS least,
        count(*) AS n
    FROM requests AS c
    JOIN requests AS s
        ON s.rid = c.rid AND s.role IS DISTINCT FROM 'client'
    WHERE c.role = 'client' AND c.state = 'finished' AND s.state = 'finished'
        -- only ids that one client row has: any other tells no pair of times
        AND c.rid IN (SELECT rid FROM requests WHERE role = 'client' GROUP BY rid HAVING count(*) = 1)
        -- whole seconds come from log lines: too coarse to bound a clock
        AND s.received_ts <> floor(s.received_ts) AND coalesce(s.finished_ts <> floor(s.finished_ts), TRUE)
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
    """Add `offset_s` to a time on `clock` to get wall-clock time; wrong by at most `error_s`."""

    clock: str
    source: int | None
    offset_s: float
    error_s: float
    basis: str


def monotonic_anchors(con: duckdb.DuckDBPyConnection) -> dict[str, Anchor]:
    """Server → its host's monotonic clock, from the final `records`."""
    both: dict[str, list[float]] = defaultdict(list)
    lines: dict[str, list[float]] = defaultdict(list)
    for found, sql in ((both, BOTH_SQL), (lines, LINES_SQL)):
        for server, apart_s in con.execute(sql).fetchall():
            found[server].append(apart_s)
    anchors: dict[str, Anchor] = {}
    for server in sorted({*both, *lines}):
        clock = f"monotonic:{server}"
        if both[server]:
            apart = sorted(both[server])
            middle = apart[len(apart) // 2]
            # A clock that was set while serving shows as a spread: then only the lines' interval holds.
            spread = max(apart[-1] - middle, middle - apart[0])
            basis = f"{len(apart)} requests whose arrival was stamped on both clocks"
            anchors[server] = Anchor(clock, None, middle, spread, basis)
        else:
            offset, error = interval(lines[server])
            basis = f"{len(lines[server])} log lines against the finish they report"
            anchors[server] = Anchor(clock, None, offset, error, basis)
    return anchors


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
    sources: Sequence[Mapping[str, Any]], zones: Sequence[Zone], anchors: Iterable[Anchor], skew: Sequence[Anchor]
) -> list[dict[str, Any]]:
    """Rows of the table `clocks`: one per source, then monotonic clocks, then skews."""
    zone = {z.source: z for z in zones}
    out: list[dict[str, Any]] = []
    for s in sources:
        number = s["source"]
        clock = s["clock"] or "wall"
        if number in zone:
            z = zone[number]
            moved = f"moved by {span(z.add_s)}" if z.add_s else "are UTC"
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


def span(seconds: float) -> str:
    """A shift as people read it: `+8 h`, `-5.5 h`, `+9496 days`."""
    return f"{seconds / 3600:+g} h" if abs(seconds) < 2 * 86400 else f"{seconds / 86400:+.6g} days"
