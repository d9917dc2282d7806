"""Does this set still fail? With a fault that comes now and then, one passing try says little.

A set fails once it was seen to. It passes after k tries without the fault, where k is such that a fault of the rate
seen so far (the lower end of its interval) would have shown with `CONFIDENCE`. While no failing set was ever seen to
pass, k is 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from ridgeline.replay.minimise.journal import Journal, Keys
from ridgeline.replay.minimise.trial import Try
from ridgeline.replay.shot import Shot
from ridgeline.stats.intervals import wilson

DOUBT: Final = 3  # tries that all pass before it is said what may be the matter
CONFIDENCE: Final = 0.95
RATE_LEVEL: Final = 0.6
"""Level of the two-sided interval whose lower end is taken for the rate: below it with one chance in five."""


class OutOfTries(Exception):
    """The budget is spent; what was found so far stands."""


@dataclass
class Record:
    """Tries of one set."""

    tries: int = 0
    failed: int = 0
    last_failure: Try | None = None


class Oracle:
    """Answers from tries made now or by a former run.

    `fresh`: every try gets a server of its own, started for it; only where `may_refresh` (a restart command is given).
    """

    def __init__(
        self, attempt: Callable[[Sequence[Shot], bool], Try], journal: Journal, budget: int, repeat: int,
        say: Callable[[str], None], may_refresh: bool = False,
    ) -> None:  # fmt: skip
        self.attempt, self.journal, self.budget, self.repeat, self.say = attempt, journal, budget, repeat, say
        self.sets: dict[tuple[bool, str], Record] = {}  # by whether on fresh servers, and name
        self.spent = 0
        self.keys = Keys()
        self.fresh = False
        self.may_refresh = may_refresh
        self.best: tuple[Shot, ...] = ()

    def once(self, shots: Sequence[Shot], what: str) -> Try:
        """One try, from the journal where a former run made it. Raises OutOfTries."""
        key = self._key(shots)
        record = self._record(key)
        if self.spent >= self.budget:
            raise OutOfTries
        self.spent += 1
        known = self.journal.again(key)
        done = known or self.attempt(shots, self.fresh)
        record.tries += 1
        record.failed += done.failed
        if done.failed:
            record.last_failure = done
            if not self.best or _weight(shots) <= _weight(self.best):
                self.best = tuple(shots)
        if known is None:  # behind `best`: an interrupt while the disk is waited for must not lose it
            self.journal.add(key, shots, what, done)
            result = "fails" if done.failed else "passes"
            self.say(f"try {self.spent} of {self.budget}: {what}, {len(shots)} requests: {result} ({done.why})")
            if self.spent == DOUBT and not any(r.failed for r in self.sets.values()):
                self.say(
                    f"the first {DOUBT} tries all passed: the target may be another version or be launched otherwise, "
                    "or the fault needs what earlier requests left in the server (a larger dump, --speed 1)"
                )
        return done

    def _key(self, shots: Sequence[Shot]) -> str:
        return ("fresh-" if self.fresh else "") + self.keys.of(shots)

    def _record(self, key: str) -> Record:
        return self.sets.setdefault((self.fresh, key), Record())

    def fails(self, shots: Sequence[Shot], what: str, least: int = 1) -> Try | None:
        """The failing try of a set, or None after enough tries (at least `least`) without the fault."""
        record = self._record(self._key(shots))
        if record.last_failure is not None:
            return record.last_failure
        while record.tries < max(self.enough(), least):
            done = self.once(shots, what)
            if done.failed:
                return done
        return None

    def enough(self) -> int:
        """Tries without the fault after which a set passes."""
        return self.enough_for(self.rate())

    def enough_for(self, rate: tuple[int, int] | None) -> int:
        """The same for a rate: (failing tries, tries), None where no failing set ever passed."""
        if rate is None:
            return 1
        low = max(wilson(*rate, RATE_LEVEL).low or 0.0, 1e-6)
        if low >= 1.0:
            return 1
        return min(self.repeat, max(1, math.ceil(math.log(1 - CONFIDENCE) / math.log(1 - low))))

    def rate(self) -> tuple[int, int] | None:
        """(failing tries, tries) over the sets that failed; None while none of them ever passed."""
        return self.rate_of(self.fresh)

    def rate_of(self, fresh: bool) -> tuple[int, int] | None:
        """The same for tries on fresh servers, or for the others."""
        failing = [r for (kind, _), r in self.sets.items() if r.failed and kind == fresh]
        if not any(r.failed < r.tries for r in failing):
            return None
        return sum(r.failed for r in failing), sum(r.tries for r in failing)

    def proof(self, shots: Sequence[Shot], tries: int, most: int) -> Record:
        """Tries of the result for their own sake: those that led to it are not counted, for it was chosen by them."""
        record = Record()
        while record.tries < tries or record.failed < record.tries < most:
            done = self.once(shots, "proof")
            record.tries += 1
            record.failed += done.failed
        return record

    def always(self, shots: Sequence[Shot], what: str, tries: int) -> bool:
        """Whether a set fails so many times in a row; the first pass ends it."""
        return all(self.once(shots, what).failed for _ in range(tries))

    def confirm(self, shots: Sequence[Shot], what: str, tries: int, most: int) -> Record:
        """Try a failing set `tries` times; where it passes even once go on up to `most`, to learn its rate."""
        record = self._record(self._key(shots))
        while record.tries < tries or record.failed < record.tries < most:
            self.once(shots, what)
        return record


def _weight(shots: Sequence[Shot]) -> tuple[int, int]:
    return len(shots), sum(shot.size for shot in shots)
