"""What a person on call reads: whole sentences, the engine's own flags, nothing excluded that was never looked at."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ridgeline.bundle.open import open_sources
from ridgeline.bundle.view import view_of
from ridgeline.ladder.diagnose import diagnose
from ridgeline.report.contract import to_contract
from ridgeline.report.md import MOST_LINES, render
from tests.causes.cases import CASES
from tests.causes.rows import decode, event, join, requests
from tests.ladder.test_remedies import FOREIGN

HALF = re.compile(
    r"not measured|\bNone\b|\bTrue\b|\bFalse\b|\bnan\b|\de[+-]\d|:\s*$|: [;,.)]|\(\s*\)|  |\[\[|\]\]|\(client \)"
)
VLLM = (
    "cases/024-blocks-released-before-read",
    "cases/039-prefill-pods-unequal",
    "cases/045-pending-with-empty-pool",
    "cases/046-repeats-hit-one-third",
    "cases/066-hit-rate-of-98-percent",
    "real/vllm_0.32.0/run1",
    "traces/real_vllm_gpu/RTX4090_Llama-3.1-8B",
)
FOLDERS = (
    *VLLM,
    "cases/001-retract-then-death-reported",
    "cases/007-oom-though-enough-is-free",
    "cases/017-first-request-fails-at-once",
    "cases/034-benchmark-end-drags-on",
    "cases/038-episodes-time-out",
    "cases/059-few-megabytes-per-second",
    "real/sglang_0.5.23/single_full",
)


@cache
def told(folder: Path) -> tuple[dict[str, Any], str]:
    names = (
        sorted(str(p) for p in folder.iterdir() if p.name != "expect.json") if "cases" in str(folder) else [str(folder)]
    )
    view = open_sources(names)
    diagnosis = diagnose(view, "cache" if "046" in folder.name else "auto", sources=names)
    return to_contract(diagnosis), render(diagnosis)


def sentences(out: dict[str, Any]) -> list[str]:
    said = [out["summary"], *(f["statement"] for f in out["findings"]), *(a["answer"] for a in out["ladder"])]
    said += [e["statement"] for e in out["evidence"].values()]
    return said + [r["action"] for f in out["findings"] for r in f["remedies"]]


@pytest.mark.shared
@pytest.mark.parametrize("folder", FOLDERS)
def test_every_sentence_is_whole(shared_dir: Path, folder: str) -> None:
    out, md = told(shared_dir / folder)
    for text in sentences(out):
        assert not HALF.search(text), text
    assert len(md.splitlines()) <= MOST_LINES
    for rung in out["ladder"]:
        assert len({m["signal"] for m in rung["missing"]}) == len(rung["missing"]) <= 7, rung


@pytest.mark.shared
@pytest.mark.parametrize("folder", VLLM)
def test_a_vllm_server_is_spoken_to_in_its_own_words(shared_dir: Path, folder: str) -> None:
    out, md = told(shared_dir / folder)
    spoken = json.dumps([out["findings"], out["ladder"], out["next"]]) + md
    assert not FOREIGN.search(spoken), FOREIGN.search(spoken)


@pytest.mark.parametrize("name", sorted(CASES))
def test_every_cause_speaks_in_whole_sentences(name: str) -> None:
    out = to_contract(diagnose(view_of(CASES[name].tables), "slow", sources=("server.log",)))
    for text in sentences(out):
        assert not HALF.search(text), text


def test_a_death_is_in_the_summary_whatever_comes_first() -> None:
    queued = decode(30, waiting=20, running=12, usage=0.5)
    death = event("crash", text="Subprocess scheduler_0 crashed with exit code -9.")
    tables = join({"batches": queued, "requests": requests(5), "events": death,
                   "servers": [{"source": 1, "line": 1, "engine": "sglang", "max_running": 12}]})  # fmt: skip
    slow = diagnose(view_of(tables), "slow", sources=("server.log",))
    assert [f.cause for f in slow.findings] == ["queue.running-cap", "fault.crash"]
    assert "fault.crash" in to_contract(slow)["summary"] and "queue.running-cap" in to_contract(slow)["summary"]
    assert any("dmesg" in step for step in slow.next)
    down = diagnose(view_of(tables), "the service is down, connection refused errors", sources=("server.log",))
    assert down.findings[0].cause == "fault.crash"


def test_ruled_out_rests_on_a_required_no_or_an_absent_yes() -> None:
    tables = CASES["memory.saturation"].tables
    out = diagnose(view_of(tables), "slow")
    assert out.ruled_out and all(ids for _, ids in out.ruled_out)
    known = dict(out.evidence)
    for _, ids in out.ruled_out:
        assert all(known[name].value is not None for name in ids)


def test_prompts_nobody_saw_are_not_ruled_out() -> None:
    # Hits fell, and a flush accounts for it: whether the prompts changed as well, only they would tell.
    out = diagnose(view_of(CASES["cache.flushed"].tables), "cache")
    by_rung = {a.rung: a for a in out.ladder}
    assert by_rung["D1"].state == "cannot-tell"
    assert "cache.prompt-drift" not in dict(out.ruled_out)
    assert any("--log-requests-level 3" in m.how for m in by_rung["D1"].missing)


def test_an_answer_proves_no_absence() -> None:
    out = diagnose(view_of({"events": [{**event("transfer-failed")[0]}]}), "errors")
    ruled = dict(out.ruled_out)
    assert not {"fault.crash", "memory.oom-crash", "disagg.peer-lost", "fault.wrong-output"} & set(ruled)
