"""Lines or answers that a reader did not understand: counted, kept, and given a severity by their own words."""

from collections.abc import Sequence

from ridgeline.signals.log.unread import ERROR_LIKE, TEXT_LIMIT, template
from ridgeline.signals.rows import Reading, Rows, rows_of


def unread_rows(reading: Reading, found: Sequence[tuple[int, str]]) -> Rows:
    """Rows of `unread` for (line, text) pairs; adds to `reading.unparsed` and `unparsed_errors`."""
    texts = [text[:TEXT_LIMIT] for _, text in found]
    severities = ["error" if ERROR_LIKE.search(text) else None for text in texts]
    reading.unparsed += len(found)
    reading.unparsed_errors += sum(severity is not None for severity in severities)
    return rows_of(
        "unread",
        {
            "source": [reading.source] * len(found),
            "line": [line for line, _ in found],
            "text": texts,
            "severity": severities,
            "template": [template(text) for text in texts],
        },
    )
