"""Prompts as tables of a view, and the same split computed the plain way: lists, sets and a cache of single pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ridgeline.bundle.view import View, view_of
from ridgeline.prefix.prompts import Prompts
from ridgeline.prefix.setting import Setting
from ridgeline.signals.prompt.hashes import prefix_hashes


@dataclass(frozen=True)
class Ask:
    """One prompt of the made-up traffic."""

    ids: tuple[int, ...]
    space: str | None = ""
    rank: int | None = 0
    outputs: int = 0
    ts: float | None = None
    key: str | None = None
    cached: int | None = None


def view_with(
    asks: Sequence[Ask], page: int | None = None, pool: int | None = None, dp: int | None = None, **more: Any
) -> View:
    """A view of prompts at grain 1 with their requests, in order of time, on one server."""
    lengths = np.array([len(a.ids) for a in asks], np.int64)
    flat = np.array([i for a in asks for i in a.ids], np.int64)
    hashes, counts = prefix_hashes(flat, lengths, 1)
    ends = np.cumsum(counts)
    prompts = [
        {
            "rid": f"r{n}", "server": "s", "namespace": a.space, "unit": "tokens", "basis": "ids", "grain": 1,
            "tokens": len(a.ids), "seen_tokens": len(a.ids), "hashes": hashes[ends[n] - counts[n] : ends[n]].tolist(),
            "source": 1, "line": n + 1,
        }
        for n, a in enumerate(asks)
    ]  # fmt: skip
    requests = [
        {
            "request": n, "rid": f"r{n}", "server": "s", "role": "unified", "dp_rank": a.rank, "state": "finished",
            "received_ts": float(n) if a.ts is None else a.ts, "completion_tokens": a.outputs, "routing_key": a.key,
            "cached_tokens": a.cached, "prompt_tokens": len(a.ids),
        }
        for n, a in enumerate(asks)
    ]  # fmt: skip
    servers = [{"server": "s", "page_size": page, "pool_tokens": pool, "dp_size": dp, "engine": "sglang"}]
    sources = [{"source": 1, "path": "requests.log", "kind": "request-log"}]
    return view_of({"prompts": prompts, "requests": requests, "servers": servers, "sources": sources, **more})


def prompts_of(asks: Sequence[Ask], replies: Sequence[tuple[int, ...]] = ()) -> Prompts:
    """The same prompts as `prompts.load` gives them, without a view; `replies` are outputs whose KV is kept."""
    n = len(asks)
    lengths = np.array([len(a.ids) for a in asks], np.int64)
    kept = [(*a.ids, *reply) for a, reply in zip(asks, replies or [()] * n, strict=True)]
    held = np.array([len(k) for k in kept], np.int64)
    hashes, counts = prefix_hashes(np.array([i for k in kept for i in k], np.int64), held, 1)
    spaces = sorted({a.space for a in asks if a.space is not None})
    labels = sorted({a.key for a in asks if a.key is not None})
    places = sorted({("s", a.rank) for a in asks}, key=lambda p: -1 if p[1] is None else p[1])
    return Prompts(
        unit="tokens",
        length=lengths,
        seen=lengths,
        held=held,
        cut=np.zeros(n, np.bool_),
        grain=np.ones(n, np.int64),
        offsets=np.concatenate(([0], np.cumsum(counts))),
        hashes=hashes.view(np.uint64),
        common=np.full(n, -1),
        neighbour=np.full(n, -1),
        drift=(None,) * n,
        drift_tokens=np.zeros(n, np.int64),
        space=np.array([-1 if a.space is None else spaces.index(a.space) for a in asks], np.int64),
        place=np.array([places.index(("s", a.rank)) for a in asks], np.int64),
        label=np.array([-1 if a.key is None else labels.index(a.key) for a in asks], np.int64),
        cached=np.array([-1 if a.cached is None else a.cached for a in asks], np.int64),
        outputs=np.array([a.outputs for a in asks], np.int64),
        ts=np.array([float(i) if a.ts is None else a.ts for i, a in enumerate(asks)]),
        source=np.ones(n, np.int64),
        line=np.arange(1, n + 1),
        rids=tuple(f"r{i}" for i in range(n)),
        spaces=tuple(spaces),
        places=tuple(places),
        labels=tuple(labels),
        blocks=False,
        drifts_known=True,
    )


def setting_of(prompts: Prompts, page: int | None, pool: int | None) -> Setting:
    """A setting with the same pool on every rank."""
    return Setting(page, "given", (pool,) * len(prompts.places), "given")


class Pages:
    """A cache of single pages: least recent first, of equally recent ones the deepest."""

    def __init__(self, pages: int | None) -> None:
        self.pages = pages
        self.touched: dict[Any, tuple[int, int]] = {}
        self.clock = 0

    def match(self, keys: list[Any]) -> int:
        n = 0
        while n < len(keys) and keys[n] in self.touched:
            n += 1
        return n

    def admit(self, keys: list[Any]) -> None:
        self.clock += 1
        for depth, key in enumerate(keys):
            self.touched[key] = (self.clock, -depth)
        while self.pages is not None and len(self.touched) > self.pages:
            del self.touched[min(self.touched, key=lambda key: self.touched[key])]


def plainly(asks: Sequence[Ask], page: int, pool: int | None) -> list[dict[str, int]]:
    """The parts of every prompt, computed without any of the product's code."""
    caches: dict[int | None, Pages] = {}
    out: list[dict[str, int]] = []
    ranks = sorted({a.rank for a in asks}, key=str)
    for rank in ranks:
        caches[rank] = Pages(None if pool is None else pool // page)
    for n, a in enumerate(asks):
        most = (len(a.ids) - 1) // page
        whole = [(a.space, a.ids[: k * page]) for k in range(1, len(a.ids) // page + 1)]

        def common(b: Ask, ids: tuple[int, ...] = a.ids) -> int:
            same = 0
            while same < min(len(ids), len(b.ids)) and ids[same] == b.ids[same]:
                same += 1
            return same

        own = min(caches[a.rank].match(whole), most)
        best = max(min(caches[rank].match(whole), most) for rank in ranks)
        before = asks[:n]
        keyed = min(max((common(b) // page for b in before if b.space == a.space), default=0), most)
        anywhere = min(max((common(b) // page for b in before), default=0), most)
        exact = max(min(max((common(b) for b in before), default=0), len(a.ids) - 1), anywhere * page)
        out.append(
            {
                "hit": own * page,
                "scattered_routing": (best - own) * page,
                "eviction": (keyed - best) * page,
                "key_split": (anywhere - keyed) * page,
                "page_misaligned": exact - anywhere * page,
                "prompt_drift": 0,
                "never_seen": len(a.ids) - 1 - exact,
                "unseen": 0,
                "computed": 1,
            }
        )
        behind = (len(a.ids) + max(a.outputs - 1, 0)) // page - len(a.ids) // page
        caches[a.rank].admit([*whole, *((n, "out", k) for k in range(behind))])
    return out
