"""What the lab measured of the words: it lowers, step by step, and never lifts; without a file nothing changes."""

import json
from pathlib import Path

import pytest

from ridgeline.bundle.open import open_sources
from ridgeline.causes import CAUSES
from ridgeline.ladder.calibration import COMMITTED, committed, lowered
from ridgeline.ladder.diagnose import diagnose
from ridgeline.ladder.judge import LEVELS, Judgement
from ridgeline.model.diagnosis import Confidence
from ridgeline.model.errors import InputError

CAUSE = next(c for c in CAUSES if c.id == "queue.burst")


def judged(word: Confidence, *caps: str) -> Judgement:
    return Judgement(CAUSE, (), (), 0.9, word, caps)


@pytest.mark.parametrize(
    ("word", "measured", "becomes", "caps"),
    [
        ("high", {"high": 0.97, "medium": 0.5}, "high", ()),
        ("high", {"high": 0.95}, "high", ()),
        ("high", {"high": 0.90, "medium": 0.96}, "medium", ("lab-precision-0.90",)),
        ("high", {"high": 0.90}, "medium", ("lab-precision-0.90",)),
        ("high", {"high": 0.70, "medium": 0.75}, "low", ("lab-precision-0.70", "lab-precision-0.75")),
        ("medium", {"high": 0.10, "medium": 0.96}, "medium", ()),
        ("medium", {"medium": 0.5}, "low", ("lab-precision-0.50",)),
        ("low", {"low": 0.1, "medium": 0.1, "high": 0.1}, "low", ()),
        ("low", {}, "low", ()),
    ],
)
def test_the_surest_word_that_holds(
    word: Confidence, measured: dict[str, float], becomes: str, caps: tuple[str, ...]
) -> None:
    j = lowered(judged(word, "no-baseline"), {"queue.burst": measured})
    assert (j.confidence, j.caps) == (becomes, ("no-baseline", *caps))


@pytest.mark.parametrize("word", LEVELS)
def test_a_cause_that_has_no_fault_is_medium_at_most(word: Confidence) -> None:
    j = lowered(judged(word), {"queue.running-cap": {"high": 1.0}})
    assert LEVELS.index(j.confidence) == min(LEVELS.index(word), 1)
    assert j.caps == ("no-lab-fault",)


def test_without_a_file_nothing_changes(tmp_path: Path) -> None:
    assert committed(tmp_path / "none.json") is None
    assert lowered(judged("high"), None) == judged("high")


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    told = {"high": {"said": 20, "right": 17, "precision": 0.9}, "medium": {"said": 22, "right": 19, "precision": 0.91}}
    path.write_text(
        json.dumps({"schema": "ridgeline.calibration/1", "causes": {"queue.burst": told}}), encoding="utf-8"
    )
    assert committed(path) == {"queue.burst": {"high": 0.9, "medium": 0.91}}


@pytest.mark.parametrize(
    "text", ["", "[]", '{"causes": {}}', '{"schema": "x", "causes": {}}',
             '{"schema": "ridgeline.calibration/1", "causes": {"queue.burst": {"high": 0.9}}}'],
)  # fmt: skip
def test_a_file_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "calibration.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"calibration\.json"):
        committed(path)


def test_the_committed_file_if_there_is_one_names_causes_of_the_catalogue() -> None:
    read = committed(COMMITTED)
    assert read is None or set(read) <= {c.id for c in CAUSES}


def test_diagnose_says_what_is_borne_out() -> None:
    incident = str(Path(__file__).resolve().parents[2] / "examples" / "incident")
    view = open_sources([incident])
    plain = diagnose(view, sources=[incident]).findings[0]
    assert plain.confidence == "high"
    doubtful = {c.id: {"high": 0.5, "medium": 1.0} for c in CAUSES}
    told = diagnose(view, sources=[incident], calibration=doubtful).findings[0]
    assert (told.cause, told.confidence) == (plain.cause, "medium")
    assert "lab-precision-0.50" in told.caps
    sure = {c.id: {"high": 1.0, "medium": 1.0} for c in CAUSES}
    assert diagnose(view, sources=[incident], calibration=sure).findings[0] == plain
