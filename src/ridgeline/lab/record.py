"""Record one case: play it and write what its servers, gateway and client would have left on disk."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from ridgeline.lab.case import HORIZON_S, SIZES, Case
from ridgeline.lab.emit import dumps, server_info, vllm_log
from ridgeline.lab.emit.client import client_line
from ridgeline.lab.emit.life import kernel_lines
from ridgeline.lab.emit.model import Line, Request
from ridgeline.lab.emit.request_log import exported, finished, received
from ridgeline.lab.emit.spans import request_lines as span_lines
from ridgeline.lab.emit.spans import vllm_line
from ridgeline.lab.emit.stamp import hour
from ridgeline.lab.faults import fault_of
from ridgeline.lab.front import after_stalls, stalls, strength
from ridgeline.lab.harm import Felt, felt, figures, harms
from ridgeline.lab.logs import server_lines
from ridgeline.lab.play import Ran, play
from ridgeline.lab.scrapes import gateway_pages, load_answers, metric_pages
from ridgeline.lab.service import base_settings
from ridgeline.lab.shown import Seen, seen
from ridgeline.lab.truth import truth_of
from ridgeline.lab.vllm_shown import vllm_lines
from ridgeline.model.errors import InputError
from ridgeline.scenario.model import PS
from ridgeline.sim.engine import params as p
from ridgeline.sim.settings import SettingError, with_changes

DUMPED: Final = 60
"""Requests in one request dump."""
SHARES: Final = (0.01, 1.0)


def make_case(
    name: str,
    seed: int = 1,
    version: str | None = None,
    size: str = "small",
    rate: float = 2.0,
    ranks: int | None = None,
    pd: bool | None = None,
    severity: int = 2,
    share: float | None = None,
    changes: Mapping[str, str] | None = None,
) -> Case:
    """A case from what the user asked for; ``changes``: settings that hold from the start whatever the fault says.

    Raises:
        InputError: no such fault, a parameter the fault cannot have, or a setting that is none.
    """
    fault = fault_of(name)
    if fault is None:
        raise InputError(f"lab record: no fault named {name!r}; `ridgeline lab faults` lists them")
    version = version or ("0.5.23" if "0.5.23" in fault.versions else fault.versions[-1])
    if version not in fault.versions:
        raise InputError(f"lab record {name}: version {version} cannot have it; one of {', '.join(fault.versions)}")
    if size not in SIZES:
        raise InputError(f"lab record: size {size!r} is not one of {', '.join(SIZES)}")
    if severity not in (1, 2, 3):
        raise InputError(f"lab record: severity {severity} is not 1, 2 or 3")
    if not 0 < rate <= 20:
        raise InputError(f"lab record: rate {rate} is not above 0 and at most 20 requests per second and rank")
    share = share if share is not None else (0.3 if fault.by is not None else 1.0)
    if not SHARES[0] <= share <= SHARES[1]:
        raise InputError(f"lab record: share {share} is not between {SHARES[0]} and {SHARES[1]}")
    needs_many = "ranks" in fault.needs or "workers" in fault.needs
    count = ranks if ranks is not None else (2 if needs_many else 1)
    if not 1 <= count <= 8 or (needs_many and count < 2):
        raise InputError(f"lab record {name}: ranks {count} is not {2 if needs_many else 1} to 8")
    apart = pd if pd is not None else "pd" in fault.needs
    if apart != ("pd" in fault.needs) and (fault.needs or version == "vllm"):
        raise InputError(f"lab record {name}: {'needs' if 'pd' in fault.needs else 'cannot be had with'} --pd")
    case = Case(fault, seed, version, size, rate, count, apart, severity, share)
    return replace(case, changed=changed_settings(case, changes or {}))


def changed_settings(case: Case, changes: Mapping[str, str]) -> tuple[tuple[str, Any], ...]:
    """The settings that ``changes`` name, with values of their kind. Raises InputError."""
    fixed = ("workers", "decode_workers", "engine", "version", "dp_size")
    named = next((key for key in changes if key in fixed), None)
    if named is not None:
        raise InputError(f"lab record: {named} follows from the fault and from --ranks, --pd and --version")
    try:
        chosen = with_changes(base_settings(case, ()), changes)
    except SettingError as error:
        raise InputError(f"lab record: {error}") from error
    return tuple((key, getattr(chosen, key)) for key in changes)


def write(path: Path, text: str) -> None:
    """Write a text file, making its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def append(path: Path, text: str) -> None:
    """Append to a text file, making its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as f:
        f.write(text)


def write_request_log(folder: Path, b: Seen) -> None:
    """The request logger's file (releases that write JSON)."""
    lines = [received(b.server, r) for r in b.requests]
    lines += [finished(b.server, r) for r in b.requests if r.finished_ts is not None]
    lines.sort(key=lambda line: line.ts)
    append(folder / "request_log" / f"{b.server.host}_0.log", "".join(f"{line.text}\n" for line in lines))


def write_exporter(folder: Path, b: Seen) -> None:
    """Exporter files, one per hour."""
    done = sorted((r for r in b.requests if r.finished_ts is not None), key=lambda r: r.finished_ts or 0.0)
    by_hour: dict[str, list[str]] = {}
    for r in done:
        by_hour.setdefault(hour(r.finished_ts or 0.0), []).append(exported(b.server, r))
    for name, lines in by_hour.items():
        append(folder / "exporter" / f"sglang-request-metrics-{name}.log", "".join(f"{line}\n" for line in lines))


def write_dumps(case: Case, folder: Path, b: Seen) -> None:
    """A request dump in half the cases (by seed), a crash dump where the server died by itself."""
    if case.unit("dump") < 0.5:
        done = sorted((r for r in b.requests if r.finished_ts is not None), key=lambda r: r.finished_ts or 0.0)[:DUMPED]
        if len(done) == DUMPED:
            path = folder / "dumps" / dumps.dump_name(done[-1].finished_ts or 0.0)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(dumps.dump(b.server, done))
    if b.died in ("cuda-oom", "slots-exhausted", "host-oom", "exception"):
        ts = case.base_ts + b.gone_s
        inside = [r for r in b.requests if (r.finished_ts or ts) > ts - 300 and r.state in ("finished", "open")]
        path = folder / "crash" / dumps.crash_name(b.server, ts)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(dumps.dump(b.server, sorted(inside, key=lambda r: r.received_ts)[-DUMPED:], ts))


def token_times(b: Seen) -> list[np.ndarray[Any, Any]]:
    """Per rank, when its steps that gave tokens to running requests ended (virtual seconds)."""
    out = []
    for rows in b.rows:
        step, mixed = rows["kind"] == p.LOG_DECODE, (rows["kind"] == p.LOG_PREFILL) & (rows["v5"] > 0)
        ends = np.concatenate([rows["t"][step], rows["t"][mixed] + rows["v4"][mixed]])
        out.append(np.sort(ends) / PS)
    return out


def client_lines(ran: Ran, servers: list[list[Seen]], view: Felt) -> list[str]:
    """The client's record of every request, in the order they were due."""
    case = ran.case
    windows, slow = stalls(case), strength(case, "slow_client")
    by_row: dict[int, tuple[Request | None, Seen | None]] = {}
    for boots in servers:
        for boot in boots:
            if boot.server.role != "prefill":
                by_row.update({i: (r, boot) for i, r in zip(boot.index, boot.requests, strict=True)})
    steps = {id(b): token_times(b) for boots in servers for b in boots}
    out: list[tuple[float, str]] = []
    prefill = {
        i: r
        for boots in servers
        for b in boots
        if b.server.role == "prefill"
        for i, r in zip(b.index, b.requests, strict=True)
    }
    for i in range(len(view.sent_s)):
        r: Request | None
        b: Seen | None
        r, b = by_row.get(i, (prefill.get(i), None))
        if r is None:
            continue
        end = view.end_s[i]
        error = None
        if ran.boot[i] == -1:
            error = "connection refused"
        elif r.state in ("aborted", "rejected"):
            error = r.message
        elif ran.stop is not None and ran.boot[i] == 0 and end != end:
            error = "connection reset by peer"
        closed = (
            float(end)
            if end == end
            else (
                float(ran.path.sent_s[i] + ran.rows["cancel_s"][i])
                if r.state == "cancelled"
                else min(HORIZON_S, ran.path.sent_s[i] + 300)
            )
        )
        gaps: list[float] = []
        if b is not None and r.stream and r.prefill_done_ts is not None and r.completed_ts is not None:
            t = steps[id(b)][r.rank or 0]
            lo, hi = r.prefill_done_ts - case.base_ts, r.completed_ts - case.base_ts
            mine = t[np.searchsorted(t, lo, "right") : np.searchsorted(t, hi + 1e-9, "right")]
            mine = np.sort(after_stalls(mine, windows))
            if slow and bool(ran.rows["affected"][i]) and ran.path.sent_s[i] >= case.onset_s:
                mine = np.maximum(mine, lo + slow * np.arange(1, len(mine) + 1))
            gaps = (np.diff(mine, prepend=lo) * 1e3).tolist()
        first = view.first_s[i]
        first_ts = case.base_ts + float(first) if first == first and error is None else None
        out.append(
            (
                float(ran.path.planned_s[i]),
                client_line(
                    r,
                    case.base_ts + float(ran.path.planned_s[i]),
                    case.base_ts + float(ran.path.sent_s[i]),
                    first_ts,
                    case.base_ts + closed,
                    gaps,
                    error,
                ),
            )
        )
    return [text for _, text in sorted(out)]


def write_sglang(case: Case, folder: Path, boots: list[Seen]) -> None:
    """Everything one SGLang server leaves."""
    write(folder / "server.log", "".join(f"{line}\n" for b in boots for line in server_lines(case, b)))
    killed = [b for b in boots if b.died == "host-oom"]
    if killed:
        # who finds a scheduler gone with signal 9 looks into the kernel's log next
        lines = kernel_lines(killed[0].server, case.base_ts + killed[0].gone_s - 0.4, 0)
        write(folder / "dmesg.txt", "".join(f"{line.text}\n" for line in lines))
    write(folder / "metrics.txt", metric_pages(case, boots))
    write(folder / "loads.txt", load_answers(case, boots))
    write(folder / "server_info.json", server_info.answer(boots[-1].server, 0.0) + "\n")
    for b in boots:
        if b.server.version != "0.5.3":
            write_request_log(folder, b)
            write_exporter(folder, b)
        write_dumps(case, folder, b)
    if boots[0].server.version == "0.5.23":
        traced = [r for b in boots for r in b.requests if r.trace and r.finished_ts is not None]
        traced.sort(key=lambda r: r.finished_ts or 0.0)
        write(folder / "spans.jsonl", "".join(f"{text}\n" for r in traced for text in span_lines(boots[0].server, r)))


def write_vllm(case: Case, folder: Path, boots: list[Seen]) -> None:
    """Everything one vLLM server leaves."""
    lines: list[Line] = []
    for b in boots:
        lines += vllm_log.startup_lines(b.server) + vllm_lines(case, b)
    write(folder / "server.log", "".join(f"{line.text}\n" for line in sorted(lines, key=lambda line: line.ts)))
    write(folder / "metrics.txt", metric_pages(case, boots))
    done = [r for b in boots for r in b.requests if r.trace and r.state == "finished"]
    write(
        folder / "spans.jsonl",
        "".join(f"{vllm_line(boots[0].server, r)}\n" for r in sorted(done, key=lambda r: r.finished_ts or 0)),
    )


def write_evidence(ran: Ran, folder: Path) -> None:
    """What the servers, the gateway and the client of a played case leave, in a folder that is made."""
    case = ran.case
    everyone = seen(ran)
    hosts = sorted({b.server.host for b in everyone})
    servers = [[b for b in everyone if b.server.host == host] for host in hosts]
    view = felt(ran)
    folder.mkdir(parents=True, exist_ok=True)
    for host, boots in zip(hosts, servers, strict=True):
        if case.engine == "vllm":
            write_vllm(case, folder / host, boots)
        else:
            write_sglang(case, folder / host, boots)
    if case.workers > 1 and not case.pd:
        write(folder / "gateway" / "metrics.txt", gateway_pages(ran, servers, view.end_s))
    write(folder / "client.jsonl", "".join(f"{line}\n" for line in client_lines(ran, servers, view)))


def record(case: Case, folder: Path) -> dict[str, Any]:
    """Write the evidence into ``folder`` and the truth beside it; the truth is returned.

    Raises:
        InputError: ``folder`` exists and is not empty.
    """
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"lab record: {folder} is not empty; name a new folder")
    ran = play(case)
    write_evidence(ran, folder)
    truth = truth_of(ran, harm_of(ran))
    write(folder.with_name(folder.name + ".truth.json"), json.dumps(truth, indent=1) + "\n")
    return truth


def harm_of(ran: Ran) -> dict[str, Any]:
    """The user-visible figures of a case and of its healthy twin of the same seed, which is played and not recorded."""
    mine, healthy = figures(ran), figures(play(replace(ran.case, healthy=True, changed=(), unpin=False)))
    admitted, worst = harms(mine, healthy)
    return {"case": mine, "twin": healthy, "admitted": admitted, "worst_ratio": worst}
