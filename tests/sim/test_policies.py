"""Policies from a user's file: the shipped example, plain errors for bad ones, same results compiled or not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ridgeline.scenario.generate import Lengths, generated
from ridgeline.sim.policies import load_policy
from ridgeline.sim.service import Hooks, simulate
from ridgeline.sim.settings import SettingError, Settings
from ridgeline.sim.timing import DEFAULT
from tests.sim.compare import oracle_cfg, oracle_requests
from tests.sim.oracle_service import Oracle

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/policies/least_waiting.py"


def test_route() -> None:
    kind, function = load_policy(f"{EXAMPLE}:route_least_waiting")
    assert kind == "route"
    scenario = generated("bursts", 600, 60.0, Lengths(1, 2000), Lengths(1, 60), seed=1, shape=9.0, period_s=5)
    hooks = Hooks(route=function)
    for chosen in (Settings(workers=4, router="user"), Settings(dp_size=4, load_balance_method="user")):
        service = simulate(scenario, chosen, hooks=hooks)
        plain = simulate(scenario, Settings(workers=4, router="random"))
        mine, other = ((s.requests()["first"] - s.requests()["arrival"]).mean() for s in (service, plain))
        assert mine < other
        assert (service.requests()["gen"] == service.requests()["out"]).all()


def test_order_equals_oracle() -> None:
    kind, function = load_policy(f"{EXAMPLE}:order_shortest_first")
    assert kind == "order"
    scenario = generated("poisson", 80, 200.0, Lengths(1, 200), Lengths(1, 20), seed=2)
    chosen = Settings(schedule_policy="user", max_running_requests=3, max_total_num_tokens=900)
    service = simulate(scenario, chosen, hooks=Hooks(order=function))
    cfg = oracle_cfg(chosen, DEFAULT, (), 0)
    cfg.p["order_fn"] = lambda q, rank: -1 if rank.now - q.entry > 2 * 10**12 else q.prompt
    requests = oracle_requests(scenario)
    Oracle(cfg).run(requests)
    assert service.requests()["finish"].tolist() == [q.finish for q in requests]


def test_refusing_policy(tmp_path: Path) -> None:
    (tmp_path / "none.py").write_text("def route_nowhere(candidates, request):\n    return -1\n")
    _, function = load_policy(f"{tmp_path / 'none.py'}:route_nowhere")
    scenario = generated("poisson", 5, 8.0, Lengths(1, 20), Lengths(1, 5), seed=1)
    service = simulate(scenario, Settings(workers=2, router="user"), hooks=Hooks(route=function))
    assert np.unique(service.requests()["outcome"]).tolist() == [8]


@pytest.mark.parametrize(
    ("text", "name", "says"),
    [
        ("def route_x(a, b):\n    return undefined_name\n", "route_x", "does not compile"),
        ("def pick(a, b):\n    return 0\n", "pick", "begin its name with route or order"),
        ("raise RuntimeError('boom')\n", "route_x", "does not load: boom"),
        ("x = 1\n", "route_x", "has no function route_x"),
    ],
)
def test_bad_policies(tmp_path: Path, text: str, name: str, says: str) -> None:
    from ridgeline.sim.engine.jit import INTERPRETED

    if INTERPRETED and says == "does not compile":
        pytest.skip("nothing compiles under NUMBA_DISABLE_JIT")
    path = tmp_path / "bad.py"
    path.write_text(text)
    with pytest.raises(SettingError, match=says):
        load_policy(f"{path}:{name}")


AFTER = """
from ridgeline.scenario.generate import Lengths, generated
from ridgeline.sim.policies import load_policy
from ridgeline.sim.service import Hooks, simulate
from ridgeline.sim.settings import Settings
s = generated("poisson", 40, 60.0, Lengths(1, 90), Lengths(1, 9), seed=1)
simulate(s, Settings())
_, route = load_policy("EXAMPLE:route_least_waiting")
rows = simulate(s, Settings(workers=3, router="user"), hooks=Hooks(route=route)).requests()
print(sorted(set(rows["worker"].tolist())))
"""


def test_after_a_plain_run() -> None:
    # the engine was loaded before numba was: nothing in its machine code may lean on numba's helpers
    code = AFTER.replace("EXAMPLE", str(EXAMPLE))
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[0, 1, 2]"


def test_missing_file() -> None:
    with pytest.raises(SettingError, match=r"want FILE\.py:NAME"):
        load_policy("nowhere.py:route_x")
