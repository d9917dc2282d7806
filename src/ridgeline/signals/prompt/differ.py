"""Where two prompts part, what lies in the gap, and what is equal again behind it."""

from dataclasses import dataclass
from typing import Final

from ridgeline.signals.prompt.kinds import IDS, PLAIN, kind_of, order_kind

ORDER_UNITS: Final = 60_000  # longer prompts are not searched for moved parts
GAPS: Final = 16  # differing places looked at in one pair


@dataclass(frozen=True)
class Scale:
    """How far a differing value may reach, and how much must be equal again behind it, in units of the prompt."""

    gap: int  # longest differing value
    window: int  # units that must agree for the two to count as together again
    lost: int  # what must be equal behind the gap to be called drift

    def __post_init__(self) -> None:
        assert 0 < self.window <= self.lost


TOKENS: Final = Scale(64, 6, 32)
CHARS: Final = Scale(200, 12, 128)


@dataclass(frozen=True)
class Difference:
    """Prompt `a` against an earlier `b`. Positions and lengths in the prompt's own units."""

    common: int  # equal from the start
    end_a: int  # the first gap is a[common:end_a] against b[common:end_b]
    end_b: int
    again: int  # units of `a` behind gaps that are equal to `b` once more, without its last one: what the gaps cost
    kind: str | None  # of the first gap; None where the two do not come together again: other content, no drift

    @property
    def alike(self) -> int:
        """Units of `a` that `b` holds too, in this order."""
        return self.common + self.again


def common_length(a: str, b: str, at_a: int = 0, at_b: int = 0) -> int:
    """How many units a[at_a:] and b[at_b:] share from their start (doubling, then halving: compares run in C)."""
    most = min(len(a) - at_a, len(b) - at_b)
    size = 64
    low = 0
    while low < most:
        high = min(low + size, most)
        if a[at_a + low : at_a + high] == b[at_b + low : at_b + high]:
            low, size = high, size * 2
            continue
        while high - low > 1:
            middle = (low + high) // 2
            if a[at_a + low : at_a + middle] == b[at_b + low : at_b + middle]:
                low = middle
            else:
                high = middle
        return low
    return low


def difference(a: str, b: str, scale: Scale, readable: bool) -> Difference:
    """Prompt `a` aligned with `b`; `readable` texts get the kind of their first gap, ids do not."""
    common = common_length(a, b)
    if common == len(a) or common == len(b):
        return Difference(common, len(a), len(b), 0, None)
    if readable and len(a) == len(b) and len(a) - common <= ORDER_UNITS:
        tail = common_length(a[:common:-1], b[:common:-1])
        moved = order_kind(a[common : len(a) - tail], b[common : len(b) - tail])
        if moved:
            return Difference(common, len(a) - tail, len(b) - tail, len(a) - common - 1, moved)
    at_a, at_b, again = common, common, 0
    first: tuple[int, int] | None = None
    for _ in range(GAPS):
        gap = _together(a, b, at_a, at_b, scale)
        if gap is None:
            break
        at_a, at_b = gap
        first = first or gap
        run = common_length(a, b, at_a, at_b)
        at_a, at_b = at_a + run, at_b + run
        again += run - (at_a >= len(a))  # the last unit is computed in any case
        if at_a >= len(a) or at_b >= len(b):
            break
    if first is None:
        return Difference(common, len(a), len(b), 0, None)
    if not readable:
        return Difference(common, *first, again, IDS if again >= scale.lost else None)
    kind = kind_of(a, b, common, *first)
    ended = at_a >= len(a) or at_b >= len(b)
    short = kind in PLAIN and ended and 2 * (common + again) >= min(len(a), len(b))
    return Difference(common, *first, again, kind if again >= scale.lost or short else None)


def _together(a: str, b: str, at_a: int, at_b: int, scale: Scale) -> tuple[int, int] | None:
    """Where the two are equal again: the nearest place in `a` whose next units stand within reach in `b`."""
    for gap in range(min(scale.gap, len(a) - at_a) + 1):
        window = a[at_a + gap : at_a + gap + scale.window]
        if len(window) < scale.window:
            break
        found = b.find(window, at_b, at_b + scale.gap + scale.window)
        if found >= 0 and (gap or found > at_b):
            return at_a + gap, found
    return None
