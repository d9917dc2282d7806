"""`ridgeline diagnose`: which layer, which cause, what is ruled out, what next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from ridgeline.bundle.view import View
    from ridgeline.model.diagnosis import Diagnosis, Window

Format = Literal["text", "json", "md"]
Level = Literal["low", "medium", "high"]


def diagnose(
    *sources: str,
    symptom: str = "auto",
    baseline: str | None = None,
    from_: Annotated[str | None, Parameter(name="--from")] = None,
    to: str | None = None,
    for_: Annotated[str, Parameter(name="--for")] = "60s",
    label: tuple[str, ...] = (),
    tz: str | None = None,
    year: int | None = None,
    on: str | None = None,
    fail_on: Level = "low",
    lang: Literal["en", "zh"] = "en",
    format: Format = "text",
    quiet: bool = False,
) -> int:
    """Which layer, which cause, what is ruled out, what is missing, what next.

    Parameters
    ----------
    sources
        Files, folders, globs, - for standard input, one bundle, or http(s) URLs of servers (read-only).
    symptom
        slow, stream, errors, hang, memory, cache, disagg, wrong-output, or what users say in their own words.
    baseline
        A good time to compare with: FROM..TO.
    from_
        Start of the incident, such as 2026-11-30T03:40:00Z, epoch seconds, or 03:40 of the day of the evidence.
    to
        End of the incident.
    for_
        How long to watch URLs, such as 60s or 2m.
    label
        ROLE=FILE or ROLE:NAME=FILE where content does not tell.
    tz
        Zone of log times that name none, such as Asia/Shanghai or +08:00; also of --from, --to and --baseline.
    year
        Year of log times that name none.
    on
        local-ray, or ray://HOST:PORT: raw sources are read by tasks of that cluster (ray extra).
    fail_on
        Exit 2 only for a finding of at least this confidence.
    lang
        Language of the sentences: en or zh.
    format
        text for a terminal, json for programs, md for a ticket.
    quiet
        Print nothing but errors.
    """
    from ridgeline.cli.evidence import watched
    from ridgeline.cli.moments import windows_of
    from ridgeline.ladder.diagnose import diagnose as run

    with watched(sources, for_=for_, label=label, tz=tz, year=year, quiet=quiet, on=on) as view:
        incident, good = windows_of(view, from_, to, baseline, tz, sources)
        diagnosis = run(view, symptom, incident=incident, baseline=good, sources=sources)
        if not quiet:
            show(diagnosis, view, format, lang)
    return status(diagnosis, fail_on)


def status(diagnosis: Diagnosis, fail_on: Level) -> int:
    """0 healthy, 2 a finding at or above `fail_on`, 3 inconclusive."""
    from ridgeline.ladder.judge import LEVELS

    if diagnosis.verdict == "inconclusive":
        return 3
    worst = max((LEVELS.index(f.confidence) for f in diagnosis.findings), default=-1)
    return 2 if worst >= LEVELS.index(fail_on) else 0


def show(diagnosis: Diagnosis, view: View, format: Format, lang: str) -> None:
    """Print the diagnosis in one of the three forms."""
    if format == "json":
        import json

        from ridgeline.report.contract import to_contract

        print(json.dumps(to_contract(diagnosis, lang), indent=1, ensure_ascii=False, allow_nan=False))
        return
    if format == "md":
        from ridgeline.report.md import render as markdown

        print(markdown(diagnosis, lang), end="")
        return
    from rich.console import Console

    from ridgeline.facts.strips import strips
    from ridgeline.facts.timeline import timelines
    from ridgeline.report.terminal import render

    pictures = strips(scoped(view, diagnosis.incident, diagnosis.baseline))
    render(diagnosis, Console(), pictures, timelines(view, diagnosis.representatives), lang)


def scoped(view: View, incident: Window | None, baseline: Window | None) -> View:
    """The view under the windows of the diagnosis."""
    return view.window(incident, baseline)
