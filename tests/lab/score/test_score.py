"""Scoring: figures on results made by hand, the grid, the arms, the floors, the page."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from ridgeline.lab.faults import FAULTS
from ridgeline.lab.score import arms, calibrate, count, floors, grid, measure, page
from ridgeline.lab.score.whole import earlier, mend, missing, ordered, parse_seeds, run_score, write_outcome
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
        "parameters": {"version": "0.5.23"},
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
    known = page.known_of(results)
    assert len(known) == 4
    first = count.over_faults(known, measure.first_right)
    assert first.value == pytest.approx((1 / 3 + 0) / 2)
    assert (first.hits, first.n, first.groups) == (1, 4, 2)
    assert count.over_faults(known, measure.three_right).value == pytest.approx((2 / 3 + 0) / 2)
    assert count.over_faults(known, measure.layer_right).value == pytest.approx((2 / 3 + 0) / 2)
    wrong = count.of_cases(map(measure.wrong_and_confident, page.told_of(results)))
    assert (wrong.hits, wrong.n) == (2, 7)
    assert count.of_cases(map(measure.wrong_and_high, results)).hits == 0
    assert measure.onset_error_s(results[0]) == 7.0
    alarms = page.alarms(results)
    assert (alarms.hits, alarms.n) == (1, 2)
    assert alarms.high is not None
    assert alarms.high > 0.9


def test_shares_say_what_they_rest_on() -> None:
    assert count.of_cases([]).value is None
    assert count.said(count.of_cases([None])) == "-"
    exact = count.of_cases([True] * 300)
    assert exact.low is not None
    assert exact.low == pytest.approx(0.9878, abs=2e-4)
    assert count.said(count.of_cases([True, False, None])) == "50.0 % (1.3 to 98.7; 1 of 2)"
    few, many = (count.over_groups([[True, False] * n, [True] * n]) for n in (2, 200))
    assert few.value == many.value == 0.75
    assert few.low is not None
    assert many.low is not None
    assert few.low < many.low < 0.75
    sure = count.over_groups([[True], [True]])  # one case each proves little, even where every one is right
    assert sure.low is not None
    assert sure.low < 0.7


def test_scope_needs_a_true_value() -> None:
    assert measure.scope_right(result(A, [(A, "high")], scope={"client": ["svc-1"]})) is True
    assert measure.scope_right(result(A, [(A, "high")], scope={"client": ["svc-2"]})) is False
    assert measure.scope_right(result(A, [(A, "high")])) is None


def test_a_second_cause_counts_as_right() -> None:
    assert measure.first_right(result(A, [(B, "high")], second=[B]))


def test_a_calibration_counts_words_and_surer_ones() -> None:
    results = [result(A, [(A, "high")])] * 18 + [result(B, [(A, "high")])] * 2
    results += [result(A, [(A, "medium")]), result("healthy", [(A, "low")]), result("queue.burst", [], "healthy")]
    table = calibrate.calibration(results, "1:2")
    assert table["priors"] == {"high": 0.95, "medium": 0.95}
    assert table["causes"][A] == {
        "high": {"said": 20, "right": 18, "precision": pytest.approx((18 + 9.5) / 30, abs=1e-4)},
        "medium": {"said": 21, "right": 19, "precision": pytest.approx((19 + 9.5) / 31, abs=1e-4)},
    }
    assert table["causes"]["queue.burst"] == table["causes"][B] == {}  # known, never said
    assert "healthy" not in table["causes"]
    assert (table["cases"], table["fewest_cases_of_a_fault"]) == (23, 1)


def test_a_cause_that_was_never_wrong_is_never_lowered() -> None:
    wrong = [result(B, [("queue.burst", "high")])] * 40
    table = calibrate.calibration([result(A, [(A, "high")]), *wrong], "1:2")["causes"]
    assert table[A]["high"]["precision"] >= calibrate.NEEDED
    assert table["queue.burst"]["high"]["precision"] < 0.5


def test_a_calibration_in_force_does_not_calibrate_itself() -> None:
    lowered = result(A, [(A, "low")])
    lowered["findings"][0]["caps"] = ["no-baseline", "lab-precision-0.70", "lab-precision-0.75"]
    assert calibrate.said_word(lowered["findings"][0]) == "high"
    assert calibrate.said_word({"confidence": "medium", "caps": ["lab-precision-0.90"]}) == "high"
    assert calibrate.said_word({"confidence": "medium"}) == "medium"


def test_pairs_need_both_members_right() -> None:
    first = "queue.arrival-overload"
    results = [result(first, [(first, "low")]), result(A, [(B, "low")])]
    assert measure.pairs_right(results)[first, A] == [False]
    assert page.pairs_macro(results).groups == 1
    assert page.pairs_macro([*results[:1], result(A, [(A, "low")])]).value == 1.0


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


def test_the_page_the_picture_and_the_calibration(tmp_path: Path) -> None:
    logs = {**result(A, [(B, "high")]), "arm": "logs"}
    same = {**result(A, [(B, "high")]), "arm": "one-missing", "same": True}
    spared = {**result(B, [(A, "high")]), "admitted": False, "recomputed": None}
    results = ordered([result(A, [(A, "high")]), result("healthy", [], "healthy"), logs, same, spared])
    write_outcome(results, tmp_path / "accuracy.md", tmp_path / "calibration.json", "1:2", "by hand")
    text = (tmp_path / "accuracy.md").read_text(encoding="utf-8")
    assert "| the cause comes first | 100.0 % (" in text
    assert "; 1 of 1) |" in text
    assert "| healthy runs taken for an incident | 0.0 % (0.0 to 97.5; 0 of 1) |" in text
    assert "| claims that recompute | 4 of 4 asked |" in text
    assert "| server logs alone | 0.0 % (" in text
    assert "one server's evidence is missing" not in text  # nothing was taken away from any case
    assert "| 0.5.23 | 100.0 % (" in text
    assert "| severity 2, clear | 100.0 % (" in text
    assert f"| {B} | 1 | 0 | - | - | - |  |" in text
    assert "Mean over 0 pairs" in text
    svg = (tmp_path / "images" / "accuracy.svg").read_text(encoding="utf-8")
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert "(images/accuracy.svg)" in text
    table = json.loads((tmp_path / "calibration.json").read_text(encoding="utf-8"))
    assert set(table["causes"]) == {A, B}
    again = tmp_path / "again"
    again.mkdir()
    write_outcome(results, again / "accuracy.md", again / "calibration.json", "1:2", "by hand")
    for name in ("accuracy.md", "calibration.json", "images/accuracy.svg"):
        assert (again / name).read_bytes() == (tmp_path / name).read_bytes()


def test_what_is_missing_goes_by_arm() -> None:
    wanted = grid.cells(1, 3, ("queue.burst",))
    assert [t.arms for t in missing(wanted, ("full", "logs"), [])] == [("full", "logs")] * 2
    one, two = ({"cell": {"fault": c.fault, "seed": c.seed}, "arm": "full", "admitted": True} for c in wanted)
    assert [(t.cell, t.arms) for t in missing(wanted, ("full", "logs"), [one])] == [
        (wanted[0], ("logs",)), (wanted[1], ("full", "logs"))]  # fmt: skip
    left = missing(wanted, ("full", "logs"), [one, {**two, "admitted": False}])
    assert [t.cell for t in left] == wanted[:1]  # a case that harms nobody is done under every arm


def test_a_cut_results_file_keeps_what_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps(result(A, [])) + "\n" + '{"cell": {"fau', encoding="utf-8")
    assert len(earlier(path)) == 1
    mend(path)
    assert path.read_text(encoding="utf-8") == json.dumps(result(A, [])) + "\n"
    assert earlier(tmp_path / "none.jsonl") == []
