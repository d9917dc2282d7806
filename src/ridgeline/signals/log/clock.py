"""Times as logs print them → wall-clock seconds. What had to be assumed (zone, year, date) is said once, in a note."""

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, NamedTuple

import numpy as np

from ridgeline.signals.lines import F64, I64
from ridgeline.signals.rows import Reading

NO_YEAR: Final = 2000  # a leap year, so that 29 February is a date
BACK_S: Final = 5.0  # ranks write a second or so apart; more than this back is a clock that jumped
QUARTER_S: Final = 900.0  # zones differ by whole quarters of an hour
# How the notes begin that a found zone or year makes untrue (bundle/zones.py takes them back).
SAID_NO_ZONE: Final = "times carry no zone"
SAID_NO_YEAR: Final = "times carry no year"
LIKELY_YEARS: Final = (1971, 2200)


class Stamp(NamedTuple):
    """A printed time. `year` None: not printed; `month` None: no date at all. `zone_s`: seconds east, None: naive."""

    year: int | None
    month: int | None
    day: int | None
    second: float  # since midnight
    zone_s: int | None = None


class Clock:
    """Turns printed times of one source into seconds, and keeps what was assumed on the way."""

    def __init__(self, reading: Reading, year_seen: int | None = None) -> None:
        self.tz: tzinfo | None = reading.tz
        self.year = reading.year or year_seen or NO_YEAR
        self.year_given = reading.year is not None
        self.year_seen = year_seen
        self.naive = self.zoned = self.yearless = self.undated = False
        self.shift_s: float | None = None  # naive inner time minus the wrapper's zoned time
        self.outer_shift_s: float | None = None  # naive wrapper time minus the naive inner time
        self.bad = 0
        self._hours: dict[tuple[int, int, int, int], float] = {}
        self._last_month = 0
        self._last_second = 0.0
        self._day = 0
        self.newest = self.latest = float("-inf")
        self.back: tuple[int, float] | None = None  # line and seconds of the first jump back
        self.backs = 0

    @property
    def learnt(self) -> bool:
        """Whether lines showed how far the zones of records and wrappers are apart."""
        return bool(self.shift_s) or bool(self.outer_shift_s)

    def again(self, reading: Reading, year_seen: int | None) -> "Clock":
        """A fresh clock that knows the shifts from the start."""
        fresh = Clock(reading, year_seen)
        fresh.shift_s, fresh.outer_shift_s = self.shift_s, self.outer_shift_s
        return fresh

    def hour(self, year: int, month: int, day: int, hour: int) -> float:
        """Epoch seconds at the start of a local hour; NaN where there is no such time."""
        key = (year, month, day, hour)
        found = self._hours.get(key)
        if found is None:
            found = self._hour(key)
            self._hours[key] = found
        return found

    def _hour(self, key: tuple[int, int, int, int]) -> float:
        try:
            local = datetime(*key, tzinfo=self.tz or UTC)
        except ValueError:
            self.bad += 1
            return float("nan")
        if not LIKELY_YEARS[0] <= key[0] <= LIKELY_YEARS[1]:
            self.bad += 1
            return float("nan")
        return local.timestamp()

    def at(self, stamp: Stamp) -> float:
        """Epoch seconds of one printed time; NaN where it is impossible."""
        if stamp.second != stamp.second:
            self.bad += 1
            return stamp.second
        if stamp.month is None or stamp.day is None:
            return self._of_day(stamp.second)
        year = stamp.year
        if year is None:
            year = self._with_year(stamp.month)
        if stamp.zone_s is not None:
            self.zoned = True
            try:
                base = datetime(year, stamp.month, stamp.day, tzinfo=UTC).timestamp()
            except ValueError:
                self.bad += 1
                return float("nan")
            return base + stamp.second - stamp.zone_s
        self.naive = True
        hour = int(stamp.second // 3600)
        return self.hour(year, stamp.month, stamp.day, hour) + stamp.second - 3600 * hour

    def _with_year(self, month: int) -> int:
        self.yearless = True
        if self._last_month == 12 and month == 1:
            self.year += 1
        elif self._last_month == 1 and month == 12:
            self.year -= 1  # a straggler from before midnight
        self._last_month = month
        return self.year

    def _of_day(self, second: float) -> float:
        self.undated = True
        if second < self._last_second - 43200:
            self._day += 1
        self._last_second = second
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=self._day, seconds=second)).timestamp()

    def agree(self, inner: Stamp, inner_ts: float, outer: Stamp, outer_ts: float) -> None:
        """Learn from a line with two times how far the zones of the record and of its wrapper are apart."""
        if inner.zone_s is not None or inner.month is None or inner_ts != inner_ts or outer_ts != outer_ts:
            return
        apart = round((inner_ts - outer_ts) / QUARTER_S) * QUARTER_S
        if abs(apart) > 15 * 3600:
            return
        if outer.zone_s is not None:
            if self.shift_s is None and self.tz is None:
                self.shift_s = apart
        elif self.outer_shift_s is None:
            self.outer_shift_s = -apart

    def follow(self, line: I64, ts: F64) -> None:
        """Watch the times of a run of lines for a clock that goes back."""
        if not len(ts):
            return
        highest = np.maximum.accumulate(np.concatenate(([self.newest], ts)))
        jump = highest[:-1] - ts
        # Only the first line after a jump counts: later ones are behind the old peak too, but run forward.
        before = np.concatenate(([self.latest], ts[:-1]))
        fell = (jump > BACK_S) & (before - ts > BACK_S)
        if fell.any():
            self.backs += int(fell.sum())
            if self.back is None:
                at = int(np.flatnonzero(fell)[0])
                self.back = (int(line[at]), float(before[at] - ts[at]))
        self.newest, self.latest = float(highest[-1]), float(ts[-1])

    def say(self, reading: Reading) -> None:
        """Write what was assumed into the source's notes and its `clock`."""
        shown = reading.path
        if self.shift_s is not None:
            reading.note(
                f"{shown}: times carry no zone; the wrapper's UTC times show them at UTC{_zone(self.shift_s)}, read so"
            )
        elif self.naive and self.zoned and self.tz is None:
            reading.clock = "naive"
            reading.note(f"{shown}: some times carry a zone and some none; the latter are read as UTC (give --tz)")
        elif self.naive and self.tz is None:
            reading.clock = "naive"
            reading.note(f"{shown}: {SAID_NO_ZONE}; read as UTC (give --tz if the server's clock was elsewhere)")
        if self.outer_shift_s:
            reading.note(
                f"{shown}: the export's own times differ from the records' by {_zone(self.outer_shift_s)} hours; "
                "the records' are used"
            )
        if self.yearless and not self.year_given:
            how = "the year of other lines" if self.year_seen else "an arbitrary one"
            reading.note(f"{shown}: {SAID_NO_YEAR}; read as {self.year}, {how} (give --year)")
        if self.undated:
            reading.clock = "undated"
            reading.note(f"{shown}: times carry no date; read as seconds of 1970-01-01, so only gaps mean anything")
        if self.bad:
            reading.note(f"{shown}: {self.bad} impossible dates; those lines have no time")
        if self.back is not None:
            line, by = self.back
            reading.note(
                f"{shown}:{line}: the clock goes back by {by:.0f} s ({self.backs} such jumps); order is by line"
            )


def _zone(seconds: float) -> str:
    minutes = int(abs(seconds) // 60)
    return f"{'-' if seconds < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"
