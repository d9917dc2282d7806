# ruff: noqa: E501 (lines as logs have them)
"""The log reader as a whole: chunks, stages, counting, bad input, determinism."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ridgeline.model.errors import InputError
from ridgeline.signals import stream
from ridgeline.signals.log import reader
from ridgeline.signals.log.ahead import ahead
from ridgeline.signals.rows import Reading, schema
from ridgeline.signals.stream import Blob
from tests.signals.log.given import log


def composed(lines: int, seed: int = 1) -> str:
    rng = random.Random(seed)
    out = []
    for i in range(lines):
        at = f"2026-11-30 0{i // 3600 % 10}:{i // 60 % 60:02d}:{i % 60:02d}"
        kind = rng.randrange(6)
        if kind < 2:
            out += [
                f"[{at} DP{dp} TP{tp}] Decode batch, #running-req: {i % 90}, #token: {i}, token usage: 0.{i % 90 + 10}, cuda graph: True, gen throughput (token/s): {i}.25, #queue-req: {i % 7}"
                for dp in (0, 1)
                for tp in (0, 1)
            ]
        elif kind == 2:
            out.append(f'[{at}] INFO:     10.0.0.1:{i % 60000} - "POST /generate HTTP/1.1" 200 OK')
        elif kind == 3:
            out += [
                f"[{at} TP0] Scheduler hit an exception: Traceback (most recent call last):",
                '  File "/a.py", line 1, in f',
                "    g()",
                f"ValueError: number {i}",
                "",
            ]
        elif kind == 4:
            out.append(f"[{at}] nobody knows this {i}")
        else:
            out.append(
                f"[{at} DP0 TP0] ReqTimeStats(rid=r{i}, input_len={i}, cached_input_len=0, output_len=3, attempts=0, type=unified): queue_duration=1.50ms, forward_duration=2.50ms, entry_time=1796009998.123"
            )
    return "\n".join(out) + "\n"  # fmt: skip


def everything(text: str) -> tuple[Reading, dict[str, list[dict[str, Any]]]]:
    reading, tables = log(text)
    for rows in tables.values():
        rows.sort(key=lambda row: (row["line"], str(row)))
    return reading, tables


def test_chunks_and_stages_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    text = composed(600)
    whole, rows = everything(text)
    monkeypatch.setattr(stream.Blob.counted, "__defaults__", (7000,))
    monkeypatch.setattr(reader, "LARGE_BYTES", 4000)
    parts, again = everything(text)
    assert again == rows
    assert (parts.lines, parts.understood, parts.unparsed, parts.blank) == (
        whole.lines,
        whole.understood,
        whole.unparsed,
        whole.blank,
    )
    assert (parts.notes, parts.version, parts.from_ts, parts.to_ts) == (
        whole.notes,
        whole.version,
        whole.from_ts,
        whole.to_ts,
    )


def test_copies_are_folded_and_every_row_names_its_line() -> None:
    text = composed(300)
    lines = text.splitlines()
    _, tables = log(text)
    assert {row["copies"] for row in tables["batches"]} == {2}
    for row in tables["batches"]:
        assert f"#token: {row['tokens']}," in lines[row["line"] - 1]
    for row in tables["events"]:
        assert row["kind"] == "traceback" or row["text"] in lines[row["line"] - 1]


def test_rows_have_the_types_of_their_tables() -> None:
    for rows in reader.read(Blob("x", None, composed(200).encode()), Reading(1, "x")):
        wanted = schema(rows.table)
        assert all(wanted.field(f.name).type == f.type for f in rows.data.schema), rows.table


def test_same_input_same_rows() -> None:
    text = composed(200)
    assert [r.data for r in reader.read(Blob("x", None, text.encode()), Reading(1, "x"))] == [
        r.data for r in reader.read(Blob("x", None, text.encode()), Reading(1, "x"))
    ]


def test_unread_lines_are_kept_with_severity_and_template() -> None:
    reading, tables = log("[2026-11-30 03:37:55] foo 12 failed badly\n[2026-11-30 03:37:55] foo 13 went on\n\n")
    first, second = tables["unread"]
    assert (first["line"], first["severity"], second.get("severity")) == (1, "error", None)
    assert first["template"] == "foo * failed badly"
    assert (reading.unparsed, reading.unparsed_errors, reading.blank) == (2, 1, 1)


def test_a_line_of_a_hundred_megabytes_is_one_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "LINE_LIMIT", 1 << 20)
    monkeypatch.setattr(stream.Blob.counted, "__defaults__", (1 << 18,))
    good = "[2026-11-30 03:37:55 TP0] Decode batch, #running-req: 7, #token: 2176, token usage: 0.94, #queue-req: 4, \n"
    reading, tables = log(good + "9" * (5 << 20) + "\n" + good)
    assert [row["tokens"] for row in tables["batches"]] == [2176, 2176]
    assert sum("was cut there" in note for note in reading.notes) == 1


def test_a_long_line_of_digits_costs_no_square_of_time() -> None:
    reading, _ = log("[2026-11-30 03:37:55] " + "1" * 300_000 + "\n" + "=" * 300_000 + "x\n")
    assert reading.lines == 2


def test_an_unreadable_path_says_so() -> None:
    with pytest.raises(InputError, match="cannot be read"):
        list(reader.read(Blob("gone.log", Path("/nowhere/gone.log")), Reading(0, "gone.log")))


def test_an_error_of_a_stage_reaches_the_caller_in_its_place() -> None:
    def items() -> Any:
        yield from (1, 2)
        raise InputError("third")

    got = []
    with pytest.raises(InputError, match="third"):
        got.extend(ahead(items()))
    assert got == [1, 2]


def test_a_stage_left_early_ends() -> None:
    made = []

    def items() -> Any:
        for i in range(10_000):
            made.append(i)
            yield i

    source = ahead(items())
    assert next(source) == 0
    source.close()
    assert len(made) < 20


@pytest.mark.shared
def test_recorded_runs_are_read_almost_whole(shared_dir: Path) -> None:
    for path in sorted((shared_dir / "real").rglob("*server.log.gz")):
        reading = Reading(0, path.name)
        for _ in reader.read(Blob(path.name, path), reading):
            pass
        assert reading.unparsed < 0.02 * (reading.understood + reading.unparsed), path
        assert reading.unparsed_errors == 0, path


@pytest.mark.shared
def test_figures_of_a_recorded_run_equal_those_counted_by_hand(shared_dir: Path) -> None:
    import gzip
    import re

    path = shared_dir / "real" / "sglang_0.5.23" / "single_full" / "server.log.gz"
    text = gzip.decompress(path.read_bytes()).decode()
    _, tables = log(text.encode())
    decode = [row for row in tables["batches"] if row["kind"] == "decode"]
    queued = [row for row in decode if row["waiting"] > 0]
    assert len(queued) == 269
    assert sum(row["usage"] < 0.70 and row["running"] < 12 for row in queued) == 175
    for key, column in (
        ("#token", "tokens"),
        ("#queue-req", "waiting"),
        ("#new-token", "new_tokens"),
        ("#cached-token", "cached_tokens"),
    ):
        by_hand = sum(
            int(n) for n in re.findall(rf"^\[[^\]]*\] (?:Prefill|Decode) batch.*?{key}: (\d+)", text, re.MULTILINE)
        )
        assert sum(row.get(column, 0) for row in tables["batches"]) == by_hand, key
    retracted = re.findall(r"^\[[^\]]*\] KV cache pool is full.*#retracted_reqs: (\d+)", text, re.MULTILINE)
    assert [row["count"] for row in tables["events"] if row["kind"] == "retraction"] == [int(n) for n in retracted]
    statuses = Counter(re.findall(r'^\[[^\]]*\] INFO: .*HTTP/1\.1" (\d{3})', text, re.MULTILINE))
    assert Counter(row["template"].rsplit(" ", 1)[1] for row in tables["events"] if row["kind"] == "http") == statuses
    assert pa.array([row["ts"] for row in decode]).is_valid().to_pylist() == [True] * len(decode)


def test_a_chunk_of_very_many_lines_is_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    text = composed(100)
    _, whole = everything(text)
    monkeypatch.setattr(reader, "RUN_LINES", 60)
    reading, parts = everything(text)
    assert parts == whole
    assert reading.lines == text.count("\n")


def test_a_batch_line_without_end_is_no_batch_line() -> None:
    reading, tables = log("Decode batch, #running-req: 7, " + "x: 1.00, " * 100_000 + "\n")
    assert (tables["batches"], reading.lines) == ([], 1)
