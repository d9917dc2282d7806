"""The zone of naive log times, found from records of the same requests that also carry epoch times.

SGLang writes its log lines and the request log's `timestamp` in local time without a zone, while `*_ts` figures inside
them are epoch seconds (SIGNALS §2.1, §3.3). A line is written within seconds of the finish it reports, so the
difference, rounded to a quarter of an hour, is the zone. Nothing is moved without such an anchor.

vLLM's lines have no year (SIGNALS §15.2) and were read as one of `YEARLESS`: there the difference may be years, and
where no request is shared, the year in which the other sources lie is taken.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import Final

import duckdb

QUARTER_S: Final = 900.0
MOST_S: Final = 15 * 3600.0
NEEDED: Final = 3  # anchors that must agree
OTHER_YEARS: Final = "the year of the other sources; no request is shared, so the zone is a guess"
YEARLESS: Final = 2000  # the year that `signals.log.clock` reads where none is printed

# Own anchor: one record with both a logged (naive) and an epoch time. Cross anchor: the same rid in a source whose
# times are epoch. `line` order and a limit keep this small on large logs.
OWN_SQL: Final = """
    SELECT
        source,
        logged_ts - coalesce(finished_ts, queued_ts + queue_s + forward_s, response_sent_ts) AS apart_s
    FROM raw_records
    WHERE source IN (SELECT unnest($naive::BIGINT[]))
        AND logged_ts IS NOT NULL
        AND coalesce(clock, 'wall') = 'wall'
        AND coalesce(finished_ts, queued_ts + queue_s + forward_s, response_sent_ts) > 631152000
        -- a row that its reader has put right already says nothing of the others
        AND abs(logged_ts - coalesce(finished_ts, queued_ts + queue_s + forward_s, response_sent_ts)) > 600
    ORDER BY source, line, rid, logged_ts
    LIMIT 5000
"""

CROSS_SQL: Final = """
    SELECT a.source, a.logged_ts - b.finished_ts AS apart_s
    FROM raw_records AS a
    JOIN raw_records AS b
        ON b.rid = a.rid AND b.source <> a.source
    WHERE a.source IN (SELECT unnest($naive::BIGINT[]))
        AND a.logged_ts IS NOT NULL
        AND a.event IS DISTINCT FROM 'received'
        AND b.source NOT IN (SELECT unnest($naive::BIGINT[]))
        AND b.finished_ts > 631152000
        AND b.finished_ts IS DISTINCT FROM b.logged_ts
        AND coalesce(b.clock, 'wall') = 'wall'
    ORDER BY a.source, a.line, b.source, b.line, b.finished_ts
    LIMIT 5000
"""


@dataclass(frozen=True)
class Zone:
    """What must be added to the naive times of a source; `anchors` requests agree on it."""

    source: int
    add_s: float
    anchors: int
    basis: str


def zones(
    con: duckdb.DuckDBPyConnection,
    naive: Sequence[int],
    server_of: Mapping[int, str | None],
    first_ts: Mapping[int, float | None],
) -> list[Zone]:
    """What to add to each naive source that has an anchor of its own, a shared request, or a neighbour of its server.

    `first_ts`: the first time of every source that has one, as read.
    """
    if not naive:
        return []
    yearless = {s for s in naive if _year(first_ts.get(s)) == YEARLESS}
    found: dict[int, Zone] = {}
    for sql, basis in ((OWN_SQL, "its own records hold both times"), (CROSS_SQL, "requests shared with other sources")):
        apart: dict[int, list[float]] = defaultdict(list)
        for source, seconds in con.execute(sql, {"naive": list(naive)}).fetchall():
            apart[source].append(seconds)
        for source, values in sorted(apart.items()):
            zone = _agreed(source, values, basis, source in yearless)
            if zone is not None:
                found.setdefault(source, zone)
    by_server = {server_of.get(s): z for s, z in sorted(found.items()) if server_of.get(s) is not None}
    for source in naive:
        neighbour = by_server.get(server_of.get(source))
        if source not in found and neighbour is not None and (abs(neighbour.add_s) > MOST_S) == (source in yearless):
            found[source] = Zone(source, neighbour.add_s, neighbour.anchors, "another source of the same server")
    years = [y for s, ts in first_ts.items() if s not in yearless and (y := _year(ts)) is not None and y > YEARLESS]
    for source in sorted(yearless - found.keys()):
        if years and (at := first_ts.get(source)) is not None:
            found[source] = Zone(source, _to_year(at, max(years)) - at, 1, OTHER_YEARS)
    return [found[s] for s in sorted(found)]


def told(z: Zone, read_ts: float | None) -> str:
    """What is known of the times of a source, in one sentence: the zone (and year) they are taken in, and why."""
    if abs(z.add_s) > MOST_S and read_ts is not None and (year := _year(read_ts + z.add_s)) is not None:
        whole = _to_year(read_ts, year) - read_ts
        if abs(z.add_s - whole) > MOST_S:
            whole = z.add_s
        by = f"({z.basis})" if z.basis == OTHER_YEARS else f"({z.basis}: {z.anchors} agree)"
        return f"times carry no year and no zone; taken as {year}, {_zone(whole - z.add_s)} {by}"
    return f"times carry no zone; taken as {_zone(-z.add_s)} ({z.basis}: {z.anchors} agree)"


def _zone(east_s: float) -> str:
    minutes = round(abs(east_s) / 60)
    return "UTC" if not minutes else f"UTC{'-' if east_s < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def _year(ts: float | None) -> int | None:
    if ts is None:
        return None
    try:
        return datetime.fromtimestamp(ts, UTC).year
    except (OverflowError, ValueError, OSError):
        return None  # a number that no calendar holds


def _to_year(ts: float, year: int) -> float:
    at = datetime.fromtimestamp(ts, UTC)
    day = 28 if (at.month, at.day) == (2, 29) else at.day
    return at.replace(year=year, day=day).timestamp()


def _agreed(source: int, apart_s: Sequence[float], basis: str, yearless: bool) -> Zone | None:
    middle = median(apart_s)
    quarter = round(middle / QUARTER_S) * QUARTER_S
    close = sum(abs(a - quarter) < QUARTER_S / 3 for a in apart_s)
    if len(apart_s) < NEEDED or close < 0.8 * len(apart_s) or (abs(quarter) > MOST_S and not yearless):
        return None
    return Zone(source, 0.0 - quarter, close, basis)
