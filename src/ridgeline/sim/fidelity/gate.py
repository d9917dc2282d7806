"""The gate: whether the figures allow trust, and in words why not."""

from collections.abc import Mapping, Sequence
from typing import Final

from ridgeline.sim.fidelity.figures import METRICS, STATISTICS, Figure

BOUND: Final = 0.2
"""A figure further off than this share of the observed one is not trusted."""
CLOSE_S: Final = 0.05
"""Queue and TTFT this close to the observed pass whatever the share."""
VAGUE: Final = 1.0
"""An interval whose half width exceeds the figure itself says nothing."""
VAGUE_S: Final = 0.15
"""But no interval narrower than this is called vague: nobody waits for less."""

NAMES: Final = {"queue_s": "queue time", "ttft_s": "TTFT", "tpot_s": "time per output token", "e2e_s": "E2E"}


def passes(metric: str, figure: Figure, bound: float = BOUND) -> bool | None:
    """Whether one figure is within the bound; None where it cannot be told."""
    if figure.observed is None or figure.predicted is None:
        return None
    gap = abs(figure.predicted - figure.observed)
    if metric in ("queue_s", "ttft_s") and gap <= CLOSE_S:
        return True
    return gap <= bound * figure.observed


def judge(
    figures: Mapping[str, Mapping[str, Figure]], assumed: Sequence[str], bound: float = BOUND
) -> tuple[bool, tuple[str, ...]]:
    """Trust, and the reasons: what is off and by how much, then what the evidence lacks or had to assume."""
    off: list[str] = []
    lacking: list[str] = []
    vague: list[str] = []
    told = 0
    for metric in METRICS:
        answers = {name: passes(metric, figures[metric][name], bound) for name in STATISTICS}
        if all(answer is None for answer in answers.values()):
            lacking.append(f"{NAMES[metric]} was not observed in the predicted part")
            continue
        told += 1
        bad = [name for name in STATISTICS if answers[name] is False]
        if bad:
            worst = max(bad, key=lambda name: abs(figures[metric][name].error or 0.0))
            figure = figures[metric][worst]
            off.append(
                f"{NAMES[metric]} {worst}: predicted {figure.predicted:.3g} s, observed {figure.observed:.3g} s"
                f" ({figure.error:+.0%}, bound {bound:.0%})"
                if figure.error is not None
                else f"{NAMES[metric]} {worst}: predicted {figure.predicted:.3g} s, observed 0 s"
            )
        mean = figures[metric]["mean"]
        least = max(VAGUE * (mean.predicted or 0.0), VAGUE_S)
        if mean.high is not None and mean.predicted and mean.high - mean.predicted > least:
            vague.append(f"{NAMES[metric]}: the interval is wider than the figure itself")
    trust = told > 0 and not off and not vague
    return trust, (*off, *vague, *lacking, *assumed)
