"""Lines that no parser understood: kept, with a severity and a template, so that nothing is lost in silence."""

import re
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ridgeline.signals.lines import LogLines
from ridgeline.signals.log.shapes import shapes_of
from ridgeline.signals.rows import Reading, Rows, rows_of

TEXT_LIMIT: Final = 500
MANY: Final = 1000
TRACE_END: Final = re.compile(r"[\w.]{1,200}(?::|$)|During handling |The above exception ")
ERROR_LIKE: Final = re.compile(
    r"\b(?:error|exception|failed|failure|fatal|panic|traceback|abort(?:ed|ing)?|killed|segfault|segmentation fault|"
    r"out of memory|oom|timed? ?out|unreachable|refused|corrupt\w*|crash\w*|deadlock|dead)\b",
    re.IGNORECASE,
)
_VARIABLE: Final = re.compile(
    r"0x[0-9a-fA-F]+|\b[0-9a-fA-F]{8}-[0-9a-fA-F-]{20,}\b|\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b|'[^']{0,200}'|\"[^\"]{0,200}\"|\d+(?:\.\d+)*"
)


def template(text: str) -> str:
    """A text with what varies taken out: numbers, ids and quoted words become `*`."""
    return _VARIABLE.sub("*", text[:TEXT_LIMIT])


def unread_rows(lines: LogLines, reading: Reading) -> tuple[Rows, int]:
    """(rows of `unread`, how many of the lines look like errors)."""
    texts: Any = pc.utf8_slice_codeunits(lines.body, 0, TEXT_LIMIT)
    # Lines that differ in their digits alone are alike in both: looked at once. The `=` keeps a digit from being first.
    shapes = shapes_of(pc.binary_join_element_wise("=", texts, ""))
    _, first = np.unique(shapes.codes, return_index=True)
    seen = texts.take(pa.array(first)).to_pylist()
    codes = pa.array(shapes.codes)
    looks = pa.array(["error" if ERROR_LIKE.search(text) else None for text in seen], pa.string())
    severity = pc.coalesce(lines.severity, looks.take(codes))
    rows = rows_of(
        "unread",
        {
            "source": np.full(len(lines), reading.source),
            "line": lines.line,
            "text": texts,
            "severity": severity,
            "template": pa.array([template(text) for text in seen], pa.string()).take(codes),
        },
    )
    errors: Any = pc.sum(pc.is_in(severity, pa.array(["error", "fatal"])))
    return rows, errors.as_py() or 0


def repeated(lines: LogLines) -> list[str]:
    """Texts that stand on a large share of these unread lines and cannot be part of a trace, whatever is around."""
    counts: Any = pc.value_counts(lines.body.filter(pa.array(lines.prefixed)))
    return [
        text
        for text, count in zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True)
        if count >= MANY and text[:1].strip() and not TRACE_END.match(text[:500])
    ]
