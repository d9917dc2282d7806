"""Lines that no reader understood: counted, kept, and given a severity by their own words."""

import re
from collections.abc import Sequence
from typing import Final

from ridgeline.signals.rows import Reading, Rows, rows_of

TEXT_CHARS: Final = 500
ERROR_WORDS: Final = re.compile(
    r"\b(?:error|exception|traceback|failed|failure|fatal|panic|timed? ?out|unavailable|refused|denied|killed"
    r"|abort(?:ed)?)\b",
    re.IGNORECASE,
)


def unread_rows(reading: Reading, found: Sequence[tuple[int, str]]) -> Rows:
    """Rows of `unread` for (line, text) pairs; adds to `reading.unparsed` and `unparsed_errors`."""
    severities = ["error" if ERROR_WORDS.search(text[:TEXT_CHARS]) else None for _, text in found]
    reading.unparsed += len(found)
    reading.unparsed_errors += sum(severity is not None for severity in severities)
    return rows_of(
        "unread",
        {
            "source": [reading.source] * len(found),
            "line": [line for line, _ in found],
            "text": [text[:TEXT_CHARS] for _, text in found],
            "severity": severities,
        },
    )
