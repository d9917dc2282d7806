"""The player: every request leaves at its time, whatever became of those before it (open loop).

One thread, one event loop. Timers fire half a millisecond early because epoll rounds a wait up to the next millisecond,
so that sends lie within half a millisecond of their time as long as the loop is not busy; how far they really lay is
measured for each. Bodies are made ahead of time, a little whenever nothing is due.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import socket
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from ridgeline.replay.answer import Answer, error_message
from ridgeline.replay.body import Manner, encoded, path_of, sent_rid, streams
from ridgeline.replay.clock import Clock
from ridgeline.replay.shot import Outcome, Shot
from ridgeline.replay.target import Target

EARLY_S: Final = 0.0005
LEAD_S: Final = 0.2
AHEAD: Final = 512
MOST_FILES: Final = 1 << 20
AHEAD_BYTES: Final = 64 << 20
IDLE_CONNECTION_S: Final = 2.0
"""Below the 5 s after which uvicorn closes an idle connection: one closed in the moment of reuse would look like a
disconnect."""
OURS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.EADDRNOTAVAIL, errno.ENOBUFS, errno.ENOMEM})
"""Why a connection cannot be made from here, whatever the target does."""
ERROR_BYTES: Final = 64 * 1024

OnDone = Callable[[int, Shot, Outcome], None]


@dataclass
class Drain:
    """How a run is left early: `stop` sends nothing more and waits, `leave` cuts what is still open."""

    stop: bool = False
    left: bool = False
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    wake: list[Callable[[], None]] = field(default_factory=list)

    def ask(self) -> None:
        """The first call stops sending, the second cuts what is still open."""
        if self.stop:
            self.left = True
            for task in self.tasks:
                task.cancel()
        self.stop = True
        for wake in self.wake:
            wake()


@dataclass(frozen=True)
class Pace:
    """`speed` divides the recorded times; `concurrency` caps open requests (0: no cap); `most_gap_s` caps a pause."""

    speed: float = 1.0
    concurrency: int = 0
    timeout_s: float = 600.0
    most_gap_s: float | None = None

    def due(self, shots: Sequence[Shot]) -> list[float]:
        """Seconds after the start at which each shot is due."""
        out: list[float] = []
        at_s = before_s = 0.0
        for i, shot in enumerate(shots):
            gap_s = (shot.at_s - before_s) / self.speed if i else 0.0
            at_s += gap_s if self.most_gap_s is None else min(gap_s, self.most_gap_s)
            before_s = shot.at_s
            out.append(at_s)
        return out


async def play(
    shots: Sequence[Shot],
    target: Target,
    manner: Manner,
    pace: Pace,
    on_done: OnDone,
    drain: Drain,
    clock: Clock,
    start_s: float | None = None,
) -> None:
    """Send every shot at its time and hand over each outcome as it comes; returns when all are in.

    `start_s` is the reading of the loop's clock at which the first is due (several targets get the same one).
    """
    _open_files()
    connector = aiohttp.TCPConnector(
        limit=0,
        resolver=_Pinned(target),
        ttl_dns_cache=None,
        keepalive_timeout=IDLE_CONNECTION_S,
        happy_eyeballs_delay=None,
    )
    timeout = aiohttp.ClientTimeout(total=pace.timeout_s)
    headers = {"Content-Type": "application/json", "Accept-Encoding": "identity", **dict(target.headers)}
    async with aiohttp.ClientSession(
        connector=connector, timeout=timeout, headers=headers, trust_env=False, read_bufsize=1 << 18,
        cookie_jar=aiohttp.DummyCookieJar(),
    ) as session:  # fmt: skip
        await _Run(shots, target, manner, pace, on_done, drain, clock, session).all(start_s)


class _Run:
    """One run against one target."""

    def __init__(
        self, shots: Sequence[Shot], target: Target, manner: Manner, pace: Pace, on_done: OnDone, drain: Drain,
        clock: Clock, session: aiohttp.ClientSession,
    ) -> None:  # fmt: skip
        self.shots, self.target, self.manner, self.pace = shots, target, manner, pace
        self.on_done, self.drain, self.clock, self.session = on_done, drain, clock, session
        self.loop = asyncio.get_running_loop()
        self.due = pace.due(shots)
        self.bodies: dict[int, bytes | Exception] = {}
        self.next = self.made = self.open = self.held_bytes = 0
        self.urls: dict[str, URL] = {}
        self.waiting: deque[int] = deque()
        self.timer: asyncio.TimerHandle | None = None
        self.over = self.loop.create_future()
        self.room = asyncio.Event()
        self.start_s = 0.0

    async def all(self, start_s: float | None) -> None:
        making = asyncio.create_task(self._make())
        while self.made < min(len(self.shots), AHEAD) and self.held_bytes < AHEAD_BYTES and not self.drain.stop:
            await asyncio.sleep(0)
        self.start_s = max(start_s or 0.0, self.loop.time() + (LEAD_S if start_s is None else 0.0))
        self.drain.wake.append(self._stopped)
        self._arm()
        try:
            await self.over
        finally:
            making.cancel()

    def _arm(self) -> None:
        if self.next < len(self.shots) and not self.drain.stop:
            self.timer = self.loop.call_at(self.start_s + self.due[self.next] - EARLY_S, self._fire)
        else:
            self._end_if_empty()

    def _fire(self) -> None:
        now = self.loop.time() + EARLY_S
        while self.next < len(self.shots) and self.start_s + self.due[self.next] <= now:
            self.waiting.append(self.next)
            self.next += 1
        self._send()
        self._arm()

    def _send(self) -> None:
        while self.waiting and not self.drain.stop and not (0 < self.pace.concurrency <= self.open):
            i = self.waiting.popleft()
            self.open += 1
            task = self.loop.create_task(self._one(i))
            self.drain.tasks.add(task)
            task.add_done_callback(self._closed)
        self.room.set()

    def _closed(self, task: asyncio.Task[None]) -> None:
        self.drain.tasks.discard(task)
        self.open -= 1
        if not task.cancelled() and task.exception() is not None and not self.over.done():
            self.over.set_exception(task.exception() or RuntimeError())
            return
        if self.waiting:
            self._send()
        self._end_if_empty()

    def _stopped(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self._end_if_empty()

    def _end_if_empty(self) -> None:
        sent = self.drain.stop or (self.next >= len(self.shots) and not self.waiting)
        if sent and self.open == 0 and not self.over.done():
            self.over.set_result(None)

    async def _make(self) -> None:
        """Make bodies ahead, one at a time, so that a due send waits for one body at most."""
        for i, shot in enumerate(self.shots):
            while i - self.next >= AHEAD or (self.held_bytes >= AHEAD_BYTES and i > self.next):
                self.room.clear()
                await self.room.wait()
            if i >= self.next:
                self._make_one(i, shot)
                await asyncio.sleep(0)
            self.made = i + 1

    def _make_one(self, i: int, shot: Shot) -> bytes | Exception:
        try:
            body: bytes | Exception = encoded(shot, self.manner)
        except Exception as e:  # handed on to the request it belongs to, which raises it
            body = e
        self.bodies[i] = body
        self.held_bytes += len(body) if isinstance(body, bytes) else 0
        return body

    def _body(self, i: int) -> bytes:
        body = self.bodies.pop(i, None)
        if body is None:
            self._make_one(i, self.shots[i])
            body = self.bodies.pop(i)
        if isinstance(body, Exception):
            raise body
        self.held_bytes -= len(body)
        return body

    def _url(self, path: str) -> URL:
        """Parsed once: parsing is a tenth of what a send costs."""
        found = self.urls.get(path)
        if found is None:
            found = self.urls[path] = URL(self.target.base + path)
        return found

    async def _one(self, i: int) -> None:
        shot, answer = self.shots[i], Answer()
        planned, sent = self.start_s + self.due[i], self.loop.time()
        try:
            await self._ask(shot, self._body(i), answer)
        except asyncio.CancelledError:
            if not self.drain.left:
                raise
            answer.fail("cancelled", "left while it was open")
        self.on_done(i, shot, self._outcome(shot, answer, planned, sent, self.loop.time()))

    async def _ask(self, shot: Shot, body: bytes, answer: Answer) -> None:
        try:
            url = self._url(path_of(shot, self.manner))
            async with self.session.post(url, data=body, headers=shot.headers or None, allow_redirects=False) as got:
                answer.status = got.status
                if got.status >= 300:
                    answer.fail("http", error_message(await got.content.read(ERROR_BYTES)))
                elif "event-stream" in got.headers.get("Content-Type", "") or streams(shot, self.manner):
                    async for data in got.content.iter_any():
                        answer.feed(data, self.loop.time())
                    answer.end(self.loop.time())
                    if not answer.done and answer.finish_reason is None:
                        answer.fail("disconnect", "the stream ended without a finish reason")
                else:
                    answer.whole(await got.read())
        except TimeoutError:
            answer.fail("timeout", f"not done after {self.pace.timeout_s:g} s")
        except aiohttp.ClientConnectorError as e:
            ours = e.os_error.errno in OURS
            answer.fail("local" if ours else "refused", str(e.os_error.strerror or e.os_error))
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError, OSError) as e:
            answer.fail("disconnect", _short(e) or "the connection was closed")
        except (aiohttp.ClientError, ValueError) as e:
            answer.fail("protocol", _short(e) or type(e).__name__)

    def _outcome(self, shot: Shot, answer: Answer, planned: float, sent: float, end: float) -> Outcome:
        wall, first, last = self.clock.wall, answer.first_s, answer.last_s
        finish = answer.finish_reason
        if answer.failure is None and finish is None and shot.endpoint != "/generate":
            finish = "stop"  # an embedding has no finish reason
        return Outcome(
            answer.status, answer.failure, answer.message, finish, answer.text, answer.output_ids,
            answer.prompt_tokens, answer.completion_tokens, answer.cached_tokens,
            answer.server_id or sent_rid(shot, self.manner), wall(planned), wall(sent),
            None if first is None else wall(first), None if last is None else wall(last), wall(end),
            None if first is None else first - sent, end - sent, answer.chunks, tuple(answer.gaps),
        )  # fmt: skip


def _open_files() -> None:
    """As many open connections as this process may have: the usual 1,024 would cap the open loop."""
    try:
        import resource
    except ModuleNotFoundError:
        return  # Windows has no such limit on sockets
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and (hard == resource.RLIM_INFINITY or soft < hard):
        wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


def _short(error: BaseException) -> str:
    return str(error).splitlines()[0][:200] if str(error) else ""


class _Pinned(AbstractResolver):
    """Resolves the target's name to the addresses it was checked with, and nothing else."""

    def __init__(self, target: Target) -> None:
        self.target = target

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        if host.lower() != self.target.host:
            raise OSError(f"{host} is not the target")
        return [
            {
                "hostname": host, "host": address, "port": port, "proto": 0, "flags": socket.AI_NUMERICHOST,
                "family": socket.AF_INET6 if ":" in address else socket.AF_INET,
            }
            for address in self.target.addresses
        ]  # fmt: skip

    async def close(self) -> None:
        return None


@contextmanager
def still_memory() -> Iterator[None]:
    """Keep the garbage collector away from what lives through the run: a full collection stops every send."""
    gc.collect()
    gc.freeze()
    before = gc.get_threshold()
    gc.set_threshold(50_000, 50, 1_000)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
