"""The values of many sample lines at once."""

from operator import itemgetter

import numpy as np

from ridgeline.signals.exposition.assemble import Bools
from ridgeline.signals.exposition.book import F64


def pick(positions: tuple[int, ...], texts: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """The texts at these positions."""
    if len(positions) > 1:
        picked: tuple[bytes, ...] = itemgetter(*positions)(texts)
        return picked
    return tuple(texts[at] for at in positions)


def floats(texts: tuple[bytes, ...]) -> tuple[F64, Bools]:
    """Values [n], and which of the texts are numbers of the format [n]."""
    sound = np.ones(len(texts), dtype=np.bool_)
    values = _all_floats(texts)
    if values is not None:
        return values, sound
    values = np.zeros(len(texts))
    for n, text in enumerate(texts):
        one = _all_floats((text,))
        sound[n] = one is not None
        values[n] = 0.0 if one is None else one[0]
    return values, sound


def _all_floats(texts: tuple[bytes, ...]) -> F64 | None:
    # Python would also take 1_000; the format does not.
    if b"_" in b" ".join(texts):
        return None
    try:
        return np.fromiter(map(float, texts), dtype=np.float64, count=len(texts))
    except ValueError:
        return None
