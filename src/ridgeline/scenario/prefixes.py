"""Which prompts share a prefix, as segments of a scenario: from block hashes, a client's prefix groups, or hits.

The weaker evidence is only used where the stronger is absent for the whole traffic:
- hashes: chained block hashes of prompts; equal hash at equal place means equal text up to there.
- groups: requests that a client says share a prefix; its length is what the engine found of it (largest hit in the
  group, else the largest hit at all, never more than the shortest prompt less one). Where the cache was off no hit
  tells: the shortest prompt of a group less one stands for it, the most that it can be.
- keys: requests of one routing key that hit equally far again and again (inferred; on request only).
- cached: only how many tokens each request found; all are taken from one common text, which counts found tokens as
  free compute and as free memory.
"""

import statistics
from collections.abc import Mapping, Sequence

import numpy as np

from ridgeline.scenario.model import Ints
from ridgeline.scenario.traffic import Floats

Segments = tuple[Ints, Ints, Ints]
Hashes = tuple[int, tuple[int, ...]]
FEWEST_HITS = 3
ALIKE = 0.3
"""Share of a key's hits that must reach exactly as far as the longest: smaller pages or evictions cut some short."""
NEAR = 0.99
EXPLAINED = 0.7
HIT_TOKENS = 8
"""A find of fewer tokens is the template's opening, not a shared prefix."""


def segments_of(
    prompts: Sequence[int],
    cached: Floats,
    groups: Sequence[int | None],
    hashes: Sequence[Hashes | None],
    keys: Sequence[str | None] = (),
    heads: Mapping[str, int] | None = None,
    cache_off: bool = False,
) -> tuple[str, Segments | None]:
    """The evidence used (hashes, groups, keys, cached, none) and offsets, ids and tokens of all segments.

    ``keys``: each request's routing key, and ``heads``: the prefix that requests of a key share (see `heads_of`);
    ``cache_off``: the engine reused nothing, whatever prompts share.
    """
    if any(value is not None for value in hashes):
        return "hashes", flat([by_hash(h, n) for h, n in zip(hashes, prompts, strict=True)])
    found = np.where(np.isnan(cached), 0, cached)
    if any(value is not None for value in groups):
        if found.max(initial=0) >= HIT_TOKENS:
            return "groups", flat(by_group(prompts, found, groups))
        if cache_off:
            return "groups", flat(by_shortest(prompts, groups))
    if heads:
        return "keys", flat(by_key(prompts, keys, heads))
    if not np.isnan(cached).all():
        return "cached", flat([[(1, int(min(c, n - 1)))] if c >= 1 and n > 1 else []
                               for c, n in zip(found, prompts, strict=True)])  # fmt: skip
    return "none", None


def heads_of(keys: Sequence[str | None], cached: Sequence[float | None]) -> dict[str, int]:
    """Key → tokens that its requests begin with alike, learned from what the engine found cached.

    Requests of one key that share a system prompt hit exactly as far as that reaches, again and again. Nothing is
    learned unless that explains most cached tokens of the run.
    """
    hits: dict[str, list[int]] = {}
    total = 0.0
    for key, found in zip(keys, cached, strict=True):
        if found is not None and found >= HIT_TOKENS:
            total += found
            if key is not None:
                hits.setdefault(key, []).append(int(found))
    heads: dict[str, int] = {}
    explained = 0.0
    for key, values in hits.items():
        # the texts behind a shared head may agree in a token or two more by chance
        far = [v for v in values if v >= max(values) * NEAR - HIT_TOKENS]
        if len(values) >= FEWEST_HITS and len(far) >= ALIKE * len(values):
            heads[key] = min(statistics.multimode(far))
            explained += float(sum(values))
    return heads if total > 0 and explained >= EXPLAINED * total else {}


def by_key(prompts: Sequence[int], keys: Sequence[str | None], heads: Mapping[str, int]) -> list[list[tuple[int, int]]]:
    """The head of the request's key, then its own text."""
    number = {key: at for at, key in enumerate(sorted(heads))}
    return [
        [(2 + number[key], min(heads[key], prompt - 1))] if key is not None and key in heads and prompt > 1 else []
        for key, prompt in zip(keys, prompts, strict=True)
    ]


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


def by_shortest(prompts: Sequence[int], groups: Sequence[int | None]) -> list[list[tuple[int, int]]]:
    """The most that the prompts of a group can share: the shortest of them less one; nothing for one alone."""
    members: dict[int, list[int]] = {}
    for prompt, group in zip(prompts, groups, strict=True):
        if group is not None:
            members.setdefault(group, []).append(prompt)
    heads = {group: min(sizes) - 1 for group, sizes in members.items() if len(sizes) > 1}
    return [
        [(2 + group, heads[group])] if group is not None and heads.get(group, 0) >= HIT_TOKENS else []
        for group in groups
    ]


def flat(lists: Sequence[Sequence[tuple[int, int]]]) -> Segments:
    """Offsets, ids and tokens of lists of (id, tokens)."""
    offsets = np.concatenate([[0], np.cumsum([len(item) for item in lists])]).astype(np.int64)
    ids = np.array([i for item in lists for i, _ in item], np.int64)
    tokens = np.array([t for item in lists for _, t in item], np.int64)
    return offsets, ids, tokens
