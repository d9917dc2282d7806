"""`ridgeline watch`: the flight recorder for servers."""

from __future__ import annotations

import sys
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from ridgeline.live.watch import Recorder, Watch


def watch(
    *urls: str,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    logs: tuple[str, ...] = (),
    on_incident: str | None = None,
    slo: str | None = None,
    every: str = "1s",
    for_: Annotated[str | None, Parameter(name="--for")] = None,
    ring: str = "15m",
    ring_bytes: str = "256M",
    after: str = "5s",
    allow_host: tuple[str, ...] = (),
    keep_text: bool = False,
    quiet: bool = False,
) -> int:
    """Keep the last minutes of servers in memory; when something happens, seal before and after, diagnose, and tell.

    Parameters
    ----------
    urls
        Servers, such as http://127.0.0.1:30000; they are only read (GET).
    output
        The folder for sealed incidents.
    logs
        Files, folders or patterns to follow as well, through rotation; several may stand behind it. Quote a pattern:
        then files that appear later are followed too.
    on_incident
        A command (it gets the incident's folder) or a URL (it gets JSON) to call once an incident is sealed.
    slo
        Bounds such as ttft_p99=2s; missing one is an incident.
    every
        Time between two looks.
    for_
        How long to watch; without it until Ctrl-C or SIGTERM.
    ring
        How far back the memory reaches.
    ring_bytes
        How much memory it may take, such as 256M.
    after
        How long to go on recording after a trigger before sealing.
    allow_host
        A host other than loopback that --on-incident may call.
    keep_text
        Leave prompts and ids of followed logs readable in sealed incidents.
    quiet
        No live view; one line at the start and one for each thing that happens.
    """
    import asyncio

    from ridgeline.cli.evidence import seconds_of, servers_and_logs
    from ridgeline.live.watch import Watch, record
    from ridgeline.model.errors import InputError
    from ridgeline.verdict.slo import slo_of

    urls, logs = servers_and_logs(urls, logs)
    bounds = slo_of(slo)
    shares = sorted(name for name in bounds if "_" not in name or name == "hit_ratio")
    if shares:
        raise InputError(f"--slo {shares[0]}: watch holds times only, such as ttft_p99=2s; shares are for compare")
    plan = Watch(
        urls, output, logs, seconds_of(every), seconds_of(for_) if for_ else None, seconds_of(ring),
        bytes_of(ring_bytes), seconds_of(after), bounds, on_incident, allow_host, keep_text,
    )  # fmt: skip
    said: deque[str] = deque(maxlen=20)
    view = sys.stdout.isatty() and not quiet
    recorder = asyncio.run(_live(plan, said) if view else record(plan, _say))
    return 2 if recorder.incidents else 0


def bytes_of(text: str) -> int:
    """`256M`, `1G` or plain bytes. Raises InputError for anything else and for less than 1 MiB."""
    import re

    from ridgeline.model.errors import InputError

    found = re.fullmatch(r"(\d+)\s*([KMG]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    value = int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[found[2].upper()] if found else 0
    if value < 1 << 20:
        raise InputError(f"--ring-bytes {text}: expected at least 1M, such as 256M or 1G")
    return value


def _say(text: str) -> None:
    from ridgeline.report.escape import plain

    print(f"ridgeline: {plain(text, 1000)}", file=sys.stderr, flush=True)


async def _live(plan: Watch, said: deque[str]) -> Recorder:
    import time

    from rich.live import Live

    from ridgeline.live.polling import home_of
    from ridgeline.live.screen import screen
    from ridgeline.live.watch import record
    from ridgeline.report.escape import plain

    with Live(auto_refresh=False) as live:

        def show(recorder: Recorder) -> None:
            ring = recorder.ring
            state = (f"ring {ring.span_s:.0f} s, {ring.size / 1e6:.1f} MB; {recorder.tally.answers} answers, "
                     f"{recorder.tally.gaps} gaps; {len(recorder.incidents)} incidents")  # fmt: skip
            servers = {plain(home_of(base), 30): list(w.history) for base, w in recorder.watchers.items()}
            live.update(screen(servers, state, list(said), time.time()), refresh=True)

        return await record(plan, lambda text: said.append(plain(text, 300)), show)
