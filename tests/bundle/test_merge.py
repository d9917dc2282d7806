"""What becomes of records of one request in several sources; rows are written as readers give them."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.bundle import merge
from tests.bundle import made
from tests.bundle.made import assembled, requests, source

T = 1796011165.0


@pytest.fixture(scope="module", autouse=True, params=["memory", "files"])
def way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every test here both ways: tables in memory, and part files from which requests are put together two by two."""
    with pytest.MonkeyPatch.context() as patched:
        if request.param == "files":
            patched.setattr(made, "LIMIT", 0)
            patched.setattr(merge, "SLICE", 2)
        yield


def received(rid: str, at: float, **more: Any) -> dict[str, Any]:
    return {"kind": "request-log", "event": "received", "rid": rid, "logged_ts": at, "source": 1, **more}


def finished(rid: str, at: float, e2e: float = 2.0, **more: Any) -> dict[str, Any]:
    row = {
        "kind": "request-log", "event": "finished", "rid": rid, "received_ts": at, "e2e_s": e2e,
        "logged_ts": at + e2e, "finish_reason": "length", "state": "finished", "source": 1,
    }  # fmt: skip
    return {**row, **more}


def client(rid: str | None, sent: float, **more: Any) -> dict[str, Any]:
    return {
        "kind": "client",
        "event": "finished",
        "role": "client",
        "rid": rid,
        "received_ts": sent,
        "source": 2,
        **more,
    }


def lines(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"line": n, **row} for n, row in enumerate(rows, 1)]


LOG = source(1, "request.log", "request-log")
CLIENT = source(2, "client.jsonl", "client")
BOTH = [LOG, CLIENT]


def test_the_first_source_of_the_declared_order_is_believed_per_column() -> None:
    view = assembled(
        {
            "records": lines(
                {"kind": "span", "rid": "r", "source": 1, "queue_s": 0.5, "received_ts": T + 0.4, "prefill_s": 0.3},
                {"kind": "time-stats", "event": "finished", "rid": "r", "source": 1, "queue_s": 0.11, "forward_s": 1.5},
                {"kind": "exporter", "rid": "r", "source": 1, "queue_s": 0.12, "cached_tokens": 7, "received_ts": T},
                received("r", T + 0.01, prompt_chars=40),
                finished("r", T, queue_s=0.1, prompt_tokens=10),
            )
        },
        [LOG],
    )
    columns = ("queue_s", "received_ts", "prefill_s", "forward_s", "cached_tokens", "prompt_chars", "prompt_tokens")
    assert requests(view, *columns) == [(0.1, T, 0.3, 1.5, 7, 40, 10)]
    ((conflicts, kinds, line),) = requests(view, "conflicts", "kinds", "line")
    assert conflicts == 1  # queue_s: the span's 0.5 is far from the others
    assert kinds == ["exporter", "request-log", "span", "time-stats"]
    assert line == 5


def test_small_differences_of_rounding_are_no_conflict() -> None:
    rows = lines(
        finished("r", T, queue_s=0.1, prompt_tokens=9),
        {"kind": "time-stats", "event": "finished", "rid": "r", "source": 1, "queue_s": 0.105, "prompt_tokens": 9},
    )
    assert requests(assembled({"records": rows}), "conflicts") == [(0,)]


def test_received_and_never_finished_is_said_and_is_not_an_end() -> None:
    rows = lines(
        received("gone", T), finished("done", T), received("done", T), received("ran", T + 1),
        {"kind": "span", "rid": "ran", "source": 1, "scheduled_ts": T + 2, "finished_ts": T + 9, "received_ts": T + 1},
    )  # fmt: skip
    view = assembled({"records": rows})
    got = {rid: rest for rid, *rest in requests(view, "rid", "state", "censored", "e2e_s", "finished_ts")}
    assert got["gone"] == ["received", True, None, None]
    assert got["ran"] == ["unfinished", True, None, None]  # a span is closed when the process ends, too
    assert got["done"] == ["finished", False, 2.0, None]


def test_queue_full_is_a_rejection_though_the_client_saw_http_200() -> None:
    rows = lines(
        finished("a", T, 0.05, finish_reason="abort", state="aborted", status_code=503,
                 abort_message="The request queue is full.", completion_tokens=0),
        finished("b", T, 9.0, finish_reason="abort", state="aborted", abort_message="Aborted by client."),
        client("a", T, status_code=200, state="rejected"),
    )  # fmt: skip
    view = assembled({"records": rows}, BOTH)
    assert requests(view, "rid", "role", "state") == [
        ("a", None, "rejected"),
        ("b", None, "aborted"),
        ("a", "client", "rejected"),
    ]


def test_how_an_unfinished_request_ended_is_taken_from_client_or_log() -> None:
    records = lines(
        received("x-1", T), received("x-2", T + 1), received("x-3", T + 2),
        client("x-1", T, state="error", status_code=400, abort_message="too long"),
    )  # fmt: skip
    events = [{"kind": "abort", "rid": "x-2", "ts": T + 5, "source": 1, "line": 9, "text": "Abort x-2"}]
    view = assembled({"records": records, "events": events}, BOTH)
    got = requests(view, "rid", "state", "status_code", "abort_message", "censored")
    assert got[:3] == [
        ("x-1", "error", 400, "too long", False),
        ("x-2", "aborted", None, "Abort x-2", False),
        ("x-3", "received", None, None, True),
    ]
    # Nothing but the record of its arrival says when a request came that never ended.
    assert requests(view, "rid", "received_ts")[2] == ("x-3", T + 2)


def test_the_client_is_a_row_of_its_own_with_the_servers_id() -> None:
    rows = lines(
        finished("srv", T + 0.001, ttft_s=0.2),
        client("srv", T, client_rid="mine", ttft_s=0.25, e2e_s=2.1),
    )
    view = assembled({"records": rows}, BOTH)
    assert requests(view, "rid", "client_rid", "role", "ttft_s") == [
        ("srv", "mine", None, 0.2),
        ("srv", "mine", "client", 0.25),
    ]


def test_the_clients_own_id_finds_the_server_row_that_used_it_and_vllms_spelling_of_it() -> None:
    rows = lines(
        finished("req-7", T),
        finished("chatcmpl-req-8", T),
        finished("cmpl-req-9-0", T),
        client(None, T, client_rid="req-7"),
        client("req-8", T),
        client("cmpl-req-9", T),
    )
    view = assembled({"records": rows}, BOTH)
    got = requests(view, "rid", "role")
    assert sorted(r for r, role in got if role == "client") == ["chatcmpl-req-8", "cmpl-req-9-0", "req-7"]


def test_parts_of_an_n2_request_are_rows_tied_to_the_arrival() -> None:
    rows = lines(
        received("first", T + 0.01, n=2, received_mono=5.5, prompt_chars=99),
        finished("fill", T, 0.1, n=2, received_mono=5.5, completion_tokens=0),
        finished("p-1", T, 2.0, n=2, received_mono=5.5, completion_tokens=192),
        finished("p-2", T, 2.1, n=2, received_mono=5.5, completion_tokens=192),
        finished("other", T, 1.0),
        client("p-1", T, n=2, client_rid="mine"),
    )
    view = assembled({"records": rows}, BOTH)
    got = requests(view, "rid", "parent_rid", "choice", "state", "prompt_chars", "client_rid", "role")
    assert sorted(got, key=str) == sorted(
        [
            ("fill", "first", None, "finished", 99, "mine", None),
            ("p-1", "first", 0, "finished", 99, "mine", None),
            ("p-2", "first", 1, "finished", 99, "mine", None),
            ("other", None, None, "finished", None, None, None),
            ("p-1", "first", None, None, None, "mine", "client"),
        ],
        key=str,
    )


def test_an_arrival_stays_a_row_while_parts_are_missing() -> None:
    rows = lines(
        received("first", T + 0.01, n=2, received_mono=5.5),
        finished("p-1", T, 2.0, n=2, received_mono=5.5, completion_tokens=8),
    )
    got = requests(assembled({"records": rows}), "rid", "parent_rid", "state", "choice")
    assert sorted(got) == [("first", "first", "received", None), ("p-1", "first", "finished", 0)]


def test_vllm_states_both_answers_of_n2_under_one_id() -> None:
    rows = lines(
        {
            "kind": "vllm-log",
            "event": "received",
            "rid": "v",
            "n": 2,
            "received_ts": T,
            "source": 1,
            "state": "received",
        },
        {"kind": "span", "rid": "v", "n": 2, "received_ts": T, "e2e_s": 1.0, "state": "finished", "source": 1},
        {"kind": "span", "rid": "v", "n": 2, "received_ts": T, "e2e_s": 1.5, "state": "finished", "source": 1},
    )
    got = requests(assembled({"records": rows}), "rid", "parent_rid", "choice", "e2e_s", "state")
    assert got == [("v", "v", 0, 1.0, "finished"), ("v", "v", 1, 1.5, "finished")]


def test_the_same_id_sent_again_is_another_request() -> None:
    rows = lines(
        received("r", T), finished("r", T, 0.01, finish_reason="abort", abort_message="The request queue is full."),
        received("r", T + 5), finished("r", T + 5, 2.0),
        {"kind": "time-stats", "event": "finished", "rid": "r", "source": 1, "logged_ts": T + 7, "forward_s": 1.9},
    )  # fmt: skip
    got = requests(assembled({"records": rows}), "rid", "state", "received_ts", "forward_s")
    assert got == [("r", "rejected", T, None), ("r", "finished", T + 5, 1.9)]


def test_an_end_stated_twice_after_one_arrival_is_one_request() -> None:
    rows = lines(
        {"kind": "vllm-log", "event": "received", "rid": "v", "received_ts": T, "source": 1},
        {"kind": "vllm-log", "event": "finished", "rid": "v", "finished_ts": T + 3, "source": 1, "state": "finished"},
        {"kind": "vllm-log", "event": "finished", "rid": "v", "finished_ts": T + 3, "source": 1, "state": "finished"},
    )
    assert requests(assembled({"records": rows}), "rid", "e2e_s") == [("v", 3.0)]


def test_ids_with_decorations_are_one_request_where_the_plain_one_was_seen() -> None:
    rows = lines(
        finished("abc", T), {"kind": "span", "rid": "3_abc", "source": 1, "prefill_s": 0.4},
        finished("HEALTH_CHECK_1f", T), {"kind": "span", "rid": "1f", "source": 1, "prefill_s": 0.1},
        finished("9_lonely", T),
    )  # fmt: skip
    stages = [{"rid": "3_abc", "stage": "decode_forward", "duration_s": 1.0, "source": 1, "line": 8}]
    view = assembled({"records": rows, "stages": stages})
    got = {rid: rest for rid, *rest in requests(view, "rid", "prefill_s", "probe", "decode_s")}
    assert got == {
        "abc": [0.4, False, 1.0],
        "HEALTH_CHECK_1f": [0.1, True, None],
        "9_lonely": [None, False, None],
    }
    assert view.query("SELECT rid FROM stages") == [("abc",)]


def test_two_ids_that_differ_only_in_the_decoration_stay_two() -> None:
    rows = lines(finished("1_job", T), finished("2_job", T), finished("job", T))
    assert sorted(requests(assembled({"records": rows}), "rid")) == [("1_job",), ("2_job",), ("job",)]


def pd(role: str, rid: str, room: int, at: float, number: int) -> dict[str, Any]:
    return finished(rid, at, role=role, room=room, source=number)


PD = [source(1, "prefill.log", role="prefill"), source(2, "decode.log", role="decode")]


def test_the_two_sides_of_a_room_are_two_rows_that_name_each_other() -> None:
    rows = lines(pd("prefill", "a", 77, T, 1), pd("decode", "b", 77, T + 0.1, 2), pd("decode", "c", 78, T, 2))
    got = requests(assembled({"records": rows}, PD), "request", "rid", "server", "pair")
    by_rid = {rid: (number, server, pair) for number, rid, server, pair in got}
    assert by_rid["a"][1:] == ("prefill", by_rid["b"][0])
    assert by_rid["b"][1:] == ("decode", by_rid["a"][0])
    assert by_rid["c"][2] is None


def test_a_room_used_twice_pairs_by_id_or_not_at_all() -> None:
    rows = lines(
        pd("prefill", "a", 5, T, 1), pd("prefill", "b", 5, T + 1, 1),
        pd("decode", "a", 5, T, 2), pd("decode", "b", 5, T + 1, 2),
        pd("prefill", "x", 6, T, 1), pd("prefill", "y", 6, T, 1), pd("decode", "z", 6, T, 2),
        pd("prefill", "far", 9, T, 1), pd("decode", "far", 9, T + 9000, 2),
    )  # fmt: skip
    got = requests(assembled({"records": rows}, PD), "request", "rid", "role", "pair", "conflicts")
    at = {(rid, role): number for number, rid, role, _, _ in got}
    pair = {(rid, role): pair for _, rid, role, pair, _ in got}
    assert pair["a", "prefill"] == at["a", "decode"]
    assert pair["b", "decode"] == at["b", "prefill"]
    assert pair["x", "prefill"] is pair["y", "prefill"] is pair["z", "decode"] is None
    assert {rid for _, rid, _, _, conflicts in got if conflicts} == {"x", "y", "z"}  # the doubt is recorded
    assert pair["far", "prefill"] is None


def test_a_trace_of_both_sides_finds_the_servers_by_role() -> None:
    rows = lines(
        pd("prefill", "a", 7, T, 1), pd("decode", "a", 7, T, 2),
        {"kind": "span", "rid": "a", "role": "prefill", "source": 3, "prefill_s": 0.1},
        {"kind": "span", "rid": "a", "role": "decode", "source": 3, "transfer_s": 0.2},
    )  # fmt: skip
    view = assembled({"records": rows}, [*PD, source(3, "spans.jsonl", "otlp")])
    assert requests(view, "role", "server", "prefill_s", "transfer_s") == [
        ("prefill", "prefill", 0.1, None),
        ("decode", "decode", None, 0.2),
    ]


def test_derived_figures_and_the_rest_that_nobody_explains() -> None:
    row = finished(
        "r", T, 3.0, ttft_s=1.0, completion_tokens=11, queue_s=0.5, scheduled_ts=T + 0.6, finished_ts=T + 3.0,
        tokenize_s=0.02,
    )  # fmt: skip
    stats = {"kind": "time-stats", "event": "finished", "rid": "r", "source": 1, "forward_s": 2.3}
    view = assembled({"records": lines(row, stats)})
    ((tpot, queued, pre, back, rest, conflicts),) = requests(
        view, "tpot_s", "queued_ts", "pre_queue_s", "return_s", "unaccounted_s", "conflicts"
    )
    assert tpot == pytest.approx(0.2)
    assert queued == pytest.approx(T + 0.1)
    assert pre == pytest.approx(0.1, abs=1e-6)
    assert back == pytest.approx(0.1, abs=1e-6)
    assert rest == pytest.approx(3.0 - 0.5 - 2.3 - 0.02)
    assert conflicts == 0


def test_prefill_and_decode_follow_from_stamps_where_no_source_names_them() -> None:
    def stamped(rid: str, **more: Any) -> dict[str, Any]:
        return finished(rid, T, scheduled_ts=T + 1, first_token_ts=T + 1.5, finished_ts=T + 4, **more)

    rows = lines(
        stamped("a"),
        stamped("b", prefill_done_ts=T + 1.4, forward_s=2.9),
        stamped("c", retractions=1),
        stamped("d", prefill_s=0.3, decode_s=2.0),
    )
    found = requests(assembled({"records": rows}), "prefill_s", "decode_s", "unaccounted_s")
    assert [row[:2] for row in found] == [
        (pytest.approx(0.5), pytest.approx(2.5)),
        (pytest.approx(0.4), pytest.approx(2.5)),
        (None, None),
        (0.3, 2.0),
    ]
    assert found[0][2] is None  # stamps alone explain everything by construction: that is no finding


def test_a_negative_rest_is_null_and_a_conflict_never_a_number() -> None:
    row = finished("r", T, 1.0, queue_s=0.5)
    stats = {"kind": "time-stats", "event": "finished", "rid": "r", "source": 1, "forward_s": 2.0}
    assert requests(assembled({"records": lines(row, stats)}), "unaccounted_s", "conflicts") == [(None, 1)]
    retracted = {**row, "retractions": 2}
    assert requests(assembled({"records": lines(retracted, stats)}), "unaccounted_s", "conflicts") == [(None, 0)]


def test_impossible_times_are_null_and_counted() -> None:
    row = finished("r", T, scheduled_ts=12.5, prefill_done_ts=9e12, queue_s=-0.2)
    got = requests(assembled({"records": lines(row)}), "scheduled_ts", "prefill_done_ts", "queue_s", "conflicts")
    assert got == [(None, None, None, 3)]


def test_attributes_find_their_request() -> None:
    rows = lines(finished("a", T), finished("b", T + 1))
    attrs = [
        {"rid": "b", "name": "tenant", "value": "x", "source": 1, "line": 2},
        {"rid": "zz", "name": "tenant", "value": "y", "source": 1, "line": 2},
    ]
    view = assembled({"records": rows, "request_attrs": attrs})
    assert view.query("SELECT rid, request FROM request_attrs ORDER BY rid") == [("b", 2), ("zz", None)]


def test_records_without_any_id_are_requests_of_their_own_only_where_each_is_one() -> None:
    rows = lines(
        client(None, T, ttft_s=0.1, source=1), client(None, T, ttft_s=0.2, source=1),
        {"kind": "request-log", "event": "received-openai", "logged_ts": T, "source": 1},
    )  # fmt: skip
    view = assembled({"records": rows}, [source(1, "c.jsonl", "client")])
    assert requests(view, "rid", "ttft_s") == [(None, 0.1), (None, 0.2)]


def test_no_records_make_no_requests() -> None:
    assert requests(assembled({"batches": [{"source": 1, "line": 1, "ts": T, "running": 3}]}), "rid") == []


RID = st.sampled_from(["a", "b", "1_a", "HEALTH_CHECK_a", "a-1234abcd", "x'y\"", ""])
RECORD = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["request-log", "time-stats", "exporter", "span", "client", "vllm-log", "made-up"]),
        "event": st.sampled_from([None, "received", "finished", "aborted"]),
        "rid": st.one_of(st.none(), RID),
        "source": st.integers(1, 2),
        "role": st.sampled_from([None, "unified", "prefill", "decode", "client"]),
        "room": st.sampled_from([None, 0, 1, 2]),
        "n": st.sampled_from([None, 1, 2]),
        "received_ts": st.sampled_from([None, T, T + 1, -5.0, float("inf")]),
        "received_mono": st.sampled_from([None, 1.0]),
        "queue_s": st.sampled_from([None, 0.1, -1.0, float("nan")]),
        "completion_tokens": st.sampled_from([None, 0, 5]),
        "finish_reason": st.sampled_from([None, "length", "abort"]),
    }
)


@settings(max_examples=12, deadline=None)
@given(st.lists(RECORD, min_size=4, max_size=30))
def test_whatever_the_records_say_no_request_is_lost_or_given_another_ones_figures(rows: list[dict[str, Any]]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(merge, "SLICE", 10)
        view = assembled({"records": lines(*rows)}, BOTH)
    got = requests(view, "rid", "client_rid", "received_ts", "queue_s", "completion_tokens", "source", "line")
    said = {r["rid"] for r in rows if r["rid"] is not None}
    kept = {rid for rid, *_ in got if rid is not None}
    assert kept <= said
    assert len({(rid, *rest) for rid, *rest in requests(view, "request", "rid")}) == len(got)
    for _, _, received_ts, queue_s, tokens, number, line in got:
        assert received_ts in (None, T, T + 1)
        assert queue_s is None or queue_s == 0.1 or queue_s != queue_s
        assert tokens in (None, 0, 5)
        assert rows[line - 1]["source"] == number
    parts = [r for r in rows if r["rid"] is not None and r["kind"] != "made-up"]
    assert bool(parts) <= bool(got)


def test_an_id_that_everybody_uses_does_not_join_everybody_with_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "SLICE", 3000)
    rows = lines(
        *(
            made
            for i in range(4000)
            for made in (finished("same", T + i), client("same", T + i), received("same", T + i))
        )
    )
    got = requests(assembled({"records": rows}, BOTH), "role", "count(*) OVER ()")
    assert [role for role, _ in got].count("client") == 4000
    assert got[0][1] == 8000
