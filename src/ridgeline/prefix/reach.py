"""How far each prompt was seen before, without any limit of memory: first appearances of prefixes, all at once."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ridgeline.prefix.prompts import I64, Prompts

U64 = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Steps:
    """The prefixes of every prompt, its output behind it, at multiples of `step` (and at its end, where `ends`).

    `row` [m] and `end` [m] say whose prefix each is and how many units it covers, in order of row and length.
    """

    step: int
    row: I64
    end: I64
    hashes: U64
    counts: I64  # [n] prefixes of each prompt

    def reach(self, salt: U64 | None = None) -> I64:
        """[n] units of each prompt and output that an earlier one began with, too; `salt` [n] keeps kinds apart."""
        keys = self.hashes if salt is None else self.hashes ^ salt[self.row]
        _, first, number = np.unique(keys, return_index=True, return_inverse=True)
        # A prefix seen before implies that every shorter one was: the longest is the last one flagged.
        before = self.row[first][number] < self.row
        out = np.zeros(len(self.counts), np.int64)
        np.maximum.at(out, self.row[before], self.end[before])
        return out


def steps(prompts: Prompts, step: int, ends: bool = False) -> Steps:
    """The prefixes at multiples of `step`, which every grain must divide; `ends`: the last, shorter one as well."""
    every = step // np.maximum(prompts.grain, 1)
    counts = prompts.held // step
    if ends:
        counts = -(-prompts.held // step)
    row = np.repeat(np.arange(prompts.n), counts)
    nth = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    end = np.minimum((nth + 1) * step, prompts.held[row])
    size = np.diff(prompts.offsets)
    at = prompts.offsets[:-1][row] + np.minimum((nth + 1) * every[row], size[row]) - 1
    return Steps(step, row, end, prompts.hashes[at], counts)


def salted(*numbers: I64) -> U64:
    """One pseudo-random number for each combination of the given numbers, [n]."""
    out = np.zeros(len(numbers[0]), np.uint64)
    for values in numbers:
        out = (out ^ (values + 2).astype(np.uint64)) * np.uint64(0xBF58476D1CE4E5B9)
        out ^= out >> np.uint64(29)
    return out
