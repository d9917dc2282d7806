"""One trace span as every trace format is brought to it, before spans are put into trees."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

Attrs = Mapping[str, Any]

NO_ATTRS: Final[dict[str, Any]] = {}
ATTRS_CHARS: Final = 4000


@dataclass(slots=True)
class Span:
    """One span. Ids are lower-case hex ("" = none), times nanoseconds since the epoch (0 = not given).

    `links` are the span ids this span points back to; `marks` are its events as (ns, name, attributes).
    """

    trace: str
    span: str
    parent: str
    name: str
    start_ns: int
    end_ns: int
    line: int
    service: str = ""
    error: bool = False
    status: str = ""
    attrs: Attrs = field(default_factory=dict)
    links: tuple[str, ...] = ()
    marks: tuple[tuple[int, str, Attrs], ...] = ()

    @property
    def start_ts(self) -> float | None:
        """Seconds since the epoch, or None where the span does not say."""
        return self.start_ns / 1e9 if self.start_ns > 0 else None

    @property
    def end_ts(self) -> float | None:
        """Seconds since the epoch, or None where the span does not say (or says it ends before it starts)."""
        return self.end_ns / 1e9 if self.end_ns >= self.start_ns and self.end_ns > 0 else None


def attrs_json(attrs: Attrs) -> str | None:
    """Attributes as JSON with sorted keys, None where there are none, cut at a length that keeps tables small."""
    if not attrs:
        return None
    text = json.dumps(attrs, sort_keys=True, ensure_ascii=False, default=str)
    return text if len(text) <= ATTRS_CHARS else json.dumps({"cut": text[: ATTRS_CHARS - 100]}, ensure_ascii=False)


def whole(value: Any) -> int | None:
    """An attribute as an integer: numbers, decimal text, hex text behind 0x; None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else None
    if isinstance(value, float):
        return int(value) if value == value and abs(value) < 2**53 and value == int(value) else None
    if isinstance(value, str):
        text = value.strip()
        try:
            number = int(text, 16) if text[:2].lower() == "0x" else int(text)
        except ValueError:
            return None
        return number if -(2**63) <= number < 2**63 else None
    return None


def seconds(value: Any) -> float | None:
    """An attribute as a finite number, None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None
