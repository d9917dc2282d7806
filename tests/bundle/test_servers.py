import time
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.bundle.servers import Servers, Trace, assign


def trace(number: int, path: str, kind: str = "log", role: str | None = None, **more: Any) -> Trace:
    ranks = more.pop("ranks", frozenset({"0"}) if kind == "log" else frozenset())
    return Trace(number, path, kind, role, ranks=ranks, **more)


def server_of(servers: Servers, *numbers: int) -> list[str | None]:
    return [servers.of.get((n, None)) for n in numbers]


def test_one_folder_is_one_server_whatever_lies_below_it() -> None:
    servers = assign(
        [
            trace(1, "server.log"),
            trace(2, "metrics.prom", "exposition"),
            trace(3, "request_log/vm_0.log", "request-log"),
            trace(4, "exporter/x.log", "exporter"),
            trace(5, "otlp.jsonl", "otlp"),
        ]
    )
    assert server_of(servers, 1, 2, 3, 4, 5) == ["server"] * 5


def test_two_sides_in_folders_take_their_logs_from_above() -> None:
    servers = assign(
        [
            trace(1, "client.jsonl", "client"),
            trace(2, "decode.log", role="decode"),
            trace(3, "prefill.log", role="prefill"),
            trace(4, "decode/metrics.prom", "exposition"),
            trace(5, "decode/info.json", "server-info", "decode"),
            trace(6, "decode/request_log/a.log", "request-log"),
            trace(7, "prefill/metrics.prom", "exposition"),
            trace(8, "prefill/info.json", "server-info", "prefill"),
            trace(9, "spans.jsonl", "otlp"),
        ]
    )
    assert server_of(servers, 2, 4, 5, 6) == ["decode"] * 4
    assert server_of(servers, 3, 7, 8) == ["prefill"] * 3
    # files of both sides go by the role of each row, and where a row has none nothing is guessed
    assert (servers.of[9, "prefill"], servers.of[9, "decode"]) == ("prefill", "decode")
    assert server_of(servers, 1, 9) == [None, None]


def test_the_role_is_taken_from_a_name_only_where_content_is_silent() -> None:
    servers = assign(
        [trace(1, "prefill-0.log"), trace(2, "decode-0.log"), trace(3, "old-decode-name.log", role="prefill")]
    )
    assert servers.roles[servers.of[1, None]] == "prefill"
    assert servers.roles[servers.of[2, None]] == "decode"
    assert servers.roles[servers.of[3, None]] == "prefill"


def test_the_same_rank_at_the_same_time_is_a_replica_other_ranks_a_node_other_times_a_rotation() -> None:
    def names(*logs: Trace) -> list[str | None]:
        return server_of(assign(logs), *(log.source for log in logs))

    busy = {"from_ts": 0.0, "to_ts": 100.0}
    assert names(trace(1, "w-0.log", **busy), trace(2, "w-1.log", **busy)) == ["w-0", "w-1"]
    nodes = (trace(1, "n-0.log", **busy), trace(2, "n-1.log", ranks=frozenset({"8"}), **busy))
    assert names(*nodes) == ["server", "server"]
    rotated = (trace(1, "s.log.1", from_ts=0.0, to_ts=50.0), trace(2, "s.log", from_ts=50.5, to_ts=100.0))
    assert names(*rotated) == ["server", "server"]


def test_a_scrape_beside_replicas_goes_by_name_or_is_said_to_be_doubtful() -> None:
    servers = assign(
        [
            trace(1, "w0.log"),
            trace(2, "w1.log"),
            trace(3, "w1.prom", "exposition"),
            trace(4, "all.prom", "exposition"),
        ]
    )
    assert server_of(servers, 1, 2, 3) == ["w0", "w1", "w1"]
    assert servers.of[4, None] not in ("w0", "w1")
    assert "nothing says which one it is of" in servers.notes[4]


def test_folders_with_the_same_kinds_are_different_servers_named_by_folder() -> None:
    servers = assign(
        [trace(1, "pod-a/server.log"), trace(2, "pod-b/server.log"), trace(3, "pod-b/m.prom", "exposition")]
    )
    assert server_of(servers, 1, 2, 3) == ["pod-a", "pod-b", "pod-b"]


def test_folders_that_complete_each_other_are_one_server_only_where_nothing_else_could_be_meant() -> None:
    assert server_of(assign([trace(1, "logs/a.log"), trace(2, "metrics/m.prom", "exposition")]), 1, 2) == ["server"] * 2
    three = [trace(1, "a/x.log"), trace(2, "b/x.log"), trace(3, "c/m.prom", "exposition")]
    assert len(set(server_of(assign(three), 1, 2, 3))) == 3


def test_a_label_wins() -> None:
    servers = assign([trace(1, "a.log", role="decode", label="d-7"), trace(2, "b.log", role="decode")])
    assert servers.of[1, None] == "d-7"
    assert servers.of[2, None] != "d-7"


def test_a_file_with_lines_of_both_sides_is_split_by_row() -> None:
    servers = assign([trace(1, "compose.log", row_roles=frozenset({"prefill", "decode"}))])
    assert (servers.of[1, "prefill"], servers.of[1, "decode"]) == ("prefill", "decode")
    assert servers.of.get((1, None)) is None


def test_a_gateway_is_a_server_of_its_own() -> None:
    servers = assign([trace(1, "server.log"), trace(2, "router.log")])
    assert server_of(servers, 1, 2) == ["server", "gateway"]


PATHS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "a/x", "a/y", "."]),
        st.sampled_from(["log", "exposition", "request-log", "client", "otlp", "server-info"]),
        st.sampled_from([None, "unified", "prefill", "decode"]),
    ),
    min_size=1,
    max_size=12,
)


@given(PATHS)
def test_every_bound_source_has_one_server_and_names_are_unique(made: list[tuple[str, str, str | None]]) -> None:
    traces = [trace(i, f"{folder}/{i}.f", kind, role) for i, (folder, kind, role) in enumerate(made, 1)]
    servers = assign(traces)
    assert servers == assign(list(traces))
    for t in traces:
        if t.kind not in ("client", "otlp"):
            name = servers.of[t.source, None]
            assert servers.roles[name] in (None, t.role) or t.role is None


def test_thousands_of_rotated_logs_of_one_rank_are_one_server_at_once() -> None:
    ranks = frozenset({"0/0/-1"})
    traces = [Trace(n + 1, f"logs/s.{n}.log", "log", "unified", None, frozenset(), ranks, 10.0 * n, 10.0 * n + 9.5)
              for n in range(6000)]  # fmt: skip
    began = time.process_time()
    servers = assign(traces)
    assert time.process_time() - began < 5.0
    assert set(servers.of.values()) == {"server"}


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12), st.sampled_from("ab")), min_size=1, max_size=14))
@settings(max_examples=150, deadline=None)
def test_replicas_are_those_that_pairwise_comparison_tells_apart(spans: list[tuple[int, int, str]]) -> None:
    traces = [
        Trace(
            n + 1, f"x/{n}.log", "log", "unified", None, frozenset(), frozenset({rank}), start / 2, (start + long) / 2
        )
        for n, (start, long, rank) in enumerate(spans)
    ]
    groups: list[list[Trace]] = []
    for t in traces:
        home = next((g for g in groups if not any(_both(t, o) for o in g)), None)
        if home is None:
            groups.append(home := [])
        home.append(t)
    got: dict[str, list[int]] = {}
    for t in traces:
        got.setdefault(assign(traces).of[(t.source, None)], []).append(t.source)
    assert sorted(got.values()) == sorted([t.source for t in g] for g in groups)


def _both(a: Trace, b: Trace) -> bool:
    assert a.from_ts is not None
    assert b.from_ts is not None
    assert a.to_ts is not None
    assert b.to_ts is not None
    return bool(a.ranks & b.ranks) and min(a.to_ts, b.to_ts) - max(a.from_ts, b.from_ts) > 1.0
