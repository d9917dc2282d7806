"""Which keys occur in a run of JSON lines, found without parsing: a quick look that decides how wide to parse.

Every key ends in `":`. The eight bytes before that mark are compared with those of the keys that only the wide shape
holds. A key of another record with the same ending, or such text inside a string, costs time and nothing else.
"""

from typing import Final, NamedTuple

import numpy as np

from ridgeline.signals.request_log.shape import NARROW, OPENAI, WIDE, Shape

TAIL: Final = 8
_COLON, _QUOTE, _NEWLINE, _BRACE = 0x3A, 0x22, 0x0A, 0x7B
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_SHIFT: Final = np.uint64(52)
# Containers whose short keys are not looked for one by one: without the container's own key they cannot be there.
_INSIDE: Final = frozenset({"sampling_params", "session_params", "cached_tokens_details", "finish_reason"})


class Look(NamedTuple):
    """What a look at some whole lines found."""

    lines: int
    bare: bool  # every line begins with `{`, and the last one is ended
    narrow: bool  # no key that only the wide shape holds


def look(data: bytes) -> Look:
    """Look at `data`, which begins at the beginning of a line."""
    buf = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(buf == _NEWLINE)
    ended = len(buf) > 0 and int(buf[-1]) == _NEWLINE
    starts = ends[:-1] + 1 if ended else ends + 1
    bare = ended and int(buf[0]) == _BRACE and bool((buf[starts] == _BRACE).all())
    return Look(len(ends) + (not ended and len(buf) > 0), bare, narrow(data))


def narrow(data: bytes) -> bool:
    """Whether no key of `data` needs the wide shape. False also where keys are not written `"key":`."""
    buf = np.frombuffer(data, dtype=np.uint8)
    colons = np.flatnonzero(buf == _COLON)
    colons = colons[colons > TAIL]
    before = buf[colons - 1]
    spaced = colons[before == 0x20]
    if len(spaced) and bool((buf[spaced - 2] == _QUOTE).any()):
        return False
    at = colons[before == _QUOTE] - 1 - TAIL
    if not len(at):
        return True
    tails = np.ndarray((len(buf) - TAIL + 1,), dtype="<u8", buffer=data, strides=(1,))[at]
    hits = tails[_TABLE[(tails * _MIX) >> _SHIFT]]
    return not (len(hits) and bool(np.isin(hits, _TAILS).any()))


def _wide_keys(shape: Shape, narrow_shape: Shape) -> set[str]:
    """Keys of the wide shape, at any depth that is looked at, which the narrow one does not hold."""
    found: set[str] = set()
    for name, kind in shape.items():
        have = narrow_shape.get(name)
        if have is None:
            found.add(name)
        elif isinstance(kind, dict) and name not in _INSIDE:
            found |= _wide_keys(kind, have)
    return found


def _tail(key: str) -> int | None:
    quoted = f'"{key}'.encode()
    return int.from_bytes(quoted[-TAIL:], "little") if len(quoted) >= TAIL else None


# `rank` stands beside `running_rids`; OpenAI payloads are told by their event.
LOOKED_FOR: Final = frozenset(_wide_keys(WIDE, NARROW) - OPENAI - {"rank"})
_TAILS: Final = np.array(sorted(tail for key in LOOKED_FOR if (tail := _tail(key)) is not None), dtype=np.uint64)
_TABLE: Final = np.zeros(1 << 12, dtype=np.bool_)
_TABLE[(_TAILS * _MIX) >> _SHIFT] = True
