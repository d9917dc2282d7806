"""Load answers and server information (§7.1, §7.2)."""

import json

from ridgeline.lab.emit import loads, server_info
from tests.lab.emit.made import T, server

SNAP = {"ts": T - 1.5, "running": 3, "waiting": 2, "used_tokens": 900, "total_tokens": 1500, "uncached_waiting": 600,
        "gen_tps": 80.0, "hit_rate": 0.5, "prefilled_tokens": 1e4, "prefill_us": 5e6, "bootstrap": 4, "inflight": 9,
        "prealloc": 5, "transfer": 6, "retracted": 1, "grammar": 0}  # fmt: skip


def test_three_releases_three_answers() -> None:
    old = json.loads(loads.answer(server("0.5.3"), T, (SNAP,)))
    assert old == [{"dp_rank": 0, "num_reqs": 5, "num_waiting_reqs": 2, "num_tokens": 1500}]
    middle = json.loads(loads.answer(server("0.5.9"), T, (SNAP,)))
    assert (middle["dp_rank_count"], middle["loads"][0]["num_total_reqs"]) == (1, 5)
    new = json.loads(loads.answer(server(), T, (SNAP, SNAP)))
    assert new["timestamp"].endswith("+00:00")
    assert [r["dp_rank"] for r in new["loads"]] == [0, 1]
    assert new["loads"][0]["timestamp"] == T - 1.5  # the snapshot's own time: it may be stale


def test_waiting_counts_the_queues_of_the_role() -> None:
    def waiting(role: str) -> int:
        found: int = json.loads(loads.answer(server(role=role), T, (SNAP,)))["loads"][0]["num_waiting_reqs"]
        return found

    assert (waiting("unified"), waiting("prefill"), waiting("decode")) == (2, 6, 14)


def test_server_info_names_the_sizes() -> None:
    info = json.loads(server_info.answer(server(dp_size=2, args=(("schedule_policy", "lpm"),)), 12.0))
    assert (info["max_total_num_tokens"], info["schedule_policy"], len(info["internal_states"])) == (214_016, "lpm", 2)
    assert info["internal_states"][0]["effective_max_running_requests_per_dp"] == 64
    assert server_info.path(server("0.5.3")) == "/get_server_info"
