"""The shapes of 0.4.6 to 0.5.23, told by content; what is finished and what was open; what is no dump."""

import gzip
import time
from pathlib import Path
from typing import Any

import pytest
import zstandard

from ridgeline.lab.emit.pickles import Instance, dumps
from ridgeline.signals.dump import DEFAULT, Dump, Limits, read_blob, read_dump
from ridgeline.signals.dump.inert.child import answer
from ridgeline.signals.dump.shapes import dump_of, request_of
from ridgeline.signals.dump.sniff import looks_like_pickle
from ridgeline.signals.stream import Blob
from tests.signals.dump.compose import IO, T, answered, arguments, asked, dump, entry, opened


def of(data: bytes, tmp_path: Path, **limits: Any) -> Dump:
    path = tmp_path / "some-file"
    path.write_bytes(data)
    return read_dump(path, limits=Limits(**limits))


@pytest.mark.parametrize(
    ("version", "crash", "told"),
    [
        ("0.4.6", False, "0.4.6"),
        ("0.4.10", False, "0.4.10-0.5.9"),
        ("0.4.10", True, "0.4.10-0.5.6"),
        ("0.5.9", True, "0.5.9"),
        ("0.5.23", False, "0.5.23"),
        ("0.5.23", True, "0.5.23"),
    ],
)
def test_every_release(version: str, crash: bool, told: str, tmp_path: Path) -> None:
    requests = [entry("a"), entry("b", 1.5), *([opened("c", 4.0)] if crash else [])]
    found = of(dump(requests, version, crash), tmp_path)
    assert (found.refused, found.notes) == (None, ())
    assert (found.kind, found.version) == ("crash-dump" if crash else "request-dump", told)
    assert (len(found.requests), found.finished, found.unfinished) == (len(requests), 2, int(crash))
    assert found.crash_ts == (T + 9 if crash else None)
    assert [r.rid for r in found.requests] == [*"abc"][: len(requests)]
    assert ("tp_size" in found.server_args) == (version != "0.4.6")


def test_the_fields_of_a_request(tmp_path: Path) -> None:
    more = {
        "lora_path": "poet", "routing_key": "k", "extra_key": "x", "cache_salt": "s", "session_params": {"id": "se"},
        "priority": 3, "data_parallel_rank": 1, "bootstrap_room": 77, "image_data": ["a", "b"], "return_logprob": None,
    }  # fmt: skip
    (r,) = of(dump([entry("a", 0.5, **more)]), tmp_path).requests
    assert (r.number, r.type, r.endpoint, r.rid) == (1, "GenerateReqInput", "/generate", "a")
    assert (r.arrival_ts, r.end_ts, r.clock, r.finished) == (T + 0.5, T + 2.5, "wall", True)
    assert (r.text, r.input_ids, r.stream, r.n, r.max_new_tokens) == ("one two", (1, 300, 70000, 2), True, 1, 16)
    assert (r.lora, r.routing_key, r.extra_key, r.cache_salt, r.session_id) == ("poet", "k", "x", "s", "se")
    assert (r.priority, r.dp_rank_asked, r.room, dict(r.media)) == (3, 1, 77, {"image": 2})
    assert (r.output_text, r.output_ids) == ("out", (5, 6, 7))
    assert (r.prompt_tokens, r.completion_tokens, r.cached_tokens) == (4, 3, 1)
    assert (r.finish_reason, r.finish_message, r.status_code, r.e2e_s) == ("length", None, None, 2.0)
    assert (r.ttft_s, r.queue_s) == (None, None)
    assert "return_logprob" not in r.asked, "fields that were not set are left out"


@pytest.mark.parametrize(
    ("out", "finished"),
    [
        ({}, False),
        ({"text": "so far", "output_ids": [1]}, False),
        ({"text": "so far", "meta_info": {"id": "z", "finish_reason": None, "completion_tokens": 1}}, False),
        ({"meta_info": {"id": "z", "finish_reason": {"type": "stop"}}}, True),
        ({"meta_info": {"id": "z", "completion_tokens": 1}}, None),
        ("nonsense", None),
    ],
)
def test_what_is_finished(out: Any, finished: bool | None) -> None:
    assert request_of(1, ({"rid": "z"}, out, T, T)).finished is finished


def test_an_embedding_and_tuples_of_ids(tmp_path: Path) -> None:
    embed = Instance(IO, "EmbeddingReqInput", (("rid", "e"), ("input_ids", (1, 2, 3))))
    out = {"embedding": [0.5, 1.5], "meta_info": {"id": "e", "finish_reason": {"type": "stop"}, "prompt_tokens": 3}}
    (r,) = of(dumps([(embed, out, T, T + 1)]), tmp_path).requests
    assert (r.endpoint, r.type, r.input_ids, r.finished) == ("/encode", "EmbeddingReqInput", (1, 2, 3), True)


def test_times_that_are_no_dates_say_so(tmp_path: Path) -> None:
    (r,) = of(dumps([(asked("a"), answered("a"), 1650.5, 1652.5)]), tmp_path).requests
    assert (r.arrival_ts, r.clock) == (1650.5, "undated")


def test_arguments_that_were_lost_in_a_retry(tmp_path: Path) -> None:
    whole = {"server_args": None, "config_updates": [], "resolved_config": None, "requests": [entry()]}
    found = of(dumps(whole), tmp_path)
    assert (found.version, dict(found.server_args), len(found.requests)) == ("0.5.23", {}, 1)
    plain = of(dumps({"server_args": {"tp_size": 4}, "requests": [entry()]}), tmp_path)
    assert dict(plain.server_args) == {"tp_size": 4}


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_packed_files(pack: Any, tmp_path: Path) -> None:
    data = dump([entry("a"), opened()], crash=True)
    found = of(pack(data), tmp_path)
    assert (found.refused, found.unfinished) == (None, 1)
    cut = of(pack(data)[:-20], tmp_path)
    assert cut.refused is not None


def test_a_dump_cut_at_every_byte() -> None:
    data = dump([entry("a"), entry("b", 1.0), opened("c", 2.0)], crash=True)
    kept = 0
    for size in range(2, len(data)):
        found = answer(data[:size], DEFAULT, time.monotonic() + 5)
        assert "ends " in found["cut"]
        cut = dump_of(found["root"], "x")
        now = 0 if cut is None else len(cut.requests)
        assert now >= kept, size
        kept = now
    assert kept == 3


def test_a_real_dump_cut_anywhere(shared_dir: Path) -> None:
    folder = shared_dir / "real" / "sglang_0.5.23" / "pd_mooncake_tcp" / "prefill" / "request_dump"
    data = min(folder.iterdir(), key=lambda p: p.stat().st_size).read_bytes()
    kept = [0]
    for size in range(1000, len(data), len(data) // 40):
        found = answer(data[:size], DEFAULT, time.monotonic() + 30)
        cut = dump_of(found["root"], "x")
        kept.append(0 if cut is None else len(cut.requests))
    assert kept == sorted(kept)
    assert kept[-1] >= 38


def test_a_cut_file_is_one_line_and_what_was_whole() -> None:
    data = dump([entry("a"), entry("b", 1.0), opened("c", 2.0)], crash=True)
    kept: list[int] = []
    for size in (*range(2, len(data), 141), len(data) - 1):
        found = read_blob(Blob("x", None, data[:size]))
        assert found.refused is not None
        assert found.refused.startswith("is cut: ")
        assert "\n" not in found.refused
        kept.append(len(found.requests))
        assert [r.rid for r in found.requests] == [*"abc"][: len(found.requests)]
    assert kept == sorted(kept)
    assert kept[-1] == 3


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "is empty"),
        (b"hello\nworld\n", "is no pickle"),
        (b'{"a": 1}\n', "is no pickle"),
        (dumps({"a": 1}), "no dump of requests"),
        (dumps([1, 2, 3]), "no dump of requests"),
        (dumps({"requests": []}), "no dump of requests"),
        (dumps({"server_args": None, "requests": {"a": 1}}), "no dump of requests"),
        (dumps("text"), "no dump of requests"),
        (dumps([(asked("a"), {}, T)]), "no dump of requests"),
    ],
)
def test_what_is_no_dump(data: bytes, why: str, tmp_path: Path) -> None:
    found = of(data, tmp_path)
    assert found.refused is not None
    assert why in found.refused
    assert found.requests == ()


def test_entries_that_are_no_requests_are_counted(tmp_path: Path) -> None:
    found = of(dump([entry("a"), (1, 2, 3), entry("b")]), tmp_path)
    assert [(r.rid, r.number) for r in found.requests] == [("a", 1), ("b", 3)]
    assert found.notes == ("1 entries are no requests and were left out",)


def test_an_empty_dump_is_one(tmp_path: Path) -> None:
    found = of(dump([]), tmp_path)
    assert (found.refused, found.kind, found.requests) == (None, "request-dump", ())


def test_numbers_of_any_size_are_survived(tmp_path: Path) -> None:
    big = 1 << 900
    strange = (asked("a", priority=big, n=big, bootstrap_room=-big), answered("a", completion_tokens=big), big, big)
    (r,) = of(dumps([strange]), tmp_path).requests
    assert (r.priority, r.room, r.completion_tokens) == (None, None, None)
    assert r.clock == "undated"


def test_ends_that_are_no_dates_are_none(tmp_path: Path) -> None:
    (r,) = of(dumps([(asked("a"), {}, T, 1e300)]), tmp_path).requests
    assert (r.arrival_ts, r.end_ts, r.clock, r.finished) == (T, None, "wall", False)


def test_the_size_is_capped(tmp_path: Path) -> None:
    found = of(gzip.compress(dump([entry(text="x" * 100_000)])), tmp_path, file_bytes=50_000)
    assert found.refused is not None
    assert "larger than" in found.refused


def test_protocols_without_a_header() -> None:
    import pickle

    values: list[Any] = [{"server_args": None}, [(1, 2)], {"a": []}]
    for protocol in (0, 1):
        for value in values:
            assert looks_like_pickle(pickle.dumps(value, protocol)), (protocol, value)
    assert looks_like_pickle(b"cos\nsystem\n(S'id'\ntR.")
    assert looks_like_pickle(b"(S'id'\nios\nsystem\n.")
    for text in (b"config\nvalue\n", b"]\n", b"}\n", b"(dp0)\n", b"[2026-11-30 04:00:00] x\n", b"\x80", b"\x80\x09x"):
        assert not looks_like_pickle(text), text


def test_secrets_of_the_launch_arguments_stay_with_the_reader(tmp_path: Path) -> None:
    assert dict(of(dumps({"server_args": arguments(), "requests": [entry()]}), tmp_path).server_args)["api_key"]
