"""Chinese says everything that English says, with the same figures; what it lacks fails here and is English there."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from rich.console import Console

from ridgeline.bundle.view import view_of
from ridgeline.causes import CAUSES
from ridgeline.ladder.diagnose import diagnose
from ridgeline.ladder.remedies import KILLED, VLLM, fitting
from ridgeline.ladder.route import KEEP, PROFILE
from ridgeline.ladder.served import Served
from ridgeline.report.contract import to_contract
from ridgeline.report.md import render as markdown
from ridgeline.report.terminal import render
from ridgeline.words.asks import filled
from ridgeline.words.catalogue import CATALOGUES, OPTIONAL, WORDS, forget_english, in_english, names_of, say, text_in
from ridgeline.words.flags import SWITCHES
from ridgeline.words.known import KNOWN
from ridgeline.words.messages_asks_en import ASKS
from ridgeline.words.phrases import known, phrase
from tests.causes.cases import CASES

EN, ZH = CATALOGUES["en"], CATALOGUES["zh"]
CHINESE = re.compile(r"[\u4e00-\u9fff]")
SWITCH = re.compile(r"\{([a-z-]+)\}")
SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "docs" / "diagnosis.schema.json").read_text())
INCIDENT = Path(__file__).resolve().parents[2] / "examples" / "incident"
EMPTY = view_of({})
SAID = ("queue.running-cap", "disagg.transfer-stuck", "cache.flushed", "fault.hang")


def test_both_languages_have_the_same_entries() -> None:
    assert sorted(EN) == sorted(ZH)
    assert not set(WORDS["en"]) - set(WORDS["zh"])


@pytest.mark.parametrize("key", sorted(EN))
def test_an_entry_has_the_same_figures_in_both(key: str) -> None:
    if key.startswith("ask."):
        assert sorted(SWITCH.findall(EN[key])) == sorted(SWITCH.findall(ZH[key]))
        return
    assert names_of(EN[key]) == names_of(ZH[key])
    # A figure that may be absent is optional in both, together with the same others.
    parts = [sorted(tuple(sorted(names_of(p))) for p in OPTIONAL.findall(text[key])) for text in (EN, ZH)]
    assert parts[0] == parts[1]


def texts() -> set[str]:
    """Every text of causes, remedies, switches, threads and next steps that is no entry of the catalogue."""
    out = {t for c in CAUSES for t in (c.looks_like, c.differs)}
    remedies = [r for c in CAUSES for of in ("sglang", "vllm") for r in fitting(c.remedies, Served(of, None), EMPTY)]  # type: ignore[arg-type]
    remedies += [r for c in CAUSES for r in fitting(c.remedies, Served("sglang", "0.4.6"), EMPTY)]
    out |= {t for r in (*remedies, *KILLED) for t in (r.action, r.loses, r.risk) if t}
    out |= {action for action, _ in VLLM.values()} | {PROFILE, KEEP} | {thread.says for thread in KNOWN}
    for signal, *ways in ASKS.values():
        out |= {signal, *(filled(way, version) for way in ways for version in (None, "0.4.10", "0.5.9", "0.5.23"))}
    used = {name for ways in ASKS.values() for way in ways for name in SWITCH.findall(way)}
    return out | {switch.how for switch in SWITCHES if switch.signal in used}


@pytest.mark.parametrize("text", sorted(texts()))
def test_every_text_is_known(text: str) -> None:
    assert known(text, "zh"), f"no Chinese for {text!r}: add it to words/phrases_*_zh.py"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cut prefill into smaller chunks (set to 8192 today)", "把 prefill 切成更小的 chunk（目前为 8192）"),
        (
            "to tell gaps between chunks; whether answers are right: send it",
            "要弄清“chunk 之间的间隔；输出是否正确”：send it",
        ),
        ("ridgeline sample a -o b && ridgeline simulate b", "ridgeline sample a -o b && ridgeline simulate b"),
        ("--log-requests --log-requests-level 1 (0.5.9 on)", "--log-requests --log-requests-level 1（0.5.9 起）"),
        ("a text nobody translated", "a text nobody translated"),
        ("", ""),
    ],
)
def test_a_text_with_figures_in_it_keeps_them(text: str, said: str) -> None:
    assert phrase(text, "zh") == said
    assert phrase(text, "en") == text


@pytest.mark.parametrize("name", SAID)
def test_a_diagnosis_is_said_in_chinese_and_stays_the_same_diagnosis(name: str) -> None:
    forget_english()
    d = diagnose(view_of(CASES[name].tables), "auto", sources=("server.log",))
    english, chinese = to_contract(d), to_contract(d, "zh")
    jsonschema.validate(chinese, SCHEMA)
    assert (english["lang"], chinese["lang"]) == ("en", "zh")
    for a, b in zip(english["findings"], chinese["findings"], strict=True):
        assert CHINESE.search(b["statement"]) and not CHINESE.search(a["statement"])
        assert {k: v for k, v in a.items() if k not in ("statement", "remedies")} == {
            k: v for k, v in b.items() if k not in ("statement", "remedies")
        }
        assert [r["flag"] for r in a["remedies"]] == [r["flag"] for r in b["remedies"]]
        assert all(CHINESE.search(r["action"]) for r in b["remedies"])
    for a, b in zip(english["ladder"], chinese["ladder"], strict=True):
        assert (a["rung"], a["state"], a["evidence"]) == (b["rung"], b["state"], b["evidence"])
        assert CHINESE.search(b["question"])
        assert all(CHINESE.search(m["signal"]) for m in b["missing"])
    for a, b in zip(english["evidence"].values(), chinese["evidence"].values(), strict=True):
        assert {**a, "statement": ""} == {**b, "statement": ""}
        assert CHINESE.search(b["statement"])
    out = io.StringIO()
    render(d, Console(file=out, width=100), lang="zh")
    assert "已排除" in out.getvalue() and name in out.getvalue() and "ruled out" not in out.getvalue()
    assert "…" not in out.getvalue().replace("……", "")  # a table cell that Chinese did not fit into
    assert len(markdown(d, "zh").splitlines()) <= 25
    assert not in_english("zh")


def test_what_a_language_lacks_is_english_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = {key: text for key, text in ZH.items() if key != "a1.alone"}
    monkeypatch.setitem(CATALOGUES, "xx", lacking)
    assert say("a1.alone", {}, "xx") == EN["a1.alone"] and say("d4.one", {}, "xx") == ZH["d4.one"]
    assert in_english("xx") == ("a1.alone",)
    monkeypatch.setitem(lacking, "drift.none", "{never_measured}")  # written for another state of the measure
    assert say("drift.none", {}, "xx") == EN["drift.none"]
    assert in_english("xx") == ("a1.alone", "drift.none")
    with pytest.raises(KeyError):
        say("no such entry", {}, "zh")


def test_a_text_it_lacks_is_told() -> None:
    forget_english()
    assert text_in("a text nobody translated", "zh") == "a text nobody translated"
    assert in_english("zh") == ("a text nobody translated",)
    forget_english()
    assert not in_english("zh")


@pytest.mark.parametrize(
    ("words", "holds"),
    [
        (("diagnose", str(INCIDENT)), ("已排除", "routing.hot-key", "可信度高")),
        (("show", "E1", str(INCIDENT)), ("个在排队", "重算")),
        (("causes", "queue.running-cap"), ("必须成立", "--max-running-requests", "需要重启")),
        (("causes", "disagg"), ("disagg.staging", "staging 缓冲区")),
    ],
)
def test_verbs_take_the_language(words: tuple[str, ...], holds: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "ridgeline", *words, "--lang", "zh"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode in (0, 2) and not done.stderr
    assert all(text in done.stdout for text in holds), done.stdout[:2000]
