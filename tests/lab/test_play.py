"""Played cases: what the seed fixes, what the fault may touch, and that nothing is lost."""

import numpy as np
import pytest

from ridgeline.lab.case import Case
from ridgeline.lab.faults import fault_of
from ridgeline.lab.play import Ran, play, traffic_of
from ridgeline.lab.service import perturbations


def case(name: str, seed: int = 3, healthy: bool = False, **more: object) -> Case:
    fault = fault_of(name)
    assert fault is not None
    values: dict[str, object] = {
        "version": "0.5.23",
        "size": "small",
        "rate": 2.0,
        "ranks": 1,
        "pd": "pd" in fault.needs,
        "severity": 2,
        "share": 0.3 if fault.by else 1.0,
    }
    if "ranks" in fault.needs or "workers" in fault.needs:
        values["ranks"] = 2
    values |= more
    return Case(fault, seed, healthy=healthy, **values)  # type: ignore[arg-type]


NAMES = ["queue.running-cap", "prefill.regression", "cache.prompt-drift", "routing.hot-key", "disagg.transfer-slow",
         "frontend.detokenizer", "memory.leak", "cache.flushed"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_nothing_differs_from_the_twin_before_the_onset(name: str) -> None:
    sick, well = play(case(name)), play(case(name, healthy=True))
    n = int((sick.path.handed_s < sick.case.onset_s).sum())
    assert n == int((well.path.handed_s < well.case.onset_s).sum()) > 50
    for attribute in ("t", "prefix_tokens", "unique_tokens", "output_tokens", "tenant", "client"):
        assert (sick.rows[attribute][:n] == well.rows[attribute][:n]).all()
    done = well.front.stamp["finish"][:n] < sick.case.onset_s
    assert done.sum() > 50
    assert np.allclose(sick.front.stamp["finish"][:n][done], well.front.stamp["finish"][:n][done])


@pytest.mark.parametrize("name", ["queue.running-cap", "disagg.peer-lost"])
def test_the_same_seed_gives_the_same_run(name: str) -> None:
    a, b = play(case(name)), play(case(name))
    assert all(np.array_equal(x, y) for x, y in zip(a.logs, b.logs, strict=True))
    other = traffic_of(case(name, seed=4))
    assert len(other["t"]) != len(a.rows["t"]) or not np.array_equal(other["t"], a.rows["t"])


def in_order(ran: Ran) -> None:
    side = ran.front
    for earlier, later in (("dispatch", "queued"), ("queued", "start"), ("start", "first"), ("first", "finish")):
        a, b = side.stamp[earlier], side.stamp[later]
        both = ~np.isnan(a) & ~np.isnan(b)
        assert (a[both] <= b[both] + 1e-9).all(), (earlier, later)


def test_stamps_are_in_order_and_every_request_is_accounted_for() -> None:
    ran = play(case("queue.limit-rejected", severity=3))
    in_order(ran)
    outcomes = ran.front.count["outcome"]
    assert (ran.boot == 0).all()
    assert {int(o) for o in np.unique(outcomes)} <= {0, 1, 3}
    assert (outcomes == 3).sum() > 0
    finished = outcomes == 1
    assert (
        ran.front.count["gen"][finished] == np.minimum(ran.rows["output_tokens"], ran.rows["max_new"])[finished]
    ).all()


def test_a_restart_loses_the_cache_and_refuses_nobody_in_the_gap() -> None:
    ran = play(case("cache.disabled", severity=1))
    assert set(np.unique(ran.boot).tolist()) == {0, 1}
    cached = ran.front.count["cached"]
    assert cached[ran.boot == 0].sum() > 0
    assert cached[ran.boot == 1].sum() == 0


def test_a_death_leaves_requests_open_and_refuses_later_ones() -> None:
    ran = play(case("memory.oom-crash", severity=1))
    assert ran.stop is not None
    assert (ran.boot == -1).sum() > 20
    assert (np.isnan(ran.front.stamp["finish"]) & (ran.boot == 0)).sum() > 0
    assert (ran.front.count["outcome"][ran.boot == 1] == 1).sum() > 100


def test_severity_is_monotone_in_what_the_engine_is_told() -> None:
    strengths = [perturbations(case("prefill.regression", severity=s))[0].times_per_mille for s in (1, 2, 3)]
    assert strengths == sorted(set(strengths))
    assert perturbations(case("prefill.regression", healthy=True)) == []


def test_the_affected_share_is_the_one_asked_for() -> None:
    for share in (0.1, 0.5):
        rows = traffic_of(case("client.cancelled", share=share))
        assert abs(rows["affected"].mean() - share) < 0.05
        special = np.unique(rows["client"][rows["affected"]])
        assert len(special) == 1
        assert not (rows["client"][~rows["affected"]] == special[0]).any()
