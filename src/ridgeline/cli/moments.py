"""Moments and windows on the command line: ISO 8601, epoch seconds, or a time of the day of the evidence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, time, tzinfo
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ridgeline.bundle.view import View
    from ridgeline.model.diagnosis import Window

EPOCH: Final = re.compile(r"\d{9,11}(\.\d+)?")
FIRST_YEAR, LAST_YEAR = 1970, 9999
SEEN_SQL: Final = "SELECT min(from_ts), max(to_ts) FROM sources"
CLOCK: Final = re.compile(r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?")


def moment(text: str, zone: tzinfo | None, day: datetime | None, option: str) -> float:
    """Seconds since the epoch. Raises InputError, with the option's name, where the text names no moment."""
    from ridgeline.model.errors import InputError

    plain = text.strip()
    try:
        if EPOCH.fullmatch(plain):
            return float(plain)
        if CLOCK.fullmatch(plain) and day is not None:
            local = day.astimezone(zone or UTC)
            return datetime.combine(local.date(), time.fromisoformat(plain.zfill(5)), local.tzinfo).timestamp()
        parsed = datetime.fromisoformat(plain)
        if not FIRST_YEAR <= parsed.year < LAST_YEAR:
            raise ValueError
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=zone or UTC)).timestamp()
    except (ValueError, OverflowError) as e:
        if CLOCK.fullmatch(plain) and day is None:
            raise InputError(f"{option} {text}: names no day, and this evidence has no times; give a date too") from e
        raise InputError(f"{option} {text}: is no moment; write 2026-11-30T03:40:00Z, epoch seconds, or 03:40") from e


def window(text: str, zone: tzinfo | None, day: datetime | None, option: str = "--baseline") -> Window:
    """`FROM..TO`. Raises InputError where an end is missing or they are the wrong way round."""
    from ridgeline.model.diagnosis import Window
    from ridgeline.model.errors import InputError

    start, dots, end = text.partition("..")
    if not dots or not start or not end:
        raise InputError(f"{option} {text}: is no window; write FROM..TO, such as 03:10..03:30")
    found = Window(moment(start, zone, day, option), moment(end, zone, day, option))
    if found.to_ts <= found.from_ts:
        raise InputError(f"{option} {text}: ends before it begins")
    return found


def windows_of(
    view: View, start: str | None, end: str | None, baseline: str | None, tz: str | None, sources: Sequence[str] = ()
) -> tuple[Window | None, Window | None]:
    """(incident, baseline) as given; an open end is the evidence's own.

    Where none is given, those a bundle among ``sources`` was sealed or diagnosed under by hand.
    """
    from ridgeline.cli.sources import zone_of
    from ridgeline.cli.stored import as_stored
    from ridgeline.facts.series import span
    from ridgeline.model.diagnosis import Window
    from ridgeline.model.errors import InputError

    if start is None and end is None and baseline is None:
        return as_stored(sources)[1:]
    zone, reach = zone_of(tz), span(view)
    seen = _seen(view) or reach
    day = _moment_of((reach or seen or (None,))[0])
    good = window(baseline, zone, day) if baseline else None
    if start is None and end is None:
        incident = Window(good.to_ts, reach[1]) if good and reach and reach[1] > good.to_ts else None
        return incident, good
    low = moment(start, zone, day, "--from") if start else reach[0] if reach else None
    high = moment(end, zone, day, "--to") if end else reach[1] if reach else None
    if low is None or high is None:
        raise InputError(f"{_given(start, end)}: this evidence has no times, so give both --from and --to")
    if high <= low:
        where = "" if start and end else f"; the evidence goes from {_shown(seen)}" if seen else ""
        raise InputError(f"{_given(start, end)}: ends before it begins{where}")
    if seen and (high < seen[0] or low > seen[1]):
        raise InputError(
            f"{_given(start, end)}: nothing of the evidence is from that time; it goes from {_shown(seen)} (see --tz)"
        )
    return Window(low, high), good


def _given(start: str | None, end: str | None) -> str:
    return " ".join(f"{name} {text}" for name, text in (("--from", start), ("--to", end)) if text)


def _seen(view: View) -> tuple[float, float] | None:
    """First and last time of any source."""
    low, high = view.one(SEEN_SQL)
    return None if low is None or high is None else (low, high)


def _moment_of(ts: float | None) -> datetime | None:
    try:
        return None if ts is None else datetime.fromtimestamp(ts, UTC)
    except (OverflowError, ValueError, OSError):
        return None  # a number that no calendar holds


def _shown(reach: tuple[float, float]) -> str:
    said = [_moment_of(ts) for ts in reach]
    return " to ".join(f"{at:%Y-%m-%dT%H:%M:%SZ}" if at else "no date" for at in said)
