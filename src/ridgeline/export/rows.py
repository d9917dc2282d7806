"""Rows of requests in order of arrival, a batch at a time, so that a long trace needs no memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ridgeline.bundle.view import View

BATCH: Final = 20_000
REQUESTS: Final = """
    SELECT r.*, coalesce(s.path, '') AS path
    FROM requests AS r
    LEFT JOIN sources AS s USING (source)
    WHERE r.received_ts IS NOT NULL AND coalesce(r.role, '') NOT IN ('client', 'gateway')
        AND NOT coalesce(r.probe, FALSE) AND r.request % $step = 0
        AND ($since::DOUBLE IS NULL OR r.received_ts >= $since) AND ($until::DOUBLE IS NULL OR r.received_ts <= $until)
    ORDER BY r.received_ts, r.request
"""
COUNTS: Final = """
    SELECT count(*) FILTER (WHERE received_ts IS NOT NULL), count(*), min(received_ts)
    FROM requests
    WHERE coalesce(role, '') NOT IN ('client', 'gateway') AND NOT coalesce(probe, FALSE)
        AND ($since::DOUBLE IS NULL OR received_ts IS NULL OR received_ts >= $since)
        AND ($until::DOUBLE IS NULL OR received_ts IS NULL OR received_ts <= $until)
"""


def edges(view: View) -> dict[str, float | None]:
    """The view's incident window as parameters; None where it has none."""
    window = view.incident
    return {"since": window.from_ts if window else None, "until": window.to_ts if window else None}


def counts(view: View) -> tuple[int, int, float | None]:
    """(requests with an arrival, all requests, the first arrival)."""
    timed, n, first = view.one(COUNTS, edges(view))
    return timed, n, first


def requests(view: View, step: int = 1) -> Iterator[Mapping[str, Any]]:
    """Rows of `requests` with an arrival, every `step`-th."""
    reader = view.con.cursor().sql(REQUESTS, params={**edges(view), "step": step}).to_arrow_reader(BATCH)
    for batch in reader:
        yield from batch.to_pylist()
