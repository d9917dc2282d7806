"""A thousand requests a second, open loop: how far from its time does each request arrive?

    python -m bench.replay [--rate 1000] [--for 12]

Against a bare asyncio sink in a process of its own, which notes when each request has arrived, and against one that
takes every request and never answers. Bars: arrival error p99 at most 5 ms; behind the stalling target arrivals take as
long as they should. The named rivals, in the same run on the same sink: the loop that most scripts have (send, then
sleep until the next is due, one behind the other), and the way of SGLang's own replay script (a pool of threads, each
sleeping for its own request).
"""

import argparse
import asyncio
import http.client
import json
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import aiohttp
import numpy as np

from ridgeline.replay.body import Manner
from ridgeline.replay.clock import Clock
from ridgeline.replay.player import Drain, Pace, play, still_memory
from ridgeline.replay.shot import Shot
from ridgeline.replay.target import target_of

BAR_MS: Final = 5.0
TEXT: Final = "x" * 400
SINK: Final = """
import asyncio, json, sys, time

class Sink(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.data = transport, b""

    def data_received(self, data):
        now = time.time()
        self.data += data
        while (end := self.data.find(b"\\r\\n\\r\\n")) >= 0:
            head = self.data[:end].lower()
            at = head.find(b"content-length:")
            size = int(head[at + 15:].split(b"\\r\\n", 1)[0]) if at >= 0 else 0
            if len(self.data) < end + 4 + size:
                return
            body, self.data = self.data[end + 4 : end + 4 + size], self.data[end + 4 + size :]
            if head.startswith(b"get /seen"):
                self.answer(b"application/json", json.dumps(seen).encode())
                seen.clear()
            elif head.startswith(b"get"):
                self.answer(b"text/plain", b"")
            else:
                mark = body.find(b'"rid":')
                seen.append((int(body[mark + 6 :].split(b'"')[1].split(b"-")[-1]), now))
                if not stall:
                    self.answer(b"text/event-stream", DONE)

    def answer(self, kind, body):
        head = b"HTTP/1.1 200 OK\\r\\nContent-Type: %s\\r\\nContent-Length: %d\\r\\n\\r\\n"
        self.transport.write(head % (kind, len(body)) + body)

DONE = (b'data: {"text": " a", "output_ids": [1], "meta_info": {"id": "r", "finish_reason": {"type": "stop"}, '
        b'"prompt_tokens": 5, "completion_tokens": 1}}\\n\\ndata: [DONE]\\n\\n')
seen, stall = [], sys.argv[1] == "stall"

async def main():
    server = await asyncio.get_running_loop().create_server(Sink, "127.0.0.1", 0, backlog=8192)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def sink(how: str) -> tuple[subprocess.Popen[str], int]:
    """A sink process and its port."""
    child = subprocess.Popen([sys.executable, "-c", SINK, how], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    return child, int(child.stdout.readline())


def seen(port: int) -> dict[int, float]:
    """Number of a request → epoch second of its arrival, since the last call."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/seen")
    found = json.loads(connection.getresponse().read())
    connection.close()
    return dict(found)


def ridgeline(port: int, rate: float, n: int, wait_s: float) -> float:
    """Our player; returns the epoch second at which the first request was due."""
    shots = [Shot(i / rate, str(i), text=TEXT, sampling={"max_new_tokens": 8}) for i in range(n)]
    first: list[float] = []
    drain = Drain()

    async def main() -> None:
        if wait_s:
            asyncio.get_running_loop().call_later(n / rate + wait_s, lambda: (drain.ask(), drain.ask()))
        clock = Clock()
        with still_memory():
            await play(shots, target_of(f"http://127.0.0.1:{port}"), Manner(prefix="b-"), Pace(timeout_s=900),
                       lambda i, _, o: first.append((o.planned_ts or 0.0) - i / rate), drain, clock)  # fmt: skip

    asyncio.run(main())
    return first[0]


def chained(port: int, rate: float, n: int, wait_s: float) -> float:
    """Send, then sleep until the next is due: `await asyncio.sleep(1 / rate)` behind each send."""
    began: list[float] = []

    async def main() -> None:
        timeout = aiohttp.ClientTimeout(total=900)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as session:

            async def one(i: int) -> None:
                async with session.post(
                    f"http://127.0.0.1:{port}/generate", json={"rid": f"b-{i}", "text": TEXT}
                ) as got:
                    await got.read()

            began.append(time.time())
            tasks = []
            for i in range(n):
                tasks.append(asyncio.create_task(one(i)))
                await asyncio.sleep(1 / rate)
            if wait_s:
                await asyncio.sleep(wait_s)
                for task in tasks:
                    task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(main())
    return began[0]


def pooled(port: int, rate: float, n: int, wait_s: float) -> float:
    """A pool of 128 threads, each sleeping until its request is due; a stalled request keeps its thread."""
    began = time.time() + 0.1

    def one(i: int) -> None:
        time.sleep(max(0.0, began + i / rate - time.time()))
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=wait_s or 30)
        try:
            connection.request("POST", "/generate", json.dumps({"rid": f"b-{i}", "text": TEXT}))
            connection.getresponse().read()
        except OSError:
            return
        finally:
            connection.close()

    with ThreadPoolExecutor(128) as pool:
        list(pool.map(one, range(n)))
    return began


def errors_ms(at: dict[int, float], began: float, rate: float) -> np.ndarray[Any, Any]:
    """How far each arrival lies from its time, either way."""
    return np.array([abs(ts - began - i / rate) * 1000 for i, ts in at.items()])


def measured(
    name: str, port: int, rate: float, n: int, way: Callable[[int, float, int, float], float], wait_s: float
) -> tuple[float, float]:
    """Print one line; returns the p99 in milliseconds and how long the arrivals took."""
    before = time.process_time()
    began = way(port, rate, n, wait_s)
    used = time.process_time() - before
    at = seen(port)
    found = errors_ms(at, began, rate)
    p50, p99 = np.quantile(found, (0.5, 0.99))
    took = max(at.values()) - began
    print(f"{name:34} {len(at):>6} of {n} in {took:6.2f} s (plan {n / rate:.2f}); arrival error p50 {p50:8.2f} ms, "
          f"p99 {p99:8.2f} ms, max {found.max():8.2f} ms; {used:.1f} CPU s")  # fmt: skip
    return float(p99), took


def main() -> None:
    """Run every way against both sinks; exit status 1 where a bar is missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, default=1000)
    parser.add_argument("--for", dest="for_s", type=float, default=12)
    parser.add_argument("--alone", action="store_true", help="without the rivals")
    given = parser.parse_args()
    n = int(given.rate * given.for_s)
    ways: list[tuple[str, Callable[[int, float, int, float], float]]] = [
        ("ridgeline", ridgeline), ("send, sleep, send", chained), ("128 threads", pooled),
    ]  # fmt: skip
    ok = True
    for how, wait_s in (("answer", 0.0), ("stall", 2.0)):
        for name, way in ways[: 1 if given.alone else None]:
            count = n if how == "answer" else n // 4
            child, port = sink(how)
            try:
                p99, took = measured(f"{name}, sink {how}s", port, given.rate, count, way, wait_s)
                ok = ok and (name != "ridgeline" or how == "stall" or p99 <= BAR_MS)
                ok = ok and (name != "ridgeline" or took <= count / given.rate * 1.02)
            finally:
                child.terminate()
                child.wait()
    bars = f"arrival error p99 at most {BAR_MS:g} ms, arrivals behind a stalling target no later than planned"
    print(f"bars: {bars}: {'kept' if ok else 'MISSED'}")
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
