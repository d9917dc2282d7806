"""Access lines of uvicorn and of other HTTP servers → events of kind `http`; uvicorn's own start and stop lines.

One row per line: `peer` is the client's address without its port, `attrs` holds method, path (without its query) and
status. The same three words make the template.
"""

import json
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ridgeline.signals.lines import LogLines, Parsed, ranks, stamps
from ridgeline.signals.log.rules import matching
from ridgeline.signals.rows import Reading, Rows, rows_of

TEXT_CHARS: Final = 500
# RE2. The client, where one is printed, is an address or a name, perhaps with a port; uvicorn prints `None:0` for none.
ACCESS: Final = (
    r"^(?:(?:INFO|WARNING|ERROR): +)?(?:(?P<client>[\w.:\[\]%-]+?)(?::\d+)?(?: - (?:\S+ )?| )(?:\[[^\]]{0,40}\] )?)?"
    r'"(?P<method>GET|POST|PUT|DELETE|HEAD|OPTIONS|PATCH|PRI|CONNECT|TRACE) (?P<path>[^ ?"]*)(?:\?[^ "]*)?(?: HTTP/[\d.]+)?"'
    r" (?P<status>[1-5]\d\d)(?:[ ,]|$)"
)
GATE: Final = r'"(?:GET|POST|PUT|DELETE|HEAD|OPTIONS|PATCH|PRI|CONNECT|TRACE) '
UVICORN: Final = (
    r"^(?:INFO|WARNING|ERROR): +(?:Started server process|Waiting for |Application (?:startup|shutdown) |Uvicorn running on|"
    r"Shutting down|Finished server process|Started (?:parent|child)|Stopping |Exception in ASGI application|"
    r"connection (?:open|closed)|ASGI )"
)


def parse(lines: LogLines, reading: Reading) -> Parsed:
    """Events of kind `http`."""
    understood = matching(lines.body, UVICORN)
    gate = matching(lines.body, GATE)
    if not gate.any():
        return Parsed([], understood)
    where = np.flatnonzero(gate)
    picked = lines.pick(gate)
    found: Any = pc.extract_regex(picked.body, ACCESS)
    hit = np.asarray(found.is_valid())
    if not hit.any():
        return Parsed([], understood)
    understood[where[hit]] = True
    return Parsed([_rows(picked.pick(hit), found.filter(pa.array(hit)), reading)], understood)


def _rows(lines: LogLines, found: pa.StructArray, reading: Reading) -> Rows:
    n = len(lines)
    # A status at the very end of a cut line may lack digits, but three of them are whole.
    words = pc.binary_join_element_wise(found.field("method"), found.field("path"), found.field("status"), " ")
    coded = words.dictionary_encode()
    attrs, severity = [], []
    for word in coded.dictionary.to_pylist():
        method, path, status = word.split(" ")
        attrs.append(json.dumps({"method": method, "path": path, "status": int(status)}, sort_keys=True))
        severity.append("error" if status >= "500" else "warning" if status >= "400" else "info")
    client = found.field("client")
    return rows_of(
        "events",
        {
            "source": np.full(n, reading.source),
            "line": lines.line,
            "ts": stamps(lines.ts),
            "kind": pa.array(["http"]).take(pa.array(np.zeros(n, np.int64))),
            "severity": pa.array(severity, pa.string()).take(coded.indices),
            "dp_rank": ranks(lines.dp_rank),
            "copies": np.ones(n, np.int64),
            "peer": pc.if_else(pc.equal(client, ""), None, client),
            "text": pc.utf8_slice_codeunits(lines.body, 0, TEXT_CHARS),
            "template": coded.cast(pa.string()),
            "attrs": pa.array(attrs, pa.string()).take(coded.indices),
        },
    )
