"""That a fault's mechanism is there in what the engine played and in what the servers wrote, and not in the twin."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ridgeline.lab.play import Ran, play
from ridgeline.lab.record import harm_of, make_case, write_evidence
from ridgeline.sim.engine import params as p


def lopsided(ran: Ran, every_s: float) -> list[float]:
    """Per stretch of ``every_s`` after the onset, the largest rank's share of the arrivals, where ten or more."""
    t, rank = ran.path.handed_s, ran.front.count["rank"]
    shares = []
    for start in np.arange(ran.case.onset_s, 590.0 - every_s, every_s):
        inside = rank[(t >= start + 0.1) & (t < start + every_s - 0.1)]
        if len(inside) >= 10:
            shares.append(float(np.bincount(inside).max() / len(inside)))
    return shares


def snapshot_ages(path: Path) -> list[tuple[float, float]]:
    """(wall time, age of the oldest snapshot in it) of every answer of ``/v1/loads``."""
    found = []
    for part in path.read_text(encoding="utf-8").split("#### scrape ")[1:]:
        head, _, body = part.partition("\n")
        at = float(re.search(r"ts=([\d.]+)", head)[1])  # type: ignore[index]
        answer: dict[str, Any] = json.loads(body)
        found.append((at, max(at - load["timestamp"] for load in answer["loads"])))
    return found


@pytest.mark.parametrize("severity", [1, 2, 3])
def test_stale_load_herds_requests_from_rank_to_rank(tmp_path: Path, severity: int) -> None:
    case = make_case("routing.stale-load", seed=4, severity=severity)
    every_s = (14.0, 22.0, 27.0)[severity - 1]
    ran = play(case)
    assert min(lopsided(ran, every_s)) == 1.0
    assert np.median(lopsided(play(replace(case, healthy=True)), every_s)) < 0.7
    assert harm_of(ran)["admitted"]
    write_evidence(ran, tmp_path)
    ages = snapshot_ages(tmp_path / "10.4.0.11" / "loads.txt")
    onset = case.base_ts + case.onset_s
    assert np.median([age for at, age in ages if at < onset]) < 2
    late = [age for at, age in ages if at > onset + every_s]
    assert every_s / 3 < np.median(late) < every_s
    log = (tmp_path / "10.4.0.11" / "request_log" / "10.4.0.11_0.log").read_text(encoding="utf-8")
    assert '"routed_dp_rank": 0' not in log  # the balancer chose: no client asked for a rank


@pytest.mark.parametrize("severity", [1, 3])
def test_retained_cache_fills_the_pool_with_what_nobody_holds(tmp_path: Path, severity: int) -> None:
    case = make_case("memory.retained-cache", seed=4, severity=severity)
    ran = play(case)
    late = ran.path.handed_s > 120
    assert ran.front.count["cached"][late].sum() >= 0.8 * ran.front.count["prompt"][late].sum()
    assert ran.front.count["retractions"].sum() == 0
    write_evidence(ran, tmp_path)
    page = (tmp_path / "10.4.0.11" / "metrics.txt").read_text(encoding="utf-8").rpartition("#### scrape")[2]
    value = {name: float(re.search(rf"(?m)^sglang:{name}{{.*}} (\S+)$", page)[1])  # type: ignore[index]
             for name in ("kv_evictable_tokens", "kv_available_tokens", "kv_used_tokens")}  # fmt: skip
    assert value["kv_evictable_tokens"] >= 0.5 * sum(value.values())
    assert not harm_of(ran)["admitted"]


@pytest.mark.parametrize("version", ["0.5.3", "0.5.9", "0.5.23"])
def test_a_storm_of_retractions_is_counted_in_the_log(tmp_path: Path, version: str) -> None:
    ran = play(make_case("memory.retraction-storm", seed=5, version=version, severity=3))
    rows = ran.logs[0]
    put_back = int(rows["v0"][rows["kind"] == p.LOG_RETRACT].sum())
    assert put_back >= 20
    assert put_back == int(ran.front.count["retractions"].sum())
    write_evidence(ran, tmp_path)
    log = (tmp_path / "10.4.0.11" / "server.log").read_text(encoding="utf-8")
    assert sum(map(int, re.findall(r"#retracted_reqs: (\d+)", log))) == put_back
