"""`ridgeline minimise DUMP --to URL --fails PREDICATE -o DIR`: the smallest input that still brings the fault."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final, Literal

from cyclopts import Parameter

SHOWN_TRIES: Final = 40


def minimise(
    *sources: str,
    to: str,
    fails: str,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    restart: str | None = None,
    repeat: int = 20,
    budget: int = 600,
    speed: float = 20.0,
    gap: float = 0.1,
    concurrency: int = 0,
    window: str | None = None,
    filter: str | None = None,
    as_: Annotated[Literal["generate", "completions", "chat"], Parameter(name="--as")] = "generate",
    timeout: str = "120s",
    ready: str = "600s",
    allow_host: tuple[str, ...] = (),
    seed: int = 0,
    drop: tuple[str, ...] = (),
    model: str | None = None,
    api_key_env: str | None = None,
    format: Literal["text", "json", "md"] = "text",
    quiet: bool = False,
) -> int:
    """Reduce a dump to the fewest and shortest requests that still bring a fault to a target.

    Sends many times to the target and may kill it: give it one of its own. Every try is kept; the same command goes
    on where a stopped one was. DIR holds the reduced prompts, readable by you only. Exit status: 2 the fault came back
    and was reduced, 3 it did not come back, 1 it could not be done.

    Parameters
    ----------
    sources
        Request or crash dumps, or a folder of them.
    to
        http://HOST:PORT of the target.
    fails
        What counts as the fault: crash, status:500, status:5xx, finish:length, error, error:disconnect,
        output:/regex/, ttft>2s, e2e>2s, itl>1s, or cmd:COMMAND (gets a file of outcomes; exit 0 means it is there).
    output
        The folder for the journal and the result.
    restart
        A shell command that starts the target again after it died. Without it, it is waited for.
    repeat
        At most so many tries of one input without the fault before it counts as passing.
    budget
        At most so many tries in all.
    speed
        Divides the recorded times.
    gap
        Longest pause between two requests, in seconds.
    concurrency
        At most so many open requests; 0 for no cap, 1 sends one behind the other.
    window
        FROM:TO in seconds after the first request; only what arrives in it is looked at.
    filter
        NAME=VALUE, as in `ridgeline replay`.
    as_
        Endpoint to send to.
    timeout
        Of one request.
    ready
        How long a started target may take until it is healthy.
    allow_host
        A host other than this one that may be sent to; its exact name.
    seed
        Of drawn prompts.
    drop
        A field or sampling parameter that is left out of every request.
    model
        Name for completions and chat.
    api_key_env
        Environment variable that holds the target's API key.
    format
        text for a terminal, json for programs, md for a ticket.
    quiet
        Print nothing but errors.
    """
    from ridgeline.model.errors import InputError
    from ridgeline.replay.target import alive, http_library, model_name, target_of

    http_library()
    if not 0 < speed < float("inf") or not gap >= 0 or concurrency < 0 or repeat < 1 or budget < 1:
        raise InputError("--speed must be above 0, --gap and --concurrency not below, --repeat and --budget at least 1")
    from ridgeline.cli.replay import seconds_of, selected, told
    from ridgeline.replay.body import Manner
    from ridgeline.replay.load import load
    from ridgeline.replay.minimise.predicate import predicate_of
    from ridgeline.replay.minimise.run import Task, minimise
    from ridgeline.replay.player import Pace

    predicate = predicate_of(fails)
    target = target_of(to, allow_host, api_key_env)
    found = selected(load(sources), window, filter)
    if restart is None:
        alive(target)
    named = model or (model_name(target) if as_ != "generate" else "default")
    limit_s = seconds_of("--timeout", timeout)
    if predicate.kind == "over":
        limit_s = min(limit_s, 2 * predicate.limit_s + 1.0)  # nothing is learnt by waiting longer
    task = Task(
        found, target, predicate, Manner(as_, named, "minimise-", seed, frozenset(drop)),
        Pace(speed, concurrency, limit_s, gap), output, restart, budget, repeat, seconds_of("--ready", ready),
    )  # fmt: skip
    report = minimise(task, (lambda _: None) if quiet else told)
    if not quiet:
        print(said(report, output, format))
    return 3 if report["state"] == "not-reproduced" else 2


def said(report: dict[str, Any], out: Path, format: str) -> str:
    """The report as it is printed."""
    import json

    from ridgeline.report.escape import markdown, plain

    if format == "json":
        return json.dumps(report, indent=1, ensure_ascii=False)
    clean = plain if format == "text" else markdown
    lines = [headline(report)]
    for one in (report["to"] or {"each": []})["each"]:
        kept = ", ".join([*(f"{k}={v}" for k, v in one["sampling"].items()), *one["fields"]]) or "no parameters"
        lines.append(f"  {clean(one['rid'], 60)}: prompt of {one['prompt']} {one['unit']}, {clean(kept, 200)}")
    if report["proof"] is not None:
        proof = report["proof"]
        rate = f"{proof['rate_low']:.0%} to {proof['rate_high']:.0%}"
        lines.append(f"tried again: fails {proof['failed']} of {proof['tries']} times (rate {rate})")
    lines += table(report["tries"], format, clean)
    for command in report["curl"]:
        lines += ["```", command, "```"] if format == "md" else [clean(command, 4000)]
    lines += [f"note: {clean(note)}" for note in report["notes"]]
    if report["files"]:
        lines.append(f"{clean(str(out))}: {', '.join(report['files'])}; they hold prompts, readable by you only")
    return "\n".join(lines)


def headline(report: dict[str, Any]) -> str:
    """The result in one line."""
    tries = f"{report['spent']} tries, {report['restarts']} restarts"
    if report["state"] == "not-reproduced":
        return (
            f"{report['fails']}: did not come back in {tries}; it may be another version or otherwise launched, "
            "or it needs what earlier requests left there: try --speed 1 or a larger --repeat"
        )
    found, was = report["to"], report["from"]
    left = "cannot be reduced further" if report["state"] == "minimal" else "the smallest so far"
    return f"{report['fails']}: {found['requests']} of {was['requests']} requests, {left} ({tries})"


def table(tries: list[dict[str, Any]], format: str, clean: Any) -> list[str]:
    """The tries, the middle of a long list left out."""
    rows = [
        f"{t['try']:>4}  {t['requests']:>6}  {t['size']:>8}  {'fails' if t['failed'] else 'passes':6}  "
        f"{t['took_s']:>8.2f}  {clean(t['what'], 28):28}  {clean(t['why'], 60)}"
        for t in tries
    ]
    half = SHOWN_TRIES // 2
    if len(rows) > SHOWN_TRIES:
        rows = [*rows[:half], f" …   {len(rows) - SHOWN_TRIES} more in tries.jsonl", *rows[-half:]]
    head = f"{'try':>4}  {'sent':>6}  {'prompts':>8}  {'result':6}  {'seconds':>8}  {'what':28}  why"
    return ["```", head, *rows, "```"] if format == "md" else [head, *rows]
