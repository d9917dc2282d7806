"""`ridgeline capture`: record servers, logs and traces into one folder, then seal it as a bundle."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from ridgeline.live.capture import Outcome, Plan
    from ridgeline.live.seal import Sealed

Format = Literal["text", "json", "md"]


def capture(
    *urls: str,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    seal: Path | None = None,
    logs: tuple[str, ...] = (),
    for_: Annotated[str | None, Parameter(name="--for")] = None,
    every: str = "5s",
    otlp: int | None = None,
    prometheus: str | None = None,
    from_: Annotated[str | None, Parameter(name="--from")] = None,
    to: str | None = None,
    step: str = "15s",
    raise_logging: bool = False,
    allow_host: tuple[str, ...] = (),
    keep_text: bool = False,
    tz: str | None = None,
    year: int | None = None,
    format: Format = "text",
    quiet: bool = False,
) -> int:
    """Record servers, logs and traces into one folder; it ends as a bundle that every command opens.

    Parameters
    ----------
    urls
        Servers, such as http://127.0.0.1:30000; they are only read (GET) unless --raise-logging is given.
    output
        The folder to write.
    seal
        Make the folder of a capture that was killed a bundle, instead of capturing.
    logs
        Files, folders or patterns to follow, through rotation; a folder is an exporter's. Several may stand behind it.
        Quote a pattern ('/var/log/sglang/*.log'): then files that appear later are followed too.
    for_
        How long, such as 2m; without it until Ctrl-C or SIGTERM.
    every
        Time between two looks at an endpoint; a slow one is asked less often.
    otlp
        Receive OTLP over HTTP on this port of 127.0.0.1.
    prometheus
        A Prometheus to take the past from, between --from and --to.
    from_
        Start of the past, such as 2026-11-30T03:40:00Z or epoch seconds.
    to
        End of the past.
    step
        Step of the past's points.
    raise_logging
        Log requests (level 1) while the capture runs, by POST /configure_logging, and put it back afterwards.
    allow_host
        A host other than loopback that may be written to.
    keep_text
        Leave prompts and ids readable instead of hashing them.
    tz
        Zone of log times that name none, such as Asia/Shanghai or +08:00.
    year
        Year of log times that name none.
    format
        How to print the summary.
    quiet
        Print nothing but errors.
    """
    import asyncio

    from ridgeline.cli.evidence import servers_and_logs
    from ridgeline.live.capture import capture as run
    from ridgeline.live.seal import begin, note
    from ridgeline.model.errors import InputError

    if seal is not None:
        if urls or output is not None:
            raise InputError("--seal: takes the folder of an earlier capture and nothing else")
        return _seal(seal, keep_text, tz, year, format, quiet, None)
    if output is None:
        raise InputError("-o is missing: name the folder to write")
    urls, logs = servers_and_logs(urls, logs)
    plan = _plan(urls, logs, for_, every, otlp, prometheus, from_, to, step, raise_logging, allow_host, tz)
    about: dict[str, Any] = {"schema": "ridgeline.capture/1", "urls": list(urls), "logs": len(logs)}
    if plan.past is None:
        about["from_ts"] = time.time()  # followed logs reach further back than what was captured
    raw = begin(output, about)
    outcome = asyncio.run(run(plan, output, raw, about, _say(quiet)))
    if plan.past is None:
        note(output, {**about, "to_ts": time.time()})
    if outcome.trouble is not None:
        print(f"ridgeline: {outcome.trouble}; it is not sealed: ridgeline capture --seal {output}", file=sys.stderr)
        return 1
    return _seal(output, keep_text, tz, year, format, quiet, outcome)


def _plan(
    urls: tuple[str, ...], logs: tuple[str, ...], for_: str | None, every: str, otlp: int | None,
    prometheus: str | None, from_: str | None, to: str | None, step: str, raise_logging: bool,
    allow_host: tuple[str, ...], tz: str | None,
) -> Plan:  # fmt: skip
    from ridgeline.cli.evidence import seconds_of
    from ridgeline.cli.moments import moment
    from ridgeline.cli.sources import zone_of
    from ridgeline.live.capture import Plan
    from ridgeline.live.poll import base_of
    from ridgeline.live.raising import may_write
    from ridgeline.model.errors import InputError

    for url in urls:
        base_of(url)
    if raise_logging:
        may_write(urls, allow_host)
    if otlp is not None and not 0 <= otlp < 1 << 16:
        raise InputError(f"--otlp {otlp}: is no port; give one from 1 to 65535")
    if not (urls or logs or prometheus or otlp is not None):
        raise InputError("nothing to capture: give URLs, --logs, --otlp or --prometheus")
    past = None
    if prometheus is not None:
        if from_ is None or to is None:
            raise InputError("--prometheus: needs --from and --to")
        zone = zone_of(tz)
        past = (prometheus, moment(from_, zone, None, "--from"), moment(to, zone, None, "--to"), seconds_of(step))
    return Plan(
        urls, logs, seconds_of(every), seconds_of(for_) if for_ else None, otlp, past, raise_logging, allow_host
    )


def _say(quiet: bool) -> Callable[[str], None]:
    from ridgeline.report.escape import plain

    def say(text: str) -> None:
        if not quiet:
            print(f"ridgeline: {plain(text, 1000)}", file=sys.stderr, flush=True)

    return say


def _seal(
    folder: Path, keep_text: bool, tz: str | None, year: int | None, format: Format, quiet: bool,
    outcome: Outcome | None,
) -> int:  # fmt: skip
    from ridgeline.cli.progress import progress
    from ridgeline.cli.sources import zone_of
    from ridgeline.live.seal import seal

    with progress(quiet) as on_progress:
        sealed = seal(folder, keep_text=keep_text, tz=zone_of(tz), year=year, on_progress=on_progress)
    for note in sealed.notes:
        print(f"ridgeline: {note}", file=sys.stderr)
    if not quiet:
        print(said(folder, sealed, outcome, format))
    return 0


def said(folder: Path, sealed: Sealed, outcome: Outcome | None, format: Format) -> str:
    """What was captured, in one of the three forms."""
    from ridgeline.report.escape import plain

    tally = outcome.tally if outcome is not None else None
    late = sorted(tally.late_s) if tally is not None else []
    p99 = late[min(len(late) - 1, int(0.99 * len(late)))] if late else None
    if format == "json":
        import json

        gaps = dict(sorted(tally.refused.items())) if tally is not None else {}
        return json.dumps(
            {"schema": "ridgeline.capture/1", "folder": str(folder), "tables": sealed.rows,
             "answers": tally.answers if tally else None, "gaps": tally.gaps if tally else None,
             "skipped": tally.skipped if tally else None, "late_p99_s": round(p99, 4) if p99 is not None else None,
             "refused": gaps, "notes": list(sealed.notes)}, indent=1, ensure_ascii=False)  # fmt: skip
    lines = [f"{folder}: {sum(sealed.rows.values()):,} rows in {len(sealed.rows)} tables"]
    if tally is not None:
        lines.append(
            f"{tally.answers:,} answers, {tally.gaps:,} gaps, {tally.skipped:,} looks left out for slow answers"
        )
        lines += [
            f"never or no longer: {plain(url, 200)}: {plain(why, 200)}" for url, why in sorted(tally.refused.items())
        ]
    lines.append(f"next: ridgeline diagnose {folder}")
    return "\n".join(f"- {line}" for line in lines) if format == "md" else "\n".join(lines)
