"""Waiting for room in the KV pool: a queue that users feel although it stands only for a part of the time."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.backlog import queued
from ridgeline.facts.change import change
from ridgeline.facts.disagg import decode_usage, pd_queue
from ridgeline.facts.make import restated
from ridgeline.facts.memory import pool_too_small, retractions_per_min
from ridgeline.facts.queue import pool_full, waiting_share
from ridgeline.facts.requests import seconds, slice_share
from ridgeline.facts.reuse import LESS, flush_explains
from ridgeline.model.fact import Fact

STOOD: Final = 0.05  # of the time somebody waits
PART: Final = 0.3  # of the slower starts' TTFT is wait
PILED: Final = 4  # requests before their transfer
FULL: Final = 0.9  # of decode's pool
FELT_S: Final = 1.0  # what one request in twenty waits


def pool_queue(view: View) -> Fact:
    """Whether requests wait, in a way that users feel, for room in the pool.

    A pool that is full only at times holds up those that come then: where a queue stands only beside a full pool, a
    third of the slower starts' time is wait and one request in twenty waits a second, they do. On a decode server they
    stand in its preallocation queue.
    """
    stands = queued(view)
    if stands.value:
        return stands
    apart, used = pd_queue(view, "prealloc"), decode_usage(view)
    if (apart.value or 0) >= PILED and (used.value or 0) >= FULL:
        running = dict(apart.statement.figures)["running"]
        return restated(apart, True, "", "pool_queue.prealloc", waiting=apart.value, busy=running)
    if stands.value is None:
        return stands
    full, stood = pool_full(view), waiting_share(view)
    share, wait = slice_share(view, "queue"), seconds(view, "queue_s", 0.95)
    if not full.value or (stood.value or 0) < STOOD or (share.value or 0) < PART or (wait.value or 0) < FELT_S:
        return stands
    told = dict(stands.statement.figures)
    return restated(wait, True, "", "pool_queue.felt", share=share.value, waiting=told["waiting"], busy=told["busy"])


def pool_pinches(view: View) -> Fact:
    """Whether users feel the pool's size: requests wait beside a full one, or a smaller one no longer keeps prefixes.

    The latter where the last start brought half the pool or less, and what hits fell since then and stayed low.
    """
    queue, full = pool_queue(view), pool_full(view)
    if queue.value and full.value:
        return restated(full, True, "", "usage_when_queued")
    fell = change(view, "hit_ratio")
    lost = fell.value is not None and fell.value <= LESS and pool_too_small(view).statement.key == "pool.shrunk"
    if lost and flush_explains(view).value is not True:
        return restated(fell, True, "", fell.statement.key)
    if full.value is False:
        return restated(full, False, "", "usage_when_queued")
    if queue.value is False:
        return restated(queue, False, "", queue.statement.key)
    return queue if queue.value is None else full


def retractions_apart(view: View) -> Fact:
    """Retractions for each minute that the pool's size does not account for: 0 where a start brought half of it."""
    rate, small = retractions_per_min(view), pool_too_small(view)
    if rate.value and small.value and small.statement.key == "pool.shrunk":
        return restated(small, 0.0, "per minute", "pool.shrunk")
    return rate if rate.value is None else restated(rate, rate.value, "per minute", "retractions_per_min")
