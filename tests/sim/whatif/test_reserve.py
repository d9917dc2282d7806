"""A reserve of the decode side that no argument shows."""

from dataclasses import replace

import numpy as np

from ridgeline.scenario.generate import Lengths, generated
from ridgeline.scenario.traffic import OBSERVED, Traffic
from ridgeline.sim.settings import Settings
from ridgeline.sim.whatif.basis import Basis
from ridgeline.sim.whatif.compare import work_of
from ridgeline.sim.whatif.decide import decide
from ridgeline.sim.whatif.pool import run_all
from ridgeline.sim.whatif.reserve import held_back, larger
from ridgeline.sim.whatif.variants import Variant

APART = Settings(
    workers=2, decode_workers=1, router="round_robin", max_total_num_tokens=40_000, max_running_requests=64
)
SCENARIO = generated("poisson", 240, 6.0, Lengths(200, 900), Lengths(50, 200), 1)


def seen_under(times: int) -> Basis:
    """What a decode side holding back so many times its reserve would have shown."""
    nothing = {name: np.full(SCENARIO.n, np.nan) for name in OBSERVED}
    blank = Traffic(SCENARIO, ("",) * SCENARIO.n, 1000.0, nothing, np.ones(SCENARIO.n, np.bool_),
                    ("finished",) * SCENARIO.n, "hashes", ())  # fmt: skip
    basis = Basis(SCENARIO, APART, traffic=blank, fitted=True, sampled=True)
    done, _ = run_all(work_of(larger(basis, times, 0), 0), [Variant((), APART)], 1, 1)
    values = {name: done[0, 0].values[name].astype(np.float64) for name in ("ttft_s", "tpot_s", "e2e_s")}
    return replace(basis, traffic=replace(blank, observed={**nothing, **values}))


def test_the_reserve_that_explains_the_incident_is_found_and_said() -> None:
    rows = np.arange(SCENARIO.n)
    found = held_back(seen_under(11), rows, 1000.0)
    (one,) = found.shaken
    assert one.parameter == "reserved_decode_tokens" and 9_000 <= one.times_per_mille <= 13_000
    held = one.times_per_mille // 1000 * 512
    assert f"holds back about {held} tokens for each request, and not 512" in found.notes[-1]
    plain = held_back(seen_under(1), rows, 1000.0)
    assert plain.shaken == () and plain.notes == ()
    assert held_back(seen_under(11), None, None).shaken == ()


def test_the_reserve_is_then_lowered() -> None:
    basis = seen_under(11)
    found = decide(basis, "disagg.prealloc", "simulate", (999.0, 1e6), repeats=1)
    assert found.flag is not None and found.flag.startswith("--num-reserved-decode-tokens")
    assert found.comparison is not None and "holds back about" in found.comparison.warnings[0]
    assert found.chosen is not None and found.chosen.gain is not None and found.chosen.gain.delta < 0
