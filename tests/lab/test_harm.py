"""What users felt: faults hurt, healthy controls do not, and the twin is the measure."""

import pytest

from ridgeline.lab.faults import FAULTS
from ridgeline.lab.harm import figures, harms
from ridgeline.lab.play import play
from ridgeline.lab.record import harm_of, make_case

HEALTHY = [f.id for f in FAULTS if f.cause == "healthy"]


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_controls_hurt_nobody(name: str) -> None:
    harm = harm_of(play(make_case(name, seed=21, severity=3)))
    assert not harm["admitted"], harm


@pytest.mark.parametrize(
    "name",
    ["frontend.detokenizer", "frontend.gateway", "frontend.slow-client", "frontend.blocked-loop",
     "client.load-generator",
     "fault.wrong-output", "client.request-config", "memory.host-oom", "fault.hang"],
)  # fmt: skip
def test_what_happens_outside_the_engine_is_felt(name: str) -> None:
    harm = harm_of(play(make_case(name, seed=21, severity=2)))
    assert harm["admitted"], harm


def test_the_twin_is_not_worse_than_itself() -> None:
    twin = figures(play(make_case("queue.burst", seed=4)))
    assert harms(twin, twin) == (False, 1.0)
    assert harms(twin | {"failed": twin["failed"] + 0.05}, twin)[0]
    assert harms(twin | {"ttft_p95_s": 2 * twin["ttft_p95_s"]}, twin) == (True, pytest.approx(2.0))


def test_more_severe_hurts_more() -> None:
    worst = [harm_of(play(make_case("disagg.bootstrap", seed=4, severity=s)))["worst_ratio"] for s in (1, 2, 3)]
    assert worst == sorted(worst)
