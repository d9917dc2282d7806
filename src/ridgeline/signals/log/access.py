"""Access lines of uvicorn and of other HTTP servers → events of kind `http`; uvicorn's own start and stop lines.

One row per line: `peer` is the client's address without its port, `attrs` holds method, path (without its query) and
status. The same three words make the template.
"""

import json
import re
from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ridgeline.signals.lines import I64, U8, LogLines, Parsed, bytes_of, ranks, slices, stamps
from ridgeline.signals.log.rules import matching
from ridgeline.signals.rows import Reading, Rows, rows_of

TEXT_CHARS: Final = 500
COLON: Final = 0x3A
DASH: Final = b" - "  # between the port and the request
PORT_DIGITS: Final = 5
ANY_PORT: Final = ":0 - "
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
    texts = lines.body.filter(pa.array(gate))
    data, offsets = bytes_of(texts)
    quote = offsets[:-1] + pc.find_substring(texts, '"').to_numpy()
    peers, who = _clients(data, offsets, quote)
    words, what = _requests(slices(data, quote, offsets[1:]))
    fits = (who >= 0) & (what >= 0)
    at = np.flatnonzero(gate)[fits]
    understood[at] = True
    if not len(at):
        return Parsed([], understood)
    peer = pa.array(peers, pa.string()).take(pa.array(who[fits]))
    return Parsed([_table(lines, at, texts.filter(pa.array(fits)), peer, words, what[fits], reading)], understood)


def _clients(data: U8, offsets: I64, quote: I64) -> tuple[list[str | None], I64]:
    """(the clients, [n] which of them a line has; -1 where what stands before the quote is no client's).

    Clients come back with ever new ports: where that part is as uvicorn prints it, each is looked at once.
    """
    colons = np.flatnonzero(data == COLON)
    before = np.searchsorted(colons, quote) - 1
    colon = colons[np.maximum(before, 0)] if len(colons) else np.zeros(len(quote), np.int64)
    port = quote - len(DASH) - colon - 1
    usual = (before >= 0) & (colon >= offsets[:-1]) & (port >= 1) & (port <= PORT_DIGITS)
    for i, byte in enumerate(DASH):
        usual &= data[np.maximum(quote - len(DASH) + i, 0)] == byte
    for i in range(PORT_DIGITS):
        digit = data[np.minimum(colon + 1 + i, len(data) - 1)] - np.uint8(48) < 10
        usual &= digit | (port <= i)
    heads = slices(data, offsets[:-1], np.where(usual, colon, quote)).dictionary_encode()
    codes, which = np.unique(2 * heads.indices.to_numpy().astype(np.int64) + usual, return_inverse=True)
    texts = heads.dictionary.to_pylist()
    found = [CLIENT.match(texts[code // 2] + (ANY_PORT if code % 2 else "")) for code in codes.tolist()]
    table = np.array([-1 if one is None else i for i, one in enumerate(found)])
    return [one["client"] if one else None for one in found], table[which]


def _requests(texts: pa.Array) -> tuple[list[tuple[str, str, str]], I64]:
    """(attrs, severity and template of the distinct requests, [n] which of them a line has; -1 where it is none)."""
    coded = texts.dictionary_encode()
    words: list[tuple[str, str, str]] = []
    table = np.full(len(coded.dictionary), -1)
    for i, text in enumerate(coded.dictionary.to_pylist()):
        found = REQUEST.match(text)
        if found is not None:
            method, path, status = found["method"], found["path"], found["status"]
            attrs = json.dumps({"method": method, "path": path, "status": int(status)}, sort_keys=True)
            severity = "error" if status >= "500" else "warning" if status >= "400" else "info"
            table[i] = len(words)
            words.append((attrs, severity, f"{method} {path} {status}"))
    return words, table[coded.indices.to_numpy()]


def _table(
    lines: LogLines,
    at: I64,
    texts: pa.Array,
    peer: pa.Array,
    words: Sequence[tuple[str, str, str]],
    what: I64,
    reading: Reading,
) -> Rows:
    n = len(at)
    code = pa.array(what)
    attrs, severity, template = (pa.array(some, pa.string()).take(code) for some in zip(*words, strict=True))
    return rows_of(
        "events",
        {
            "source": np.full(n, reading.source),
            "line": lines.line[at],
            "ts": stamps(lines.ts[at]),
            "kind": pa.repeat("http", n),
            "severity": severity,
            "dp_rank": ranks(lines.dp_rank[at]),
            "copies": np.ones(n, np.int64),
            "peer": peer,
            "text": pc.utf8_slice_codeunits(texts, 0, TEXT_CHARS),
            "template": template,
            "attrs": attrs,
        },
    )
