"""Verbs that say what they found in their own words: in Chinese the same figures, and nothing left in English."""

import io
import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from rich.console import Console

from ridgeline.bundle.view import view_of
from ridgeline.cli import main
from ridgeline.cli.decide import answered as with_decision
from ridgeline.cli.decide import said as decided
from ridgeline.cli.stored import answered as with_stored
from ridgeline.ladder.diagnose import diagnose
from ridgeline.model.comparison import Comparison
from ridgeline.report.comparison import markdown, render
from ridgeline.sim.whatif.compare import compare, objective_of
from ridgeline.sim.whatif.contract import to_json as simulation_json
from ridgeline.sim.whatif.contract import to_text
from ridgeline.sim.whatif.decide import Decision, decide, no_setting, to_json, unseen_prefixes
from ridgeline.sim.whatif.variants import variants
from ridgeline.verdict.compare import of_evidence
from ridgeline.verdict.contract import to_contract
from ridgeline.words.catalogue import forget_english, in_english, said
from ridgeline.words.phrases import known
from ridgeline.words.whatif import COSTS, NO_SETTING, TRIES
from tests.causes.cases import CASES
from tests.sim.whatif.made import made_basis
from tests.verdict.made import evidence, traffic

CHINESE = re.compile(r"[\u4e00-\u9fff]")
# Words that no flag, metric, side or name of a file is made of.
ENGLISH = re.compile(
    r"(?<![\w-])(the|of|and|is|are|was|were|not|than|with|which|requests?|from|to|by|in|more|less)(?![\w-])", re.I
)
FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
INCIDENT = Path(__file__).resolve().parents[2] / "examples" / "incident"


def same(english: str, chinese: str) -> None:
    """The same figures, in Chinese, and no English sentence in it."""
    assert sorted(FIGURE.findall(english)) == sorted(FIGURE.findall(chinese)), f"{english}\n{chinese}"
    assert CHINESE.search(chinese) and not CHINESE.search(english)
    assert not ENGLISH.search(chinese), chinese


def told(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[str, str]:
    """What a verb prints in English and in Chinese; on standard error nothing."""
    out = []
    for lang in ("en", "zh"):
        with pytest.raises(SystemExit) as end:
            main([*(str(word) for word in words), "--lang", lang])
        got = capsys.readouterr()
        assert end.value.code in (0, 2, 3) and not got.err, got.err
        out.append(got.out)
    return out[0], out[1]


@cache
def decisions() -> dict[str, Decision]:
    """One of each kind."""
    basis = made_basis()
    wrong = replace(basis, settings=replace(basis.settings, max_running_requests=3))
    return {
        "change": decide(basis, "queue.running-cap", "simulate", repeats=2),
        "remedy": decide(basis, "decode.batch-growth", "simulate", repeats=2, remedies=["--max-running-requests"]),
        "not-trusted": decide(wrong, "queue.running-cap", "simulate", repeats=2),
        "no-setting": no_setting("fault.crash", "replay"),
        "no-evidence": unseen_prefixes("cache.eviction"),
    }


@pytest.mark.parametrize("name", ["change", "remedy", "not-trusted", "no-setting", "no-evidence"])
def test_a_decision(name: str) -> None:
    decision = decisions()[name]
    same(decision.sentence, said(decision.statement, "zh"))
    forget_english()
    for format in ("text", "md"):
        same(decided(decision, format), decided(decision, format, "zh"))
    assert not in_english("zh")
    english, chinese = to_json(decision), to_json(decision, "zh")
    assert english["sentences"] == chinese["sentences"] == {"en": english["sentence"], "zh": chinese["sentence"]}
    kept = ("verdict", "cause", "change", "gain", "tried", "base", "worth_touching")
    assert [english[key] for key in kept] == [chinese[key] for key in kept]


def test_a_decision_on_its_rung_and_one_that_was_kept() -> None:
    d = diagnose(view_of(CASES["queue.running-cap"].tables), "auto", sources=("server.log",))
    decision = decisions()["change"]
    rungs = {a.rung: a for a in with_decision(d, decision).ladder}
    same(said(rungs["A5"].answer), said(rungs["A5"].answer, "zh"))
    stored = with_stored(d, ("decision.json", to_json(decision) | {"cause": d.findings[0].cause}))
    again = next(a for a in stored.ladder if a.rung == "A5")
    assert said(again.answer, "zh") == said(rungs["A5"].answer, "zh") and said(again.answer) == said(rungs["A5"].answer)
    old = with_stored(d, ("decision.json", {"cause": d.findings[0].cause, "sentence": "Set it."}))
    assert said(next(a for a in old.ladder if a.rung == "A5").answer, "zh").endswith("Set it.")


def test_a_simulation() -> None:
    basis = made_basis()
    found = compare(basis, variants(basis.settings, ("max_running_requests=9,16",)), repeats=2,
                    objective=objective_of("ttft_p90", ()))  # fmt: skip
    one = compare(basis, variants(basis.settings, ()))
    forget_english()
    for each in (found, one):
        same(to_text(each), to_text(each, lang="zh"))
    assert not in_english("zh")
    english, chinese = simulation_json(found), simulation_json(found, "zh")
    assert english["recommended"] == chinese["recommended"] and CHINESE.search(chinese["recommendation"])


def prices_and_risks() -> set[str]:
    return {*COSTS.values(), *NO_SETTING.values(), *(one.risk for tries in TRIES.values() for one in tries if one.risk)}


@pytest.mark.parametrize("text", sorted(prices_and_risks()))
def test_every_price_and_risk_is_known(text: str) -> None:
    assert known(text, "zh"), f"no Chinese for {text!r}: add it to words/phrases_sim_zh.py"


SLOW, GOOD, AGAIN = (traffic(900.0, seed, faster=f) for seed, f in ((1, 1.0), (2, 3.0), (3, 3.0)))
LITTLE = traffic(60, 7, faster=1.0), traffic(60, 8, faster=1.15)
COMPARED: dict[str, tuple[tuple[object, ...], dict[str, float]]] = {
    "improved": ((SLOW, GOOD), {}), "worse": ((GOOD, SLOW), {}), "recovered": ((SLOW, GOOD, AGAIN), {}),
    "within the SLO": ((SLOW, GOOD), {"ttft_p90": 0.5}), "beyond it": ((SLOW, GOOD), {"tpot_mean": 0.001}),
    "met before": ((GOOD, AGAIN), {"ttft_p90": 2.0}), "too little": (LITTLE, {}),
    "nothing to recover from": ((GOOD, AGAIN, GOOD), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(COMPARED))
def test_a_comparison(name: str) -> None:
    sides, slo = COMPARED[name]
    names = ("INCIDENT", "AFTER", "BASELINE")
    found = of_evidence([evidence(n, side) for n, side in zip(names, sides, strict=False)], slo=slo)  # type: ignore[arg-type]
    same(found.summary, said(found.ruling, "zh"))
    forget_english()
    same(markdown(found), markdown(found, "zh"))
    english, chinese = shown(found, "en"), shown(found, "zh")
    same(english, chinese)
    assert "…" not in chinese  # nothing is cut off
    assert not in_english("zh")
    a, b = to_contract(found), to_contract(found, "zh")
    assert CHINESE.search(b["summary"])
    for said_only in ("summary", "notes", "needs", "comparable"):
        a.pop(said_only), b.pop(said_only)
    assert json.dumps(a, sort_keys=True).count("ttft") == json.dumps(b, sort_keys=True).count("ttft")


def shown(found: Comparison, lang: str) -> str:
    out = io.StringIO()
    render(found, Console(file=out, width=300), lang)
    return out.getvalue()


def test_classes_and_a_request(capsys: pytest.CaptureFixture[str]) -> None:
    same(*told(capsys, "classes", INCIDENT, "--quiet"))
    same(*told(capsys, "request", "9d6ded913084cabf", INCIDENT, "--format", "md", "--quiet"))
    english, chinese = told(capsys, "request", "9d6ded913084cabf", INCIDENT, "--format", "json", "--quiet")
    a, b = json.loads(english)["requests"], json.loads(chinese)["requests"]
    assert [r["segments"] for r in a] == [r["segments"] for r in b] and all(CHINESE.search(r["label"]) for r in b)


def test_a_prefix_split(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rest = " Say which ward the visitor wants. The lift on the left goes to the roof; ask nothing of any patient. " * 3
    asked = [{"messages": [{"role": "system", "content": f"It is 09:{14 + k}." + rest}]} for k in range(3)]
    (tmp_path / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked))
    blocks = [{"timestamp": t, "input_length": n, "output_length": 8, "hash_ids": ids}
              for t, n, ids in ((0, 1100, [0, 1, 2]), (900, 1100, [0, 1, 5]), (2000, 400, [9]))]  # fmt: skip
    (tmp_path / "trace.jsonl").write_text("".join(json.dumps(row) + "\n" for row in blocks))
    for name in ("prompts.jsonl", "trace.jsonl"):
        same(*told(capsys, "prefix", tmp_path / name, "--quiet"))
    same(*told(capsys, "prefix", INCIDENT, "--quiet"))  # without prompts: what is known without them
