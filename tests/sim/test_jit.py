"""The folder of machine code follows every edit; interpreted and compiled runs agree."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

from ridgeline.scenario.generate import Lengths, generated
from ridgeline.scenario.model import take
from ridgeline.sim.engine import jit
from ridgeline.sim.service import Service, simulate
from ridgeline.sim.settings import Settings

ENGINE = Path(jit.__file__).parent

RUN = """
import hashlib, numpy as np
from ridgeline.scenario.generate import Lengths, generated
from ridgeline.sim.service import Service, simulate
from ridgeline.sim.settings import Settings
s = simulate(generated("poisson", 60, 40.0, Lengths(1, 300), Lengths(1, 40), seed=1, prefix_groups=3,
             prefix_tokens=64), Settings(dp_size=2, page_size=4, max_total_num_tokens=2000, schedule_policy="lpm"))
rows = s.requests()
print([int(v) for name in ("start", "first", "finish", "cached", "retractions") for v in rows[name]])
"""


def test_an_edit_in_a_callee_changes_the_folder(tmp_path: Path) -> None:
    copy = tmp_path / "engine"
    shutil.copytree(ENGINE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    before = jit.sources_digest(copy, "1")
    assert before == jit.sources_digest(ENGINE, "1")
    callee = copy / "memory.py"
    callee.write_text(callee.read_text().replace("rk.free -= tokens", "rk.free -= tokens + 0"))
    assert jit.sources_digest(copy, "1") != before
    assert jit.sources_digest(ENGINE, "2") != before


def test_interpreted_equals_compiled() -> None:
    outputs = []
    for disabled in ("1", "0"):
        done = subprocess.run([sys.executable, "-W", "error", "-c", RUN], check=True, capture_output=True, text=True,
                              env={**os.environ, "NUMBA_DISABLE_JIT": disabled})  # fmt: skip
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) > 1000


def test_tables_grow_without_a_trace() -> None:
    # room for one request and no more: requests, segments, tree nodes, child table and log all grow on the way
    scenario = generated("poisson", 12_000, 300.0, Lengths(1, 60), Lengths(1, 9), seed=1, prefix_groups=40,
                         prefix_tokens=7)  # fmt: skip
    chosen = Settings(max_running_requests=8, max_total_num_tokens=400_000)
    ample = simulate(scenario, chosen, logging=True)
    tight = Service(chosen, room=1, logging=True)
    for start in range(0, scenario.n, 1000):
        tight.push(take(scenario, np.arange(start, start + 1000)))
    tight.run()
    assert len(tight.state.node) > 4096
    assert len(tight.drain_log()) > 4096 // 2
    assert tight.requests()["finish"].tolist() == ample.requests()["finish"].tolist()
    assert (tight.requests()["gen"] == tight.requests()["out"]).all()
