"""SGLang's request metrics exporter (SIGNALS §4): one JSON object a line, `request_parameters` a JSON text inside it.

A line is brought to the form of a finished request-log record and read by the same query: the engine writes the same
request fields and the same meta_info, only flattened. Decode servers lack `prefill_finished_time`, prefill servers
`decode_throughput`; what a role does not write stays null.
"""

from collections.abc import Iterator
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from ridgeline.signals.lines import I64
from ridgeline.signals.log.clock import Clock
from ridgeline.signals.request_log.reader import careful
from ridgeline.signals.request_log.repair import CUT_NOTE, canonical, decoded, members
from ridgeline.signals.request_log.rows import Memory
from ridgeline.signals.request_log.session import cursor
from ridgeline.signals.request_log.zone import Zone
from ridgeline.signals.rows import Reading, Rows
from ridgeline.signals.stream import Blob

# Null: no exporter record. The nested CASE keeps JSON functions away from what is no JSON.
RECORD_SQL: Final = """
WITH opened AS (
    SELECT
        line,
        body,
        CASE WHEN json_valid(body) THEN
            CASE WHEN json_type(body) = 'OBJECT' THEN json_extract_string(body, '$.request_parameters') END
        END AS parameters
    FROM exporter_lines
)
SELECT
    CASE WHEN json_valid(parameters) THEN
        '{"event":"request.finished","obj":' || parameters || ',"out":{"meta_info":' || body || '}}'
    END AS body
FROM opened
ORDER BY line
"""


def read(blob: Blob, reading: Reading) -> Iterator[Rows]:
    """The rows of one exporter file: `records` of kind `exporter`, `request_attrs`, `unread`."""
    memory = Memory(Zone(shift_s=0.0), kind="exporter")
    clock = Clock(reading)
    with cursor() as con:
        yield from careful(con, blob, reading, memory, clock, prepare=_prepared)


def _prepared(con: duckdb.DuckDBPyConnection, line: I64, body: pa.Array, reading: Reading) -> pa.Array:
    """The bodies as finished request-log records; null where a line is no exporter record."""
    con.register("exporter_lines", pa.table({"line": line, "body": body}))
    try:
        made = con.sql(RECORD_SQL).to_arrow_table()["body"].combine_chunks()
    finally:
        con.unregister("exporter_lines")
    if not made.null_count:
        return made
    texts = made.to_pylist()
    for at in pc.indices_nonzero(pc.is_null(made)).to_pylist():
        texts[at] = _mended(body[at].as_py(), reading)
    return pa.array(texts, pa.string())


def _mended(text: str, reading: Reading) -> str | None:
    """A record of what is complete in a cut line; None where its parameters or its id were lost."""
    whole = decoded(text)
    found: dict[str, Any] | None = whole if isinstance(whole, dict) else members(text)
    if found is None or not isinstance(found.get("request_parameters"), str):
        return None
    parameters = decoded(found["request_parameters"])
    if not isinstance(parameters, dict):
        return None
    if not isinstance(whole, dict):
        reading.note(CUT_NOTE.format(path=reading.path))
    return canonical({"event": "request.finished", "obj": parameters, "out": {"meta_info": found}})
