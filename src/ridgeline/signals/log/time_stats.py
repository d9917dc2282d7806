"""SGLang's `ReqTimeStats(…)` line, every version (SIGNALS §2.4) → `records` and duration-only `stages`.

What `start_time=` / `start=` / `entry_time=` means differs: wall seconds in 0.4.6, 0.4.10 (start) and 0.5.23 (entry),
the host's monotonic clock in 0.5.3 to 0.5.9. The value itself tells: no host is up for thirty years. A monotonic
one is `queued_mono`, where the line is of a unified server.
"""

import re
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ridgeline.signals.lines import F64, LogLines, Mask, Parsed
from ridgeline.signals.log.shapes import groups, numbers, shapes_of
from ridgeline.signals.rows import Reading, Rows, rows_of

# A rid may hold anything (clients set it), even a whole false header: the last header on the line is the real one,
# because nothing a client can set comes behind it, and what follows must read as items to the very end.
HEADER: Final = (
    r"^(?:ReqTimeStats|Req Time Stats)\(rid=(?P<rid>.*?)(?:, bootstrap_room=(?P<room>\d{1,19}|None))?"
    r", input[_ ]len=(?P<input>\d{1,12})(?:, cached_input_len=(?P<cached>\d{1,12}))?"
    r", output[_ ]len=(?P<output>\d{1,12})(?:, attempts=(?P<attempts>\d{1,9}))?, type=(?P<type>\w+)\): (?P<rest>.*)$"
)
ROOM: Final = re.compile(r", bootstrap_room=(\d{1,19}|None)$")
ITEM: Final = (
    r"(?:[a-z_]+=-?[\d.]+ ?(?:ms|GB/s|MB)|[a-z_]+\(-?[\d.]+ms\)"
    r"|(?:start|start_time|entry_time|bootstrap_done_time|#retries)=-?[\d.]+)"
)
REST: Final = rf"^(?:{ITEM}(?:, |; | = | \+ |$))+$|^Invalid Time Stats|^Unknown Time Stats"
STARTS: Final = ("ReqTimeStats(", "Req Time Stats(")
WALL_FROM: Final = 1e9
MS_PER_S: Final = 1000.0
# Made once: Arrow takes longer over a Python value than over a run of a few hundred lines.
NULL: Final = pa.scalar(None, pa.string())
WALL, MONOTONIC, DURATION_ONLY, KIND, EVENT = (
    pa.scalar(text) for text in ("wall", "monotonic", "duration-only", "time-stats", "finished")
)
ROLES: Final = {role: pa.scalar(role) for role in ("unified", "prefill", "decode")}
ROLE_NAMES: Final = pa.array(list(ROLES))

# Column → the names that mean it, best first. A name in 56/59 style has its value in brackets.
DURATIONS: Final[dict[str, tuple[str, ...]]] = {
    "queue_s": ("queue_duration",),
    "forward_s": ("forward_duration",),
    "bootstrap_s": ("bootstrap", "bootstrap_duration", "bootstrap_queue_duration"),
    "alloc_wait_s": ("alloc_wait", "alloc_wait_duration"),
    "prealloc_s": ("prealloc_queue_duration", "prealloc_duration"),
    "transfer_s": ("transfer_duration",),
}
# (role, stage, the durations whose sum it is: the first tuple of names that are all there counts)
STAGES: Final[tuple[tuple[str, str, tuple[tuple[str, ...], ...]], ...]] = (
    ("unified", "prefill_waiting", (("queue_duration",),)),
    ("prefill", "prefill_bootstrap", (("bootstrap_queue_duration",), ("bootstrap_duration",))),
    ("prefill", "prefill_waiting", (("queue_duration",),)),
    (
        "decode",
        "decode_bootstrap",
        (("prealloc_queue_duration",), ("prealloc_duration",), ("bootstrap_duration", "alloc_wait_duration")),
    ),
    ("decode", "decode_transferred", (("transfer_duration",),)),
    ("decode", "decode_waiting", (("queue_duration",),)),
)
NAMES: Final = tuple(
    sorted(
        {name for names in DURATIONS.values() for name in names}
        | {name for _, _, sums in STAGES for names in sums for name in names}
    )
)


def parse(lines: LogLines, reading: Reading) -> Parsed:
    """Time-stats lines → one `records` row each (kind `time-stats`, event `finished`) and their `stages`."""
    mine = np.zeros(len(lines), np.bool_)
    for start in STARTS:
        mine |= _mask(pc.starts_with(lines.body, start))
    understood = np.zeros(len(lines), np.bool_)
    if not mine.any():
        return Parsed([], understood)
    some = lines.pick(mine)
    head = _head(some.body)
    fits = _mask(pc.is_valid(head)) & _mask(
        pc.match_substring_regex(pc.fill_null(pc.struct_field(head, "rest"), ""), REST)
    )
    understood[np.flatnonzero(mine)[fits]] = True
    if not fits.any():
        return Parsed([], understood)
    some, head = some.pick(fits), head.filter(pa.array(fits))
    return Parsed(_rows(some, head, reading), understood)


def _head(body: pa.Array) -> pa.Array:
    """The header's fields; where a rid holds a false header, those of the last one."""
    plain = pc.extract_regex(body, HEADER)
    doubled = _mask(pc.greater(pc.count_substring_regex(body, r"\): "), 1))
    if not doubled.any():
        return plain
    fields = plain.to_pylist()
    last = pc.extract_regex(body, HEADER.replace("(?P<rid>.*?)", "(?P<rid>.*)"))
    for at in np.flatnonzero(doubled).tolist():
        fields[at] = found = last[at].as_py()
        room = ROOM.search(found["rid"]) if found else None
        if found and room:
            found["rid"], found["room"] = found["rid"][: room.start()], room.group(1)
    return pa.array(fields, plain.type)


def _rows(some: LogLines, head: pa.Array, reading: Reading) -> list[Rows]:
    n = len(some)
    rest = pc.struct_field(head, "rest")
    role = pc.struct_field(head, "type")
    role = pc.if_else(pc.is_in(role, ROLE_NAMES), role, NULL)
    shapes = shapes_of(rest)
    members = groups(shapes.codes, len(shapes.texts))

    def number(pattern: str) -> F64:
        return numbers(shapes, members, _compiled(pattern))

    values = {name: number(rf"(?:^|[ ;])#?{name}(?:=|\()(?P<v>-?[\d.]+)ms") / MS_PER_S for name in NAMES}
    start = number(r"(?:^|[ ;])(?:start_time|start|entry_time)=(?P<v>-?[\d.]+)(?:,|$)")
    # A last number without a unit may have lost digits where the file was cut.
    start = np.where(some.ended, start, np.nan)
    wall = start >= WALL_FROM
    rid = pc.struct_field(head, "rid")
    probe = _mask(pc.starts_with(rid, "HEALTH_CHECK"))
    room = pc.cast(pc.if_else(pa.array(probe), NULL, _whole(head, "room")), pa.int64())
    of_role = {name: _mask(pc.equal(role, value)) for name, value in ROLES.items()}
    unified = of_role["unified"]
    retries = np.where(some.ended, number(r"#retries=(?P<v>\d+)"), np.nan)
    attempts = pc.cast(_whole(head, "attempts"), pa.int64())
    dp_rank = pa.array(some.dp_rank, mask=some.dp_rank < 0)
    clock = pc.if_else(pa.array(wall), WALL, pc.if_else(pa.array(np.isnan(start)), NULL, MONOTONIC))
    logged = pa.array(some.ts, from_pandas=True)
    records: dict[str, Any] = {
        "rid": rid,
        "room": room,
        "role": role,
        "probe": pa.array(probe),
        "dp_rank": dp_rank,
        "prompt_tokens": pc.cast(pc.struct_field(head, "input"), pa.int64()),
        "cached_tokens": pc.cast(_whole(head, "cached"), pa.int64()),
        "completion_tokens": pc.cast(pc.struct_field(head, "output"), pa.int64()),
        "attempts": pc.coalesce(attempts, pc.cast(pa.array(retries, from_pandas=True), pa.int64())),
        "queued_ts": _array(np.where(unified & wall, start, np.nan)),
        "queued_mono": _array(np.where(unified & ~wall & (start > 0), start, np.nan)),
        "logged_ts": logged,
        "transfer_gb_s": _array(number(r"transfer_speed=(?P<v>[\d.]+) ?GB/s")),
        "transfer_mb": _array(number(r"transfer_total=(?P<v>[\d.]+) ?MB")),
        "clock": clock,
        "kind": pa.repeat(KIND, n),
        "event": pa.repeat(EVENT, n),
        "source": np.full(n, reading.source),
        "line": some.line,
    }
    for column, names in DURATIONS.items():
        found = values[names[0]]
        for name in names[1:]:
            found = np.where(np.isnan(found), values[name], found)
        records[column] = _array(found)
    made = [rows_of("records", records)]
    for want, stage, sums in STAGES:
        rows = _stage(of_role[want], stage, sums, records, values, wall, start)
        if rows is not None:
            made.append(rows)
    return made


def _stage(
    mine: Mask,
    stage: str,
    sums: tuple[tuple[str, ...], ...],
    records: dict[str, Any],
    values: dict[str, F64],
    wall: Mask,
    start: F64,
) -> Rows | None:
    if not mine.any():
        return None
    duration = np.full(len(start), np.nan)
    for names in sums:
        total = np.sum([values[name] for name in names], axis=0)
        duration = np.where(np.isnan(duration), total, duration)
    keep = mine & ~np.isnan(duration)
    if not keep.any():
        return None
    mask = pa.array(keep)
    size = int(keep.sum())
    # entry_time of 0.5.23 is the entry into the first queue of the role, so only that stage has a known start.
    first = stage.endswith("_bootstrap")
    columns: dict[str, Any] = {
        name: records[name].filter(mask) for name in ("rid", "room", "role", "dp_rank", "probe", "clock")
    }
    columns["source"] = records["source"][keep]
    columns["line"] = records["line"][keep]
    columns["stage"] = pa.repeat(stage, size)
    columns["start_ts"] = _array(np.where(first & wall, start, np.nan)[keep])
    columns["duration_s"] = _array(duration[keep])
    columns["basis"] = pa.repeat(DURATION_ONLY, size)
    return rows_of("stages", columns)


def _whole(head: pa.Array, name: str) -> pa.Array:
    """A number of the header, else null (RE2 gives "" for a group that took no part)."""
    field = pc.struct_field(head, name)
    return pc.if_else(pc.utf8_is_decimal(field), field, NULL)


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _array(values: F64) -> pa.Array:
    return pa.array(values, pa.float64(), from_pandas=True)


def _mask(found: pa.Array) -> Mask:
    return np.asarray(pc.fill_null(found, False).to_numpy(zero_copy_only=False), dtype=np.bool_)
