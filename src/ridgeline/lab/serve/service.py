"""One running service: the world, its servers' reports, counts and logs, and the loop that moves it through time."""

import asyncio
import os
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TextIO

from ridgeline.lab.emit.life import access_line
from ridgeline.lab.emit.model import Line, Request
from ridgeline.lab.emit.request_log import finished, received
from ridgeline.lab.emit.startup import LOAD_S, startup_lines
from ridgeline.lab.emit.time_stats import time_stats_line
from ridgeline.lab.serve.asked import Asked
from ridgeline.lab.serve.counted import Counts, live_case
from ridgeline.lab.serve.hosts import Host, hosts_of
from ridgeline.lab.serve.records import opened, request_of
from ridgeline.lab.serve.reports import Reports
from ridgeline.lab.serve.switch import Switch
from ridgeline.lab.serve.world import Closed, Handle, World
from ridgeline.scenario.model import PS
from ridgeline.sim.settings import Settings
from ridgeline.sim.timing import TimeModel

TICK_S: Final = 0.003
"""How often the engine is brought to the present."""
FOLD_S: Final = 1.0
"""How often counts are folded in when nobody scrapes: keeps what is pending small."""
KEPT_LAGS: Final = 200_000
PROBE: Final = "HEALTH_CHECK_"
"""How the rid of a health probe begins; probes are not counted and not logged."""


@dataclass
class Front:
    """One server of the service as HTTP shows it."""

    host: Host
    reports: Reports
    counts: Counts
    log: TextIO | None = None
    profiling: bool = False
    logging: dict[str, Any] = field(default_factory=dict)

    def write(self, lines: list[Line]) -> None:
        """Append lines to the server's log, if it keeps one."""
        if self.log is not None and lines:
            self.log.write("".join(f"{line.text}\n" for line in lines))
            self.log.flush()


class Running:
    """The service and its clock."""

    def __init__(
        self, settings: Settings, model: TimeModel, ports: tuple[int, ...], seed: int = 0, logs: Path | None = None
    ) -> None:
        """``ports``: one per server; ``logs``: the folder for server logs."""
        self.world = World(settings, model, seed)
        self.switch = Switch(self.world)
        self.lags: deque[float] = deque(maxlen=KEPT_LAGS)
        self.written = 0
        self.stopping = asyncio.Event()
        self.by_rid: dict[str, Handle] = {}
        started = self.world.started_ts
        case = live_case(settings.version, settings.dp_size, settings.decode_workers > 0, started)
        self.fronts: list[Front] = []
        for host in hosts_of(settings, started - LOAD_S, ports):
            log = None
            if logs is not None:
                logs.mkdir(parents=True, exist_ok=True)
                log = (logs / f"{host.server.role if len(ports) > 1 else 'server'}.log").open("a", encoding="utf-8")
            front = Front(host, Reports(self.world, host), Counts(host, case), log)
            front.write(sorted(startup_lines(host.server), key=lambda line: line.ts))
            self.fronts.append(front)

    def submit(self, asked: Asked) -> Handle:
        """Take a request in, and count that it came."""
        handle = self.world.submit(asked)
        self.by_rid[asked.rid] = handle
        if not asked.rid.startswith(PROBE):
            for front in self.fronts:
                front.counts.received(asked.endpoint)
                if front.log is not None:
                    front.write([received(front.host.server, opened(self.world, front.host, asked))])
        return handle

    def forget(self, handle: Handle) -> None:
        """The response is over, or its client has gone."""
        if not handle.done:
            self.world.cancel(handle)
        if self.by_rid.get(handle.asked.rid) is handle:
            del self.by_rid[handle.asked.rid]

    def wrote(self, handle: Handle) -> None:
        """A response's newest token has been handed to the socket: how late was it?"""
        self.lags.append(max(0.0, self.world.now_s() - handle.due_ps / PS))
        self.written += 1

    async def run(self) -> None:
        """Move through time until told to stop."""
        folded = time.monotonic()
        due = time.monotonic()
        while not self.stopping.is_set():
            _told, closed, rows = self.world.step()
            for front in self.fronts:
                if len(rows):
                    front.counts.rows.append(rows)
                    front.write(front.reports.take(rows))
            for ended in closed:
                self.close(self.fronts[ended.side], ended)
            if time.monotonic() - folded > FOLD_S:
                folded = time.monotonic()
                for front in self.fronts:
                    front.counts.begin()
            # one part per round: nobody's token waits for all of them
            behind = next((front for front in self.fronts if front.counts.parts), None)
            if behind is not None:
                behind.counts.part()
            due = max(due + TICK_S, time.monotonic())
            await asyncio.sleep(max(0.0, due - time.monotonic()))
        for front in self.fronts:
            if front.log is not None:
                front.log.close()

    def close(self, front: Front, ended: Closed) -> None:
        """Count and log a request that ended, as this server saw it."""
        if ended.handle.asked.rid.startswith(PROBE):
            return
        record = request_of(self.world, front.host, ended)
        if record is None:
            return
        front.counts.ended.append(record)
        front.write(end_lines(front.host, record))

    def lag(self) -> Mapping[str, float | int | None]:
        """How late tokens were handed over, seconds, over the last ones written; and what the machine did meanwhile.

        ``waited_s``: how long this process was ready and had no core (None where the system does not say).
        """
        machine = {"load_average": os.getloadavg()[0], "waited_s": waited_s(), "up_s": self.world.now_s()}
        seen = sorted(self.lags)
        if not seen:
            return {"chunks": 0, "p50_s": None, "p99_s": None, "max_s": None, **machine}
        return {
            **machine,
            "chunks": self.written,
            "p50_s": seen[len(seen) // 2],
            "p99_s": seen[min(len(seen) - 1, int(0.99 * len(seen)))],
            "max_s": seen[-1],
        }


def waited_s() -> float | None:
    """Seconds the main thread has waited for a core since it began (the second figure of Linux's schedstat)."""
    try:
        return int(Path("/proc/self/schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return None


def end_lines(host: Host, record: Request) -> list[Line]:
    """What the log says at a request's end: time stats, the request logger, the access line."""
    server = host.server
    lines: list[Line] = []
    if record.completed_ts is not None:
        lines.append(time_stats_line(server, record))
    if record.finished_ts is not None and record.status != 499:
        lines.append(finished(server, record))
        lines.append(access_line(server, record.finished_ts, record.client, "POST", record.endpoint, record.status))
    return lines
