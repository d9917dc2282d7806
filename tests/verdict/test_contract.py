"""The JSON of a comparison against its schema, in every kind of verdict."""

import json
import math
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ridgeline.verdict.compare import of_evidence
from ridgeline.verdict.contract import to_contract
from tests.verdict.made import evidence, traffic

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "docs" / "comparison.schema.json").read_text())
SLOW, GOOD = traffic(400, 1, faster=1.2), traffic(400, 2, faster=3.0)


@pytest.mark.parametrize(
    ("sides", "slo"),
    [
        ((SLOW, GOOD), {}),
        ((SLOW, GOOD, GOOD), {}),
        ((GOOD, SLOW), {"ttft_p95": 0.2, "errors": 0.01}),
        ((traffic(3, 3), traffic(3, 4)), {}),
        ((None, GOOD), {}),
    ],
)
def test_it_holds(sides: tuple[Any, ...], slo: dict[str, float]) -> None:
    names = ("INCIDENT", "AFTER", "BASELINE")
    found = of_evidence([evidence(name, side) for name, side in zip(names, sides, strict=False)], slo=slo)
    value = to_contract(found)
    jsonschema.validate(value, SCHEMA)
    assert json.loads(json.dumps(value, allow_nan=False)) == value
    assert all(not isinstance(f["ratio"], float) or math.isfinite(f["ratio"]) for f in value["figures"])


def test_the_same_input_gives_the_same_bytes() -> None:
    given = [evidence("INCIDENT", SLOW), evidence("AFTER", GOOD)]
    assert json.dumps(to_contract(of_evidence(given))) == json.dumps(to_contract(of_evidence(given)))
