"""Recordings: read whole by our readers, the truth outside, the same bytes again, clear refusals."""

import json
from pathlib import Path
from typing import Any

import pytest

from ridgeline.bundle.open import open_sources
from ridgeline.lab.record import make_case, record
from ridgeline.model.errors import InputError


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def unread(folder: Path) -> list[tuple[Any, ...]]:
    view = open_sources([str(folder)], on_progress=None)
    return view.query("SELECT path, kind, unparsed FROM sources WHERE unparsed > 0")


CASES = [
    ("healthy/steady", {"version": "0.5.3"}),
    ("cache.prompt-drift", {"version": "0.5.9", "rate": 1.0}),
    ("memory.oom-crash", {"version": "0.5.23", "rate": 1.0}),
    ("queue.arrival-overload", {"version": "vllm", "rate": 1.0}),
    ("disagg.transfer-stuck", {"version": "0.5.23", "rate": 1.0}),
    ("disagg.room-mismatch", {"version": "0.5.9", "rate": 1.0}),
    ("routing.worker-out", {"version": "0.5.23", "rate": 1.0}),
    ("fault.hang", {"version": "0.5.3", "rate": 1.0}),
    ("decode.spec-acceptance", {"version": "0.5.9", "rate": 1.0}),
]


@pytest.mark.parametrize(("name", "more"), CASES, ids=lambda v: v if isinstance(v, str) else v["version"])
def test_every_line_is_read(tmp_path: Path, name: str, more: dict[str, Any]) -> None:
    truth = record(make_case(name, seed=11, **more), tmp_path / "evidence")
    assert unread(tmp_path / "evidence") == []
    beside = tmp_path / "evidence.truth.json"
    assert json.loads(beside.read_text(encoding="utf-8")) == json.loads(json.dumps(truth))
    cause = truth["cause"].encode()
    inside = files(tmp_path / "evidence")
    assert not any("truth" in path or truth["cause"] in path for path in inside)
    assert not any(cause in raw for raw in inside.values())


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path) -> None:
    for k in ("a", "b"):
        record(make_case("prefill.grammar", seed=5, rate=0.5), tmp_path / k)
    assert files(tmp_path / "a") == files(tmp_path / "b")
    record(make_case("prefill.grammar", seed=6, rate=0.5), tmp_path / "c")
    assert files(tmp_path / "a") != files(tmp_path / "c")


def test_a_loader_of_lines_that_start_with_a_brace(tmp_path: Path) -> None:
    """The upstream simulator's loader takes a 0.5.9 request log whole and nothing of a 0.5.23 one (§12)."""
    loaded = {}
    for version in ("0.5.9", "0.5.23"):
        record(make_case("healthy/steady", seed=2, version=version, rate=0.5), tmp_path / version)
        lines = (
            (tmp_path / version / "10.4.0.11" / "request_log" / "10.4.0.11_0.log")
            .read_text(encoding="utf-8")
            .splitlines()
        )
        events = [json.loads(line) for line in lines if line.startswith("{")]
        loaded[version] = sum(e["event"] == "request.finished" for e in events)
        finished = sum('"event": "request.finished"' in line for line in lines)
        assert finished > 100
        assert loaded[version] == (finished if version == "0.5.9" else 0)


@pytest.mark.parametrize(
    ("name", "more", "says"),
    [
        ("queue.nonsense", {}, "no fault named"),
        ("queue.scheduler-overhead", {"version": "0.5.3"}, "one of 0.5.23"),
        ("queue.burst", {"severity": 4}, "severity 4"),
        ("routing.hot-key", {"ranks": 1}, "2 to 8"),
        ("queue.burst", {"share": 0.0}, "share"),
        ("queue.burst", {"rate": 0.0}, "rate"),
        ("disagg.ratio", {"pd": False}, "needs --pd"),
    ],
)
def test_refusals(name: str, more: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        make_case(name, **more)


def test_a_full_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("y", encoding="utf-8")
    with pytest.raises(InputError, match="not empty"):
        record(make_case("healthy/idle"), tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["x"]
