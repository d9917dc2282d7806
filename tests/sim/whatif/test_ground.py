"""What a what-if starts from where prefill and decode are apart: both sides' step times, from files alone."""

from dataclasses import replace

import numpy as np
import pytest

from ridgeline.bundle.open import open_sources
from ridgeline.lab.record import make_case, record
from ridgeline.lab.service import time_model
from ridgeline.sim.whatif.basis import Basis
from ridgeline.sim.whatif.compare import compare
from ridgeline.sim.whatif.gate import Gate
from ridgeline.sim.whatif.ground import basis_of, way_in
from ridgeline.sim.whatif.variants import Variant
from tests.sim.whatif.made import slower

CASE = make_case("disagg.ratio", 3)


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Basis:
    folder = tmp_path_factory.mktemp("apart") / "evidence"
    record(CASE, folder)
    return basis_of(open_sources([str(folder)]), check=False)


def judged(basis: Basis) -> Gate:
    found = compare(basis, [Variant((), basis.settings)]).gate
    assert found is not None
    return found


def test_a_busy_prefill_server_gives_its_own_step_times(apart: Basis) -> None:
    truth = time_model(CASE)
    assert apart.fitted and apart.settings.decode_workers == 1
    assert apart.model.prefill_token_ps == pytest.approx(truth.prefill_token_ps, rel=0.03)
    assert apart.model.base_ps == pytest.approx(truth.base_ps, rel=0.15)
    assert apart.way.front_s < 0.005  # tokenizing alone: waits for a running pass are the queue's


def test_the_baseline_of_both_sides_is_trusted(apart: Basis) -> None:
    found = judged(apart)
    assert found.trust, found.why


@pytest.mark.parametrize("broken", ["steps", "servers"])
def test_the_gate_notices_what_is_wrong_on_either_side(apart: Basis, broken: str) -> None:
    if broken == "steps":
        wrong = replace(apart, model=slower(apart.model, 1.3))
    else:
        wrong = replace(apart, settings=replace(apart.settings, workers=4))
    found = judged(wrong)
    assert not found.trust and any("TTFT" in why for why in found.why)


def test_the_way_in_is_the_least_seen_beside_the_handshake(apart: Basis) -> None:
    assert apart.traffic is not None
    blind = replace(apart.traffic, observed={**apart.traffic.observed, "queued": np.full(apart.traffic.n, np.nan)})
    assert way_in(blind, 0.002) == 0.0
    late = {**apart.traffic.observed, "queued": apart.traffic.arrival_s + 0.01 + np.arange(apart.traffic.n) / 100}
    assert way_in(replace(apart.traffic, observed=late), 0.002) == pytest.approx(0.008)
