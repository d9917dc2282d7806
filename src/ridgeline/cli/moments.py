"""Moments and windows on the command line: ISO 8601, epoch seconds, or a time of the day of the evidence."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, tzinfo
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ridgeline.bundle.view import View
    from ridgeline.model.diagnosis import Window

EPOCH: Final = re.compile(r"\d{9,11}(\.\d+)?")
CLOCK: Final = re.compile(r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?")


def moment(text: str, zone: tzinfo | None, day: datetime | None) -> float:
    """Seconds since the epoch. Raises InputError where the text names no moment."""
    from ridgeline.model.errors import InputError

    plain = text.strip()
    try:
        if EPOCH.fullmatch(plain):
            return float(plain)
        if CLOCK.fullmatch(plain) and day is not None:
            local = day.astimezone(zone or UTC)
            return datetime.combine(local.date(), time.fromisoformat(plain.zfill(5)), local.tzinfo).timestamp()
        parsed = datetime.fromisoformat(plain)
    except ValueError as e:
        raise InputError(f"{text}: is no moment; write 2026-11-30T03:40:00Z, epoch seconds, or 03:40") from e
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=zone or UTC)).timestamp()


def window(text: str, zone: tzinfo | None, day: datetime | None) -> Window:
    """`FROM..TO`. Raises InputError where an end is missing or they are the wrong way round."""
    from ridgeline.model.diagnosis import Window
    from ridgeline.model.errors import InputError

    start, dots, end = text.partition("..")
    if not dots or not start or not end:
        raise InputError(f"{text}: is no window; write FROM..TO")
    found = Window(moment(start, zone, day), moment(end, zone, day))
    if found.to_ts <= found.from_ts:
        raise InputError(f"{text}: ends before it begins")
    return found


def windows_of(
    view: View, start: str | None, end: str | None, baseline: str | None, tz: str | None
) -> tuple[Window | None, Window | None]:
    """(incident, baseline) as given; an open end is the evidence's own."""
    from ridgeline.cli.sources import zone_of
    from ridgeline.facts.series import span
    from ridgeline.model.diagnosis import Window
    from ridgeline.model.errors import InputError

    if start is None and end is None and baseline is None:
        return None, None
    zone, reach = zone_of(tz), span(view)
    day = datetime.fromtimestamp(reach[0], UTC) if reach else None
    good = window(baseline, zone, day) if baseline else None
    if start is None and end is None:
        incident = Window(good.to_ts, reach[1]) if good and reach and reach[1] > good.to_ts else None
        return incident, good
    low = moment(start, zone, day) if start else reach[0] if reach else None
    high = moment(end, zone, day) if end else reach[1] if reach else None
    if low is None or high is None or high <= low:
        raise InputError(f"--from {start} --to {end}: give both, the end after the start (this evidence has no times)")
    return Window(low, high), good
