"""The JSON contract: what leaves keeps the published schema, for every verdict, and is the same bytes twice."""

import json
from pathlib import Path

import jsonschema
import pytest

from ridgeline.bundle.view import view_of
from ridgeline.ladder.diagnose import diagnose
from ridgeline.model.diagnosis import Window
from ridgeline.report.contract import iso, to_contract
from tests.causes.cases import CASES
from tests.causes.rows import T0, decode, join

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "docs" / "diagnosis.schema.json").read_text())
HEALTHY = join({"batches": decode(12)})


@pytest.mark.parametrize(
    ("tables", "verdict"),
    [
        (CASES["queue.running-cap"].tables, "finding"),
        (CASES["routing.hot-key"].tables, "finding"),
        (HEALTHY, "healthy"),
        (join({"batches": decode(2)}), "inconclusive"),
        (join({}), "inconclusive"),
    ],
)
def test_it_keeps_the_schema_and_is_deterministic(tables: dict[str, list[dict[str, object]]], verdict: str) -> None:
    first, second = (to_contract(diagnose(view_of(tables), "slow", sources=("server.log",))) for _ in range(2))
    jsonschema.validate(first, SCHEMA)
    assert first["verdict"] == verdict
    assert json.dumps(first, allow_nan=False) == json.dumps(second, allow_nan=False)


def test_with_windows_moments_are_utc() -> None:
    case = CASES["decode.regression"]
    windows = (Window(T0 + 100, T0 + 201), Window(T0, T0 + 99))
    out = to_contract(diagnose(view_of(case.tables), "slow", incident=windows[0], baseline=windows[1]))
    jsonschema.validate(out, SCHEMA)
    assert out["windows"]["how"] == "given"
    assert out["windows"]["baseline"][0] == iso(T0) and out["windows"]["baseline"][0].endswith("Z")


def test_inconclusive_has_one_low_unknown_that_names_its_layers() -> None:
    out = to_contract(diagnose(view_of(join({"batches": decode(2)})), "cache"))
    (only,) = out["findings"]
    assert (only["cause"], only["confidence"], only["layer"]) == ("unknown", "low", "cache")
    assert "cache" in only["statement"] and "queue" in only["statement"]


@pytest.mark.parametrize(
    ("ts", "text"), [(0.0, "1970-01-01T00:00:00.000Z"), (None, None), (float("inf"), None), (1e20, None)]
)
def test_moments(ts: float | None, text: str | None) -> None:
    assert iso(ts) == text
