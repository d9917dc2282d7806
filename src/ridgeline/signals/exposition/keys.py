"""One sample line of the text format, taken apart by prometheus_client and held to the format's grammar.

The library's own parser is lenient; a cut or mangled line must never become another series or another number, so a
line is given to it only where it fits the grammar whole.
Grammar: https://prometheus.io/docs/instrumenting/exposition_formats/ (text format 0.0.4, and the exemplar and
quoted-name extensions of OpenMetrics).
"""

import re
from typing import Final, NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from ridgeline.signals.scrapes import epoch

_QUOTED: Final = r'"(?:[^"\\\n]|\\.)*"'
_LABEL: Final = rf"\s*(?:[A-Za-z_][\w.]*|{_QUOTED})\s*=\s*{_QUOTED}\s*"
_LABELS: Final = rf"\{{(?:{_LABEL}(?:,{_LABEL})*,?)?\s*\}}"
_UTF8_NAME: Final = rf"\{{\s*{_QUOTED}\s*(?:,{_LABEL})*,?\s*\}}"
KEY: Final = re.compile(rf"(?:[A-Za-z_:][\w:]*(?:\s*{_LABELS})?|{_UTF8_NAME})", re.ASCII)
_NUMBER: Final = r"[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|inf(?:inity)?|nan)"
LINE: Final = re.compile(
    rf"(?P<key>{KEY.pattern})\s+(?P<value>{_NUMBER})(?:\s+(?P<at>-?\d+(?:\.\d+)?))?(?:\s+#\s+\{{.*)?",
    re.ASCII | re.IGNORECASE,
)
LINE_BYTES: Final = 65536


class Apart(NamedTuple):
    """One line taken apart: `name{labels}` as written, value, its own time (seconds since the epoch) if it has one."""

    key: str
    value: float
    ts: float | None


def apart(line: str) -> Apart | None:
    """The parts of a whole line; None where the line is not exactly one sample.

    An exemplar is not part of the sample. Times are milliseconds in the text format and seconds in OpenMetrics.
    """
    found = LINE.fullmatch(line) if len(line) <= LINE_BYTES else None
    if found is None:
        return None
    return Apart(found["key"], float(found["value"]), None if found["at"] is None else epoch(found["at"]))


def key_of(key: str) -> tuple[str, dict[str, str]] | None:
    """Name and labels of a `name{labels}` text, by prometheus_client; None where it is not exactly that."""
    if len(key) > LINE_BYTES or KEY.fullmatch(key) is None:
        return None
    try:
        (family,) = text_string_to_metric_families(f"{key} 0\n")
        (sample,) = family.samples
    except ValueError:  # includes a label named twice and anything but one sample
        return None
    return sample.name, dict(sample.labels)
