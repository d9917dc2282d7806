"""The child process: fast enough, ended in time, and its death is one line."""

import os
import random
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ridgeline.lab.emit.pickles import dumps
from ridgeline.signals.dump import Limits, read_dump, reader
from ridgeline.signals.dump.inert.limits import DEFAULT
from ridgeline.signals.dump.reader import inert
from tests.signals.dump.compose import T, answered, arguments, asked


def seven_megabytes() -> bytes:
    """A dump of 1,000 requests with prompts of 2,000 tokens and their text."""
    draw = random.Random(7)
    requests = []
    for i in range(1000):
        ids = [draw.randrange(128_000) for _ in range(1500)]
        out = {"text": "w" * 200, "output_ids": ids[:200], "meta_info": answered(f"r{i}")["meta_info"]}
        requests.append((asked(f"r{i}", input_ids=ids, text="word " * 100), out, T + i, T + i + 2.0))
    return dumps({"server_args": arguments(), "resolved_config": None, "config_updates": [], "requests": requests})


def test_seven_megabytes_in_a_second(tmp_path: Path) -> None:
    """In processor seconds, the child's and ours: on a core of its own that is the time on the wall."""
    data = seven_megabytes()
    assert len(data) >= 7_000_000
    path = tmp_path / "big.pkl"
    path.write_bytes(data)
    before = os.times()
    found = read_dump(path)
    after = os.times()
    assert len(found.requests) == 1000
    assert found.requests[999].input_ids is not None
    assert len(found.requests[999].input_ids) == 1500
    assert sum(after[:4]) - sum(before[:4]) <= 1.0


def test_a_child_that_takes_too_long_is_ended() -> None:
    began = time.monotonic()
    found = inert(b"\x80\x04" + b"N0" * 6_000_000 + b"N.", Limits(seconds=1.0), began + 1.0)
    assert time.monotonic() - began < 3
    assert "long" in found["refused"] or "more than" in found["refused"]


def test_memory_is_capped() -> None:
    limits = Limits(memory_bytes=256 << 20)
    found = inert(b"\x80\x04" + b"]" * 8_000_000 + b".", limits, time.monotonic() + 15)
    assert "memory" in found["refused"]


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", "signal 11"),
        ("import sys\nsys.exit(77)", "status 77"),
        ("print('no json')", "gave no answer"),
        ("print('[1]')", "gave no answer"),
        ("import time\ntime.sleep(60)", "more than 1 s"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "killed"),
    ],
)
def test_a_child_that_dies_is_one_line(program: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "START", program)
    found: dict[str, Any] = inert(b"\x80\x04].", Limits(seconds=1.0), time.monotonic() + 1.0)
    assert why in found["refused"]
    assert "\n" not in found["refused"]


def test_the_child_gives_up_what_it_does_not_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """Started as ever, but asked to do what a hostile file would like to: each try ends it."""
    base = reader.START.partition("main()")[0].replace("import main", "import _harden, Limits")
    for attempt in (
        "open('/tmp/ridgeline-never', 'w')",
        "__import__('subprocess')",
        "import os; os.system('true')",
        "import os; os.fork() or os._exit(3)",
        "exec('1')",
        "compile('1', 'x', 'eval')",
    ):
        monkeypatch.setattr(reader, "START", f"{base}\nimport sys\n_harden(Limits())\n{attempt}\nprint('{{}}')")
        found = inert(b"x", DEFAULT, time.monotonic() + 10)
        assert found.get("refused", ""), attempt
    assert not Path("/tmp/ridgeline-never").exists()
    assert sys.platform


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"(lp0\nVa\\u00e9\np1\naS'b\\x41'\np2\naF1.5\naL7L\naI01\na.", ["aé", "bA", 1.5, 7, True]),
        (b"S'odd \\q escape'\n.", "odd \\q escape"),
        (b"\x80\x02U\x02\xe9!.", "é!"),
        (b"\x80\x02c_codecs\nencode\n(X\x02\x00\x00\x00\xc3\xa9X\x06\x00\x00\x00latin1tR.", {"$": "bytes", "size": 1}),
    ],
)
def test_the_text_protocols_need_nothing_the_child_gave_up(data: bytes, value: Any) -> None:
    assert inert(data, DEFAULT, time.monotonic() + 10) == {"root": value, "cut": None, "rest": 0}
