"""`ridgeline compare`: did the fix work?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from ridgeline.model.comparison import Comparison
    from ridgeline.model.diagnosis import Window
    from ridgeline.verdict.evidence import Side

Format = Literal["text", "json", "md"]
STATUS = {"recovered": 0, "improved": 0, "not-recovered": 2, "worse": 2, "no-change": 2, "inconclusive": 3}


def compare(
    incident: str,
    after: str,
    /,
    *,
    baseline: str | None = None,
    slo: str | None = None,
    change: Annotated[tuple[str, ...], Parameter(allow_leading_hyphen=True)] = (),
    incident_window: str | None = None,
    after_window: str | None = None,
    baseline_window: str | None = None,
    margin: float = 0.1,
    tz: str | None = None,
    year: int | None = None,
    lang: Literal["en", "zh"] = "en",
    format: Format = "text",
    quiet: bool = False,
) -> int:
    """Did the fix work: AFTER against INCIDENT, and against BASELINE or an SLO where one is given.

    Parameters
    ----------
    incident
        Evidence of the bad time: a bundle, a folder, a file, a glob.
    after
        Evidence of the time behind the fix.
    baseline
        Evidence of a good time: recovered means back there.
    slo
        Bounds such as ttft_p99=2s,e2e_mean=10s,errors=1%: recovered means within them.
    change
        The launch argument under test, such as --max-running-requests; any other that differs is then an obstacle.
    incident_window
        Only this part of INCIDENT: FROM..TO.
    after_window
        Only this part of AFTER: FROM..TO.
    baseline_window
        Only this part of BASELINE: FROM..TO.
    margin
        A difference below this share of the figure does not matter.
    tz
        Zone of log times that name none, such as Asia/Shanghai or +08:00; also of the windows.
    year
        Year of log times that name none.
    lang
        Language of the sentences: en or zh.
    format
        text for a terminal, json for programs, md for a ticket.
    quiet
        Print nothing but errors.
    """
    from ridgeline.model.errors import InputError
    from ridgeline.verdict.compare import compare as run
    from ridgeline.verdict.slo import slo_of

    if baseline is not None and slo is not None:
        raise InputError("--baseline and --slo: give one of them; they are two answers to what good is")
    if not 0 <= margin < 1:
        raise InputError(f"--margin {margin}: expected a share from 0 up to 1, such as 0.1")
    bounds = slo_of(slo)
    given = [("INCIDENT", incident, incident_window), ("AFTER", after, after_window)]
    if baseline is not None:
        given.append(("BASELINE", baseline, baseline_window))
    sides = [_side(name, source, window, tz, year, quiet) for name, source, window in given]
    if incident_window is None:
        sides = _diagnosed(incident, sides, with_baseline=baseline is None and slo is None)
    found = run(sides[0], sides[1], sides[2] if len(sides) > 2 else None, slo=bounds, change=change, margin=margin)
    if not quiet:
        show(found, format, lang)
    return STATUS[found.verdict]


def _side(name: str, source: str, window: str | None, tz: str | None, year: int | None, quiet: bool) -> Side:
    from ridgeline.bundle.open import open_sources
    from ridgeline.cli.moments import window as window_of
    from ridgeline.cli.progress import progress
    from ridgeline.cli.sources import zone_of
    from ridgeline.verdict.evidence import Side, day_of

    with progress(quiet) as on_progress:
        view = open_sources([source], tz=zone_of(tz), year=year, on_progress=on_progress)
    if window:
        return Side(name, view, window_of(window, zone_of(tz), day_of(view), f"--{name.lower()}-window"))
    captured = _captured(source)
    return Side(
        name, view, captured, "only the time of its capture, not what its logs held before" if captured else None
    )


def _captured(source: str) -> Window | None:
    """When a folder of `ridgeline capture` was recorded; None for anything else."""
    import json
    from pathlib import Path

    from ridgeline.model.diagnosis import Window

    try:
        known = json.loads((Path(source) / ".capture.json").read_bytes())
        return Window(float(known["from_ts"]), float(known["to_ts"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _diagnosed(incident: str, sides: list[Side], *, with_baseline: bool) -> list[Side]:
    """Where INCIDENT's folder holds a diagnosis, its windows: the incident's own, and the good time before it."""
    from dataclasses import replace

    from ridgeline.cli.stored import stored

    known = stored([incident])
    if known is None or known.incident is None:
        return sides  # no diagnosis there, or one without a window: the whole of it counts
    out = [replace(sides[0], window=known.incident, note="the window is its diagnosis's"), *sides[1:]]
    if with_baseline and known.baseline is not None:
        good = replace(sides[0], name="BASELINE", window=known.baseline, note="the good time of INCIDENT's diagnosis")
        out.append(good)
    return out


def show(found: Comparison, format: Format, lang: str = "en") -> None:
    """Print the comparison in one of the three forms."""
    if format == "json":
        import json

        from ridgeline.verdict.contract import to_contract

        print(json.dumps(to_contract(found, lang), indent=1, ensure_ascii=False, allow_nan=False))
        return
    from ridgeline.report.comparison import markdown, render

    if format == "md":
        print(markdown(found, lang), end="")
        return
    from rich.console import Console

    render(found, Console(), lang)
