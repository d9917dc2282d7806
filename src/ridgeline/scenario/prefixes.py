"""Which prompts share a prefix, as segments of a scenario: from block hashes, a client's prefix groups, or hits.

The weaker evidence is only used where the stronger is absent for the whole traffic:
- hashes: chained block hashes of prompts; equal hash at equal place means equal text up to there.
- groups: requests that a client says share a prefix; its length is what the engine found of it (largest hit in the
  group, else the largest hit at all, never more than the shortest prompt less one).
- cached: only how many tokens each request found; all are taken from one common text, which counts found tokens as
  free compute and as free memory.
"""

from collections.abc import Sequence

import numpy as np

from ridgeline.scenario.model import Ints
from ridgeline.scenario.traffic import Floats

Segments = tuple[Ints, Ints, Ints]
Hashes = tuple[int, tuple[int, ...]]
HIT_TOKENS = 8
"""A find of fewer tokens is the template's opening, not a shared prefix."""


def segments_of(
    prompts: Sequence[int], cached: Floats, groups: Sequence[int | None], hashes: Sequence[Hashes | None]
) -> tuple[str, Segments | None]:
    """The evidence used (hashes, groups, cached, none) and offsets, ids and tokens of all segments."""
    if any(value is not None for value in hashes):
        return "hashes", flat([by_hash(h, n) for h, n in zip(hashes, prompts, strict=True)])
    found = np.where(np.isnan(cached), 0, cached)
    if any(value is not None for value in groups) and found.max(initial=0) >= HIT_TOKENS:
        return "groups", flat(by_group(prompts, found, groups))
    if not np.isnan(cached).all():
        return "cached", flat([[(1, int(min(c, n - 1)))] if c >= 1 and n > 1 else []
                               for c, n in zip(found, prompts, strict=True)])  # fmt: skip
    return "none", None


def by_hash(value: Hashes | None, prompt: int) -> list[tuple[int, int]]:
    """One segment per whole block (ids above 2^30 fold into 30 bits)."""
    if value is None:
        return []
    grain, blocks = value
    whole = min(len(blocks), prompt // grain)
    return [(int(h) % (1 << 30) + 1, grain) for h in blocks[:whole]]


def by_group(prompts: Sequence[int], found: Floats, groups: Sequence[int | None]) -> list[list[tuple[int, int]]]:
    """The group's prefix, as long as the engine ever found it, then the request's own text."""
    largest: dict[int, int] = {}
    shortest: dict[int, int] = {}
    for prompt, hit, group in zip(prompts, found, groups, strict=True):
        if group is not None:
            shortest[group] = min(shortest.get(group, prompt), prompt)
            if hit >= HIT_TOKENS:
                largest[group] = max(largest.get(group, 0), int(hit))
    usual = int(np.median(list(largest.values()))) if largest else 0
    out: list[list[tuple[int, int]]] = []
    for prompt, group in zip(prompts, groups, strict=True):
        length = 0 if group is None else min(largest.get(group, min(usual, shortest[group] - 1)), prompt - 1)
        out.append([(2 + group, length)] if group is not None and length > 0 else [])
    return out


def flat(lists: Sequence[Sequence[tuple[int, int]]]) -> Segments:
    """Offsets, ids and tokens of lists of (id, tokens)."""
    offsets = np.concatenate([[0], np.cumsum([len(item) for item in lists])]).astype(np.int64)
    ids = np.array([i for item in lists for i, _ in item], np.int64)
    tokens = np.array([t for item in lists for _, t in item], np.int64)
    return offsets, ids, tokens
