"""The template of a log line: what stays when numbers, ids, addresses and paths are taken out."""

import re
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

TEMPLATE_CHARS: Final = 240
# Applied in this order to the first characters of a line; RE2 syntax (no look-around), so Arrow can run them too.
PARTS: Final[tuple[tuple[str, str], ...]] = (
    (r"\b(?:chatcmpl|cmpl|resp|req|embd)-[0-9A-Za-z_.-]*[0-9A-Za-z]", "<id>"),
    (r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b", "<id>"),
    (r"\b0x[0-9a-fA-F]+", "<hex>"),
    (r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b", "<addr>"),
    (r"(?:/[0-9A-Za-z_.@+-]+){2,}/?", "<path>"),
    (r"\b[0-9a-f]{12,}\b", "<hex>"),
    (r"\d+(?:[.,]\d+)*(?:[eE][-+]?\d+)?", "<n>"),
    (r"[ \t\n\r]+", " "),
)
COMPILED: Final = tuple((re.compile(pattern, re.ASCII), text) for pattern, text in PARTS)


def template(text: str) -> str:
    """The template of one line, at most `TEMPLATE_CHARS` long."""
    cut = text[: 2 * TEMPLATE_CHARS]
    for pattern, mark in COMPILED:
        cut = pattern.sub(mark, cut)
    return cut.strip(" ")[:TEMPLATE_CHARS]


def templates(texts: pa.Array) -> pa.Array:
    """The same for a column of lines."""
    cut: Any = pc.utf8_slice_codeunits(texts, 0, 2 * TEMPLATE_CHARS)
    for pattern, mark in PARTS:
        cut = pc.replace_substring_regex(cut, pattern, mark)
    return pc.utf8_slice_codeunits(pc.utf8_trim(cut, " "), 0, TEMPLATE_CHARS)
