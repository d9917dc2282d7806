"""SGLang's request log: JSON (bare or prefixed, every level), the text form, and both inside a server log."""

from collections.abc import Iterator

from ridgeline.signals.request_log.lines import parse_json_lines, parse_text_lines
from ridgeline.signals.rows import Reading, Rows
from ridgeline.signals.stream import Blob

__all__ = ["parse_json_lines", "parse_text_lines", "read"]


def read(blob: Blob, reading: Reading) -> Iterator[Rows]:
    """The rows of a file of request-log records; see `reader.read`."""
    # Imported late: the log reader, which takes the lines that are no records, lists the two parsers above.
    from ridgeline.signals.request_log import reader

    return reader.read(blob, reading)
