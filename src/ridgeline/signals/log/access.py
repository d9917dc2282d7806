"""Access lines of uvicorn and of other HTTP servers → events of kind `http`; uvicorn's own start and stop lines.

One row per line: `peer` is the client's address without its port, `attrs` holds method, path (without its query) and
status. The same three words make the template.
"""

import json
import re
from typing import Final

import numpy as np
import pyarrow as pa

from ridgeline.signals.lines import LogLines, Parsed, ranks, stamps
from ridgeline.signals.log.rules import matching
from ridgeline.signals.rows import Reading, Rows, rows_of

TEXT_CHARS: Final = 500
# From the first quote on; the same few texts again and again, each looked at once per run of lines.
REQUEST: Final = re.compile(
    r'"(?P<method>GET|POST|PUT|DELETE|HEAD|OPTIONS|PATCH|PRI|CONNECT|TRACE) (?P<path>[^ ?"]*)(?:\?[^ "]*)?'
    r'(?: HTTP/[\d.]+)?" (?P<status>[1-5]\d\d)(?:[ ,]|$)'
)
# Before it: uvicorn's level, the client's address or name, perhaps its port, perhaps a time in brackets.
CLIENT: Final = re.compile(
    r"(?:(?:INFO|WARNING|ERROR): +)?(?:(?P<client>[\w.:\[\]%-]+?)(?::\d+)?(?: - (?:\S+ )?| )(?:\[[^\]]{0,40}\] )?)?$"
)
GATE: Final = r'"(?:GET|POST|PUT|DELETE|HEAD|OPTIONS|PATCH|PRI|CONNECT|TRACE) '
UVICORN: Final = (
    r"^(?:INFO|WARNING|ERROR): +(?:Started server process|Waiting for |Application (?:startup|shutdown) |"
    r"Uvicorn running on|Shutting down|Finished server process|Started (?:parent|child)|Stopping |"
    r"Exception in ASGI application|connection (?:open|closed)|ASGI )"
)


def parse(lines: LogLines, reading: Reading) -> Parsed:
    """Events of kind `http`."""
    understood = matching(lines.body, UVICORN)
    gate = matching(lines.body, GATE)
    if not gate.any():
        return Parsed([], understood)
    rows = _Rows()
    for i, text in zip(np.flatnonzero(gate).tolist(), lines.body.filter(pa.array(gate)).to_pylist(), strict=True):
        if rows.take(text):
            understood[i] = True
            rows.at.append(i)
    return Parsed([_table(lines, rows, reading)] if rows.at else [], understood)


class _Rows:
    """The columns of the access lines of one run; what follows the client is read once per distinct text."""

    def __init__(self) -> None:
        self.at: list[int] = []
        self.peer: list[str | None] = []
        self.code: list[int] = []
        self.text: list[str] = []
        self.codes: dict[str, int] = {}
        self.clients: dict[str, str | None] = {}  # None: no access line
        self.words: list[tuple[str, str, str]] = []  # attrs, severity, template

    def take(self, text: str) -> bool:
        """Add one line; False where it is no access line."""
        quote = text.find('"')
        request = text[quote:]
        code = self.codes.get(request)
        if code is None:
            code = self._code(request)
            self.codes[request] = code
        if code < 0:
            return False
        # Clients repeat with ever new ports: looked at once without the port, where the rest is as uvicorn prints it.
        colon = text.rfind(":", 0, quote)
        usual = text[quote - 3 : quote] == " - " and text[colon + 1 : quote - 3].isdigit()
        head = text[:colon] if usual else text[:quote]
        peer = self.clients.get(head, "?")
        if peer == "?":
            found = CLIENT.match(text, 0, quote)
            peer = self.clients[head] = (found["client"] or "") if found else None
        if peer is None:
            return False
        self.peer.append(peer or None)
        self.code.append(code)
        self.text.append(text[:TEXT_CHARS])
        return True

    def _code(self, request: str) -> int:
        found = REQUEST.match(request)
        if found is None:
            return -1
        method, path, status = found["method"], found["path"], found["status"]
        attrs = json.dumps({"method": method, "path": path, "status": int(status)}, sort_keys=True)
        severity = "error" if status >= "500" else "warning" if status >= "400" else "info"
        self.words.append((attrs, severity, f"{method} {path} {status}"))
        return len(self.words) - 1


def _table(lines: LogLines, rows: _Rows, reading: Reading) -> Rows:
    at = np.array(rows.at)
    n = len(at)
    code = pa.array(rows.code, pa.int32())
    attrs, severity, template = (pa.array(words, pa.string()).take(code) for words in zip(*rows.words, strict=True))
    return rows_of(
        "events",
        {
            "source": np.full(n, reading.source),
            "line": lines.line[at],
            "ts": stamps(lines.ts[at]),
            "kind": ["http"] * n,
            "severity": severity,
            "dp_rank": ranks(lines.dp_rank[at]),
            "copies": np.ones(n, np.int64),
            "peer": rows.peer,
            "text": rows.text,
            "template": template,
            "attrs": attrs,
        },
    )
