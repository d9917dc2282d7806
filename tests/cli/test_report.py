"""`ridgeline report`: one file, exit 0 when it was written, names hidden unless they are kept on purpose."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from ridgeline.cli import main
from ridgeline.cli.stored import as_stored
from ridgeline.model.diagnosis import Window
from ridgeline.model.errors import InputError

ROOT: Final = Path(__file__).resolve().parents[2]
INCIDENT: Final = str(ROOT / "examples" / "incident")
SMALL: Final = str(ROOT / "examples" / "incident" / "loads.scrapes.txt")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ridgeline", *arguments], capture_output=True, text=True, timeout=120, check=False
    )


def test_a_report_hides_names_and_exits_0(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "incident.html"
    done = run("report", INCIDENT, "-o", str(out), "--pictures", str(tmp_path / "p"), "--format", "json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["verdict"] == "finding" and told["causes"][0] == "routing.hot-key"
    assert {f["path"]: f["bytes"] for f in told["files"]}[str(out)] == out.stat().st_size
    text = out.read_text()
    assert "tenant-7" not in text and "h:" in text and "routing.hot-key" in text
    assert {p.name for p in (tmp_path / "p").iterdir()} >= {"heat.svg", "latency.svg", "ranks.svg", "slices.svg"}
    assert "tenant-7" not in "".join(p.read_text() for p in (tmp_path / "p").iterdir())


def test_a_bundle_and_a_decision(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    assert run("ingest", INCIDENT, "-o", str(bundle), "--keep-text", "--quiet").returncode == 0
    change = {"before": 20.0, "after": 0.4, "delta": -19.6, "low": -25.0, "high": -3.0, "relative": -0.98}
    one = {"observed": 2.0, "predicted": 2.2, "error": 0.1, "low": 1.8, "high": 2.6}
    decision = {
        "schema": "ridgeline.decision/1", "cause": "routing.hot-key", "verdict": "change", "worth_touching": True,
        "sentence": "Spread the key.", "change": {"settings": {"workers": 2}, "unpin": False, "flag": None},
        "gain": {"figure": "TTFT p90", **change}, "risk": [], "base": None, "notes": [],
        "fidelity": {"trust": True, "why": [], "requests": 445, "metrics": {"ttft_s": {"p90": one}}},
        "tried": [{"settings": {"workers": 2}, "unpin": False, "gain": change}],
    }  # fmt: skip
    (bundle / "decision.json").write_text(json.dumps(decision))
    out = tmp_path / "r.html"
    assert run("report", str(bundle), "-o", str(out), "--after", INCIDENT, "--quiet").returncode == 0
    text = out.read_text()
    for words in ("Spread the key.", "picture-simulation", "picture-fidelity", "picture-before-after", "workers=2"):
        assert words in text
    assert "tenant-7" in text  # kept on purpose when the bundle was written
    told = {"symptom": "cache", "windows": {"how": "given", "baseline": None}}
    told["windows"]["incident"] = ["2026-11-30T03:42:00.000Z", "2026-11-30T03:43:00.000Z"]  # type: ignore[index]
    (bundle / "diagnosis.json").write_text(json.dumps(told))
    assert as_stored([str(bundle)]) == ("cache", Window(1796010120.0, 1796010180.0), None)
    (bundle / "diagnosis.json").write_text("{")
    with pytest.raises(InputError, match=r"diagnosis\.json"):
        as_stored([str(bundle)])
    (bundle / "diagnosis.json").unlink()
    (bundle / "decision.json").write_text('{"schema": "ridgeline.decision/1", "tried": 7}')
    broken = run("report", str(bundle), "-o", str(out))
    assert broken.returncode == 1 and "decision.json" in broken.stderr and len(broken.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-o", "x.txt"), ".html"),
        ((), "give -o"),
        (("-o", "x.html", "--picture", "heat"), ".svg"),
        (("-o", "x.svg", "--picture", "nonsense"), "heat"),
        (("-o", "x.svg", "--picture", "pair"), "needs"),
        (("-o", "x.html", "--lang", "xx"), "en"),
        (("-o", "/proc/none/x.html"), "cannot be written"),
        (("-o", "x.html", "--decision", "none.json"), "cannot be read"),
    ],
)
def test_a_mistake_is_one_line(
    arguments: tuple[str, ...],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        main(["report", SMALL, "--keep-text", *arguments])
    said = capsys.readouterr().err
    assert left.value.code == 1
    assert words in said and len(said.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
