"""`ridgeline replay DUMP|BUNDLE|SCENARIO --to URL -o DIR`: recorded requests sent again, at their times."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from ridgeline.replay.shot import Load

SPANS: Final = (("send_drift_s", "sent off its time by"), ("ttft_s", "time to first token"),
                ("itl_s", "gap between pieces"), ("e2e_s", "whole request"))  # fmt: skip


def replay(
    *sources: str,
    to: str,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    speed: float = 1.0,
    window: str | None = None,
    filter: str | None = None,
    as_: Annotated[Literal["generate", "completions", "chat"], Parameter(name="--as")] = "generate",
    concurrency: int = 0,
    compare: str | None = None,
    allow_host: tuple[str, ...] = (),
    seed: int = 0,
    timeout: str = "600s",
    drop: tuple[str, ...] = (),
    stream: bool | None = None,
    model: str | None = None,
    api_key_env: str | None = None,
    keep_text: bool = False,
    force: bool = False,
    format: Literal["text", "json", "md"] = "text",
    quiet: bool = False,
) -> int:
    """Send recorded requests again at their recorded times (open loop), measure each, and compare.

    The result is a bundle of the client's view. Exit status: 0 all came back fine (with --compare: nothing differs),
    1 it could not be done, 2 requests failed (with --compare: something differs), 3 nothing could be compared.

    Parameters
    ----------
    sources
        Request or crash dumps (or a folder of them), a bundle, a scenario, or recorded logs. Only dumps hold
        prompts; the others are replayed with drawn ones of equal length and shared prefixes.
    to
        http://HOST:PORT of the target.
    output
        The folder to write.
    speed
        Divides the recorded times: 2 sends twice as fast.
    window
        FROM:TO in seconds after the first request, or FROM..TO as moments; what arrives in it is sent.
    filter
        NAME=VALUE, also != < <= > >= ~, joined by and: prompt_tokens>2000 and stream=true.
    as_
        Endpoint to send to: SGLang's /generate takes token ids exactly, completions too; chat takes text.
    concurrency
        At most so many open requests; 0 for no cap. A cap makes later sends late, and it is said.
    compare
        recorded, or the URL of a second target that gets the same at the same moments.
    allow_host
        A host other than this one that may be sent to; its exact name.
    seed
        Of drawn prompts and of the rids' prefix.
    timeout
        Of one request: 600s, 10m.
    drop
        A field or sampling parameter that is left out of every request, such as lora_path.
    stream
        Ask for streams, or not, whatever was recorded.
    model
        Name for completions and chat; the target's first one where it is not given.
    api_key_env
        Environment variable that holds the target's API key.
    keep_text
        Keep ids readable, and the outputs that differ in differences.jsonl (readable by you only).
    force
        Replace a bundle that is there already.
    format
        text for a terminal, json for programs, md for a ticket.
    quiet
        Print nothing but errors.
    """
    from ridgeline.model.errors import InputError
    from ridgeline.replay.target import alive, http_library, model_name, target_of

    http_library()
    if not 0 < speed < float("inf") or concurrency < 0:
        raise InputError(f"--speed {speed:g} --concurrency {concurrency}: want a speed above 0 and a cap of 0 or more")
    target = target_of(to, allow_host, api_key_env)
    other = target_of(compare, allow_host, api_key_env) if compare not in (None, "recorded") else None
    from dataclasses import replace

    from ridgeline.replay.body import Manner
    from ridgeline.replay.load import load
    from ridgeline.replay.player import Pace
    from ridgeline.replay.run import Plan, run

    found = selected(load(sources), window, filter)
    alive(target)
    if other is not None:
        alive(other)
    manner = Manner(
        as_, model or (model_name(target) if as_ != "generate" else "default"), f"replay-{seed}-", seed,
        frozenset(drop), stream,
    )  # fmt: skip
    other_manner = None
    if other is not None:
        named = model or (model_name(other) if as_ != "generate" else "default")
        other_manner = replace(manner, model=named)
    whole = speed == 1.0 and window is None and filter is None and concurrency == 0
    plan = Plan(
        found, target, manner, Pace(speed, concurrency, seconds_of("--timeout", timeout)), output, other, other_manner,
        compare == "recorded", whole, keep_text, force,
    )  # fmt: skip
    if not quiet:
        told(f"{found.source}: {len(found.shots)} requests over {found.shots[-1].at_s / speed:.1f} s to {target.base}")
        for note in found.notes[:1] if found.synthetic else ():
            told(note)
    report = run(plan, told)
    if not quiet:
        print(said(report, output, format))
    return status_of(report)


def told(line: str) -> None:
    """Progress goes to standard error."""
    from ridgeline.report.escape import plain

    print(plain(line), file=sys.stderr)


def seconds_of(option: str, text: str) -> float:
    """`600s`, `10m` or plain seconds. Raises InputError."""
    from ridgeline.cli.evidence import seconds_of as seconds
    from ridgeline.model.errors import InputError

    try:
        return seconds(text)
    except InputError as e:
        raise InputError(f"{option} {text}: is no time above zero; write 60s, 2m or 1h") from e


def selected(load: Load, window: str | None, filter: str | None) -> Load:
    """The load within a window and a filter. Raises InputError where nothing is left."""
    from dataclasses import replace

    from ridgeline.replay.choose import chosen, within

    shots = load.shots
    if window is not None:
        shots = tuple(within(shots, *span_of(window, load.origin_ts)))
    if filter is not None:
        shots = tuple(chosen(shots, filter))
    return replace(load, shots=shots)


def span_of(text: str, origin_ts: float | None) -> tuple[float, float]:
    """`FROM:TO` in seconds, or `FROM..TO` as moments → seconds after the first request. Raises InputError."""
    from datetime import UTC, datetime

    from ridgeline.cli.moments import window
    from ridgeline.model.errors import InputError

    left, dots, right = text.partition("..")
    if not dots:
        left, dots, right = text.partition(":")
    try:
        low, high = float(left or "0"), float(right or "inf")
        if dots and high > low:
            return low, high
    except ValueError:
        pass
    if ".." not in text or origin_ts is None:
        told_by = "" if origin_ts is not None else " (this source has no times of day)"
        raise InputError(f"--window {text}: write FROM:TO in seconds, or FROM..TO as moments{told_by}")
    found = window(text, None, datetime.fromtimestamp(origin_ts, UTC), "--window")
    return found.from_ts - origin_ts, found.to_ts - origin_ts


def status_of(report: dict[str, Any]) -> int:
    """The exit status of a finished replay."""
    comparison = report["comparison"]
    if comparison is not None:
        return {"same": 0, "different": 2, "nothing-comparable": 3}[comparison["verdict"]]
    return 2 if report["errors"] else 0


def said(report: dict[str, Any], out: Path, format: str) -> str:
    """The report as it is printed."""
    import json

    from ridgeline.report.escape import markdown, plain

    if format == "json":
        return json.dumps(report, indent=1, ensure_ascii=False)
    clean = plain if format == "text" else markdown
    lines = [headline(report)]
    lines += [f"{'unit: seconds':24}{'p50':>10}{'p90':>10}{'p99':>10}{'longest':>10}{'n':>8}"]
    for name, words in SPANS:
        found = report[name]
        figures = (
            "".join(f"{found[k]:>10.4f}" for k in ("p50", "p90", "p99", "max")) if found else f"{'not measured':>40}"
        )
        lines.append(f"{words:24}{figures}{found['n'] if found else 0:>8}")
    if format == "md":
        lines = [lines[0], "", "```", *lines[1:], "```"]
    lines += [f"error: {clean(m['message'], 160)} ({m['count']})" for m in report["messages"]]
    if report["comparison"] is not None:
        lines += compared(report["comparison"], clean)
    lines += [f"note: {clean(note)}" for note in report["notes"]]
    lines.append(f"{clean(str(out))}: a bundle of the client's view; `ridgeline diagnose` reads it")
    return "\n".join(lines)


def headline(report: dict[str, Any]) -> str:
    """How many were sent and what became of them."""
    ended = f"{report['fine']} fine"
    for name, count in report["errors"].items():
        ended += f", {count} {name}"
    if report["cut_by_us"]:
        ended += f", {report['cut_by_us']} cut by us"
    return f"{report['sent']} of {report['requests']} requests sent in {report['took_s'] or 0:.1f} s: {ended}"


def compared(c: dict[str, Any], clean: Any) -> list[str]:
    """The comparison in lines."""
    lines = [f"compared with {clean(c['against'])}: {c['verdict']} ({c['differing']} of {c['pairs']} pairs differ)"]
    for kind in ("greedy", "sampled"):
        found = c[kind]
        if found["pairs"]:
            where = f", first at {found['first_parting']}, half by {found['median_parting']}"
            parted = f"{found['outputs_parted']} of {found['outputs_compared']} outputs part"
            expected = " (expected: they are sampled)" if kind == "sampled" and found["outputs_parted"] else ""
            apart = where if found["outputs_parted"] else ""
            lines.append(f"  {kind}: {found['pairs']} pairs, {parted}{apart}{expected}")
    for name, found in c["differences"].items():
        lines.append(f"  differs in {name}: {found}")
    for name, rows in c["latency"].items():
        for one in rows:
            low, high = one["low"], one["high"]
            judged = "too few pairs" if low is None else one["verdict"] if c["latency_judged"] else "not judged"
            span = f" ({low:+.4f} to {high:+.4f})" if low is not None else ""
            moved = f"{one['a']:.4f} -> {one['b']:.4f} s, {one['difference']:+.4f}{span}"
            lines.append(f"  {name} p{round(100 * one['q'])}: {moved}, {judged}")
    for pair in c["listed"][:5]:
        at = f", parts at {pair['unit']} {pair['at']}" if pair["at"] is not None else ""
        both = (("error", pair["error"]), ("finish", pair["finish"]), ("tokens", pair["tokens"]))
        sides = "; ".join(f"{name} {a} / {b}" for name, (a, b) in both if a != b)
        lines.append(f"  {clean(pair['rid'], 60)}: {', '.join(pair['differs'])}{at} {clean(sides)}".rstrip())
    return [*lines, *(f"  note: {clean(note)}" for note in c["notes"])]
