"""The recorder in front of the modelled server: four ranks under load, a fault on the switch, sealed and named."""

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import aiohttp
import pytest

from tests.lab.serve.conftest import Served

WARM_S = 28.0  # the recorder compares with what it has seen


async def ask_on(url: str, stop: threading.Event) -> None:
    """Eight short streams a second until told to stop."""
    rng = Random(1)

    async def one(session: aiohttp.ClientSession, index: int) -> None:
        body = {"prompt": f"question {index} " + "about the queue " * rng.randint(5, 40), "stream": True,
                "max_tokens": rng.randint(20, 50), "ignore_eos": True}  # fmt: skip
        async with session.post(f"{url}/v1/completions", json=body) as answer:
            async for _ in answer.content.iter_any():
                pass

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        tasks = set()
        for index in range(100_000):
            if stop.is_set():
                break
            task = asyncio.create_task(one(session, index))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            await asyncio.sleep(0.125)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
def loaded(lab_serve: Callable[..., Served]) -> Iterator[Served]:
    server = lab_serve("--ranks", "4")
    stop = threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(ask_on(server.gate, stop)))
    thread.start()
    yield server
    stop.set()
    thread.join()


@pytest.mark.slow
def test_a_hang_is_sealed_and_named(loaded: Served, tmp_path: Path) -> None:
    out = tmp_path / "incidents"
    command = [sys.executable, "-m", "ridgeline", "watch", loaded.gate, "-o", str(out), "--quiet", "--logs",
               str(loaded.logs / "server.log"), "--after", "3s"]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as recorder:
        time.sleep(WARM_S)
        began = time.time()
        loaded.json("/lab/fault", {"fault": "fault.hang"})
        found: list[Path] = []
        while not found and time.time() < began + 90:
            found = list(out.glob("*/diagnosis.json"))
            time.sleep(0.3)
        loaded.json("/lab/fault", method="DELETE")
        recorder.terminate()
        said = recorder.communicate(timeout=60)[0]
    assert found, said
    told = json.loads(found[0].read_text())
    assert [f["cause"] for f in told["findings"]][:1] == ["fault.hang"], said
    # sealed means that nothing of the evidence is younger; the diagnosis comes after it
    sealed_s = max(p.stat().st_mtime for p in (found[0].parent / "tables").iterdir()) - began
    assert sealed_s < 30, said
