"""The whole way in front of the modelled server, over real HTTP: a good time, a fault on the switch, sealed within
seconds of its onset, named; the fault off, a capture, and a verdict against the good time.
"""

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import pytest

from tests.lab.serve.conftest import Served
from tests.live.running import until

RATE = 12.0  # requests a second
GOOD_S = 22.0  # the good time before the fault: what the recorder compares with
WITHIN_S = 15.0  # from the onset to a sealed bundle, where a core is to spare


@dataclass(frozen=True)
class Way:
    """A service, its traffic, what is switched on, and the causes that name it."""

    arguments: tuple[str, ...]
    words: tuple[int, int]  # repetitions in a prompt, least and most
    fault: str
    causes: frozenset[str]


PAIR = Way(("--pd", "--size", "fast"), (60, 80), "disagg.transfer-slow", frozenset({"disagg.transfer-slow"}))
RANKS = Way(("--ranks", "4"), (5, 40), "fault.hang", frozenset({"fault.hang"}))


async def ask_on(url: str, words: tuple[int, int], stop: threading.Event) -> None:
    """Short streams on a steady clock until told to stop."""
    rng = Random(1)

    async def one(session: aiohttp.ClientSession, index: int) -> None:
        body = {"prompt": f"question {index} " + "about the queue " * rng.randint(*words), "stream": True,
                "max_tokens": rng.randint(20, 50), "ignore_eos": True}  # fmt: skip
        async with session.post(f"{url}/v1/completions", json=body) as answer:
            async for _ in answer.content.iter_any():
                pass

    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as session:
        tasks = set()
        began, index = time.monotonic(), 0
        while not stop.is_set():
            task = asyncio.create_task(one(session, index))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            index += 1
            await asyncio.sleep(max(0.0, began + index / RATE - time.monotonic()))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture(params=[PAIR, RANKS], ids=["pair", "ranks"])
def loaded(lab_serve: Callable[..., Served], request: pytest.FixtureRequest) -> Iterator[tuple[Way, Served]]:
    """A server of its own under load; it ends with the test."""
    way: Way = request.param
    server = lab_serve(*way.arguments)
    stop = threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(ask_on(server.gate, way.words, stop)))
    thread.start()
    yield way, server
    stop.set()
    thread.join()


def looking_at(server: Served) -> list[str]:
    """The arguments that name every server and every log."""
    urls = dict.fromkeys((server.gate, *server.urls))
    return [*urls, "--every", "500ms", "--logs", *map(str, sorted(server.logs.glob("*.log")))]


def sealed_late_s(folder: Path, onset: float) -> float:
    """How long after the onset the bundle was whole."""
    return (folder / "manifest.json").stat().st_mtime - onset


def one_token_s(server: Served) -> float:
    """How long the service takes for one token."""
    began = time.monotonic()
    server.json("/v1/completions", {"prompt": "x", "max_tokens": 1})
    return time.monotonic() - began


def ridgeline(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ridgeline", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_caught_named_and_over(loaded: tuple[Way, Served], tmp_path: Path) -> None:
    way, server = loaded
    out = tmp_path / "incidents"
    command = [sys.executable, "-m", "ridgeline", "watch", *looking_at(server), "-o", str(out), "--quiet", "--after",
               "3s"]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as recorder:
        assert recorder.stdout is not None
        assert "watching" in recorder.stdout.readline()
        time.sleep(GOOD_S)
        quiet_s = one_token_s(server)
        onset = time.time()
        server.json("/lab/fault", {"fault": way.fault, "severity": 2})
        until(lambda: list(out.glob("*/manifest.json")), 120)
        busy = os.getloadavg()[0] / (os.cpu_count() or 1)
        server.json("/lab/fault", method="DELETE")
        until(lambda: list(out.glob("*/diagnosis.json")), 120)
        # what comes of turning it off may be sealed as well: the first is the incident
        recorder.terminate()
        said = recorder.communicate(timeout=120)[0]
    folder = min(out.iterdir())
    told: dict[str, Any] = json.loads((folder / "diagnosis.json").read_text())
    assert told["findings"] and told["findings"][0]["cause"] in way.causes, (told["summary"], said)
    assert sealed_late_s(folder, onset) < WITHIN_S * max(1.0, busy), said  # a busy machine seals as it can
    until(lambda: one_token_s(server) < 2 * quiet_s + 0.2)
    done = ridgeline("capture", *looking_at(server), "-o", tmp_path / "after", "--for", "10s", "--quiet")
    assert done.returncode == 0, done.stderr
    done = ridgeline("compare", folder, tmp_path / "after", "--format", "json")
    verdict = json.loads(done.stdout)
    assert (verdict["verdict"], verdict["reference"]) == ("recovered", "baseline"), verdict["summary"]
    assert done.returncode == 0
