"""A dump → rows of `records`, `request_attrs`, `prompts`, `servers`, `config` and `events`, cited by request number.

Each request is brought to the form of a finished request-log record and read by the same query: the engine keeps the
same request fields and the same meta_info in both. What only a dump knows is added: its own times, and which requests
were still open when the server died.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from ridgeline.model.errors import InputError
from ridgeline.signals.dump import read_blob
from ridgeline.signals.dump.records import Dump, DumpedRequest
from ridgeline.signals.request_log.jsonrows import json_rows
from ridgeline.signals.request_log.rows import Memory
from ridgeline.signals.request_log.session import cursor
from ridgeline.signals.request_log.shape import KEPT
from ridgeline.signals.request_log.zone import Zone
from ridgeline.signals.rows import Reading, Rows, rows_of
from ridgeline.signals.settings import ROLES, config_rows, flat, server_columns
from ridgeline.signals.stream import Blob
from ridgeline.signals.unread import unread_rows

RUN: Final = 4096  # requests handed over at once: they may hold whole prompts
OPEN: Final = "unfinished"
# An abort that the scheduler was told of (the client left, or /abort_request) has this text and no status code; those
# it decides itself have both a text and a code of their own.
TOLD: Final = "Aborted"


def read(blob: Blob, reading: Reading) -> Iterator[Rows]:
    """The rows of one dump. Raises InputError where nothing of it could be read."""
    dump = read_blob(blob)
    for note in dump.notes:
        reading.note(f"{blob.shown}: {note}")
    if dump.refused is not None:
        if not dump.requests:
            raise InputError(f"{blob.shown}: {dump.refused}")
        reading.note(f"{blob.shown}: {dump.refused}")
    reading.version = dump.version if dump.version and "-" not in dump.version else None
    yield from _settings(dump, reading)
    memory = Memory(Zone(shift_s=0.0), kind="dump")
    lost: list[tuple[int, str]] = []
    with cursor() as con:
        for start in range(0, len(dump.requests), RUN):
            part = dump.requests[start : start + RUN]
            line = np.array([r.number for r in part], np.int64)
            rows, understood = json_rows(con, line, pa.array(map(_body, part), pa.string()), reading, memory)
            reading.lines += len(part)
            reading.understood += int(understood.sum())
            lost += [
                (r.number, "a request without an id") for r, known in zip(part, understood, strict=True) if not known
            ]
            by_number = {r.number: r for r in part}
            for made in rows:
                yield _completed(made, by_number, reading) if made.table == "records" else made
    if dump.refused is not None:
        lost.append((len(dump.requests) + 1, dump.refused))
    if lost:
        yield unread_rows(reading, lost)
    aborts = _aborts(dump, reading)
    if aborts is not None:
        yield aborts
    if dump.kind == "crash-dump":
        yield _events(dump, reading)


def _body(r: DumpedRequest) -> str:
    """One request as a finished record of the request log."""
    obj = {key: value for key, value in r.asked.items() if key in KEPT}
    obj |= {f"{name}_data": count for name, count in r.media.items()}
    out = {"meta_info": {key: value for key, value in r.meta.items() if key in KEPT}, "output_ids": r.output_ids}
    text = json.dumps({"event": "request.finished", "rid": r.rid, "obj": obj, "out": out}, ensure_ascii=False)
    return text.encode("utf-8", "replace").decode()  # half a surrogate pair becomes a question mark


def _completed(made: Rows, requests: dict[int, DumpedRequest], reading: Reading) -> Rows:
    """The records with the dump's own times and states."""
    columns: dict[str, Any] = {name: made.data[name] for name in made.data.column_names}
    whose = [requests[number] for number in made.data["line"].to_pylist()]
    for name, stamps in (
        ("received_ts", [r.arrival_ts if r.clock == "wall" else None for r in whose]),
        ("finished_ts", [r.end_ts if r.clock == "wall" and r.finished else None for r in whose]),
    ):
        said = columns[name].to_pylist() if name in columns else [None] * len(whose)
        columns[name] = [stamp if one is None else one for one, stamp in zip(said, stamps, strict=True)]
        known = [ts for ts in columns[name] if ts is not None]
        if known:
            reading.saw(min(known), max(known))
    states = columns["state"].to_pylist() if "state" in columns else [None] * len(whose)
    columns["state"] = [OPEN if r.finished is False else one for one, r in zip(states, whose, strict=True)]
    columns["event"] = [OPEN if r.finished is False else "finished" for r in whose]
    if "abort_message" in columns:
        said = zip(columns["abort_message"].to_pylist(), whose, strict=True)
        columns["abort_message"] = [None if _told(r) else message for message, r in said]
    columns["clock"] = ["wall" if r.clock == "wall" else None for r in whose]
    if any(r.clock != "wall" for r in whose):
        reading.note(f"{reading.path}: some times are no dates; those requests have no place in time")
    return rows_of("records", columns)


def _told(r: DumpedRequest) -> bool:
    return r.finish_reason == "abort" and r.status_code is None and r.finish_message == TOLD


def _aborts(dump: Dump, reading: Reading) -> Rows | None:
    """The requests that someone told the server to end."""
    told = [r for r in dump.requests if _told(r)]
    if not told:
        return None
    return rows_of(
        "events",
        {
            "ts": [r.end_ts if r.clock == "wall" else None for r in told],
            "kind": ["abort"] * len(told),
            "severity": ["info"] * len(told),
            "rid": [r.rid for r in told],
            "text": [TOLD] * len(told),
            "template": [TOLD] * len(told),
            "attrs": ['{"by":"client"}'] * len(told),
            "source": [reading.source] * len(told),
            "line": [r.number for r in told],
        },
    )


def _settings(dump: Dump, reading: Reading) -> Iterator[Rows]:
    """Rows of `servers` and `config` from the launch arguments of the dump."""
    settings = flat(dump.server_args)
    if not settings:
        return
    mode = settings.get("disaggregation_mode")
    role = None if mode is None else ROLES.get(mode)
    reading.role = role or reading.role
    server = {
        "engine": "sglang",
        "version": reading.version,
        "role": role,
        "model": settings.get("served_model_name") or settings.get("model_path") or None,
        **server_columns(settings),
        "line": 1,
        "source": reading.source,
    }
    yield rows_of("servers", {name: [value] for name, value in server.items()})
    rows = ({"key": key, "value": value, "origin": "dump", "line": 1} for key, value in settings.items())
    yield from config_rows(reading, rows)


def _events(dump: Dump, reading: Reading) -> Rows:
    """The happening: requests were written out before the API server ended. With requests still open it was a crash.

    The engine writes such a dump when a child died, a task raised, or it was told to end while unhealthy (SIGNALS §5);
    with nothing open the last of these may be an orderly end, so that no crash is claimed.
    """
    reading.saw(dump.crash_ts, dump.crash_ts)
    text = f"crash dump written: {dump.finished} finished and {dump.unfinished} unfinished requests"
    kinds = [("crash-dump", "info"), *([("crash", "fatal")] if dump.unfinished else [])]
    n = len(kinds)
    return rows_of(
        "events",
        {
            "ts": [dump.crash_ts] * n,
            "kind": [kind for kind, _ in kinds],
            "severity": [severity for _, severity in kinds],
            "count": [len(dump.requests)] * n,
            "text": [text] * n,
            "template": ["crash dump written: <n> finished and <n> unfinished requests"] * n,
            "source": [reading.source] * n,
            "line": [next((r.number for r in dump.requests if r.finished is False), 1)] * n,
        },
    )
