"""Chrome JSON trace (Perfetto reads it): requests as async slices, ranks as counters and batches, happenings as marks.

Format: the Trace Event Format; `b`/`e` with one `id` nest and may overlap others, which complete events (`X`) of one
thread may not. Times are microseconds from the first arrival.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import IO, Any, Final

from ridgeline.bundle.view import View
from ridgeline.export.rows import counts, edges, requests
from ridgeline.facts.points import ready
from ridgeline.facts.timeline import timeline

MOST: Final = 100_000
LANE: Final = """
    SELECT ts, server, role, dp_rank, waiting, busy AS running, usage
    FROM lane
    WHERE ts IS NOT NULL
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
    ORDER BY ts, server, dp_rank
"""
PASSES: Final = """
    SELECT ts, server, role, dp_rank, kind, wall_s, new_tokens, running
    FROM batches
    WHERE ts IS NOT NULL AND wall_s > 0
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
    ORDER BY ts, server, dp_rank
"""
HAPPENINGS: Final = """
    SELECT ts, server, role, dp_rank, kind, severity, rid
    FROM events
    WHERE ts IS NOT NULL AND severity IN ('warning', 'error', 'fatal')
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
    ORDER BY ts, source, line
    LIMIT 50000
"""
Event = dict[str, Any]


class Places:
    """Servers as processes and ranks as threads, numbered as they come."""

    def __init__(self) -> None:
        self.pids: dict[str, int] = {}
        self.tids: set[tuple[int, int]] = set()
        self.named: list[Event] = []

    def at(self, server: str | None, role: str | None, rank: int | None = None) -> dict[str, int]:
        """`pid` and `tid` of a rank; what is new is announced."""
        name = server or role or "server"
        if name not in self.pids:
            self.pids[name] = len(self.pids) + 1
            self.named.append({"ph": "M", "name": "process_name", "pid": self.pids[name], "args": {"name": name}})
        pid, tid = self.pids[name], 1 if rank is None else rank + 2
        if (pid, tid) not in self.tids:
            self.tids.add((pid, tid))
            words = "server" if rank is None else f"DP{rank}"
            self.named.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": words}})
        return {"pid": pid, "tid": tid}


def write(view: View, out: IO[str], most: int = MOST) -> tuple[int, int]:
    """(requests written, requests with an arrival): more than `most` are thinned evenly."""
    timed, _, first = counts(ready(view))
    origin = first if first is not None else (view.one("SELECT min(ts) FROM lane")[0] or 0.0)
    step = max(1, -(-timed // most))
    places, written = Places(), 0
    out.write('{"displayTimeUnit":"ms","otherData":' + json.dumps({"origin_ts": origin, "every": step}))
    out.write(',"traceEvents":[\n{"ph":"M","name":"trace","pid":0,"args":{}}')
    for row in requests(view, step):
        _put(out, places, _request(row, places, origin))
        written += 1
    for events in (_counters(view, places, origin), _passes(view, places, origin), _marks(view, places, origin)):
        _put(out, places, events)
    out.write("\n]}\n")
    return written, timed


def _put(out: IO[str], places: Places, events: Iterator[Event]) -> None:
    for event in events:
        while places.named:
            out.write(",\n" + json.dumps(places.named.pop(0), ensure_ascii=True))
        out.write(",\n" + json.dumps(event, ensure_ascii=True))


def _us(ts: float, origin: float) -> float:
    return round((ts - origin) * 1e6, 1)


def _request(row: Mapping[str, Any], places: Places, origin: float) -> Iterator[Event]:
    """The request and its stages as nested async slices; one without an end is not drawn longer than it is known."""
    told = timeline(dict(row))
    at = {**places.at(row["server"], row["role"], row["dp_rank"]), "cat": "request", "id": str(row["request"])}
    start = row["received_ts"]
    end = start + max([told.total_s or 0.0, *(s.end_s for s in told.segments)])
    facts = {**dict(told.facts), **({"missing": "; ".join(told.missing)} if told.missing else {})}
    yield {"ph": "b", "name": f"{row['rid'] or '?'}"[:80], "ts": _us(start, origin), "args": facts, **at}
    for s in told.segments:
        yield {"ph": "b", "name": s.stage, "ts": _us(start + max(0.0, s.start_s), origin), **at}
        yield {"ph": "e", "name": s.stage, "ts": _us(start + s.end_s, origin), **at}
    yield {"ph": "e", "name": f"{row['rid'] or '?'}"[:80], "ts": _us(end, origin), **at}


def _counters(view: View, places: Places, origin: float) -> Iterator[Event]:
    for ts, server, role, rank, *values in view.query(LANE, edges(view)):
        for name, value in zip(("waiting", "running", "usage"), values, strict=True):
            if value is not None:
                words = name if rank is None else f"{name} DP{rank}"
                yield {"ph": "C", "name": words, "ts": _us(ts, origin), "args": {name: value},
                       "pid": places.at(server, role, rank)["pid"]}  # fmt: skip


def _passes(view: View, places: Places, origin: float) -> Iterator[Event]:
    """Forward passes whose length is known; a record is written at the end of its pass."""
    for ts, server, role, rank, kind, wall_s, tokens, running in view.query(PASSES, edges(view)):
        args = {k: v for k, v in (("new_tokens", tokens), ("running", running)) if v is not None}
        yield {"ph": "X", "name": kind, "ts": _us(ts - wall_s, origin), "dur": round(wall_s * 1e6, 1), "args": args,
               **places.at(server, role, rank)}  # fmt: skip


def _marks(view: View, places: Places, origin: float) -> Iterator[Event]:
    for ts, server, role, rank, kind, severity, rid in view.query(HAPPENINGS, edges(view)):
        args = {k: v for k, v in (("severity", severity), ("rid", rid)) if v is not None}
        yield {"ph": "i", "s": "t", "name": kind, "ts": _us(ts, origin), "args": args, **places.at(server, role, rank)}
