"""The flight recorder: poll into a ring, watch for triggers, seal what was before and after, diagnose, tell somebody.

Sealing and diagnosing run as a process of their own, so that the recorder keeps its clock while they work.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from ridgeline.live.capture import ending
from ridgeline.live.fetch import Answer, is_loopback, post, require_live, session
from ridgeline.live.figures import scraped
from ridgeline.live.poll import base_of
from ridgeline.live.polling import Say, Tally, poll
from ridgeline.live.ring import Ring
from ridgeline.live.seal import MARK, RAW, note
from ridgeline.live.tail import Tail
from ridgeline.live.triggers import SILENT, Alarm, Watcher, alarm_in
from ridgeline.model.errors import InputError

QUIET_S: Final = 600.0  # the same trigger of the same server seals once in this time
MOST_KEPT: Final = 50  # sealed incidents in a folder; after that the recorder only tells
COMMAND_S: Final = 300.0
STILL_S: Final = 1.0  # how long a standstill is recorded on before it is sealed
GOOD_S: Final = 20.0  # a good time before the onset that is worth comparing with
Show = Callable[["Recorder"], None]


@dataclass(frozen=True)
class Watch:
    """What is watched and what is done about it."""

    urls: Sequence[str]
    folder: Path
    logs: Sequence[str] = ()
    every_s: float = 1.0
    for_s: float | None = None
    ring_s: float = 900.0
    ring_bytes: int = 256 << 20
    after_s: float = 5.0
    slo: Mapping[str, float] = field(default_factory=dict)
    on_incident: str | None = None
    allow_hosts: Sequence[str] = ()
    keep_text: bool = False


@dataclass(frozen=True)
class Incident:
    """One sealed incident: why, where it lies, and what diagnose said (None: it failed, which was said)."""

    alarm: Alarm
    folder: Path
    sealed_ts: float
    verdict: str | None
    cause: str | None


@dataclass
class Recorder:
    """The state of a watch."""

    watch: Watch
    ring: Ring
    say: Say
    watchers: dict[str, Watcher] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)
    last: dict[tuple[str, str], float] = field(default_factory=dict)
    pending: asyncio.Task[None] | None = None
    incidents: list[Incident] = field(default_factory=list)

    def append(self, name: str, data: bytes, ts: float) -> None:
        """The sink of the followed logs: into the ring, and looked through for lines that matter."""
        self.ring.append(name, data, ts)
        alarm = alarm_in(name, data, ts)
        if alarm is not None:
            self.raise_alarm(alarm)

    def on_answer(self, base: str, endpoint: str, answer: Answer) -> None:
        """Every answer of every poll."""
        if endpoint not in ("metrics", "health"):
            return
        watcher = self.watchers.setdefault(base, Watcher(base, self.watch.slo))
        why = answer.body[:120].decode("utf-8", "replace") or f"HTTP {answer.status}"
        if endpoint == "health":
            alarms = watcher.health(answer.ts, answer.status, why)
        elif answer.status == 200:
            alarms = watcher.seen(scraped(answer.ts, answer.body))
        else:
            alarms = watcher.missed(answer.ts, why)
            if watcher.gaps == SILENT and not watcher.history:
                self.say(f"{base}/metrics: no answer yet ({why}); it goes on being asked")
        for alarm in alarms:
            self.raise_alarm(alarm)

    def raise_alarm(self, alarm: Alarm) -> None:
        """Start sealing, unless that is being done or was done lately for the same."""
        key, now = (alarm.kind, alarm.where), time.monotonic()
        if now - self.last.get(key, -QUIET_S) < QUIET_S:
            return
        self.last[key] = now
        self.say(f"{alarm.kind}: {alarm.where}: {alarm.detail}")
        if self.pending is not None and not self.pending.done():
            return  # the incident being sealed holds this too
        if len(self.incidents) >= MOST_KEPT:
            self.say(f"{self.watch.folder}: holds {MOST_KEPT} incidents; no further one is sealed")
            return
        self.pending = asyncio.get_running_loop().create_task(self._seal(alarm))

    async def _seal(self, alarm: Alarm) -> None:
        # Of a standstill there is nothing more to come: the ten seconds that proved it are its "after".
        await asyncio.sleep(min(self.watch.after_s, STILL_S) if alarm.kind == "frozen" else self.watch.after_s)
        folder = _fresh(self.watch.folder, alarm)
        end_ts = self.ring.pieces[-1][0] if self.ring.pieces else time.time()
        try:
            self.ring.write(folder / RAW)
            note(folder, {"schema": "ridgeline.capture/1", "alarm": alarm.__class__.__name__, **_told(alarm)})
        except OSError as e:
            self.say(f"{folder}: cannot be written ({e.strerror}); the ring goes on")
            return
        keep = ["--keep-text"] if self.watch.keep_text else []
        status, _, err = await _ridgeline("capture", "--seal", str(folder), "--quiet", *keep)
        if status != 0:
            self.say(f"{folder}: not sealed: {_last(err)}")
            return
        sealed_ts = time.time()
        status, out, err = await _ridgeline("diagnose", str(folder), "--format", "json", *self._windows(alarm, end_ts))
        verdict, cause, summary = _diagnosis(out)
        if verdict is None:
            self.say(f"{folder}: sealed; diagnose failed: {_last(err)}")
        else:
            (folder / "diagnosis.json").write_bytes(out)
            self.say(f"{folder}: sealed; {verdict}: {cause or summary}")
        incident = Incident(alarm, folder, sealed_ts, verdict, cause)
        self.incidents.append(incident)
        if self.watch.on_incident is not None:
            await self._tell(incident)

    def _windows(self, alarm: Alarm, end_ts: float) -> list[str]:
        """What the trigger knows of the onset, for diagnose; nothing where it only saw a report of it.

        ``end_ts``: the last of the evidence, not when it was sealed: a busy machine may take long over that.
        A line of the watchdog comes minutes after the standstill it reports: there diagnose looks for itself.
        """
        start = self.ring.pieces[0][0] if self.ring.pieces else alarm.since_ts
        if alarm.kind == "line" or alarm.since_ts - start < GOOD_S:
            return []
        return ["--from", f"{alarm.since_ts:.3f}", "--to", f"{end_ts:.3f}",
                "--baseline", f"{start:.3f}..{alarm.since_ts:.3f}"]  # fmt: skip

    async def _tell(self, incident: Incident) -> None:
        what = self.watch.on_incident
        assert what is not None
        told = {**_told(incident.alarm), "folder": str(incident.folder), "verdict": incident.verdict,
                "cause": incident.cause}  # fmt: skip
        if what.startswith(("http://", "https://")):
            async with session() as client:
                answer = await post(client, what, told)
            if not 200 <= answer.status < 300:
                self.say(f"{what}: was not told (HTTP {answer.status})")
            return
        environment = {**os.environ, **{f"RIDGELINE_{k.upper()}": str(v) for k, v in told.items() if v is not None}}
        status, _, err = await _process([*shlex.split(what), str(incident.folder)], environment, COMMAND_S)
        if status != 0:
            self.say(f"{what}: ended with status {status}: {_last(err)}")


async def record(watch: Watch, say: Say, show: Show | None = None) -> Recorder:
    """Watch until the time is over or somebody ends it; a seal that has begun is finished first.

    Raises InputError for what cannot be watched or told, Unsupported without the extra `live`.
    """
    require_live()
    _check(watch)
    recorder = Recorder(watch, Ring(watch.ring_s, watch.ring_bytes), say)
    stop = asyncio.Event()
    if show is None:  # one line, so that one can tell that it lives
        say(f"watching {', '.join(watch.urls)}, ring {_minutes(watch.ring_s)}, incidents go to {watch.folder}")
    recorder.watchers = {base_of(url): Watcher(base_of(url), watch.slo) for url in watch.urls}
    with ending(stop):
        async with asyncio.TaskGroup() as group:
            group.create_task(
                poll(watch.urls, watch.every_s, recorder.ring, stop, say, recorder.tally, recorder.on_answer)
            )
            if watch.logs:
                group.create_task(Tail(watch.logs, recorder, say).run(stop))
            if show is not None:
                group.create_task(_shown(recorder, show, stop))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), watch.for_s)
            stop.set()
        if recorder.pending is not None:
            await recorder.pending
    return recorder


def _check(watch: Watch) -> None:
    if not watch.urls:
        raise InputError("no server was given; write ridgeline watch http://HOST:PORT -o DIR")
    for url in watch.urls:
        base_of(url)
    told = watch.on_incident
    if told is not None and told.startswith(("http://", "https://")):
        from urllib.parse import urlsplit

        host = urlsplit(base_of(told)).hostname or ""
        if not is_loopback(told) and host not in watch.allow_hosts:
            raise InputError(f"--on-incident {told}: is not loopback; add --allow-host {host}")
    elif told is not None:
        try:
            parts = shlex.split(told)
        except ValueError as e:
            raise InputError(f"--on-incident {told}: is no command ({e})") from e
        if not parts:
            raise InputError("--on-incident: is empty; give a command or a URL")
    try:
        watch.folder.mkdir(parents=True, exist_ok=True)
        if not os.access(watch.folder, os.W_OK):
            raise PermissionError(13, "Permission denied")
    except OSError as e:
        raise InputError(f"{watch.folder}: cannot be written ({e.strerror}); give another folder") from e


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:g}m" if seconds >= 60 else f"{seconds:g}s"


async def _shown(recorder: Recorder, show: Show, stop: asyncio.Event) -> None:
    while not stop.is_set():
        show(recorder)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), 1.0)


def _fresh(folder: Path, alarm: Alarm) -> Path:
    """A new folder named after the moment and the trigger."""
    name = f"incident-{datetime.fromtimestamp(alarm.ts, UTC):%Y%m%dT%H%M%SZ}-{alarm.kind}"
    out, k = folder / name, 1
    while (out / MARK).exists() or (out / RAW).exists() or out.exists():
        k += 1
        out = folder / f"{name}-{k}"
    return out


def _told(alarm: Alarm) -> dict[str, Any]:
    moments = {name: datetime.fromtimestamp(ts, UTC).isoformat(timespec="milliseconds")
               for name, ts in (("at", alarm.ts), ("since", alarm.since_ts))}  # fmt: skip
    return {"trigger": alarm.kind, "where": alarm.where, "detail": alarm.detail, **moments}


def _diagnosis(out: bytes) -> tuple[str | None, str | None, str]:
    try:
        value = json.loads(out)
        findings = value["findings"]
        return str(value["verdict"]), str(findings[0]["cause"]) if findings else None, str(value["summary"])
    except (ValueError, KeyError, TypeError, IndexError):
        return None, None, ""


def _last(text: bytes) -> str:
    lines = [line for line in text.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it said nothing"


async def _ridgeline(*arguments: str) -> tuple[int, bytes, bytes]:
    return await _process([sys.executable, "-m", "ridgeline", *arguments], dict(os.environ), COMMAND_S)


async def _process(command: Sequence[str], environment: Mapping[str, str], seconds: float) -> tuple[int, bytes, bytes]:
    """(status, standard output, standard error) of a command; a status of 124 where it took too long."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command, env=environment, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
    except OSError as e:
        return 127, b"", f"{command[0]}: {e.strerror}".encode()
    try:
        async with asyncio.timeout(seconds):
            out, err = await process.communicate()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        return 124, b"", f"took more than {seconds:g} s".encode()
    return process.returncode if process.returncode is not None else 1, out, err
