"""The JSON of simulate, fidelity and decide against the schemas that are published beside the docs."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ridgeline.cli.decide import nothing
from ridgeline.model.diagnosis import Diagnosis, Verdict
from ridgeline.model.fact import Statement
from ridgeline.sim.fidelity.contract import to_json as fidelity_json
from ridgeline.sim.fidelity.measure import fidelity
from ridgeline.sim.fit.configured import Configured
from ridgeline.sim.fit.engine import engine_run
from ridgeline.sim.settings import Settings
from ridgeline.sim.whatif.basis import Basis
from ridgeline.sim.whatif.compare import compare
from ridgeline.sim.whatif.contract import to_json
from ridgeline.sim.whatif.decide import decide, no_setting, no_traffic, unseen_prefixes
from ridgeline.sim.whatif.decide import to_json as decision_json
from ridgeline.sim.whatif.slo import limits_of
from ridgeline.sim.whatif.variants import variants
from tests.sim.whatif.made import TIGHT, made_basis

DOCS = Path(__file__).resolve().parents[3] / "docs"


def valid(value: Any, name: str) -> None:
    schema = json.loads((DOCS / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(json.dumps(value, allow_nan=False)), schema)


BLIND = replace(made_basis(60), traffic=None, sampled=False)
RANKS = made_basis(80, settings=Settings(dp_size=2, max_running_requests=4))
VLLM = made_basis(60, settings=Settings(engine="vllm", version="0.11.0", max_running_requests=4, page_size=16))


@pytest.mark.parametrize(
    ("basis", "vary", "slo", "repeats"),
    [
        (made_basis(80), ("max_running_requests=16,32",), ("ttft_p99=2s",), 2),
        (BLIND, ("schedule_policy=lpm",), (), 1),
        (RANKS, (), (), 1),
        (VLLM, ("max_num_seqs=8",), (), 1),
        (made_basis(60, settings=replace(TIGHT, max_queued_requests=1)), (), ("e2e_p99=1ms",), 1),
    ],
    ids=["limits", "no observed times", "two ranks", "vllm", "most refused"],
)
def test_a_comparison(basis: Basis, vary: tuple[str, ...], slo: tuple[str, ...], repeats: int) -> None:
    found = compare(basis, variants(basis.settings, vary), repeats=repeats, limits=limits_of(slo), jobs=1)
    valid(to_json(found), "simulation")


def test_a_schema_refuses_what_is_none() -> None:
    told = to_json(compare(BLIND, variants(BLIND.settings, ()), jobs=1))
    with pytest.raises(jsonschema.ValidationError):
        valid({**told, "recommendation": None}, "simulation")
    with pytest.raises(jsonschema.ValidationError):
        valid({k: v for k, v in told.items() if k != "fidelity"}, "simulation")


def test_an_answer_on_fidelity() -> None:
    basis = made_basis(120)
    assert basis.traffic is not None
    setup = Configured(basis.settings, False, True, True, ())
    valid(fidelity_json(fidelity(basis.traffic, setup, engine_run)), "fidelity")


def test_decisions_of_every_kind() -> None:
    valid(decision_json(decide(made_basis(), "queue.running-cap", "simulate", repeats=2)), "decision")
    valid(decision_json(no_setting("fault.hang", "replay")), "decision")
    valid(decision_json(no_traffic("queue.burst", "why")), "decision")
    valid(decision_json(unseen_prefixes("cache.disabled")), "decision")


@pytest.mark.parametrize("verdict", ["healthy", "inconclusive"])
def test_nothing_to_decide_is_a_decision_too(verdict: Verdict) -> None:
    empty = Diagnosis(
        verdict=verdict, symptom="auto", summary=Statement("none"), incident=None, baseline=None, how="none",
        findings=(), ladder=(), evidence=(), ruled_out=(), coverage=(), next=(),
    )  # fmt: skip
    valid(nothing(empty), "decision")
