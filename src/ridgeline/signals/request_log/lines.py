"""Request-log records inside a server log: the two parsers the log reader calls, JSON form and text form."""

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ridgeline.signals.lines import LogLines, Mask, Parsed
from ridgeline.signals.request_log.jsonrows import json_rows
from ridgeline.signals.request_log.project import project
from ridgeline.signals.request_log.repair import CUT_NOTE, canonical, expanded
from ridgeline.signals.request_log.rows import Memory, to_rows
from ridgeline.signals.request_log.session import cursor
from ridgeline.signals.request_log.text import text_record
from ridgeline.signals.request_log.zone import Zone
from ridgeline.signals.rows import Reading

EVENT: Final = r'^\s*\{.{0,400}?"event": ?"(?:request\.|scheduler\.status)'
TEXT: Final = ("Receive: obj=", "Receive OpenAI: obj=", "Finish: obj=")


def parse_json_lines(lines: LogLines, reading: Reading) -> Parsed:
    """Records of the JSON form (bare or behind a log prefix, which framing took off)."""
    mine = _mask(pc.match_substring_regex(lines.body, EVENT))
    understood = np.zeros(len(lines), np.bool_)
    if not mine.any():
        return Parsed([], understood)
    some = lines.pick(mine)
    with cursor() as con:
        rows, known = json_rows(con, some.line, some.body, reading, Memory(_zone(some, reading)))
    understood[np.flatnonzero(mine)[known]] = True
    return Parsed(rows, understood)


def parse_text_lines(lines: LogLines, reading: Reading) -> Parsed:
    """Records of the text form, `Receive: obj=…` and `Finish: obj=…, out=…`."""
    mine = np.zeros(len(lines), np.bool_)
    for start in TEXT:
        mine |= _mask(pc.starts_with(lines.body, start))
    understood = np.zeros(len(lines), np.bool_)
    if not mine.any():
        return Parsed([], understood)
    memory = Memory(Zone(shift_s=0.0, assumed=reading.tz is None))
    numbers: list[int] = []
    stamps: list[float] = []
    bodies: list[str] = []
    cuts = False
    for at in np.flatnonzero(mine).tolist():
        found = text_record(lines.body[at].as_py())
        if found is None:
            continue
        made: list[dict[str, Any]] = [found.record]
        if isinstance(found.record.get("rid"), list):
            made, rids, n, mono = expanded(found.record)
            if rids:
                memory.split(rids, n, mono)
        elif found.record["event"] != "request.received.openai" and not isinstance(found.record.get("rid"), str):
            continue
        understood[at] = True
        cuts |= found.cut
        for record in made:
            numbers.append(int(lines.line[at]))
            stamps.append(float(lines.ts[at]))
            bodies.append(canonical(record))
    if cuts:
        reading.note(CUT_NOTE.format(path=reading.path))
    if not numbers:
        return Parsed([], understood)
    with cursor() as con:
        projected = project(
            con, pa.table({"line": pa.array(numbers, pa.int64()), "body": pa.array(bodies, pa.string())})
        )
    logged = pa.array(stamps, pa.float64(), from_pandas=True)
    projected = projected.set_column(projected.schema.get_field_index("logged_ts"), "logged_ts", logged)
    return Parsed(to_rows(projected, reading, memory), understood)


def _mask(found: pa.Array) -> Mask:
    return np.asarray(pc.fill_null(found, False).to_numpy(zero_copy_only=False), dtype=np.bool_)


def _zone(lines: LogLines, reading: Reading) -> Zone:
    """A log whose lines carry a time of their own: its JSON times are read in the same zone."""
    timed = ~np.isnan(lines.ts)
    return Zone(assumed=reading.tz is None, line=lines.line, ts=lines.ts) if timed.all() else Zone()
