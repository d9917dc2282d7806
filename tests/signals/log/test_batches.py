# ruff: noqa: E501 (lines as logs have them)
"""Batch lines: every release's layout, roles, pools, copies of ranks; and that no cut number is ever a figure."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.signals.log.given import log

T = "[2026-11-30 03:37:55 TP0] "
PREFILL: dict[str, tuple[str, dict[str, Any]]] = {
    "0.4 unified": (
        "Prefill batch. #new-seq: 2, #new-token: 588, #cached-token: 141, cache hit rate: 76.31%, token usage: 0.12, "
        "#running-req: 4, #queue-req: 3",
        {"shape": "0.4", "role": "unified", "hit_rate": 0.7631, "usage": 0.12, "running": 4, "waiting": 3},
    ),
    "0.4.6 unified": (
        "Prefill batch. #new-seq: 1, #new-token: 6, #cached-token: 1, token usage: 0.07, #running-req: 2, #queue-req: 5",
        {"shape": "0.4-0.4.6.post5", "role": "unified", "waiting": 5, "new_seq": 1, "new_tokens": 6},
    ),
    "0.4.6 prefill": (
        "Prefill batch. #new-seq: 8, #new-token: 296, #cached-token: 0, token usage: 0.06, #running-req: 0, "
        "#unbootstrapped-req: 341, #queue-req: 11, #transferring-req: 152 ",
        {"shape": "0.4.6.post5", "role": "prefill", "bootstrap": 341, "inflight": 152, "waiting": 11},
    ),
    "0.4.10 prefill": (
        "Prefill batch. #new-seq: 1, #new-token: 512, #cached-token: 4, token usage: 0.33, #unbootstrapped-req: 7, "
        "#queue-req: 2, #transferring-req: 3, input throughput (token/s): 88.25, ",
        {"shape": "0.4.10", "role": "prefill", "bootstrap": 7, "inflight": 3, "input_tps": 88.25},
    ),
    "0.4.10 hybrid": (
        "Prefill batch. #new-seq: 1, #new-token: 512, #cached-token: 4, full token usage: 0.33, swa token usage: 0.71, "
        "#running-req: 9, #queue-req: 2, ",
        {"role": "unified", "full_usage": 0.33, "swa_usage": 0.71, "usage": 0.71},
    ),
    "0.5.3 prefill": (
        "Prefill batch. #new-seq: 1, #new-token: 12, #cached-token: 0, token usage: 0.01, #running-req: 0, #queue-req: 4, "
        "#prealloc-req: 23, #inflight-req: 6, ",
        {"shape": "0.5.3", "role": "prefill", "bootstrap": 23, "inflight": 6, "waiting": 4},
    ),
    "0.5.6 unified": (
        "Prefill batch [812], #new-seq: 2, #new-token: 31744, #cached-token: 16, token usage: 0.18, #running-req: 39, "
        "#queue-req: 19, ",
        {"shape": "0.5.6", "role": "unified", "iter": 812, "waiting": 19, "cached_tokens": 16},
    ),
    "0.5.9 prefill": (
        "Prefill batch, #new-seq: 1, #new-token: 1, #cached-token: 0, token usage: 0.00, #running-req: 0, #queue-req: 0, "
        "#prealloc-req: 38, #inflight-req: 1, input throughput (token/s): 4.76, cuda graph: False",
        {"shape": "0.5.9", "role": "prefill", "bootstrap": 38, "inflight": 1, "graph": False, "input_tps": 4.76},
    ),
    "0.5.23 unified": (
        "Prefill batch, #new-seq: 3, #new-token: 4096, #cached-token: 1024, token usage: 0.41, #running-req: 12, "
        "#queue-req: 5, #pending-token: 9216, cuda graph: False, input throughput (token/s): 38211.40",
        {"shape": "0.5.23", "role": "unified", "pending_tokens": 9216, "input_tps": 38211.40, "graph": False},
    ),
    "0.5.23 prefill, hybrid with state slots": (
        "Prefill batch [812], #new-seq: 1, #new-token: 512, #cached-token: 0, full token usage: 0.30, swa token usage: 0.22, "
        "mamba usage: 0.58, #running-req: 1, #queue-req: 2, #pending-token: 31, #replay-token: 5, #bootstrap-req: 4, "
        "#inflight-req: 9, #optimistic-req: 6, cuda graph: True, input throughput (token/s): 9120.00, fwd occupancy: 83.50%",
        {
            "role": "prefill", "bootstrap": 4, "inflight": 9, "optimistic": 6, "replay_tokens": 5, "mamba_usage": 0.58,
            "usage": 0.58, "iter": 812, "occupancy": 83.5, "graph": True,
        },
    ),
}  # fmt: skip
DECODE: dict[str, tuple[str, dict[str, Any]]] = {
    "0.4": (
        "Decode batch. #running-req: 10, #token: 72310, token usage: 0.14, gen throughput (token/s): 205.80, #queue-req: 7",
        {"role": "unified", "tokens": 72310, "gen_tps": 205.80, "waiting": 7},
    ),
    "0.4 largest-len": (
        "Decode batch. #running-req: 48, #token: 12216, token usage: 0.01, accept len: 2.47, gen throughput (token/s): 46.08, "
        "largest-len: 0, #queue-req: 77, ",
        {"shape": "0.4", "accept_length": 2.47, "waiting": 77},
    ),
    "0.4.6 decode": (
        "Decode batch. #running-req: 3, #token: 100, token usage: 0.50, pre-allocated usage: 0.25, cuda graph: True, "
        "gen throughput (token/s): 9.00, #queue-req: 1",
        {"role": "decode", "prealloc_usage": 0.25, "graph": True, "waiting": 1},
    ),
    "0.4.10 decode": (
        "Decode batch. #running-req: 3, #token: 100, token usage: 0.50, pre-allocated usage: 0.25, #retracted-req: 2, "
        "cuda graph: True, gen throughput (token/s): 9.00, #queue-req: 1, ",
        {"shape": "0.4.10", "role": "decode", "retracted": 2},
    ),
    "0.5.3 decode": (
        "Decode batch. #running-req: 3, #token: 100, token usage: 0.50, pre-allocated usage: 0.05, #prealloc-req: 13, "
        "#transfer-req: 17, #retracted-req: 1, cuda graph: True, gen throughput (token/s): 2810.55, #queue-req: 2, ",
        {"shape": "0.5.3", "role": "decode", "prealloc": 13, "transfer": 17, "retracted": 1},
    ),
    "0.5.6 hybrid": (
        "Decode batch, #running-req: 5, #full token: 3301376, full token usage: 1.00, #swa token: 18240, swa token usage: 0.05, "
        "cuda graph: True, gen throughput (token/s): 536.61, #queue-req: 4, ",
        {"shape": "0.5.6", "tokens": 3301376, "swa_tokens": 18240, "full_usage": 1.0, "usage": 1.0},
    ),
    "0.5.9 speculative": (
        "Decode batch, #running-req: 80, #token: 342784, token usage: 0.63, accept len: 2.58, accept rate: 0.65, "
        "npu graph: False, gen throughput (token/s): 1372.40, #queue-req: 4",
        {"shape": "0.5.9-0.5.23", "accept_length": 2.58, "accept_rate": 0.65, "graph": False},
    ),
    "0.5.23 decode": (
        "Decode batch [99], #running-req: 64, #token: 182340, token usage: 0.87, pre-allocated usage: 0.05, #prealloc-req: 3, "
        "#transfer-req: 7, #host-receive-req: 2, #retracted-req: 1, cuda graph: True, gen throughput (token/s): 2810.55, "
        "#queue-req: 2, est. decode TFLOPS/s (per GPU): 12.50",
        {"shape": "0.5.23", "role": "decode", "host_receive": 2, "iter": 99, "extra": '{"est. decode TFLOPS/s (per GPU)": 12.5}'},
    ),
    "0.5.23 state slots": (
        "Decode batch, #running-req: 6, #full token: 900, full token usage: 0.10, mamba num: 31, mamba usage: 0.62, "
        "cuda graph: True, gen throughput (token/s): 77.00, #queue-req: 0",
        {"mamba_slots": 31, "mamba_usage": 0.62, "usage": 0.62, "tokens": 900},
    ),
    "0.5.23 hisparse": (
        "Decode batch, #running-req: 6, #gpu token: 900, gpu token usage: 0.10, #cpu token: 3100, cpu token usage: 0.30, "
        "cuda graph: True, gen throughput (token/s): 77.00, #queue-req: 0",
        {"shape": "0.5.23", "tokens": 900, "usage": 0.10, "extra": '{"#cpu token": 3100.0, "cpu token usage": 0.3}'},
    ),
}  # fmt: skip
ALL = {**PREFILL, **DECODE}
COLUMN = re.compile(r"([#A-Za-z][^:,]*): (-?\d+(?:\.\d+)?%?|True|False)")


def rows(text: str) -> list[dict[str, Any]]:
    return log(text)[1]["batches"]


@pytest.mark.parametrize("name", ALL)
def test_each_release_s_layout(name: str) -> None:
    line, wanted = ALL[name]
    (row,) = rows(f"{T}{line}\n")
    assert row["kind"] == ("prefill" if name in PREFILL else "decode")
    assert row["tp_rank"] == 0
    assert row["copies"] == 1
    for column, value in wanted.items():
        assert row[column] == pytest.approx(value) if isinstance(value, float) else row[column] == value, column


@pytest.mark.parametrize("name", ALL)
def test_bulk_and_single_lines_read_the_same(name: str) -> None:
    line, _ = ALL[name]
    (alone,) = rows(f"{T}{line}\n")
    many = rows("".join(f"{T}{other}\n" for other in [line, *(text for text, _ in ALL.values())]))
    assert many[0] == alone


def test_the_first_releases() -> None:
    reading, tables = log(
        "new fill batch. #seq: 1. #cached_token: 512. #new_token: 231. #remaining_req: 4. #running_req: 3. "
        "tree_cache_hit_rate: 78.40%.\n#running-req: 3, #token: 1611, token usage: 0.17, #queue-req: 0\n"
    )
    first, second = tables["batches"]
    assert (first["cached_tokens"], first["new_tokens"], first["waiting"], first["running"]) == (512, 231, 4, 3)
    assert first["hit_rate"] == pytest.approx(0.784)
    assert (second["kind"], second["tokens"], second["waiting"]) == ("decode", 1611, 0)
    assert "ts" not in first
    assert reading.version == "0.1"


def test_prealloc_is_the_bootstrap_queue_on_a_prefill_server_only() -> None:
    prefill, decode = rows(f"{T}{PREFILL['0.5.9 prefill'][0]}\n{T}{DECODE['0.5.3 decode'][0]}\n")
    assert prefill["bootstrap"] == 38 and "prealloc" not in prefill
    assert decode["prealloc"] == 13 and "bootstrap" not in decode


def test_an_unknown_release_is_read_by_key_with_low_confidence() -> None:
    reading, tables = log(
        f"{T}Decode batch, #queue-req: 4, #frobbed-req: 9, #running-req: 7, token usage: 0.94, x: 1.00\n"
    )
    (row,) = tables["batches"]
    assert (row["running"], row["waiting"], row["usage"], row["shape"]) == (7, 4, 0.94, "by-key")
    assert row["extra"] == '{"#frobbed-req": 9.0, "x": 1.0}'
    assert reading.confidence == "low"
    assert any("no known release" in note for note in reading.notes)


@pytest.mark.parametrize(
    ("names", "version", "role"),
    [
        (["0.5.23 unified", "0.5.9 speculative"], "0.5.23", "unified"),
        (["0.5.9 prefill"], "0.5.9", "prefill"),
        (["0.5.23 decode"], "0.5.23", "decode"),
        (["0.5.9 speculative"], None, "unified"),
        (["0.4.10 hybrid", "0.5.3 decode"], "0.5.3", "decode"),
    ],
)
def test_version_and_role_follow_from_the_lines(names: list[str], version: str | None, role: str) -> None:
    reading, _ = log("".join(f"{T}{ALL[name][0]}\n" for name in names))
    assert (reading.version, reading.role) == (version, role)
    assert (version is None) == any("would settle it" in note for note in reading.notes)


# Copies.


def test_ranks_of_one_group_are_one_row_with_copies() -> None:
    line = DECODE["0.5.9 speculative"][0]
    found = rows("".join(f"[2026-11-30 03:37:55 DP{dp} TP{tp}] {line}\n" for tp in range(4) for dp in range(2)))
    assert [(row["dp_rank"], row["copies"], row["tp_rank"]) for row in found] == [(0, 4, 0), (1, 4, 0)]


def test_throughput_as_each_rank_measures_it_does_not_split_copies() -> None:
    line = (
        "Decode batch, #running-req: 7, #token: 2176, token usage: 0.94, cuda graph: True, gen throughput (token/s): "
    )
    found = rows("".join(f"[2026-11-30 03:37:55 TP{tp}] {line}{500 + tp}.25, #queue-req: 4\n" for tp in range(3)))
    assert [row["copies"] for row in found] == [3]


def test_equal_lines_of_one_rank_are_several_batches() -> None:
    line = DECODE["0.5.9 speculative"][0]
    two = "".join(f"[2026-11-30 03:37:55 TP{tp}] {line}\n" for tp in (0, 1) for _ in range(2))
    assert [row["copies"] for row in rows(two)] == [2, 2]
    assert [row["copies"] for row in rows(f"{T}{line}\n" * 5)] == [1] * 5


def test_other_seconds_and_other_states_are_no_copies() -> None:
    line = DECODE["0.5.9 speculative"][0]
    other = line.replace("#running-req: 80", "#running-req: 81")
    text = f"[2026-11-30 03:37:55 TP0] {line}\n[2026-11-30 03:37:56 TP1] {line}\n[2026-11-30 03:37:55 TP1] {other}\n"
    assert [row["copies"] for row in rows(text)] == [1, 1, 1]


# Cuts.


def test_a_cut_integer_is_not_a_figure() -> None:
    (row,) = rows(f"{T}Decode batch, #running-req: 41, #token: 11362")
    assert row["running"] == 41 and "tokens" not in row
    (row,) = rows(f"{T}Decode batch, #running-req: 41, #token: 11362\n")
    assert "tokens" not in row
    (row,) = rows(f"{T}Prefill batch. #new-seq: 12, #new-token: 504, #cached-token: 0, token usage: 0.06, #running-req: 0, "
                  "#unbootstrapped-req: 287, #queue-req: 0, #transferring-req: 14")  # fmt: skip
    assert row["bootstrap"] == 287 and "inflight" not in row


def test_a_figure_of_known_width_is_whole_even_at_a_cut() -> None:
    (row,) = rows("[TP0] Decode batch. #running-req: 41, #token: 1136214, token usage: 0.95")
    assert (row["running"], row["tokens"], row["usage"]) == (41, 1136214, 0.95)
    (row,) = rows("[TP0] Decode batch. #running-req: 41, #token: 1136214, token usage: 0.9")
    assert "usage" not in row


def printed(line: str) -> set[tuple[str, str]]:
    return set(COLUMN.findall(line))


@pytest.mark.parametrize("name", ALL)
def test_at_no_cut_is_a_number_assigned_that_the_whole_line_does_not_have(name: str) -> None:
    line, _ = ALL[name]
    (whole,) = rows(f"{T}{line}\n")
    text = "".join(f"{T}{line[:at]}\n" for at in range(len(line)))
    last = f"{T}{line[: len(line) - 3]}"
    for row in rows(text + last):
        # A layout that ends in an integer hides a cut within it; every other figure must be the whole line's.
        ends_in = "waiting" if whole["kind"] == "decode" else ("waiting" if "bootstrap" not in whole else "inflight")
        for column, value in row.items():
            if column in ("line", "shape", "role", "extra", "usage") or (column == ends_in and "." in line[:14]):
                continue
            if column == "waiting" and whole["kind"] == "decode":
                continue
            assert value == whole.get(column), (column, row)


@given(st.sampled_from(sorted(ALL)), st.data())
@settings(max_examples=60, deadline=None)
def test_a_last_line_without_its_newline_never_misassigns(name: str, data: st.DataObject) -> None:
    line, _ = ALL[name]
    at = data.draw(st.integers(0, len(line)))
    (whole,) = rows(f"{T}{line}\n")
    for row in rows(f"{T}{line[:at]}"):
        for column, value in row.items():
            if column not in ("line", "shape", "role", "extra", "usage"):
                assert value == whole.get(column), column


@given(st.sampled_from(sorted(ALL)), st.data())
@settings(max_examples=60, deadline=None)
def test_shuffled_items_give_the_same_figures(name: str, data: st.DataObject) -> None:
    line, _ = ALL[name]
    (whole,) = rows(f"{T}{line}\n")
    head = re.match(r"(?:Prefill|Decode) batch(?:\.| \[\d+\],|,) ", line)
    assert head
    items = [item for item in line[head.end() :].strip(" ,").split(", ") if item]
    mixed = data.draw(st.permutations(items))
    (row,) = rows(f"{T}{head[0]}{', '.join(mixed)}, \n")
    for column, value in row.items():
        if column not in ("shape", "role"):
            assert value == whole.get(column), column


@given(st.sampled_from(sorted(ALL)), st.sampled_from(sorted(ALL)), st.data())
@settings(max_examples=60, deadline=None)
def test_doubled_lines_keep_the_figures_of_the_first(name: str, other: str, data: st.DataObject) -> None:
    line, _ = ALL[name]
    glue = data.draw(st.sampled_from(["", " ", T, "\x1b[0m", "\x1b[0m" + T]))
    cut = data.draw(st.integers(0, len(line)))
    (whole,) = rows(f"{T}{line}\n")
    for row in rows(f"{T}{line[:cut]}{glue}{ALL[other][0]}\n"):
        for column, value in row.items():
            if column not in ("line", "shape", "role", "extra", "usage", "kind", "iter"):
                assert (value == whole.get(column)) or cut < 14, column


@given(st.sampled_from(sorted(ALL)), st.data())
@settings(max_examples=60, deadline=None)
def test_escapes_anywhere_change_nothing(name: str, data: st.DataObject) -> None:
    line, _ = ALL[name]
    at = data.draw(st.lists(st.integers(0, len(line)), max_size=6))
    coloured = line
    for place in sorted(at, reverse=True):
        coloured = coloured[:place] + data.draw(st.sampled_from(["\x1b[0m", "\x1b[31;1m", "\x1b[K"])) + coloured[place:]
    assert rows(f"{T}{coloured}\n") == rows(f"{T}{line}\n")


@given(st.sampled_from(sorted(ALL)), st.integers(40, 200))
@settings(max_examples=80, deadline=None)
def test_lines_broken_by_a_terminal_are_joined(name: str, width: int) -> None:
    line, _ = ALL[name]
    text = f"{T}{line}"
    parts = [text[i : i + width] for i in range(0, len(text), width)]
    (whole,) = rows(f"{text}\n")
    (row,) = rows("\n".join(parts) + f"\n{T}something else\n")
    if parts[-1].strip(" ,").isdigit() or len(parts[-1]) < 3:
        # Broken inside the last number: it may be missing, but it is not wrong.
        assert row.items() <= whole.items() | {("shape", "by-key")} or row["shape"] != whole["shape"]
        assert all(row[k] == whole.get(k) for k in row if k not in ("shape", "role"))
    else:
        assert row == whole


def test_a_stray_number_behind_a_whole_line_is_not_joined_to_it() -> None:
    line = DECODE["0.5.9 speculative"][0]
    first, second = rows(f"{T}{line}\n17\n{T}{line}\n")
    assert "waiting" not in first and second["waiting"] == 4


def test_a_long_run_of_digits_is_no_figure() -> None:
    (row,) = rows(f"{T}Decode batch, #running-req: 7, #token: {'9' * 40}, token usage: 0.94, #queue-req: 4\n")
    assert row["running"] == 7 and "tokens" not in row


def test_many_odd_shapes_are_read_too() -> None:
    text = "".join(
        f"{T}Decode batch, #running-req: 7, key {chr(97 + i % 26)}{chr(97 + i // 26)}: {i}, token usage: 0.94, #queue-req: 4,\n"
        for i in range(400)
    )
    found = rows(text)
    assert len(found) == 400
    assert {row["running"] for row in found} == {7}
