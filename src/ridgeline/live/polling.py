"""Many servers polled at once: every endpoint has its own task and clock, so that a slow one delays only itself."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from ridgeline.live.cleaning import without_secrets
from ridgeline.live.endpoints import ENDPOINTS, Endpoint, header
from ridgeline.live.fetch import TIMEOUT_S, Answer, get, session
from ridgeline.live.pace import Pace
from ridgeline.live.poll import base_of
from ridgeline.live.raw import Sink, flat

if TYPE_CHECKING:
    import aiohttp

MOST_LATE: Final = 1 << 17  # of the last questions it is known how late they were
LAST_S: Final = 3.0  # the look at the end must not hold up the end
OnAnswer = Callable[[str, str, Answer], None]  # server, endpoint's name, what came
Say = Callable[[str], None]


@dataclass
class Tally:
    """What polling did: how many answers, gaps and skipped ticks, and how late each question was asked."""

    answers: int = 0
    gaps: int = 0
    late_s: deque[float] = field(default_factory=lambda: deque(maxlen=MOST_LATE))
    answered: set[str] = field(default_factory=set)
    refused: dict[str, str] = field(default_factory=dict)  # endpoint → the last reason for a gap
    paces: list[Pace] = field(default_factory=list)

    @property
    def skipped(self) -> int:
        """Ticks that fell to a slow answer."""
        return sum(pace.skipped for pace in self.paces)


def home_of(base: str) -> str:
    """The folder of a server's files."""
    return flat(urlsplit(base).netloc.replace(":", "_") + urlsplit(base).path.rstrip("/"))


async def poll(
    urls: Sequence[str], every_s: float, sink: Sink, until: asyncio.Event, say: Say, tally: Tally,
    on_answer: OnAnswer | None = None,
) -> None:  # fmt: skip
    """Poll every server until `until` is set, then once more. Raises InputError for something that is no URL.

    `OutOfSpace` of the sink ends all polling and is raised.
    """
    bases = list(dict.fromkeys(base_of(url) for url in urls))
    async with session() as client, asyncio.TaskGroup() as group:
        begin = time.monotonic() + 0.05
        jobs = [(base, target) for target in ENDPOINTS for base in bases]
        for k, (base, target) in enumerate(jobs):
            # Spread over the interval, so that answers do not queue behind each other here; one kind of endpoint
            # begins after the other, so that the first moments, with all their new connections, are no burst.
            turn, place = divmod(k, len(bases))
            wait = every_s * turn if target.often else min(every_s, 1.0) * (1 + turn)
            start = begin + wait + min(every_s, 5.0) * 0.95 * place / len(bases)
            pace = Pace(max(every_s, target.least_s), start)
            tally.paces.append(pace)
            group.create_task(_follow(client, base, target, pace, sink, until, say, tally, on_answer))


async def _follow(
    client: aiohttp.ClientSession, base: str, target: Endpoint, pace: Pace, sink: Sink, until: asyncio.Event, say: Say,
    tally: Tally, on_answer: OnAnswer | None,
) -> None:  # fmt: skip
    path, shown = target.path, f"{home_of(base)}/{target.file}"
    first, gap = True, False
    while True:
        last = await _until(until, pace.next)
        if last and gap:
            return  # an endpoint that gave nothing a moment ago must not hold up the end
        if not last:
            tally.late_s.append(max(0.0, time.monotonic() - pace.next))
        answer = await _asked(client, base + path, until, last)
        if answer is None:
            return
        for other in target.instead if first else ():
            if answer.status != 404:
                break
            path = other
            answer = await get(client, base + path, timeout_s=LAST_S if last else TIMEOUT_S)
        if answer.status in (404, 405) and first:
            return  # this version has no such endpoint: nothing to poll
        first, gap = False, answer.status == 0
        _keep(base, base + path, shown, target, answer, sink, tally)
        if on_answer is not None and not (last and answer.status == 0):  # the last look waits for less: no alarm
            on_answer(base, target.name, answer)
        if last:
            return
        changed = pace.advance(time.monotonic(), 0.0 if target.steady else answer.took_s)
        if changed is not None:
            say(f"{base}{path.split('?')[0]} {changed}")


async def _asked(client: aiohttp.ClientSession, url: str, until: asyncio.Event, last: bool) -> Answer | None:
    """One look; None where the end came while the answer did not."""
    if last:
        return await get(client, url, timeout_s=LAST_S)
    asking = asyncio.ensure_future(get(client, url))
    ending = asyncio.ensure_future(until.wait())
    try:
        await asyncio.wait((asking, ending), return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            await asyncio.wait((asking,), timeout=LAST_S)
        return asking.result() if asking.done() else None
    finally:
        ending.cancel()
        asking.cancel()


async def _until(stop: asyncio.Event, moment: float) -> bool:
    """Sleep until a monotonic moment; True where the end came first."""
    try:
        await asyncio.wait_for(stop.wait(), max(0.0, moment - time.monotonic()))
    except TimeoutError:
        return False
    return True


def _keep(base: str, url: str, shown: str, target: Endpoint, answer: Answer, sink: Sink, tally: Tally) -> None:
    body = answer.body
    if answer.status == 0:
        tally.gaps += 1
        tally.refused[url.split("?")[0]] = body.decode("utf-8", "replace")
        body = body.replace(b"\n", b" ")
    else:
        tally.answers += 1
        tally.answered.add(base)
        tally.refused.pop(url.split("?")[0], None)
    if target.secret:
        body = without_secrets(body)
    sink.append(shown, header(url, answer.ts, answer.took_s, answer.status) + body.rstrip(b"\n") + b"\n", answer.ts)
