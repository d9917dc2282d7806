"""The frame: incident and baseline windows, given or found, and the onset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from ridgeline.bundle.view import View
from ridgeline.facts.series import WORSE, last_line, late_onset, series, span
from ridgeline.model.diagnosis import Window
from ridgeline.stats.change_point import change_points

MIN_BASELINE_S: Final = 20.0  # a shorter "before" is a start, not a baseline
MIN_INCIDENT_S: Final = 10.0  # a shorter "after" is a moment
MIN_SAMPLES: Final = 10
SMALL: Final = {"waiting": 2.0, "ttft_s": 0.05, "tpot_s": 0.002, "e2e_s": 0.1, "hit_share": 0.1, "accept_length": 0.1}


@dataclass(frozen=True)
class Frame:
    """The view under its windows, how they came about, the onset and which signal showed it."""

    view: View
    how: Literal["given", "change-point", "none"]
    onset_ts: float | None
    signal: str | None


def frame(view: View, incident: Window | None, baseline: Window | None) -> Frame:
    """Given windows stand; else the first change for the worse parts the evidence, where there is enough before it."""
    late = late_onset(view)
    if incident is not None or baseline is not None:
        onset = late if late is not None else incident.from_ts if incident else None
        return Frame(view.window(incident, baseline), "given", onset, None)
    found = _first_change(view)
    if late is not None and (found is None or found[2].from_ts > late):
        found = _stopped(view, late)
    if found is None:
        return Frame(view.window(None, None), "none", late, None)
    signal, before, after = found
    return Frame(view.window(after, before), "change-point", after.from_ts if late is None else late, signal)


def _stopped(view: View, late: float) -> tuple[str, Window, Window] | None:
    """(progress, baseline, incident) around the last progress; None where too little lies before or after it."""
    reach = span(view)
    if reach is None:
        return None
    end = max(reach[1], last_line(view) or reach[1])
    if late - reach[0] < MIN_BASELINE_S or end - late < MIN_INCIDENT_S:
        return None
    return "progress", Window(reach[0], late), Window(late, end)


def _first_change(view: View) -> tuple[str, Window, Window] | None:
    """(signal, baseline, incident) of the earliest change for the worse."""
    reach = span(view)
    if reach is None:
        return None
    candidates: list[tuple[float, str, Window, Window]] = []
    for signal, (times, values) in series(view).items():
        if len(times) < 3 * MIN_SAMPLES:
            continue
        points = change_points(times, values)
        for i, point in enumerate(points):
            worse = (point.after - point.before) * WORSE[signal]
            if worse < max(SMALL[signal], 0.3 * abs(point.before)):
                continue
            if (
                point.not_before - reach[0] < MIN_BASELINE_S
                or point.n_before < MIN_SAMPLES
                or point.n_after < MIN_SAMPLES
            ):
                continue
            # A later change back to the old level ends the incident.
            ended = next(
                (p.onset for p in points[i + 1 :] if abs(p.after - point.before) <= 0.3 * abs(worse)), reach[1] + 1e-6
            )
            if ended - point.onset < MIN_INCIDENT_S:
                continue
            candidates.append((point.onset, signal, Window(reach[0], point.not_before), Window(point.onset, ended)))
            break
    if not candidates:
        return None
    _onset, signal, before, after = min(candidates, key=lambda c: (c[0], c[1]))
    return signal, before, after
