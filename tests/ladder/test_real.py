"""Recorded runs of real engines: figures equal to an independent count of the raw text, regimes named as they are."""

import gzip
import re
from functools import cache
from pathlib import Path

import pytest

from ridgeline.bundle.open import open_sources
from ridgeline.bundle.view import View
from ridgeline.facts import ask
from ridgeline.ladder.diagnose import diagnose
from ridgeline.model.diagnosis import Diagnosis
from ridgeline.words.catalogue import say

pytestmark = pytest.mark.shared
DECODE = re.compile(r"Decode batch, #running-req: (\d+), .*?token usage: ([\d.]+), .*#queue-req: (\d+)")


def _lines(log: Path) -> list[str]:
    return gzip.decompress(log.read_bytes()).decode(errors="replace").splitlines()


@cache
def run(folder: Path, symptom: str = "slow") -> tuple[View, Diagnosis]:
    view = open_sources([str(folder)])
    return view, diagnose(view, symptom)


def test_the_regime_of_single_full_is_over_reservation(shared_dir: Path) -> None:
    log = shared_dir / "real/sglang_0.5.23/single_full/server.log.gz"
    rows = [(int(m[1]), float(m[2]), int(m[3])) for line in _lines(log) if (m := DECODE.search(line))]
    queued = [r for r in rows if r[2] > 0]
    slack = [r for r in queued if r[1] < 0.70 and r[0] < 12]
    view, diagnosis = run(log)
    told = dict(ask(view, "slack_share", (("usage_below", 0.7),)).statement.figures)
    assert (told["hits"], told["n"]) == (len(slack), len(queued)) == (175, 269)
    assert diagnosis.findings[0].cause == "queue.over-reservation"
    assert "queue.arrival-overload" not in [f.cause for f in diagnosis.findings]
    regime = diagnosis.ladder[2].answer
    assert "queue.over-reservation" in say(regime.key, dict(regime.figures))


def test_its_retractions_are_counted_once(shared_dir: Path) -> None:
    log = shared_dir / "real/sglang_0.5.23/single_full/server.log.gz"
    lines = [line for line in _lines(log) if "KV cache pool is full. Retract requests." in line]
    assert ask(run(log)[0], "retractions").value == len(lines) == 3


def test_its_refusals_are_counted_once(shared_dir: Path) -> None:
    log = shared_dir / "real/sglang_0.5.23/single_full/server.log.gz"
    refused = {
        m[1]
        for line in _lines(log)
        if '"event": "request.finished"' in line and "The request queue is full." in line
        for m in [re.search(r'"rid": "([^"]+)"', line)] if m
    }  # fmt: skip
    assert ask(run(log)[0], "refused").value == len(refused) == 101


@pytest.mark.parametrize(
    ("folder", "cause"),
    [
        ("real/pairs/sglang_0.5.23/mix_maxrun4", "queue.running-cap"),
        ("real/pairs/sglang_0.5.23/over_base_1", "queue.over-reservation"),
        ("real/vllm_0.32.0/run1", "memory.retraction-storm"),
    ],
)
def test_recorded_regimes(shared_dir: Path, folder: str, cause: str) -> None:
    _, diagnosis = run(shared_dir / folder)
    assert diagnosis.findings[0].cause == cause
    claimed = {f.cause for f in diagnosis.findings if f.confidence != "low"}
    assert not claimed & {"decode.regression", "prefill.regression", "memory.leak", "fault.hang", "fault.abort"}


def test_no_case_is_claimed_wrongly(shared_dir: Path) -> None:
    import json

    for folder in sorted((shared_dir / "cases").iterdir()):
        label = folder / "expect.json"
        if not label.is_file():
            continue
        expected = json.loads(label.read_text())
        files = [str(f) for f in sorted(folder.iterdir()) if f.name != "expect.json"]
        d = diagnose(open_sources(files), expected["symptom"])
        claims = {x for f in d.findings if f.confidence != "low" for x in (f.cause, f.layer)}
        if d.verdict == "healthy":
            claims.add("healthy")
        assert not claims & set(expected["forbidden"]), folder.name
