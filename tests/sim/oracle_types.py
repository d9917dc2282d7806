"""What the oracle's parts share: draws, requests, configuration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.sim.oracle_tree import Node, Token

FOREVER = 1 << 62


def oracle_draw(*keys: int) -> int:
    p, q = 2147483647, 2147483629

    def fold(h: int, v: int) -> int:
        a = ((h >> 31) * 48271 + v % p + 11) % p
        b = ((h & 0x7FFFFFFF) * 69621 + v % q + 7) % q
        return (a << 31) | b

    h = 88172645463325252 >> 2
    for key in keys:
        h = fold(h, key)
    x = (h >> 31) ^ (h & 0x7FFFFFFF)
    x = ((x ^ (x >> 15)) * 739982445) % p
    return ((x ^ (x >> 13)) * 1274126177) % p


@dataclass(eq=False)
class Req:
    id: int
    arrival: int
    prompt: int
    out: int
    max_new: int
    content: list[Token]
    space: int = 0
    key: int = 0
    lora: int = 0
    priority: int = 0
    asked: int = -1
    kind: int = 0
    ignore_eos: bool = False
    grammar_us: int = 0
    storage_us: int = 0
    cancel: int = 0
    work_us: int = 0
    # what happens
    gen: int = 0
    kv: int = 0
    tree_len: int = 0
    node: Node | None = None
    private: int = 0
    extend: int = 0
    hit: int = -1
    cached: int = 0
    dispatch: int = 0
    queued: int = 0
    entry: int = 0
    start: int = 0
    first: int = 0
    last: int = 0
    finish: int = 0
    ready: int = 0
    answer: int = FOREVER
    aged: int = 0
    retractions: int = 0
    outcome: str = "open"
    worker: int = -1
    rank: int = -1
    joined: int = 0
    fault: bool = False
    sent: int = 0
    prefill_done: bool = False
    peer: Req | None = None
    drafted: int = 0
    kv_joined: int = 0
    gen_joined: int = 0
    over: bool = False
    waste: int = 0

    def tokens(self, n: int) -> list[Token]:
        # past the listed content comes the request's own output
        return [self.content[k] if k < len(self.content) else (-1 - self.id, k) for k in range(n)]


@dataclass
class Cfg:
    p: dict[str, Any]
    timed: list[tuple[int, int, str, int, int, int, int]] = field(default_factory=list)

    def at(self, name: str, rank: int, t: int, kind: int | None = None) -> int:
        value = int(self.p[name])
        for lo, hi, what, r, k, times, plus in self.timed:
            if what == name and r in (-1, rank) and lo <= t < hi and k == -1:
                value = value * times // 1000 + plus
        if kind is not None:
            for lo, hi, what, r, k, times, plus in self.timed:
                if what == name and r in (-1, rank) and lo <= t < hi and k == kind:
                    value = value * times // 1000 + plus
        return value

    def edges(self, rank: int) -> list[int]:
        return sorted({e for lo, hi, _, r, k, _, _ in self.timed if r in (-1, rank) and k == -1 for e in (lo, hi)})
