"""Numbers as a reader takes them in: seconds, shares, counts, moments; and round steps for axes."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any, Final

from ridgeline.report.escape import plain

NONE: Final = "–"
STEPS_S: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)


def seconds(value: float) -> str:
    """`12 µs`, `408 ms`, `27.3 s`, `5.2 min`, `1.4 h`."""
    size = abs(value)
    if size < 1e-6:
        return "0 s" if size == 0 else "< 1 µs"
    for below, factor, unit in ((1e-3, 1e6, "µs"), (1.0, 1e3, "ms"), (120.0, 1.0, "s"), (7200.0, 1 / 60, "min")):
        if size < below:
            return f"{_three(value * factor)} {unit}"
    return f"{_three(value / 3600)} h"


def _three(value: float) -> str:
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def share(value: float) -> str:
    """`72 %`, `0.4 %`; what is neither 0 nor 1 never reads as such."""
    percent = value * 100
    if percent < 0:
        return "> −0.1 %" if percent > -0.05 else f"−{share(-value)}"
    if 0 < percent < 0.05:
        return "< 0.1 %"
    if 99.95 < percent < 100:
        return "> 99.9 %"
    return f"{percent:.0f} %" if percent >= 10 or percent == 0 else f"{percent:.1f} %"


def number(value: float) -> str:
    """Whole numbers with thousands apart, others to four digits."""
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:,.4g}"


def moment(ts: float, within_s: float = 0.0) -> str:
    """`03:41:34` UTC; with the day where the span is longer than one; an impossible moment as words."""
    try:
        at = datetime.fromtimestamp(ts, UTC)
    except (OverflowError, ValueError, OSError):
        return "no date"
    return f"{at:%m-%d %H:%M}" if within_s > 86400 else f"{at:%H:%M:%S}"


def day_and_time(ts: float) -> str:
    """`2026-11-30 03:41:34 UTC`."""
    try:
        return f"{datetime.fromtimestamp(ts, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return "no date"


def shown(value: Any, unit: str) -> str:
    """A figure of a table with its unit; text is made safe; a missing one is a dash."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return NONE if value is None or value != value else "∞"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return plain(str(value), 200)
    match unit:
        case "s":
            return seconds(value)
        case "share":
            return share(value)
        case "time":
            return moment(value)
        case _:
            return number(value)


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round values from `low` to `high`, at most `most` + 1 of them."""
    if not high > low:
        return [low]
    raw = (high - low) / most
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * k for k in (1, 2, 2.5, 5, 10) if size * k >= raw * 0.999)
    first = math.ceil(low / step - 1e-12)
    return [round(k * step, 12) for k in range(first, math.floor(high / step + 1e-12) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten from `low` to `high`; with 3 between them where there are few."""
    tens = [10.0**k for k in range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)]
    inside = [t for t in tens if low * 0.999 <= t <= high * 1.001]
    return inside if len(inside) >= 3 else [t for ten in tens for t in (ten, 3 * ten) if low * 0.99 <= t <= high * 1.01]


def time_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Moments on round seconds, minutes or hours."""
    if not high > low:
        return [low]
    step = next((s for s in STEPS_S if (high - low) / s <= most), None)
    step = step if step is not None else math.ceil((high - low) / most / 86400) * 86400
    return [float(k * step) for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
