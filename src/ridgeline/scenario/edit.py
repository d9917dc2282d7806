"""Cutting, stretching, repeating and joining scenarios."""

import numpy as np

from ridgeline.scenario.model import COLUMNS, PS, Scenario, ScenarioError, make, take


def cut(scenario: Scenario, from_s: float, to_s: float) -> Scenario:
    """What arrives in ``[from_s, to_s)``, with time zero moved to ``from_s``."""
    when = scenario["arrival_ps"]
    low, high = round(from_s * PS), round(to_s * PS)
    return shifted(take(scenario, np.flatnonzero((when >= low) & (when < high))), -low)


def shifted(scenario: Scenario, by_ps: int) -> Scenario:
    """All times moved by ``by_ps``.

    Raises:
        ScenarioError: a request would arrive before time zero.
    """
    columns = dict(scenario.columns)
    columns["arrival_ps"] = columns["arrival_ps"] + by_ps
    cancel = columns["cancel_ps"]
    columns["cancel_ps"] = np.where(cancel > 0, np.maximum(cancel + by_ps, 1), 0)
    return Scenario(columns, scenario.offsets, scenario.segment_id, scenario.segment_tokens, scenario.source)


def scaled(scenario: Scenario, times: float) -> Scenario:
    """The same requests arriving ``times`` as fast.

    Raises:
        ScenarioError: ``times`` is not positive.
    """
    if not (np.isfinite(times) and times > 0):
        raise ScenarioError(f"scale {times:g}: must be a number above 0")
    columns = dict(scenario.columns)
    old = columns["arrival_ps"]
    columns["arrival_ps"] = np.round(old / times).astype(np.int64)
    cancel = columns["cancel_ps"]
    columns["cancel_ps"] = np.where(cancel > 0, columns["arrival_ps"] + np.maximum(cancel - old, 1), 0)
    return Scenario(columns, scenario.offsets, scenario.segment_id, scenario.segment_tokens, scenario.source)


def repeated(scenario: Scenario, count: int, fresh: bool = True) -> Scenario:
    """The scenario ``count`` times over, each after the last; ``fresh``: each round has contents of its own.

    Raises:
        ScenarioError: ``count`` below 1, or ids that do not fit in 31 bits.
    """
    if count < 1:
        raise ScenarioError(f"repeat {count}: must be at least 1")
    when = scenario["arrival_ps"]
    span = int(when[-1] + when[-1] // max(scenario.n - 1, 1)) if scenario.n else 0
    top = int(max(scenario.segment_id.max(initial=0), scenario["output_segment"].max(initial=0)))
    if fresh and (top + 1) * count >= 2**31:
        raise ScenarioError("repeat: too many distinct segments; repeat with the same contents instead")
    rounds = [shifted(other_contents(scenario, k * (top + 1) if fresh else 0), k * span) for k in range(count)]
    return merged(rounds, keep=True)


def other_contents(scenario: Scenario, plus: int) -> Scenario:
    """The same scenario with every segment id moved by ``plus``: it shares nothing with the original."""
    columns = dict(scenario.columns)
    outs = columns["output_segment"]
    columns["output_segment"] = np.where(outs != 0, outs + plus, 0)
    ids = scenario.segment_id + plus
    return Scenario(columns, scenario.offsets, ids, scenario.segment_tokens, scenario.source)


def merged(scenarios: list[Scenario], keep: bool = False) -> Scenario:
    """All requests together in order of arrival; contents stay apart unless ``keep`` (ids mean the same).

    Raises:
        ScenarioError: none given.
    """
    if not scenarios:
        raise ScenarioError("merge: nothing to merge")
    parts: list[Scenario] = []
    plus = 0
    for part in scenarios:
        parts.append(part if keep else other_contents(part, plus))
        plus += int(max(part.segment_id.max(initial=0), part["output_segment"].max(initial=0))) + 1
    columns = {name: np.concatenate([part[name] for part in parts]) for name in COLUMNS}
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    ids = np.concatenate([part.segment_id for part in parts])
    tokens = np.concatenate([part.segment_tokens for part in parts])
    source = " + ".join(dict.fromkeys(part.source for part in parts if part.source))
    return make(columns, (offsets, ids, tokens), source)
