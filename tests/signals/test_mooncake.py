"""Traces with block numbers: block size, times, chained hashes, damage."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.signals.detect import detect
from ridgeline.signals.mooncake import Record, block_size
from tests.signals.reading import tables_of


def line_of(timestamp: float, tokens: int, blocks: list[int], **more: Any) -> str:
    return json.dumps({"timestamp": timestamp, "input_length": tokens, "output_length": 9, "hash_ids": blocks, **more})


def test_records_and_prompts() -> None:
    reading, tables = tables_of("\n".join((line_of(0, 900, [1, 2]), line_of(3000, 1030, [1, 2, 3]))) + "\n")
    assert (reading.kind, reading.clock, reading.from_ts, reading.to_ts) == ("mooncake", "undated", 0.0, 3.0)
    assert [r["prompt_tokens"] for r in tables["records"]] == [900, 1030]
    assert [r["received_ts"] for r in tables["records"]] == [0.0, 3.0]
    one, two = tables["prompts"]
    assert (one["grain"], one["unit"], one["basis"], one["seen_tokens"]) == (512, "tokens", "hash-ids", 900)
    assert two["hashes"][:2] == one["hashes"]
    assert [r["rid"] for r in tables["records"]] == [p["rid"] for p in tables["prompts"]]


def test_numbers_that_are_not_chained_are_chained() -> None:
    _, tables = tables_of("\n".join((line_of(0, 1024, [5, 5]), line_of(0, 1024, [6, 5]))))
    one, two = (row["hashes"] for row in tables["prompts"])
    assert one[0] != one[1] and one[1] != two[1]


def test_smaller_blocks_and_seconds() -> None:
    reading, tables = tables_of(
        "\n".join((line_of(0.5, 100, list(range(7))), line_of(61.2, 33, [0, 1, 2], chat_id=41)))
    )
    assert tables["prompts"][0]["grain"] == 16
    assert [r["received_ts"] for r in tables["records"]] == [0.5, 61.2]
    assert tables["records"][1]["rid"] == "41"
    assert any("seconds" in note for note in reading.notes)


def test_a_trace_that_names_whole_blocks_only() -> None:
    _, tables = tables_of(line_of(0, 1000, [1]) + "\n" + line_of(0, 1600, [1, 2, 3]))
    assert [(row["grain"], row["tokens"], row["seen_tokens"]) for row in tables["prompts"]] == [
        (512, 1000, 512),
        (512, 1600, 1536),
    ]


def test_no_block_size_fits() -> None:
    reading, tables = tables_of(line_of(0, 1000, [1]) + "\n" + line_of(0, 10, [1, 2, 3, 4, 5]) + "\n")
    assert "prompts" not in tables
    assert len(tables["records"]) == 2
    assert any("no block size" in note for note in reading.notes)


def test_a_record_with_other_blocks_keeps_its_length_only() -> None:
    good = "".join(line_of(n, 600, [n, n + 1]) + "\n" for n in range(60))
    reading, tables = tables_of(good + line_of(99, 600, [1, 2, 3]) + "\n")
    assert (len(tables["records"]), len(tables["prompts"])) == (61, 60)
    assert any("do not fit" in note for note in reading.notes)


@pytest.mark.parametrize(
    "bad",
    [
        '{"timestamp": 1, "input_length": 9, "hash_ids"',
        line_of(1, 0, []),
        line_of(1, -5, [1]),
        line_of(1, 600, ["a"]),  # type: ignore[list-item]
        line_of(1, 600, [2**70]),
        line_of(-1, 600, [1, 2]),
        line_of(1, 2, [1, 2, 3]),
        "\udcff",
        "null",
    ],
)
def test_a_bad_line_costs_one_line(bad: str) -> None:
    data = f"{line_of(0, 900, [1, 2])}\n{bad}\n\n{line_of(5, 600, [1, 4])}\n".encode("utf-8", "surrogateescape")
    reading, tables = tables_of(data)
    assert [r["line"] for r in tables["records"]] == [1, 4]
    assert [u["line"] for u in tables["unread"]] == [2]
    assert (reading.lines, reading.understood, reading.unparsed, reading.blank) == (4, 2, 1, 1)


@given(st.sampled_from([16, 64, 512, 2048]), st.lists(st.integers(1, 9000), min_size=5, max_size=30))
def test_the_block_size_explains_every_prompt(size: int, lengths: list[int]) -> None:
    records = [Record(0, n, list(range(-(-n // size)))) for n in lengths]
    found = block_size(records)
    assert found is not None
    assert all(-(-n // found) == -(-n // size) for n in lengths)


@pytest.mark.shared
def test_the_published_traces(shared_dir: Path) -> None:
    for name, rows in (("conversation", 12_031), ("synthetic", 3_993)):
        data = (shared_dir / "traces" / f"mooncake_{name}_trace.jsonl").read_bytes()
        assert detect(data[:4000]) == "mooncake"
        reading, tables = tables_of(data)
        assert (reading.understood, reading.unparsed) == (rows, 0)
        assert {row["grain"] for row in tables["prompts"]} == {512}
