"""Inside each request: parameters dropped, outputs shortened, the prompt cut from both ends and in the middle."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from ridgeline.replay.minimise.oracle import Oracle
from ridgeline.replay.minimise.search import fewest
from ridgeline.replay.shot import Shot

PAGE_TOKENS: Final = 16
PAGE_CHARS: Final = 64
ENDS: Final = 4
"""Each end is cut to a quarter of a page, so that what is left is within a page of what is needed."""
PASSES: Final = 3
COMMON: Final = frozenset({"temperature", "top_p", "top_k", "n", "stop", "skip_special_tokens"})
"""Parameters nearly every request has: the search begins with what is rarer."""

Prompt = TypeVar("Prompt", str, tuple[int, ...])
Part = tuple[str, str]  # ("sampling" | "fields" | "headers" | "stream", name)


@dataclass
class Inside:
    """Shrinks one request of a failing set at a time, the others as they are."""

    oracle: Oracle
    keep_stream: bool = False  # the predicate is about the stream

    def all(self, shots: Sequence[Shot]) -> list[Shot]:
        """Shrink every request; again while that still helps a fault that comes now and then."""
        current = list(shots)
        for _ in range(PASSES):
            before = current
            for at in range(len(current)):
                current = self._one(current, at)
            if current == before or self.oracle.rate() is None:
                return current
        return current

    def _one(self, shots: list[Shot], at: int) -> list[Shot]:
        def fails(shot: Shot, what: str) -> bool:
            return self.oracle.fails([*shots[:at], shot, *shots[at + 1 :]], what) is not None

        shot = self._without_parts(shots[at], fails)
        shot = self._shorter_output(shot, fails)
        shot = self._shorter_prompt(shot, fails)
        return [*shots[:at], shot, *shots[at + 1 :]]

    def _without_parts(self, shot: Shot, fails: Callable[[Shot, str], bool]) -> Shot:
        parts = parts_of(shot, self.keep_stream)
        if not parts:
            return shot
        bare = with_parts(shot, ())
        if fails(bare, "no parameters"):
            return bare
        if len(parts) == 1:
            return shot
        need = fewest(parts, lambda some: fails(with_parts(shot, some), "fewer parameters"))
        return with_parts(shot, need)

    def _shorter_output(self, shot: Shot, fails: Callable[[Shot, str], bool]) -> Shot:
        now = (shot.sampling or {}).get("max_new_tokens")
        if shot.endpoint != "/generate" or now == 1:
            return shot
        for limit in (1, *(() if not isinstance(now, int) else sorted({now // 8, now // 2} - {0, 1}))):
            shorter = replace(shot, sampling={**(shot.sampling or {}), "max_new_tokens": limit})
            if fails(shorter, "shorter output"):
                return shorter
        return shot

    def _shorter_prompt(self, shot: Shot, fails: Callable[[Shot, str], bool]) -> Shot:
        if shot.ids:
            ids = cut(shot.ids, PAGE_TOKENS, lambda part: fails(replace(shot, ids=part, text=None), "shorter prompt"))
            # a text beside token ids no longer belongs to them
            return shot if ids == shot.ids else replace(shot, ids=ids, text=None)
        if shot.text:
            return replace(
                shot, text=cut(shot.text, PAGE_CHARS, lambda t: fails(replace(shot, text=t), "shorter prompt"))
            )
        return shot


def parts_of(shot: Shot, keep_stream: bool) -> list[Part]:
    """What can be dropped from a request, the likeliest to matter last; the output is shortened instead."""
    given = shot.sampling or {}
    names = sorted(given, key=lambda name: (given[name] is not None, name not in COMMON, name))
    parts: list[Part] = [("sampling", name) for name in names if name != "max_new_tokens"]
    parts += [("fields", name) for name in sorted(shot.fields or {}) if name not in ("rid", "text", "input_ids")]
    parts = [*(("headers", name) for name, _ in shot.headers), *parts]
    return [("stream", "stream"), *parts] if shot.stream and not keep_stream else parts


def with_parts(shot: Shot, kept: Sequence[Part]) -> Shot:
    """The request with only these parts (and what cannot be dropped)."""
    some = set(kept)

    def left(kind: str, given: Any, always: Sequence[str]) -> dict[str, Any]:
        return {k: v for k, v in (given or {}).items() if (kind, k) in some or k in always}

    return replace(
        shot,
        sampling=left("sampling", shot.sampling, ("max_new_tokens",)),
        fields=left("fields", shot.fields, ("rid", "text", "input_ids")),
        headers=tuple((k, v) for k, v in shot.headers if ("headers", k) in some),
        stream=shot.stream and (("stream", "stream") in some),
    )


def cut(whole: Prompt, page: int, fails: Callable[[Prompt], bool]) -> Prompt:
    """The shortest failing part found: the end cut, then the front, then a hole in the middle. `whole` fails.

    Each end is bisected to a quarter of `page` (units of the prompt), as if more text never hid the fault.
    """
    if len(whole) > 1 and fails(whole[:1]):
        return whole[:1]
    step = max(1, page // ENDS)
    kept = whole[: _least(len(whole), step, lambda n: fails(whole[:n]))]
    if len(kept) > step and fails(kept[step:]):
        kept = kept[step:]
        left = _least(len(kept), step, lambda n: fails(kept[len(kept) - n :]))
        kept = kept[len(kept) - left :]
    return _holed(kept, page, step, fails)


def _least(high: int, step: int, fails: Callable[[int], bool]) -> int:
    """The smallest n up to `high`, to within `step`, for which it fails; `high` is known to, 0 not to."""
    low = 0
    while high - low > step:
        middle = (low + high) // 2
        if fails(middle):
            high = middle
        else:
            low = middle
    return high


def _holed(kept: Prompt, page: int, step: int, fails: Callable[[Prompt], bool]) -> Prompt:
    """Cut out of the middle: half of it, or a quarter at either side of the middle, then the hole is widened."""
    n = len(kept)
    if n <= 2 * page:
        return kept
    for low, high in ((n // 4, n - n // 4), (step, n // 2), (n // 2, n - step)):
        if not fails(kept[:low] + kept[high:]):
            continue
        front, back = kept[:low], kept[high:]
        front = front[: _least(len(front), step, lambda m: fails(front[:m] + back))]  # noqa: B023
        back = back[len(back) - _least(len(back), step, lambda m: fails(front + back[len(back) - m :])) :]  # noqa: B023
        return front + back
    return kept
