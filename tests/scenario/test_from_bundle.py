"""A view's requests as traffic: who is in, with which lengths, limits, arrivals and prefixes."""

from typing import Any

import numpy as np
import pytest

from ridgeline.bundle.view import View, view_of
from ridgeline.model.errors import InputError
from ridgeline.scenario.from_bundle import traffic_of

T0 = 1_796_000_000.0


def request(number: int, **more: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        "request": number, "rid": f"r{number}", "server": "server", "role": "unified", "state": "finished",
        "probe": False, "prompt_tokens": 100 + number, "completion_tokens": 10, "max_new_tokens": 20,
        "params_logged": True, "received_ts": T0 + number, "ttft_s": 0.5, "e2e_s": 1.5, "tpot_s": 0.1, "queue_s": 0.2,
        "scheduled_ts": T0 + number + 0.3, "queued_ts": T0 + number + 0.1, "first_token_ts": T0 + number + 0.5,
        "last_token_ts": T0 + number + 1.5, "finished_ts": T0 + number + 1.5,
    }  # fmt: skip
    return row | more


def bare(number: int, role: str = "unified", **more: Any) -> dict[str, Any]:
    return {
        "request": number,
        "rid": f"r{number}",
        "server": "server",
        "role": role,
        "received_ts": T0 + number,
        **more,
    }


def view(*rows: dict[str, Any], **tables: list[dict[str, Any]]) -> View:
    servers = [{"server": "server", "role": "unified", "engine": "sglang", "version": "0.5.23", "context_len": 2048}]
    return view_of({"requests": list(rows), "servers": servers, **tables})


def test_lengths_limits_and_stamps() -> None:
    traffic = traffic_of(view(request(2), request(1)))
    assert traffic.rids == ("r1", "r2")
    assert traffic.scenario["arrival_ps"].tolist() == [0, 10**12]
    assert traffic.scenario["input_tokens"].tolist() == [101, 102]
    assert traffic.scenario["output_tokens"].tolist() == [10, 10]
    assert traffic.scenario["max_new_tokens"].tolist() == [20, 20]
    assert traffic.observed["scheduled"].tolist() == pytest.approx([0.3, 1.3], abs=1e-6)
    assert traffic.observed["queue_s"].tolist() == [0.2, 0.2]
    assert traffic.measured.all()


def test_no_limit_set_means_the_rest_of_the_context() -> None:
    open_end = traffic_of(view(request(1, max_new_tokens=None)))
    assert open_end.scenario["max_new_tokens"].tolist() == [2048 - 101 - 1]


def test_a_limit_that_was_not_logged_is_said() -> None:
    silent = traffic_of(view(request(1, max_new_tokens=None, params_logged=None)))
    assert silent.scenario["max_new_tokens"].tolist() == [10]
    assert any("level 1" in note for note in silent.notes)


def test_turned_away_at_the_door_is_left_out_and_counted() -> None:
    refused = bare(2, state="rejected", prompt_tokens=50, max_new_tokens=9)
    traffic = traffic_of(view(request(1), refused))
    assert traffic.rids == ("r1",)
    assert any(note.startswith("1 requests were turned away") for note in traffic.notes)


def test_whom_a_full_queue_refused_is_put_back_as_it_would_have_been_served() -> None:
    refused = bare(2, state="rejected", max_new_tokens=900, params_logged=True, completion_tokens=0,
                   finished_ts=T0 + 2.01)  # fmt: skip
    traffic = traffic_of(view(request(1), request(3), refused), refused=True)
    assert traffic.rids == ("r1", "r2", "r3") and traffic.outcome[1] == "rejected"
    # a prompt and an answer like the others', to its own limit, and nobody takes it back
    assert traffic.scenario["input_tokens"].tolist() == [101, 102, 103]
    assert traffic.scenario["output_tokens"].tolist() == [10, 10, 10]
    assert traffic.scenario["max_new_tokens"].tolist() == [20, 900, 20]
    assert traffic.scenario["cancel_ps"].tolist() == [0, 0, 0]
    assert traffic.measured.tolist() == [True, False, True]
    assert not any("turned away" in note for note in traffic.notes)


def test_retracted_then_refused_holds_memory_until_it_is_gone() -> None:
    lost = request(2, state="rejected", completion_tokens=700, max_new_tokens=1200, finished_ts=T0 + 30)
    traffic = traffic_of(view(request(1), lost))
    assert traffic.scenario["output_tokens"].tolist() == [10, 700]
    assert traffic.scenario["cancel_ps"].tolist() == [0, 29 * 10**12]
    assert traffic.measured.tolist() == [True, False]


def test_a_client_that_left_while_waiting_cancels_then() -> None:
    left = bare(2, state="aborted", prompt_tokens=80, max_new_tokens=64, finished_ts=T0 + 6)
    traffic = traffic_of(view(request(1), left))
    assert traffic.scenario["output_tokens"].tolist() == [10, 64]
    assert traffic.scenario["cancel_ps"].tolist() == [0, 5 * 10**12]


def test_a_client_that_left_while_decoding_is_known_by_its_tokens() -> None:
    left = request(2, state="aborted", completion_tokens=4)
    traffic = traffic_of(view(request(1), left))
    assert traffic.scenario["output_tokens"].tolist() == [10, 4]
    assert traffic.scenario["cancel_ps"].tolist() == [0, 0]
    assert traffic.measured.tolist() == [True, False]


def test_an_unknown_prompt_is_guessed_from_its_characters_or_left_out() -> None:
    rows = [request(i, prompt_chars=4 * (100 + i)) for i in (1, 2, 3)]
    guessed = bare(4, state="aborted", prompt_chars=800, max_new_tokens=5, finished_ts=T0 + 5)
    blind = bare(5, state="aborted", max_new_tokens=5, finished_ts=T0 + 6)
    traffic = traffic_of(view(*rows, guessed, blind))
    assert traffic.scenario["input_tokens"].tolist() == [101, 102, 103, 200]
    assert any("no prompt length" in note for note in traffic.notes)


def test_the_client_fills_what_the_server_does_not_say() -> None:
    server = request(1, ttft_s=None, cached_tokens=None, received_ts=T0 + 1)
    client = bare(
        9, "client", client_rid="r1", state="finished", n=1, ttft_s=0.6, cached_tokens=64, completion_tokens=10
    )
    traffic = traffic_of(view(server, client | {"received_ts": T0 + 0.75}))
    assert traffic.n == 1
    assert traffic.observed["ttft_s"].tolist() == [0.6]
    assert traffic.observed["cached_tokens"].tolist() == [64]
    # a log that knows whole seconds only takes the client's arrival
    assert traffic.origin_ts == T0 + 0.75


def test_clients_alone_are_the_traffic() -> None:
    rows = [
        bare(i, "client", state="finished", n=1, prompt_tokens=50, completion_tokens=7, ttft_s=0.4, e2e_s=1.0)
        for i in range(3)
    ]
    lost = bare(3, "client", state="error", prompt_tokens=50, max_new_tokens=9, finished_ts=T0 + 4)
    traffic = traffic_of(view(*rows, lost))
    assert traffic.n == 4
    assert traffic.known("e2e_s").sum() == 3
    assert traffic.scenario["cancel_ps"][3] == 4 * 10**12
    assert np.isnan(traffic.observed["scheduled"]).all()


def test_a_sibling_that_nobody_recorded_is_put_back() -> None:
    server = request(1, parent_rid="p", choice=0)
    client = bare(9, "client", client_rid="p", state="finished", n=2, prompt_tokens=101, completion_tokens=20)
    client["rid"] = "p"
    traffic = traffic_of(view(server, client))
    assert traffic.n == 2
    assert sorted(traffic.outcome) == ["finished", "hidden"]
    assert traffic.scenario["output_tokens"].tolist() == [10, 10]
    assert traffic.measured.sum() == 1


def test_a_part_that_entered_later_arrives_then_and_keeps_no_whole_times() -> None:
    part = request(1, parent_rid="p", choice=1, queued_ts=T0 + 5, scheduled_ts=T0 + 6)
    traffic = traffic_of(view(part))
    assert traffic.origin_ts == T0 + 5
    assert np.isnan(traffic.observed["ttft_s"][0])
    assert traffic.observed["scheduled"][0] == pytest.approx(1.0)


def test_the_busiest_of_several_servers_is_taken() -> None:
    rows = [request(i, server="a") for i in range(1, 4)] + [request(9, server="b")]
    traffic = traffic_of(view(*rows))
    assert traffic.rids == ("r1", "r2", "r3")
    assert any("only a" in note for note in traffic.notes)


def test_durations_stand_in_for_stamps_of_older_versions() -> None:
    row = request(1, scheduled_ts=None, queued_ts=None, last_token_ts=None, forward_s=0.8, queue_s=0.2)
    traffic = traffic_of(view(row))
    assert traffic.observed["scheduled"][0] == pytest.approx(0.7, abs=1e-6)
    assert traffic.observed["last"][0] == pytest.approx(1.5, abs=1e-6)
    assert traffic.observed["queued"][0] == pytest.approx(0.5, abs=1e-6)


def test_nothing_to_simulate_is_one_clear_line() -> None:
    with pytest.raises(InputError, match="nothing to simulate"):
        traffic_of(view(bare(1, state="received")))


def test_prefix_evidence_in_order_of_strength() -> None:
    rows = [request(i, cached_tokens=c) for i, c in ((1, 0), (2, 64), (3, 32))]
    assert traffic_of(view(*rows)).prefix == "cached"
    groups = [{"request": i, "rid": f"r{i}", "name": "prefix_group", "number": 4.0} for i in (1, 2)]
    grouped = traffic_of(view(*rows, request_attrs=groups))
    assert grouped.prefix == "groups"
    assert grouped.scenario.segment_tokens.tolist() == [64, 64]
    hashes = [{"rid": "r2", "grain": 16, "tokens": 102, "hashes": [5, 6, 7]}]
    hashed = traffic_of(view(*rows, request_attrs=groups, prompts=hashes))
    assert hashed.prefix == "hashes"
    assert np.diff(hashed.scenario.offsets).tolist() == [0, 3, 0]
    blind = traffic_of(view(request(1), request(2)))
    assert blind.prefix == "none"
    assert any("sharing is ignored" in note for note in blind.notes)


def test_cached_tokens_alone_come_from_one_common_text_and_leave_a_token_to_compute() -> None:
    traffic = traffic_of(view(request(1, cached_tokens=0), request(2, cached_tokens=500)))
    assert traffic.scenario.segment_tokens.tolist() == [101]
    assert traffic.scenario.offsets.tolist() == [0, 0, 1]


def test_with_the_cache_off_a_group_shares_at_most_its_shortest_prompt() -> None:
    """No hit tells how long a prefix is; a what-if that turns the cache on must know all the same."""
    rows = [request(i, cached_tokens=0, prompt_tokens=n) for i, n in ((1, 300), (2, 340), (3, 90), (4, 310))]
    groups = [{"request": i, "rid": f"r{i}", "name": "prefix_group", "number": float(g)}
              for i, g in ((1, 4), (2, 4), (3, 9), (4, 4))]  # fmt: skip
    config = [{"server": "server", "key": "disable_radix_cache", "value": "True"}]
    off = traffic_of(view(*rows, request_attrs=groups, config=config))
    assert off.prefix == "groups" and any("cache was off" in note for note in off.notes)
    assert off.scenario.segment_tokens.tolist() == [299, 299, 299] and off.scenario.offsets.tolist() == [0, 1, 2, 2, 3]
    assert traffic_of(view(*rows, request_attrs=groups)).prefix == "cached"


def test_probes_run_but_do_not_count() -> None:
    traffic = traffic_of(view(request(1), request(2, probe=True)))
    assert traffic.n == 2
    assert traffic.measured.tolist() == [True, False]


def test_damaged_counts_and_clocks_do_not_stop_the_rest() -> None:
    traffic = traffic_of(
        view(
            request(1),
            request(2, prompt_tokens=-5),
            request(3, prompt_tokens=1 << 60),
            request(4, received_ts=float("inf")),
            request(5, completion_tokens=1 << 60, max_new_tokens=-7),
        )
    )
    assert traffic.rids == ("r1", "r5")
    assert traffic.scenario["output_tokens"].max() < 1 << 24
    assert any("2 requests" in note or "3 requests" in note for note in traffic.notes)


def test_groups_are_apart_by_endpoint() -> None:
    rows = [request(i, cached_tokens=c, endpoint=e) for i, c, e in ((1, 0, "/a"), (2, 64, "/a"), (3, 32, "/b"))]
    groups = [{"request": i, "rid": f"r{i}", "name": "prefix_group", "number": 4.0} for i in (1, 2, 3)]
    grouped = traffic_of(view(*rows, request_attrs=groups))
    assert grouped.scenario.segment_tokens.tolist() == [64, 64, 32]
    assert len(set(grouped.scenario.segment_id.tolist())) == 2
