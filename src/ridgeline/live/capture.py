"""A capture: poll, follow, receive, until the time is over or somebody ends it; raw bytes only, sealed afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import stat
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ridgeline.live.fetch import require_live
from ridgeline.live.otlp import receiver
from ridgeline.live.past import past
from ridgeline.live.polling import Say, Tally, poll
from ridgeline.live.raising import raised
from ridgeline.live.raw import OutOfSpace, RawFolder, raw_folder
from ridgeline.live.seal import note
from ridgeline.live.tail import Tail
from ridgeline.model.errors import RidgelineError, SourceUnavailable


@dataclass(frozen=True)
class Plan:
    """What is captured. `for_s` None: until it is ended. `past` is (URL, from, to, step) of a Prometheus."""

    urls: Sequence[str] = ()
    logs: Sequence[str] = ()
    every_s: float = 5.0
    for_s: float | None = None
    otlp: int | None = None
    past: tuple[str, float, float, float] | None = None
    raise_logging: bool = False
    allow_hosts: Sequence[str] = ()


@dataclass
class Outcome:
    """What came of it. `trouble` says why it ended early, where it did."""

    tally: Tally = field(default_factory=Tally)
    bytes_written: int = 0
    trouble: str | None = None


async def capture(plan: Plan, folder: Path, raw: Path, about: dict[str, Any], say: Say) -> Outcome:
    """Run a capture into `raw`. Ends at its time, at SIGINT or SIGTERM, or when the disk is full.

    Raises InputError for what cannot be, Unsupported without the extra `live`, SourceUnavailable where no server
    ever answered.
    """
    if plan.urls or plan.otlp is not None or plan.past is not None:
        require_live()
    outcome = Outcome()
    stop = asyncio.Event()
    with raw_folder(raw) as sink, ending(stop):
        try:
            await _run(plan, folder, sink, about, stop, say, outcome.tally)
        except* OutOfSpace as e:
            outcome.trouble = f"{_first(e)}; what was captured until then is whole"
        except* RidgelineError as e:
            raise _first(e) from None
        outcome.bytes_written = sink.written
    if plan.urls and not outcome.tally.answered and outcome.trouble is None:
        raise SourceUnavailable(f"{', '.join(plan.urls)}: no endpoint answered; is the server up and the port right?")
    return outcome


async def _run(
    plan: Plan, folder: Path, sink: RawFolder, about: dict[str, Any], stop: asyncio.Event, say: Say, tally: Tally
) -> None:
    async with contextlib.AsyncExitStack() as held:
        if plan.otlp is not None:
            port = await held.enter_async_context(receiver(plan.otlp, sink))
            say(f"OTLP over HTTP is received on http://127.0.0.1:{port}/v1/traces")
        if plan.raise_logging:
            await held.enter_async_context(_noted(plan, folder, about, say))
        if plan.past is not None:
            await past(*plan.past, sink, say)
        async with asyncio.TaskGroup() as group:
            if plan.urls:
                group.create_task(poll(plan.urls, plan.every_s, sink, stop, say, tally))
            if plan.logs:
                group.create_task(Tail(plan.logs, sink, say).run(stop))
            if plan.urls or plan.logs or plan.otlp is not None:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), plan.for_s)
            stop.set()


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first single exception of a group of groups."""
    inner = group.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else inner


@contextlib.asynccontextmanager
async def _noted(plan: Plan, folder: Path, about: dict[str, Any], say: Say) -> AsyncIterator[None]:
    """Raised logging, noted on disk while it is: after kill -9 the seal says how to put it back."""
    async with raised(plan.urls, plan.allow_hosts, say) as before:
        note(folder, {**about, "raised": before})
        yield
    note(folder, about)


@contextlib.contextmanager
def ending(stop: asyncio.Event) -> Iterator[None]:
    """SIGINT, SIGTERM and a terminal that goes away end a capture in order; a second one ends it at once.

    Behind a terminal that is gone nothing can be printed, but everything is still sealed and put back.
    """
    loop = asyncio.get_running_loop()
    known = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup asked not to be told
        known.append(signal.SIGHUP)
    gone = False

    def ended(number: signal.Signals) -> None:
        nonlocal gone
        if number == signal.SIGHUP:
            gone = True
            _without_terminal()
        else:
            loop.remove_signal_handler(number)
        stop.set()

    for number in known:
        loop.add_signal_handler(number, ended, number)
    try:
        yield
    finally:
        for number in known:
            loop.remove_signal_handler(number)
        if gone:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)


def _without_terminal() -> None:
    """Point standard output and error that were a terminal at nothing: writing to one that is gone is an error."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        if stat.S_ISCHR(os.fstat(stream).st_mode):
            os.dup2(nothing, stream)
    os.close(nothing)
