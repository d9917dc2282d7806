"""Hashes of prefixes: the same first p units give the same number at any grain.

The hash of a prefix is the sum, modulo 2^64, of one pseudo-random number for each (unit, position) pair, drawn by the
finaliser of SplitMix64 (Steele, Lea, Flood 2014). A running sum therefore gives all prefixes of all prompts of a batch
at once, and rows stored at grain 1 and at grain 16 compare at their common positions. Two different prefixes agree
with probability 2^-64; nothing here resists somebody who builds collisions on purpose.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]

GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
APART: Final = 1 << 40  # keeps positions and units from standing for each other
_A: Final = np.uint64(0xBF58476D1CE4E5B9)
_B: Final = np.uint64(0x94D049BB133111EB)
_30: Final = np.uint64(30)
_27: Final = np.uint64(27)
_31: Final = np.uint64(31)
BLOCK: Final = 4096


def mixed(values: npt.NDArray[Any]) -> U64:
    """SplitMix64's finaliser over an array of integers (negative ones by their two's complement)."""
    out = np.empty(len(values), np.uint64)
    moved = np.empty(min(len(values), BLOCK), np.uint64)
    for at in range(0, len(values), BLOCK):  # a piece that the nearest cache holds: half the time of the whole at once
        z = out[at : at + BLOCK]
        t = moved[: len(z)]
        z[:] = values[at : at + BLOCK]
        z += GOLDEN
        np.right_shift(z, _30, out=t)
        z ^= t
        z *= _A
        np.right_shift(z, _27, out=t)
        z ^= t
        z *= _B
        np.right_shift(z, _31, out=t)
        z ^= t
    return out


def prefix_hashes(units: I64, lengths: I64, grain: int) -> tuple[I64, I64]:
    """(hashes, how many each prompt has) of prompts laid end to end.

    `units` are token ids or code points, [sum(lengths)]. A prompt of n units has ceil(n / grain) hashes: hash k is that
    of its first min((k + 1) x grain, n) units.
    """
    total = int(lengths.sum())
    counts = -(-lengths // grain)
    if total == 0:
        return np.zeros(0, np.int64), counts
    starts = np.cumsum(lengths) - lengths
    position = np.arange(total, dtype=np.int64) - np.repeat(starts, lengths)
    places = mixed(np.arange(int(lengths.max()), dtype=np.int64) + APART)
    running = np.cumsum(mixed(mixed(units) ^ places[position]), dtype=np.uint64)
    base = np.where(starts > 0, running[np.maximum(starts - 1, 0)], np.uint64(0))
    row = np.repeat(np.arange(len(lengths)), counts)
    nth = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    last = np.minimum((nth + 1) * grain, lengths[row]) - 1
    return (running[starts[row] + last] - base[row]).view(np.int64), counts


def units_of(text: str) -> I64:
    """The code points of a text, or the ids of a text made by `text_of_ids`."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.int64)


def text_of_ids(ids: npt.NDArray[Any]) -> str | None:
    """Token ids as a text of one character each, so that both kinds are compared by the same code.

    None where an id is none of the 1,114,112 that characters have (no tokenizer has as many).
    """
    if len(ids) and (int(ids.min()) < 0 or int(ids.max()) > 0x10FFFF):
        return None
    return ids.astype(np.uint32).tobytes().decode("utf-32-le", "surrogatepass")
