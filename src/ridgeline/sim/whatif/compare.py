"""Compare settings on one traffic: runs, paired changes, who pays, and the advice."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ridgeline.scenario.model import PS, Scenario, take
from ridgeline.sim.settings import SettingError
from ridgeline.sim.whatif.basis import Basis
from ridgeline.sim.whatif.caveats import too_large, warnings, without_gateway
from ridgeline.sim.whatif.classes import Group, groups_of
from ridgeline.sim.whatif.gate import gate
from ridgeline.sim.whatif.paired import STATISTICS, Change, change, of_metric, statistic
from ridgeline.sim.whatif.passes import passes_of
from ridgeline.sim.whatif.pool import OnDone, run_all
from ridgeline.sim.whatif.result import LOST_SHARE, NAMES, SHARES, Compared, Comparison, Objective
from ridgeline.sim.whatif.run import METRICS, Outcome, Work, of_rows, placing
from ridgeline.sim.whatif.slo import Limit, met, within
from ridgeline.sim.whatif.variants import Variant


def objective_of(text: str | None, limits: Sequence[Limit]) -> Objective:
    """``--by``: goodput, or METRIC_STATISTIC such as ttft_p99; by default goodput with an SLO, else mean E2E.

    Raises SettingError.
    """
    if text is None:
        return Objective("goodput") if limits else Objective()
    if text == "goodput":
        if not limits:
            raise SettingError("--by goodput: needs --slo, such as --slo ttft_p99=2s")
        return Objective("goodput")
    metric, _, name = text.partition("_")
    if f"{metric}_s" not in NAMES or name not in STATISTICS:
        raise SettingError(f"--by {text}: want goodput or one of {', '.join(m.removesuffix('_s') for m in NAMES)} with "
                           f"one of {', '.join(STATISTICS)}, such as ttft_p99")  # fmt: skip
    return Objective(f"{metric}_s", name)


def work_of(basis: Basis, seed: int, policies: Sequence[str] = ()) -> Work:
    """What the runs of a basis share."""
    return Work(
        basis.burdened(), basis.model, basis.way, basis.pace_spread, seed, tuple(policies), basis.placement,
        placing(basis.settings), basis.pool_held,
        passes_of(basis.scenario, basis.traffic, basis.settings, basis.way.request_s), basis.shaken,
    )  # fmt: skip


def compare(
    basis: Basis, variants: Sequence[Variant], *, repeats: int = 1, seed: int = 0, jobs: int | None = None,
    limits: Sequence[Limit] = (), objective: Objective | None = None, policies: Sequence[str] = (),
    over: NDArray[np.int64] | None = None,
    on_done: OnDone | None = None, on: str | None = None,
) -> Comparison:  # fmt: skip
    """Run every variant (the first is the base) in every repeat and compare.

    The gate judges the settings that the basis ran under; where the base differs from them they are run once more.
    ``over``: the requests that figures and changes are about (all are simulated); the gate is about all. ``on``: a Ray
    cluster that runs them.

    Raises:
        SettingError: nothing finished before an interrupt; a gateway's policy is varied where there is none.
    """
    alone = without_gateway(basis, variants)
    if alone is not None:
        raise SettingError(alone)
    refused = [text for text in (too_large(basis, one.settings) for one in variants) if text is not None]
    if refused and not basis.sampled:
        raise SettingError(refused[0])
    work = work_of(basis, seed, policies)
    own = basis.traffic is not None and (variants[0].settings != basis.settings or bool(policies))
    checked: Outcome | None = None
    if own:
        extra, cut = run_all(work_of(basis, seed), [Variant((), basis.settings)], 1, 1)
        checked = extra.get((0, 0))
        if cut:
            raise SettingError("interrupted before anything was simulated")
    done, interrupted = run_all(work, variants, repeats, jobs, on_done, on)
    if (0, 0) not in done:
        raise SettingError("interrupted before anything was simulated")
    whole = [r for r in range(repeats) if all((v, r) in done for v in range(len(variants)))]
    kept = whole or [0]
    ready = [v for v in range(len(variants)) if all((v, r) in done for r in kept)]
    base = [of_rows(done[0, r], over) for r in kept]
    by = objective or objective_of(None, limits)
    looked_at = basis.scenario if over is None else take(basis.scenario, over)
    groups = groups_of(looked_at, basis.called)
    runs = [
        compared(
            looked_at,
            variants[v],
            [of_rows(done[v, r], over) for r in kept],
            None if v == 0 else base,
            limits,
            by,
            groups,
            seed,
        )
        for v in ready
    ]
    judged = gate(basis, checked or done[0, 0]) if basis.traffic is not None else None
    return Comparison(
        basis, by, tuple(limits), judged, tuple(ranked(runs)), len(kept), interrupted, len(variants) * repeats,
        (*dict.fromkeys(refused), *warnings(basis, runs, judged)), over,
    )  # fmt: skip


def ranked_by(found: Comparison, by: Objective) -> Comparison:
    """The same runs by another objective (a statistic of a metric)."""
    runs = [replace(run, gain=run.changes[by.metric][by.statistic] if run.changes else None) for run in found.runs]
    return replace(found, objective=by, runs=tuple(ranked(runs)))


def compared(
    scenario: Scenario,
    variant: Variant,
    mine: Sequence[Outcome],
    base: Sequence[Outcome] | None,
    limits: Sequence[Limit],
    by: Objective,
    groups: Sequence[Group],
    seed: int,
) -> Compared:
    """The figures of one setting, and its changes from the base."""
    figures = {name: figures_of(of_metric(mine, name)) for name in METRICS}
    kept = [within(one.values, limits).astype(np.float32) for one in mine]
    share = float(np.mean([k.mean() for k in kept])) if limits and scenario.n else None
    goodput = None if share is None else share * scenario.n / span_s(scenario)
    changes: dict[str, dict[str, Change | None]] | None = None
    gain: Change | None = None
    classes: list[tuple[Group, Change]] = []
    if base is not None:
        changes = {
            name: {s: change(of_metric(base, name), of_metric(mine, name), s, None, seed) for s in STATISTICS}
            for name in METRICS
        }
        scored = "e2e_s" if by.metric in SHARES else by.metric
        if by.metric in SHARES:
            gain = change(scores(base, by, limits), scores(mine, by, limits), "mean", None, seed)
        else:
            gain = changes[by.metric][by.statistic]
        found = ((g, change(of_metric(base, scored), of_metric(mine, scored), "mean", g.rows, seed)) for g in groups)
        classes = [(g, c) for g, c in found if c is not None]
    slo_met = all(met(one.values, limits) for one in mine) if limits else None
    lost = scenario.n - int(np.mean([(~np.isnan(one.values["e2e_s"])).sum() for one in mine]))
    return Compared(variant, tuple(mine), figures, goodput, share, slo_met, changes, gain, tuple(classes), lost)


def scores(runs: Sequence[Outcome], by: Objective, limits: Sequence[Limit]) -> list[NDArray[np.float32]]:
    """Of each request what a share counts, less being better: -1 where it keeps the limits, or 1 where it is lost."""
    if by.metric == "lost":
        return [np.isnan(one.values["e2e_s"]).astype(np.float32) for one in runs]
    return [-within(one.values, limits).astype(np.float32) for one in runs]


def figures_of(values: Sequence[NDArray[np.floating]]) -> dict[str, float] | None:
    """Mean over the repeats of each statistic; None where nothing finished."""
    told = {name: float(np.mean([statistic(v, name) for v in values])) for name in STATISTICS}
    return None if any(value != value for value in told.values()) else told


def span_s(scenario: Scenario) -> float:
    """Seconds from the first to the last arrival (at least one: a single instant has no rate)."""
    when = scenario["arrival_ps"]
    return max(1.0, float(when[-1] - when[0]) / PS) if scenario.n else 1.0


def ranked(runs: Sequence[Compared]) -> list[Compared]:
    """The runs in their order, each with its rank: what loses requests stands behind what does not."""
    base = runs[0].lost
    n = max((len(run.outcomes[0].rank) for run in runs), default=1)
    order = sorted(range(len(runs)), key=lambda i: (runs[i].lost - base > LOST_SHARE * n, runs[i].score, i))
    return [replace(run, rank=order.index(i) + 1) for i, run in enumerate(runs)]
