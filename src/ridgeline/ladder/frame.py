"""The frame: incident and baseline windows, given or found, and the onset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from ridgeline.bundle.view import View
from ridgeline.facts.change import change
from ridgeline.facts.series import GENTLE, INPUT, WORSE, last_line, late_onset, reset, series, span
from ridgeline.model.diagnosis import Window
from ridgeline.stats.change_point import ChangePoint, change_points

MIN_BASELINE_S: Final = 20.0  # a shorter "before" is a start, not a baseline
MIN_INCIDENT_S: Final = 10.0  # a shorter "after" is a moment
MIN_SAMPLES: Final = 10
SURE_STEP: Final = 0.01  # p-value of a step
DOUBT: Final = 0.05  # of one among stairs, where its strength is clear
SURE: Final = 1e-6  # a shift within the spread of its sides (latency tails under load) needs this p-value
CLEAR: Final = 3.0  # times the spread within its sides: a step that speaks for itself
MILD: Final = 1.5  # the same where users' times speak for it as well
HARM: Final = 1.2  # times as long
HARM_REQUESTS: Final = 50
SMALL: Final = {
    "waiting": 2.0, "ttft_s": 0.05, "tpot_s": 0.002, "e2e_s": 0.1, "hit_share": 0.1, "accept_length": 0.1,
    "client_ttft_s": 0.1, "send_lag_s": 0.2, "cut_short": 0.02, "step_s": 0.005, "gap_s": 0.1, "line_hit_share": 0.1,
    "client_tpot_s": 0.002, "client_e2e_s": 0.1, "prompt_tokens": 128.0, "return_s": 0.1,
    "failed": 0.02, "missed": 0.05,
}  # fmt: skip


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
    """(signal, baseline, incident) of the earliest change for the worse; it ends with the last signal it reached."""
    reach = span(view)
    if reach is None:
        return None
    everything = series(view)
    known = {signal: values for signal, values in everything.items() if signal not in INPUT}
    # Stairs have short steps, each of little weight: looked for only where no clear step is.
    candidates = _candidates(known, reach, SURE_STEP) or _candidates(known, reach, DOUBT)
    if not candidates:
        asked = {signal: values for signal, values in everything.items() if signal in GENTLE}
        gentle = [*_candidates(asked, reach, SURE_STEP, MILD), *_came_back(view, reach)]
        candidates = [c for c in gentle if _harmful(view, reach, c)]
    if not candidates:
        return None
    # The earliest sign of the incident, not of a bad moment that one signal had before it.
    longest = max(end - start for start, _, end, _ in candidates)
    lasting = [c for c in candidates if c[2] - c[0] >= 0.5 * longest]
    onset, before, ended, signal = min(lasting, key=lambda c: (c[0], c[3]))
    ended = max([ended, *(c[2] for c in candidates if c[0] <= ended)])
    return signal, Window(reach[0], before), Window(onset, ended)


def _came_back(view: View, reach: tuple[float, float]) -> list[tuple[float, float, float, str]]:
    """The start with other settings, as a candidate; it lasts to the end."""
    at = reset(view)
    if at is None or at - reach[0] < MIN_BASELINE_S or reach[1] - at < MIN_INCIDENT_S:
        return []
    return [(at, at, reach[1] + 1e-6, "settings")]


def _harmful(view: View, reach: tuple[float, float], change_of_input: tuple[float, float, float, str]) -> bool:
    """Whether users fare clearly worse from a change of what comes in on: a tail of their times is a fifth longer."""
    onset, before, ended, _signal = change_of_input
    later = view.window(Window(onset, ended), Window(reach[0], before))
    moved = [change(later, "seconds", what=what, q=0.95) for what in ("ttft_s", "e2e_s", "tpot_s")]
    return any(f.value is not None and f.n >= HARM_REQUESTS and f.value >= HARM for f in moved)


def _candidates(
    known: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    reach: tuple[float, float],
    max_p: float,
    strong: float = CLEAR,
) -> list[tuple[float, float, float, str]]:
    """(onset, last good moment, end, signal) of the longest bad stretch of each signal that has one.

    `strong`: the strength from which on a step is clear.
    """
    candidates: list[tuple[float, float, float, str]] = []
    for signal, (times, values) in known.items():
        if len(times) < 2 * MIN_SAMPLES:
            continue
        points = change_points(times, values, min_strength=MILD, max_p=max_p)
        bad = [
            stretch
            for stretch in _bad_stretches(points, signal, reach[1] + 1e-6, strong)
            if stretch[1] - reach[0] >= MIN_BASELINE_S and stretch[2] - stretch[0] >= MIN_INCIDENT_S
        ]
        if bad:
            # The longest is the incident: a short bad moment before it is a moment.
            onset, before, ended = max(bad, key=lambda b: (b[2] - b[0], -b[0]))
            onset, before = _foot(times, values, onset, before, points[0].before, signal)
            candidates.append((onset, before, ended, signal))
    return candidates


def _foot(
    times: Sequence[float], values: Sequence[float], onset: float, before: float, good: float, signal: str
) -> tuple[float, float]:
    """(onset, last good moment) at the foot of a slope: back from the step to the last value of the old level.

    A step is put where it halves a slope. Values within a tenth of the shift of the old level, or too near it to
    matter, belong to it; one that does among worse ones is noise.
    """
    split = next(i for i, at in enumerate(times) if at >= onset)
    later = sorted(values[split : split + MIN_SAMPLES])
    shift = abs(later[len(later) // 2] - good)
    near = max(0.1 * shift, SMALL[signal])
    back = split
    while back >= 2 and sum((v - good) * WORSE[signal] > near for v in values[back - 2 : back + 1]) >= 2:
        back -= 1
    back = min(back + 1, split) if back < split else split
    # The baseline must stay long enough to be one.
    if back == split or times[back] - times[0] < MIN_BASELINE_S:
        return onset, before
    return times[back], times[back - 1]


def _bad_stretches(
    points: Sequence[ChangePoint], signal: str, end: float, strong: float
) -> list[tuple[float, float, float]]:
    """(onset, last good moment, end) of each stretch that is clearly worse than the level before the first change.

    A level counts as back where 30 % of the shift or less is left; what lies between only counts as still bad.
    """
    if not points:
        return []
    good, bad = points[0].before, list[tuple[float, float, float]]()
    since: ChangePoint | None = None
    least = max(SMALL[signal], (0.15 if strong < CLEAR else 0.3) * abs(good))
    before = after = 0  # samples: a rise may come in stairs, so all that lies before and after counts, not one step
    for i, point in enumerate(points):
        worse = (point.after - good) * WORSE[signal]
        before += point.n_before
        if since is None:
            clear = point.strength >= strong or (point.p_value <= SURE and worse >= 0.5 * abs(good))
            after = sum(later.n_after for later in points[i:])
            if clear and worse >= least and min(before, after) >= MIN_SAMPLES:
                since = point
        elif worse <= 0.3 * abs(since.after - good):
            bad.append((since.onset, since.not_before, point.onset))
            since = None
    if since is not None:
        bad.append((since.onset, since.not_before, end))
    return bad
