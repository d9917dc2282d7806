"""What a repeat is: the same load on another day.

Repeat 0 is the traffic as it was. In every other one requests change places with near neighbours (the moments of
arrival stay, who comes at which is drawn anew), and the server is as fast or slow as its own blocks of requests suggest
(the spread of the fit; presets have none). All settings see the same repeats, so that differences are paired.
"""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.scenario.model import Scenario, segment_rows
from ridgeline.sim.timing import TimeModel

NEIGHBOURS: Final = 8.0
"""A request may come this many places earlier or later."""
MOST_PACE: Final = 0.5


def shuffled(scenario: Scenario, seed: int, repeat: int) -> tuple[Scenario, NDArray[np.int64]]:
    """The scenario of a repeat, and which request of the original stands in each row."""
    same = np.arange(scenario.n)
    if repeat == 0 or scenario.n < 2:
        return scenario, same
    draw = np.random.default_rng([seed, repeat])
    order = np.argsort(same + draw.uniform(-NEIGHBOURS, NEIGHBOURS, scenario.n), kind="stable")
    arrival = scenario["arrival_ps"]
    columns = {name: values[order] for name, values in scenario.columns.items()}
    patience = columns["cancel_ps"] - columns["arrival_ps"]
    columns["cancel_ps"] = np.where(columns["cancel_ps"] > 0, np.maximum(arrival + patience, 1), 0)
    columns["arrival_ps"] = arrival
    parts = segment_rows(scenario.offsets, scenario.segment_id, scenario.segment_tokens, order)
    return Scenario(columns, *parts, scenario.source), order


def pace(spread: float, seed: int, repeat: int) -> float:
    """How many times as long every step takes in this repeat."""
    if repeat == 0 or spread <= 0:
        return 1.0
    drawn = float(np.random.default_rng([seed, repeat, 1]).normal(0.0, spread))
    return math.exp(max(-MOST_PACE, min(MOST_PACE, drawn)))


def paced(model: TimeModel, factor: float) -> TimeModel:
    """The model with every coefficient ``factor`` times as large."""
    if factor == 1.0:
        return model

    def times(value: int) -> int:
        return round(value * factor)

    return TimeModel(
        model.label, max(1, times(model.base_ps)), times(model.prefill_token_ps), times(model.attention_half_pair_ps),
        times(model.decode_request_ps), times(model.context_token_ps), times(model.mixed_request_ps),
        times(model.draft_request_ps),
    )  # fmt: skip
