"""A gateway's own counts per worker, under its names of today and of before it was renamed."""

from pathlib import Path

import pytest

from ridgeline.bundle.open import open_sources
from ridgeline.bundle.view import view_of
from ridgeline.facts.gateway import gateway_skew
from ridgeline.ladder.diagnose import diagnose


def scrape(folder: Path, name: str, loads: list[int]) -> Path:
    path = folder / "gateway.prom"
    lines = [f"# TYPE {name} gauge"]
    lines += [f'{name}{{worker="http://w{i}:30000"}} {load}' for i, load in enumerate(loads)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("name", ["smg_worker_requests_active", "sgl_router_running_requests"])
def test_one_worker_has_all(tmp_path: Path, name: str) -> None:
    view = open_sources([str(scrape(tmp_path, name, [480, 0, 1, 0]))])
    fact = gateway_skew(view)
    told = dict(fact.statement.figures)
    assert fact.value == 0.75
    assert (told["worker"], told["most"], told["idle"], told["workers"]) == ("http://w0:30000", 480, 3, 4)
    (finding,) = diagnose(view, "slow").findings
    assert (finding.cause, finding.layer) == ("unknown", "routing")


@pytest.mark.parametrize("loads", [[12, 10, 11], [3, 0, 0]])
def test_even_or_nearly_idle_workers_say_nothing(tmp_path: Path, loads: list[int]) -> None:
    assert gateway_skew(open_sources([str(scrape(tmp_path, "smg_worker_requests_active", loads))])).value == 0


def test_one_worker_has_no_other_to_compare_it_with() -> None:
    assert gateway_skew(view_of({})).value is None
