"""Files made to run code: nothing runs, each is one line. The proof: a canary file, an audit and an import hook."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ridgeline.signals.dump import read_dump
from ridgeline.signals.dump.inert.child import answer
from ridgeline.signals.dump.inert.limits import DEFAULT
from ridgeline.signals.dump.reader import PACKAGE, START
from tests.signals.dump.compose import glob, hostile

NAMES = sorted(hostile("x"))
# Reads every pickle of a JSON file in this very process while an audit hook and an import hook look on.
WATCHED = """
import json, sys, time
from ridgeline.signals.dump.inert.child import answer
from ridgeline.signals.dump.inert.limits import DEFAULT
cases = json.load(open(sys.argv[1]))
seen, looking = [], False
def audit(event, args):
    if looking:
        seen.append(event)
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        seen.append("looked for " + name)
sys.meta_path.insert(0, Finder)
answer(b"\\x80\\x04].", DEFAULT, time.monotonic() + 5)
before = set(sys.modules)
sys.addaudithook(audit)
out = {}
for name, data in cases.items():
    raw = bytes.fromhex(data)
    looking = True
    found = answer(raw, DEFAULT, time.monotonic() + 15)
    for size in range(len(raw) if len(raw) < 1000 else 0):
        part = answer(raw[:size], DEFAULT, time.monotonic() + 15)
        assert part.get("refused") or part.get("cut") or len(raw) - part["rest"] > 1, (name, size, part)
    looking = False
    out[name] = found.get("refused") or found.get("cut")
print(json.dumps({"seen": seen, "new": sorted(set(sys.modules) - before), "refused": out}))
"""


@pytest.fixture(scope="module")
def canary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile") / "canary"


@pytest.mark.parametrize("name", ["os.system by global", "eval by stack_global", "inside a dump by global", "inst"])
def test_the_payloads_are_live(name: str, tmp_path: Path) -> None:
    """A program that loads them does create the file: otherwise the tests below would prove nothing."""
    at = tmp_path / "canary"
    (tmp_path / "x").write_bytes(hostile(str(at))[name])
    code = "import pickle, sys\ntry:\n    pickle.load(open(sys.argv[1], 'rb'))\nexcept ModuleNotFoundError:\n    pass"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "x")], check=True, timeout=60)
    assert at.exists()


def test_nothing_runs_is_imported_or_opened(canary: Path, tmp_path: Path) -> None:
    cases = {name: data.hex() for name, data in hostile(str(canary)).items()}
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    command = [sys.executable, "-c", WATCHED, str(tmp_path / "cases.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found = json.loads(done.stdout)
    assert [event for event in found["seen"] if not event.startswith("object.__getattr__")] == []
    assert found["new"] == []
    assert sorted(found["refused"]) == NAMES
    assert all(found["refused"].values()), [name for name, why in found["refused"].items() if not why]
    assert not canary.exists()


def test_the_hook_sees_what_a_real_load_does(tmp_path: Path) -> None:
    """The same hook on `pickle.loads` reports the lookup: it would have reported ours."""
    data = glob("collections", "abc") + b"."
    code = WATCHED.replace("found = answer(raw, DEFAULT, time.monotonic() + 15)", "found = {}; pickle.loads(raw)")
    code = code.replace("range(len(raw) if len(raw) < 1000 else 0)", "()")
    (tmp_path / "cases.json").write_text(json.dumps({"x": data.hex()}))
    command = [sys.executable, "-c", "import pickle\n" + code, str(tmp_path / "cases.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "pickle.find_class" in json.loads(done.stdout)["seen"]


@pytest.mark.parametrize("name", NAMES)
def test_one_line_each(name: str, canary: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.pkl"
    path.write_bytes(hostile(str(canary))[name])
    began = time.monotonic()
    found = read_dump(path)
    assert time.monotonic() - began < 20
    assert found.requests == ()
    assert found.kind is None
    assert found.refused is not None
    assert "\n" not in found.refused
    assert "Traceback" not in found.refused
    assert len(found.refused) < 300
    assert not canary.exists()


@pytest.mark.parametrize("name", [n for n in NAMES if " by " in n and "inside" not in n])
def test_a_name_that_can_run_code_is_told(name: str) -> None:
    refused = answer(hostile("x")[name], DEFAULT, time.monotonic() + 5)["refused"]
    assert "can run code where a pickle is loaded" in refused


def test_the_child_has_no_pickle_loaded() -> None:
    """The machine and all it imports, started as the reader starts it."""
    shown = "import ridgeline.signals.dump.inert.child\nprint(sorted(sys.modules))"
    script = START.partition("from ridgeline")[0] + shown
    command = [sys.executable, "-I", "-S", "-c", script, str(PACKAGE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "ridgeline.signals.dump.inert.machine" in done.stdout
    for module in ("pickle", "_pickle", "pickletools", "msgspec", "numpy", "subprocess"):
        assert f"'{module}'" not in done.stdout
