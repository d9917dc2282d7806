"""The fewest items that still fail, and the fewest requests: first what failing tries point at, then the last ones."""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from ridgeline.replay.minimise.oracle import Oracle
from ridgeline.replay.minimise.trial import Try
from ridgeline.replay.shot import Shot

T = TypeVar("T")
CONFIRM: Final = 3
LEARN: Final = 12
"""Tries of a failing set: to see that it fails every time, and to learn the rate of one that does not."""
SINGLES: Final = 6
"""Sets of at most so many are asked one by one whether a single request is enough."""


def fewest(
    items: Sequence[T], fails: Callable[[Sequence[T]], bool], surely: Callable[[list[T]], None] | None = None
) -> list[T]:
    """A subset of `items`, in order, that fails although `items` minus anything it needs does not.

    `items` is known to fail. The smallest failing suffix is galloped and bisected; its first item is needed; then the
    same with that one kept. About 2 log2(distance from the end) tries for each item that is needed, if more items never
    hide the fault. `surely` is given the failing set before a second item is looked for.
    """
    need: list[T] = []
    rest = list(items)
    while True:
        size = _suffix(rest, lambda n: fails([*need, *rest[len(rest) - n :]]))  # noqa: B023 - called at once
        need.append(rest[len(rest) - size])
        rest = rest[len(rest) - size + 1 :]
        if not rest or fails(need):
            return need
        if surely is not None:
            surely([*need, *rest])


def _suffix(rest: Sequence[Any], fails: Callable[[int], bool]) -> int:
    """The smallest n of 1 to len(rest) whose suffix fails; len(rest) is known to."""
    low, high = 0, 1
    while high < len(rest) and not fails(high):
        low, high = high, high * 2
    high = min(high, len(rest))
    while high - low > 1:
        middle = (low + high) // 2
        if fails(middle):
            high = middle
        else:
            low = middle
    return high


def shape_of(shot: Shot) -> tuple[Any, ...]:
    """What a server may treat alike: which parameters and fields, streaming, the prompt's length by powers of two."""
    sampling = {k for k, v in (shot.sampling or {}).items() if v not in (None, False, 0, [], {}, "")}
    return (
        shot.endpoint, shot.stream, shot.greedy, tuple(sorted(sampling)), tuple(sorted(shot.fields or {})),
        shot.size.bit_length(),
    )  # fmt: skip


def representatives(shots: Sequence[Shot]) -> list[Shot]:
    """The last request of each shape, an unfinished one before all others; in order."""
    chosen: dict[tuple[Any, ...], int] = {}
    for i, shot in enumerate(shots):
        at = chosen.get(shape_of(shot))
        if at is None or shot.unfinished or not shots[at].unfinished:
            chosen[shape_of(shot)] = i
    return [shots[i] for i in sorted(chosen.values())]


def starting_set(oracle: Oracle, shots: Sequence[Shot]) -> tuple[list[Shot], Try] | None:
    """The first set that fails: what was unfinished at the crash, one of each shape, then all (as often as allowed)."""
    open_ones = [s for s in shots if s.unfinished]
    smaller = [(open_ones, "unfinished at the crash"), (representatives(shots), "one of each shape")]
    for some, what in smaller:
        if 0 < len(some) < len(shots) and (done := oracle.fails(some, what)):
            return list(some), done
    for _ in range(max(1, oracle.repeat)):
        done = oracle.once(shots, "all")
        if done.failed:
            return list(shots), done
    return None


class Flaky(Exception):
    """A failing set passed: what was decided on single tries does not stand."""

    def __init__(self, shots: list[Shot]) -> None:
        super().__init__()
        self.shots = shots


def fewest_requests(oracle: Oracle, shots: Sequence[Shot], first: Try) -> list[Shot]:
    """The fewest requests of a failing set.

    Where a set fails and passes, either the fault comes now and then, or it needs what earlier tries left in a server:
    the second where `shots` fail every time on fresh servers, and then every try gets one.
    """
    current, done = list(shots), first
    looked = oracle.fresh or not oracle.may_refresh
    while len(current) > 1:
        before, again = len(current), False
        try:
            current = _galloped(oracle, _narrowed(oracle, current, done))
        except Flaky as e:
            current, again = e.shots, True
            if not looked:
                looked, oracle.fresh = True, True
                if oracle.always(shots, "all on a fresh server", CONFIRM):
                    current = list(shots)
                else:
                    oracle.fresh = False
        if len(current) <= SINGLES:
            current = _single(oracle, current)
        found = oracle.fails(current, "again")
        assert found is not None  # every set above was seen to fail
        done = found
        if len(current) == before and not again:
            break
    return current


def _narrowed(oracle: Oracle, current: list[Shot], done: Try) -> list[Shot]:
    """Follow what the failing tries point at, as long as it gets smaller."""
    while len(current) > 1:
        suspects = [current[i] for i in done.suspects if i < len(current)]
        for some, what in ((suspects, "what the fault points at"), (representatives(current), "one of each shape")):
            if 0 < len(some) < len(current) and (found := oracle.fails(some, what)):
                current, done = list(some), found
                break
        else:
            return current
    return current


def _galloped(oracle: Oracle, current: list[Shot]) -> list[Shot]:
    sure = False

    def fails(some: Sequence[Shot]) -> bool:
        return oracle.fails(some, "fewer requests") is not None

    def surely(failing: list[Shot]) -> None:
        """Before a second request is looked for: does the set fail every time?"""
        nonlocal sure
        if sure or oracle.rate() is not None:
            return
        sure = True
        if oracle.confirm(failing, "again", CONFIRM, LEARN).failed < CONFIRM:
            raise Flaky(failing)

    return fewest(current, fails, surely) if len(current) > 1 else current


def _single(oracle: Oracle, current: list[Shot]) -> list[Shot]:
    """One request alone, if that is enough: asked more than once, in case the fault comes now and then."""
    for shot in reversed(current):
        if oracle.fails([shot], "one request alone", CONFIRM) is not None:
            return [shot]
    return current
