"""Figures of the hardware with their units become floors that no fit goes below."""

from dataclasses import replace

import numpy as np
import pytest

from ridgeline.sim.fidelity.measure import fidelity
from ridgeline.sim.fit.configured import Configured
from ridgeline.sim.fit.run import FEATURES
from ridgeline.sim.hardware import at_least, floors_of, hardware_of, refute
from ridgeline.sim.settings import SettingError
from ridgeline.sim.timing import DEFAULT
from tests.sim.fit.plain_vllm import plain_run
from tests.sim.fit.traffics import SMALL, TRUTH, observed, scenario_of

TRAFFIC = observed(scenario_of(100, rate=7.0), SMALL)


def floor(name: str, *texts: str) -> float:
    return float(floors_of(hardware_of(texts))[FEATURES.index(name)])


def test_each_floor_is_what_must_be_moved_over_how_fast_it_can_be() -> None:
    assert floor("steps", "weights=16GB", "bandwidth=3.2TB/s") == pytest.approx(0.005)
    assert floor("steps", "weights=16GB,bandwidth=3.2TB/s,devices=4") == pytest.approx(0.00125)
    assert floor("context_tokens", "kv=128KiB", "bandwidth=2TB/s") == pytest.approx(131_072 / 2e12)
    assert floor("prefill_tokens", "parameters=8B", "flops=1PFLOP/s") == pytest.approx(16e-6)
    # a half-pair is half of a query meeting a key: 4 operations per channel and layer for a whole one
    attention = floor("attention_half_pairs", "layers=32", "hidden=4096", "flops=500TFLOPS")
    assert attention == pytest.approx(2 * 32 * 4096 / 5e14)
    assert not floors_of(hardware_of(())).any()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bandwidth=3350", "with its unit, such as bandwidth=3.35TB/s"),
        ("bandwidth=3.35TB", "with its unit"),
        ("weights=16", "weights=16GB"),
        ("weights=-1GB", "above 0"),
        ("weights=1e999GB", "above 0"),
        ("speed=1", "want bandwidth=3.35TB/s"),
        ("weights=16GB", "weights bounds nothing without bandwidth"),
        ("layers=3,flops=1PFLOPS", "layers bounds nothing without hidden"),
        ("bandwidth=1TB/s", "nothing is bounded"),
    ],
)
def test_what_has_no_unit_or_bounds_nothing_is_refused(text: str, said: str) -> None:
    with pytest.raises(SettingError, match=said):
        hardware_of([text])


def test_a_fit_stands_on_its_floors() -> None:
    setup = Configured(SMALL, True, True, True, ())
    bound = np.zeros(len(FEATURES))
    # a tenth above the truth, where a free fit does not go by itself
    bound[FEATURES.index("prefill_tokens")] = 1.1 * TRUTH.prefill_token_ps / 1e12
    free, held = (fidelity(TRAFFIC, setup, plain_run, floors=floors) for floors in (None, bound))
    assert free.fitted is not None and held.fitted is not None
    assert free.fitted.coefficients[1] < bound[1] <= held.fitted.coefficients[1]
    assert (held.fitted.coefficients >= bound).all()


def test_figures_that_the_evidence_contradicts_are_refused() -> None:
    quick = float(np.quantile(TRAFFIC.observed["tpot_s"], 0.1))
    slow = floors_of(hardware_of([f"weights={2 * quick * 1e12}B", "bandwidth=1TB/s"]))
    with pytest.raises(SettingError, match=r"a step would take at least .* check weights, bandwidth and devices"):
        refute(slow, TRAFFIC, SMALL)
    refute(slow, TRAFFIC, replace(SMALL, speculative_num_draft_tokens=4))
    refute(slow / 4, TRAFFIC, SMALL)


def test_a_preset_is_raised_and_says_so() -> None:
    raised = at_least(DEFAULT, floors_of(hardware_of(["weights=16GB", "bandwidth=1TB/s", "kv=1B"])))
    assert raised.base_ps == 16_000_000_000 and raised.context_token_ps == DEFAULT.context_token_ps
    assert raised.label.endswith("; no less than the hardware allows")
