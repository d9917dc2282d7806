"""A view → the basis of a what-if: all servers' traffic, settings, step times fitted, fidelity measured."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from ridgeline.bundle.view import View
from ridgeline.model.errors import InputError
from ridgeline.scenario.from_bundle import traffic_of
from ridgeline.scenario.traffic import Traffic
from ridgeline.sim.fidelity.contract import to_json
from ridgeline.sim.fidelity.measure import fidelity
from ridgeline.sim.fit.choices import choices_of
from ridgeline.sim.fit.configured import Configured, configured, whole_service
from ridgeline.sim.fit.engine import engine_run
from ridgeline.sim.fit.fit import Fitted, descend, fit, simulated
from ridgeline.sim.fit.lines import decode_lines
from ridgeline.sim.fit.one_rank import one_rank
from ridgeline.sim.fit.regress import solve
from ridgeline.sim.fit.run import FEATURES, Floats
from ridgeline.sim.fit.spread import speed_spread
from ridgeline.sim.fit.whole import FOREVER_TS
from ridgeline.sim.hardware import refute
from ridgeline.sim.settings import Settings
from ridgeline.sim.timing import PS, TimeModel, Way
from ridgeline.sim.whatif.basis import Basis
from ridgeline.sim.whatif.classes import names_of

KEYS: Final = """
SELECT rid, min(routing_key) AS routing_key, min(lora) AS lora FROM requests WHERE rid IS NOT NULL GROUP BY rid
"""
FITTED_AT_MOST: Final = 4000
"""Requests the time model is fitted on: the first of them."""
FEWEST_LINES: Final = 8
MOST_SPREAD: Final = 0.3
MORE_SWEEPS: Final = 2
"""Rounds of sweeps more for the prefill side."""


def basis_of(
    view: View, check: bool = True, say: Callable[[str], None] | None = None, floors: Floats | None = None
) -> Basis:
    """The basis of a what-if on what the view shows; ``check``: measure fidelity on held-out requests, too;
    ``floors``: what no coefficient of the time model can be below (s per unit of each feature).

    Raises:
        InputError: no request has both an arrival and lengths.
        SettingError: the configuration read cannot be simulated, or the evidence refutes the floors.
    """
    tell = say or (lambda _text: None)
    setup = configured(view)
    whole = whole_service(view, setup)
    # a queue limit that is to be tried must have whom it refused
    traffic = traffic_of(view, whole=True, infer=True, refused=whole.settings.max_queued_requests > 0)
    notes = tuple(dict.fromkeys((*traffic.notes, *whole.assumed)))
    basis = Basis(traffic.scenario, served(whole, setup.settings), traffic=traffic, sampled=True, notes=notes,
                  called=called(view, traffic))  # fmt: skip
    tell("fitting step times")
    bound = np.zeros(len(FEATURES)) if floors is None else floors
    refute(bound, traffic, setup.settings)
    if whole.settings.decode_workers:
        return both_sides(view, setup, basis, bound)
    own, setup = one_rank(traffic_of(view), setup)
    rows = np.arange(min(own.n, FITTED_AT_MOST))
    lines = decode_lines(view)
    known = lines.until(FOREVER_TS, setup.settings.decode_log_interval)
    found = fit(own, choices_of(setup, own, rows), rows, engine_run, bound, known)
    if found is None:
        return replace(basis, notes=(*notes, "too few requests with times: step times are not fitted"))
    spread = min(speed_spread(own, simulated(own, found, engine_run)[0], found, rows), MOST_SPREAD)
    # an effective pool stands for sharing that is not known; where it is inferred the pool is as configured
    held = 0 if traffic.prefix == "keys" else found.settings.max_total_num_tokens - setup.settings.max_total_num_tokens
    basis = replace(basis, model=found.model, way=way_of(found), fitted=True, pace_spread=spread, pool_held=held,
                    settings=as_fitted(whole, found.settings))  # fmt: skip
    if not check:
        return basis
    tell("checking the simulator on held-out requests")
    return replace(basis, held_out=to_json(fidelity(own, setup, engine_run, 0.5, lines, floors=bound)))


def called(view: View, traffic: Traffic) -> dict[str, dict[int, str]]:
    """What the evidence calls the traffic's routing keys and adapters, which are numbers in it."""
    known = {row["rid"]: row for row in view.arrow(KEYS).to_pylist()}
    rows = [known.get(rid) or known.get(rid.split("#")[0]) for rid in traffic.rids]
    columns = ("routing_key", "lora")
    return names_of(traffic.scenario, {c: [None if row is None else row[c] for row in rows] for c in columns})


def served(whole: Configured, own: Settings) -> Settings:
    """The whole service's settings; several servers: each as ``own`` says."""
    return replace(whole.settings, max_total_num_tokens=own.max_total_num_tokens)


def as_fitted(whole: Configured, found: Settings) -> Settings:
    """What the fit chose among the alternatives, on the settings of the whole service."""
    return replace(
        whole.settings, lora_load_s=found.lora_load_s,
        max_running_requests=found.max_running_requests, async_scheduling=found.async_scheduling,
        disable_overlap_schedule=found.disable_overlap_schedule,
    )  # fmt: skip


def way_of(found: Fitted) -> Way:
    """The times beside the engine's steps."""
    return Way(found.front_s, found.back_first_s, found.back_s, float(found.coefficients[-1]))


def both_sides(view: View, setup: Configured, basis: Basis, floors: Floats) -> Basis:
    """Step times of prefill and decode apart: prefill from its own requests, decode from its batch lines."""
    lines = decode_lines(view).until(FOREVER_TS, setup.settings.decode_log_interval)
    try:
        prefill = traffic_of(view, side="prefill")
    except InputError:
        prefill = None
    if lines is None or len(lines.seconds) < FEWEST_LINES or prefill is None:
        lack = "decode batch lines" if prefill is not None else "prefill requests"
        return replace(basis, notes=(*basis.notes, f"too few {lack}: step times are not fitted, default ones hold"))
    decode = solve(lines, floors)
    ones = np.ones(prefill.n, np.int64)
    columns = {**prefill.scenario.columns, "output_tokens": ones, "max_new_tokens": ones}
    # bootstrapped requests enter the queue at a step boundary only (as an arrival that stamp would count waits twice),
    # and after its token a request stays until decode has taken its KV: no work of this side
    nothing = np.full(prefill.n, np.nan)
    told = {**prefill.observed, **dict.fromkeys(("queued", "last", "tpot_s", "e2e_s"), nothing)}
    alone = replace(prefill, scenario=replace(prefill.scenario, columns=columns), observed=told)
    rows = np.arange(min(alone.n, FITTED_AT_MOST))
    single = replace(setup.settings, workers=1, decode_workers=0, router="none", disable_overlap_schedule=True)
    found = fit(alone, [replace(single, max_queued_requests=0)], rows, engine_run, floors)
    if found is None:
        return replace(basis, notes=(*basis.notes, "too few prefill times: step times are not fitted"))
    # a prefill server is often full, and a full server's runs mislead until the coefficients are nearly right
    for _ in range(MORE_SWEEPS):
        found = descend(alone, found, rows, engine_run, floors)
    c = found.coefficients
    a, d, e = (float(decode[i]) for i in (0, 3, 4))
    model = TimeModel(
        f"fitted on {found.requests} prefills and {len(lines.seconds)} decode lines", max(1, round(a * PS)),
        round(c[1] * PS), round(c[2] * PS), round(d * PS), round(e * PS), 0,
    )  # fmt: skip
    # what a prefill pass costs beyond a decode pass is paid once for each request
    way = Way(way_in(prefill, setup.settings.handshake_s), 0.0, 0.0, float(max(0.0, c[-1] + c[0] - a)))
    return replace(basis, model=model, way=way, fitted=True, settings=basis.settings)


def way_in(prefill: Traffic, handshake_s: float) -> float:
    """Seconds from arrival to bootstrapped beside the handshake: the least ever seen, as a busy server adds to it."""
    took = prefill.observed["queued"] - prefill.arrival_s
    took = took[~np.isnan(took)]
    return max(0.0, float(took.min()) - handshake_s) if len(took) else 0.0
