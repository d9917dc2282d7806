"""Scoring: figures on results made by hand, the grid, the arms, the floors, the page."""

import json
from pathlib import Path
from typing import Any

import pytest

from ridgeline.lab.faults import FAULTS
from ridgeline.lab.score import arms, floors, grid, measure, page
from ridgeline.lab.score.whole import earlier, ordered, parse_seeds, run_score, write_outcome
from ridgeline.model.errors import InputError


def result(cause: str, said: list[tuple[str, str]], verdict: str = "finding", **truth: Any) -> dict[str, Any]:
    known = {
        "fault": cause,
        "cause": cause,
        "layer": cause.partition(".")[0],
        "healthy": cause == "healthy",
        "second": [],
        "scope": {},
        "onset": "2026-11-30T04:00:00+00:00",
        "answerable": "full",
        "route": "none",
        "severity": 2,
        "share": 1.0,
    } | truth
    findings = [
        {"cause": c, "layer": c.partition(".")[0], "confidence": level, "scope": {"client": ["svc-1"]},
         "onset": "2026-11-30T04:00:07Z", "route": "none"}
        for c, level in said
    ]  # fmt: skip
    return {"cell": {"fault": cause, "seed": 1}, "truth": known, "admitted": True, "arm": "full", "verdict": verdict,
            "findings": findings, "floors": {"random": ["queue.burst", "healthy", "fault.hang"], "doctor": "healthy"},
            "recomputed": [2, 2]}  # fmt: skip


A, B = "queue.running-cap", "memory.saturation"


def test_figures_by_hand() -> None:
    results = [
        result(A, [(A, "high")]),
        result(A, [(B, "medium"), (A, "low")]),
        result(A, [("queue.burst", "low")]),
        result(B, [], "healthy"),
        result("healthy", [], "healthy"),
        result("healthy", [(A, "low")]),
        result("unknown", [("unknown", "low")], "inconclusive", answerable="coarse"),
    ]
    s = measure.score(results)
    assert (s.cases, s.healthy, s.false_alarms) == (5, 2, 1)
    assert s.first == pytest.approx((1 / 3 + 0) / 2)
    assert s.three == pytest.approx((2 / 3 + 0) / 2)
    assert s.layer == pytest.approx((2 / 3 + 0) / 2)
    assert s.wrong_confident == pytest.approx(2 / 7)
    assert s.onset_median_s == 7.0
    assert s.abstained == 1.0
    assert s.false_alarm_high is not None
    assert s.false_alarm_high > 0.9


def test_scope_needs_a_true_value() -> None:
    assert measure.scope_right(result(A, [(A, "high")], scope={"client": ["svc-1"]})) is True
    assert measure.scope_right(result(A, [(A, "high")], scope={"client": ["svc-2"]})) is False
    assert measure.scope_right(result(A, [(A, "high")])) is None


def test_a_second_cause_counts_as_right() -> None:
    assert measure.first_right(result(A, [(B, "high")], second=[B]))


def test_precision_lists_causes_without_findings() -> None:
    table = measure.precision_by_level([result(A, [(A, "high")]), result(A, [(A, "high")]), result(B, [(A, "high")])])
    assert table == {A: {"high": pytest.approx(0.667)}, B: {}}


def test_pairs_need_both_members_right() -> None:
    rows = {
        (a, b): (n, s)
        for a, b, n, s in measure.pairs_right(
            [result("queue.arrival-overload", [("queue.arrival-overload", "low")]), result(A, [(B, "low")])]
        )
    }
    assert rows[("queue.arrival-overload", A)] == (1, 0.0)


def test_the_grid_is_fixed_and_covers_every_fault() -> None:
    cells = grid.cells(1, 4)
    assert cells == grid.cells(1, 4)
    assert {c.fault for c in cells} == {f.id for f in FAULTS}
    healthy = [c for c in cells if c.fault.startswith("healthy/")]
    assert len(healthy) == 7 * 12
    assert {c.severity for c in cells} == {1, 2, 3}
    assert len({(c.fault, c.seed) for c in cells}) == len(cells)
    assert len(grid.cells(1, 51, ("healthy",))) >= 300
    assert all(c.fault.startswith("disagg.") for c in grid.cells(1, 2, ("disagg",)))


def test_seed_ranges() -> None:
    assert parse_seeds("1:21") == (1, 21)
    for wrong in ("5", "5:5", "a:b", "9:3"):
        with pytest.raises(InputError, match="A:B"):
            parse_seeds(wrong)


def test_a_name_that_is_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no fault, cause or layer"):
        run_score("1:2", ("full",), 1, tmp_path / "r.jsonl", ("queue,routing",), False)


SCRAPES = (
    "#### scrape ts=100.0 took=0.1 status=200 url=http://h/metrics\nx 1\n"
    "#### scrape ts=200.0 took=0.1 status=200 url=u\nx 2\n"
)


def evidence(folder: Path) -> Path:
    host = folder / "10.4.0.11"
    (host / "exporter").mkdir(parents=True)
    (host / "metrics.txt").write_text(SCRAPES, encoding="utf-8")
    (host / "server.log").write_text("[1970-01-01 00:01:00] a\n[1970-01-01 00:03:20] b\n", encoding="utf-8")
    lines = [json.dumps({"rid": f"{k:032x}", "request_received_ts": 100.0 + k}) for k in range(40)]
    (host / "exporter" / "e.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "client.jsonl").write_text(
        '{"client_rid": "x", "send_ts": 5.0, "first_chunk_ts": null}\n', encoding="utf-8"
    )
    (folder / "10.4.0.12").mkdir()
    (folder / "10.4.0.12" / "server.log").write_text("[1970-01-01 00:01:00] c\n", encoding="utf-8")
    return folder


def names(folder: Path) -> list[str]:
    return [str(p.relative_to(folder)) for p in arms.files(folder)]


def test_arms_take_away_what_they_say(tmp_path: Path) -> None:
    def after(arm: str) -> Path:
        folder = evidence(tmp_path / f"case-{arm}")
        arms.ARMS[arm](folder)
        return folder

    assert names(after("logs")) == ["10.4.0.11/server.log", "10.4.0.12/server.log"]
    assert names(after("exporter")) == ["10.4.0.11/exporter/e.log"]
    one = after("one-scrape")
    assert (one / "10.4.0.11" / "metrics.txt").read_text(encoding="utf-8").count("####") == 1
    assert "x 2" in (one / "10.4.0.11" / "metrics.txt").read_text(encoding="utf-8")
    kept = (after("tenth") / "10.4.0.11" / "exporter" / "e.log").read_text(encoding="utf-8").splitlines()
    assert [int(json.loads(line)["rid"], 16) for line in kept] == [0, 10, 20, 30]
    assert "10.4.0.12/server.log" not in names(after("one-missing"))
    assert json.loads((after("skew") / "client.jsonl").read_text(encoding="utf-8"))["send_ts"] == 6.3
    cut = (after("truncated") / "10.4.0.11" / "server.log").read_text(encoding="utf-8")
    assert not cut.endswith("\n")


def test_no_baseline_begins_after_the_onset(tmp_path: Path) -> None:
    folder = evidence(tmp_path)
    arms.no_baseline(folder, 110.0)
    assert (folder / "10.4.0.11" / "server.log").read_text(encoding="utf-8") == "[1970-01-01 00:03:20] b\n"
    assert "x 1" not in (folder / "10.4.0.11" / "metrics.txt").read_text(encoding="utf-8")
    kept = (folder / "10.4.0.11" / "exporter" / "e.log").read_text(encoding="utf-8").splitlines()
    assert len(kept) == 10


def test_floors(tmp_path: Path) -> None:
    assert len(set(floors.random_answer(3))) == 3
    assert floors.random_answer(3) == floors.random_answer(3)
    log = tmp_path / "server.log"
    log.write_text("nothing here\n", encoding="utf-8")
    assert floors.doctor(tmp_path) == "healthy"
    log.write_text("torch.OutOfMemoryError: CUDA out of memory.\n", encoding="utf-8")
    assert floors.doctor(tmp_path) == "memory.oom-crash"
    line = "Decode batch, #running-req: 12, #token: 9, token usage: 0.20, cuda graph: True, #queue-req: 9\n"
    log.write_text("max_running_requests=12, context_len=9\n" + line * 40, encoding="utf-8")
    assert floors.doctor(tmp_path) == "queue.running-cap"


def test_the_page_and_the_calibration(tmp_path: Path) -> None:
    results = ordered([result(A, [(A, "high")]), result("healthy", [], "healthy")])
    write_outcome(results, tmp_path / "accuracy.md", tmp_path / "calibration.json", "by hand")
    text = (tmp_path / "accuracy.md").read_text(encoding="utf-8")
    assert "| full | 1 | 100.0 % |" in text
    assert "Claims that recompute: 4 of 4 asked." in text
    assert json.loads((tmp_path / "calibration.json").read_text(encoding="utf-8")) == {A: {"high": 1.0}}
    assert page.confusion_chart(results)["data"]["values"]


def test_a_cut_results_file_keeps_what_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps(result(A, [])) + "\n" + '{"cell": {"fau', encoding="utf-8")
    assert len(earlier(path)) == 1
    assert earlier(tmp_path / "none.jsonl") == []
