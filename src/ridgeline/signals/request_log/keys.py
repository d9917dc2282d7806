"""Which keys occur in a run of JSON lines, found without parsing: a quick look that decides how wide to parse.

Every key ends in `":`. The eight bytes before that mark are compared with those of the keys that only the wide shape
holds. A key of another record with the same ending, or such text inside a string, costs time and nothing else.
"""

from typing import Final, NamedTuple

import numpy as np

from ridgeline.signals.lines import BLOCK, NEWLINE, U8, marked
from ridgeline.signals.request_log.shape import NARROW, OPENAI, WIDE, Shape

TAIL: Final = 8
_COLON, _QUOTE, _BRACE, _SPACE = 0x3A, 0x22, 0x7B, 0x20
# Containers whose short keys are not looked for one by one: without the container's own key they cannot be there.
_INSIDE: Final = frozenset({"sampling_params", "session_params", "cached_tokens_details", "finish_reason"})


class Look(NamedTuple):
    """What a look at some bytes found."""

    lines: int  # newlines
    bare: bool  # every line that begins in them begins with `{`
    narrow: bool  # no key that only the wide shape holds


def look(buf: U8, known: int = 0, keys: bool = True) -> Look:
    """Look at bytes of a file; the first `known` of them were looked at before and are there for context.

    The bytes are those of a file from its first on, or begin in the middle of a line. Without `keys` their keys are not
    looked at, and they do not count as narrow.
    """
    if len(buf) <= known:
        return Look(0, False, keys)  # the file became shorter
    ends = marked(buf[known:] == NEWLINE) + known
    starts = ends[ends < len(buf) - 1] + 1
    bare = bool((buf[starts] == _BRACE).all())
    if known == 0:
        bare &= int(buf[0]) == _BRACE
    elif int(buf[known - 1]) == NEWLINE:
        bare &= int(buf[known]) == _BRACE
    return Look(len(ends), bare, keys and _narrow(buf))


def narrow(data: bytes | memoryview) -> bool:
    """Whether no key of `data` needs the wide shape. False also where keys are not written `"key":`."""
    buf = np.frombuffer(data, dtype=np.uint8)
    reach = TAIL + 2
    return all(_narrow(buf[max(0, start - reach) : start + BLOCK]) for start in range(0, len(buf), BLOCK))


def _narrow(buf: U8) -> bool:
    colons = np.flatnonzero(buf == _COLON)
    colons = colons[np.searchsorted(colons, TAIL + 1) :]
    spaced = colons[buf.take(colons - 1) == _SPACE]
    if len(spaced) and bool((buf[spaced - 2] == _QUOTE).any()):
        return False
    # Two of the tail's bytes leave next to nothing of the keys of a narrow record to compare whole.
    at = colons - (1 + TAIL)
    at = at[_FIRST_FIFTH.take((buf.take(at).astype(np.int64) << 8) | buf.take(at + 4))]
    at = at[buf[at + TAIL] == _QUOTE]
    if not len(at):
        return True
    tails = np.ndarray((len(buf) - TAIL + 1,), dtype="<u8", buffer=buf, strides=(1,))[at]
    return not bool(np.isin(tails, _TAILS).any())


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


# `rank` stands beside `running_rids`; OpenAI payloads are told by their event; a record that names its request only in
# `obj.rid` or `meta_info.id` has no rid in the narrow shape, which tells it.
LOOKED_FOR: Final = frozenset(_wide_keys(WIDE, NARROW) - OPENAI - {"rank", "rid", "id"})
_TAILS: Final = np.array(sorted(tail for key in LOOKED_FOR if (tail := _tail(key)) is not None), dtype=np.uint64)
_FIRST_FIFTH: Final = np.zeros(1 << 16, dtype=np.bool_)
_FIRST_FIFTH[((_TAILS & np.uint64(0xFF)) << np.uint64(8)) | ((_TAILS >> np.uint64(32)) & np.uint64(0xFF))] = True
