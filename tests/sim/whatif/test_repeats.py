"""Repeats: the same load on another day."""

import numpy as np

from ridgeline.sim.timing import DEFAULT
from ridgeline.sim.whatif.repeats import NEIGHBOURS, pace, paced, shuffled
from tests.sim.whatif.made import made_basis


def test_repeat_zero_is_the_traffic_itself() -> None:
    scenario = made_basis(50).scenario
    same, who = shuffled(scenario, 3, 0)
    assert (
        same is scenario and (who == np.arange(50)).all() and pace(0.2, 3, 0) == 1.0 and paced(DEFAULT, 1.0) is DEFAULT
    )


def test_another_day_has_the_same_arrivals_and_requests_in_another_order() -> None:
    scenario = made_basis(200).scenario
    other, who = shuffled(scenario, 3, 1)
    assert (other["arrival_ps"] == scenario["arrival_ps"]).all()
    assert sorted(who.tolist()) == list(range(200)) and (who != np.arange(200)).any()
    assert np.abs(who - np.arange(200)).max() <= 2 * NEIGHBOURS
    assert (other["input_tokens"] == scenario["input_tokens"][who]).all()
    again, _ = shuffled(scenario, 3, 1)
    assert (again["input_tokens"] == other["input_tokens"]).all()
    row = 17
    mine = slice(other.offsets[row], other.offsets[row + 1])
    theirs = slice(scenario.offsets[who[row]], scenario.offsets[who[row] + 1])
    assert (other.segment_id[mine] == scenario.segment_id[theirs]).all()


def test_the_pace_varies_as_much_as_the_server_did() -> None:
    drawn = np.log([pace(0.1, 5, repeat) for repeat in range(1, 400)])
    assert abs(float(np.std(drawn)) - 0.1) < 0.02
    assert pace(0.0, 5, 3) == 1.0
