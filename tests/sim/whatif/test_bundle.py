"""A simulated run as a bundle: read back, it is the run."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from ridgeline.bundle.open import open_sources
from ridgeline.ladder.diagnose import diagnose
from ridgeline.scenario.from_bundle import traffic_of
from ridgeline.sim.fit.configured import configured
from ridgeline.sim.settings import Settings
from ridgeline.sim.whatif.bundle import write_run
from tests.sim.whatif.made import TIGHT, made_basis


def test_the_traffic_and_settings_come_back(tmp_path: Path) -> None:
    basis = made_basis(120)
    write_run(basis, basis.settings, tmp_path / "run")
    view = open_sources([str(tmp_path / "run")])
    read, setup = traffic_of(view), configured(view)
    assert read.n == 120 and setup.settings.max_running_requests == TIGHT.max_running_requests
    assert basis.traffic is not None
    for name in ("ttft_s", "queue_s", "e2e_s", "cached_tokens"):
        assert np.allclose(read.observed[name], basis.traffic.observed[name], atol=1e-6), name


def test_a_binding_cap_is_diagnosed_from_a_simulated_run(tmp_path: Path) -> None:
    basis = made_basis(900, settings=replace(TIGHT, decode_log_interval=5), rate=9.0)
    write_run(basis, basis.settings, tmp_path / "run")
    found = diagnose(open_sources([str(tmp_path / "run")]))
    assert [f.cause for f in found.findings][:1] == ["queue.running-cap"]


def test_both_sides_of_a_disaggregated_run_are_rows(tmp_path: Path) -> None:
    settings = Settings(workers=3, decode_workers=1, router="random")
    basis = replace(made_basis(60), settings=settings, traffic=None)
    write_run(basis, settings, tmp_path / "run")
    view = open_sources([str(tmp_path / "run")])
    assert dict(view.query("SELECT role, count(*) FROM requests GROUP BY role")) == {"prefill": 60, "decode": 60}
