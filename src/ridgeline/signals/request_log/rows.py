"""Projected request-log records → rows of `records`, `request_attrs` and `events`."""

from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ridgeline.model.tables import TABLES
from ridgeline.signals.jsontext import decoded
from ridgeline.signals.prompt.book import Book
from ridgeline.signals.request_log import prompts
from ridgeline.signals.request_log.zone import Zone
from ridgeline.signals.rows import LARGEST, Reading, Rows, rows_of

RECORD: Final = frozenset(TABLES["records"])
STAMPS: Final = ("received_ts", "dispatched_ts", "scheduled_ts", "prefill_done_ts", "finished_ts", "response_sent_ts")
# Columns beyond those of `records` that become attributes; numbers go to `number`, the rest to `value`.
ATTRIBUTES: Final = ("bootstrap_host", "disagg_prefill_dp_rank", "err_type", "weight_version", "model")
PARENTS_LIMIT: Final = 200_000


@dataclass
class Memory:
    """What one source's later records need of earlier ones: the zone of naive times, and who split into whom.

    `by_mono` maps the received time of an n > 1 request to its first rid (its parts get new rids but keep that
    time); `by_rid` maps the rids of a batch to (first rid, index). Both are bounded.
    """

    zone: Zone
    kind: str = "request-log"
    by_mono: dict[float, str] = field(default_factory=dict)
    by_rid: dict[str, tuple[str, int]] = field(default_factory=dict)
    parts: dict[str, int] = field(default_factory=dict)
    book: Book = field(default_factory=Book)

    @property
    def splits(self) -> bool:
        """Whether a request with several rids was seen, so that later records may be parts of it."""
        return bool(self.by_mono or self.by_rid)

    def split(self, rids: list[str], n: int, mono: float | None) -> None:
        """Remember a received record whose rid is a list."""
        if len(self.by_mono) + len(self.by_rid) > PARENTS_LIMIT:
            self.by_mono.clear()
            self.by_rid.clear()
            self.parts.clear()
        if n > 1:
            if mono is not None:
                self.by_mono[mono] = rids[0]
        else:
            self.by_rid.update({rid: (rids[0], at) for at, rid in enumerate(rids)})


def to_rows(projected: pa.Table, reading: Reading, memory: Memory) -> list[Rows]:
    """Rows of the projected records (every one with an event; a rid list is already taken apart)."""
    made: list[Rows] = []
    status = pc.equal(projected["event"], "status")
    if pc.any(status).as_py():
        made.append(_status(projected.filter(status), reading, memory))
        projected = projected.filter(pc.invert(status))
    n = len(projected)
    if not n:
        return made
    logged = memory.zone.shifted(projected, reading)
    columns: dict[str, Any] = {
        name: projected[name]
        for name in projected.column_names
        if name in RECORD and name != "logged_ts" and projected[name].null_count < n
    }
    columns["source"] = pa.repeat(reading.source, n)
    columns["kind"] = pa.repeat(memory.kind, n)
    columns["logged_ts"] = logged
    columns["clock"] = _clock(columns, n, memory)
    if memory.splits:
        columns |= _parents(projected, memory)
    made.append(rows_of("records", columns))
    attrs = _attributes(projected, reading)
    if attrs is not None:
        made.append(attrs)
    made.extend(prompts.rows(projected, reading, memory.book))
    _saw(columns, logged, reading)
    return made


def _clock(columns: dict[str, Any], n: int, memory: Memory) -> Any:
    """`wall` where a row has an epoch stamp, else what is known of the log's own times."""
    known = [pc.is_valid(columns[name]) for name in STAMPS if name in columns]
    if not known or memory.zone.clock == "wall":
        return pa.repeat(memory.zone.clock, n)
    return pc.if_else(reduce(pc.or_, known), "wall", memory.zone.clock)


def _saw(columns: dict[str, Any], logged: pa.Array, reading: Reading) -> None:
    spans = [pc.min_max(logged).as_py()]
    spans += [pc.min_max(columns[name]).as_py() for name in ("received_ts", "finished_ts") if name in columns]
    for span in spans:
        reading.saw(span["min"], span["max"])


def _parents(projected: pa.Table, memory: Memory) -> dict[str, Any]:
    """`parent_rid` and `choice` of the parts of n > 1 and batch requests, by what was remembered."""
    n = len(projected)
    parent: list[str | None] = [None] * n
    choice: list[int | None] = [None] * n
    rids = projected["rid"].to_pylist()
    monos = projected["received_mono"].to_pylist()
    finished = pc.fill_null(pc.equal(projected["event"], "finished"), False).to_pylist()
    lengths = projected["finish_length"].to_pylist()
    wanted = projected["n"].to_pylist()
    for at, (rid, mono) in enumerate(zip(rids, monos, strict=True)):
        if rid in memory.by_rid:
            parent[at], choice[at] = memory.by_rid[rid]
        elif finished[at] and mono in memory.by_mono:
            parent[at] = first = memory.by_mono[mono]
            index = memory.parts.get(first, 0)
            # Length 0: the pass that only fills the cache for the others, no choice of its own.
            if lengths[at] != 0 and index < (wanted[at] or 0):
                choice[at] = index
                memory.parts[first] = index + 1
    return {"parent_rid": pa.array(parent, pa.string()), "choice": pa.array(choice, pa.int64())}


def _attributes(projected: pa.Table, reading: Reading) -> Rows | None:
    lines, rids, names, values, numbers = [], [], [], [], []

    def add(line: int, rid: str | None, name: str, value: Any) -> None:
        number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST
        lines.append(line)
        rids.append(rid)
        names.append(name)
        values.append(None if number else str(value))
        numbers.append(float(value) if number else None)

    for name in ATTRIBUTES:
        for line, rid, value in _present(projected, name):
            add(line, rid, name, value)
    for name, prefix in (("headers", "header."), ("custom_labels", "label.")):
        for line, rid, text in _present(projected, name):
            value = decoded(text)
            if isinstance(value, dict):
                for key in sorted(value):
                    if value[key] is not None and not isinstance(value[key], dict | list):
                        add(line, rid, prefix + key, value[key])
    if not lines:
        return None
    return rows_of(
        "request_attrs",
        {
            "rid": rids,
            "name": names,
            "value": values,
            "number": numbers,
            "source": [reading.source] * len(lines),
            "line": lines,
        },
    )


def _present(projected: pa.Table, name: str) -> list[tuple[int, str | None, Any]]:
    """(line, rid, value) of the rows where a column is not null."""
    if name not in projected.column_names:
        return []
    column = projected[name]
    if column.null_count == len(column):
        return []
    some = projected.select(["line", "rid", name]).filter(pc.is_valid(column))
    return list(zip(*(some[i].to_pylist() for i in range(3)), strict=True))


def _status(projected: pa.Table, reading: Reading, memory: Memory) -> Rows:
    """`scheduler.status` records → events: count = running, value = queued, the rids themselves in attrs."""
    ts = memory.zone.shifted(projected, reading)
    running = [found or [] for found in projected["running_rids"].to_pylist()]
    queued = [found or [] for found in projected["queued_rids"].to_pylist()]
    span = pc.min_max(ts).as_py()
    reading.saw(span["min"], span["max"])
    return rows_of(
        "events",
        {
            "ts": ts,
            "kind": pa.repeat("scheduler-status", len(projected)),
            "severity": pa.repeat("info", len(projected)),
            "count": [len(rids) for rids in running],
            "value": np.array([len(rids) for rids in queued], dtype=np.float64),
            "attrs": [
                msgspec.json.encode({"queued": q, "rank": rank, "running": r}).decode()
                for r, q, rank in zip(running, queued, projected["status_rank"].to_pylist(), strict=True)
            ],
            "source": pa.repeat(reading.source, len(projected)),
            "line": projected["line"],
        },
    )
