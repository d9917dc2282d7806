"""Lines that no parser understood: kept, with a severity and a template, so that nothing is lost in silence."""

import re
from typing import Final

from ridgeline.signals.lines import LogLines
from ridgeline.signals.rows import Reading, Rows, rows_of

TEXT_LIMIT: Final = 500
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
    texts = [text[:TEXT_LIMIT] for text in lines.body.to_pylist()]
    said = lines.severity.to_pylist()
    severity = [word or ("error" if ERROR_LIKE.search(text) else None) for word, text in zip(said, texts, strict=True)]
    rows = rows_of(
        "unread",
        {
            "source": [reading.source] * len(texts),
            "line": lines.line,
            "text": texts,
            "severity": severity,
            "template": [template(text) for text in texts],
        },
    )
    return rows, sum(word in ("error", "fatal") for word in severity)
