"""The past out of a Prometheus: range queries over every series of an engine, in steps that its limits allow."""

from __future__ import annotations

import contextlib
import json
import math
import time
from typing import Final
from urllib.parse import urlencode

from ridgeline.live.fetch import get, session
from ridgeline.live.poll import base_of
from ridgeline.live.polling import Say
from ridgeline.live.raw import Sink
from ridgeline.model.errors import InputError, SourceUnavailable

SELECTORS: Final = tuple(f'{{__name__=~"{prefix}.+"}}' for prefix in ("sglang[:_]", "vllm[:_]", "smg_"))
POINTS: Final = 2_000  # per query; Prometheus refuses more than 11,000 of one series
LIMIT: Final = 256 * 1024 * 1024
TIMEOUT_S: Final = 120.0


async def past(url: str, from_ts: float, to_ts: float, step_s: float, sink: Sink, say: Say) -> int:
    """Ask for [from, to] in pieces; each answer becomes one file. Returns how many answers held a series.

    Raises InputError for times the wrong way round, SourceUnavailable where Prometheus does not answer or refuses.
    """
    if not to_ts > from_ts:
        raise InputError("--from and --to: the end must lie after the start")
    base, pieces = base_of(url), max(1, math.ceil((to_ts - from_ts) / step_s / POINTS))
    width, held = (to_ts - from_ts) / pieces, 0
    async with session() as client:
        for selector in SELECTORS:
            for k in range(pieces):
                start, end = from_ts + k * width, from_ts + (k + 1) * width - (0 if k == pieces - 1 else step_s)
                query = urlencode({"query": selector, "start": f"{start:.3f}", "end": f"{max(start, end):.3f}",
                                   "step": f"{step_s:g}"})  # fmt: skip
                answer = await get(client, f"{base}/api/v1/query_range?{query}", timeout_s=TIMEOUT_S, limit=LIMIT)
                if answer.status != 200:
                    raise SourceUnavailable(f"{base}: {_why(answer.status, answer.body)}")
                if _series(answer.body):
                    held += 1
                    sink.append(f"prometheus/{held:04d}.json", answer.body, time.time())
    if not held:
        say(f"{base}: has no series of an engine between the two times")
    return held


def _series(body: bytes) -> bool:
    try:
        return bool(json.loads(body)["data"]["result"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return False


def _why(status: int, body: bytes) -> str:
    text = body.decode("utf-8", "replace")
    with contextlib.suppress(ValueError, AttributeError, RecursionError):  # no JSON: the text itself says why
        text = str(json.loads(text).get("error", text))
    return (f"answered HTTP {status}: " if status else "") + " ".join(text.split())[:300]
