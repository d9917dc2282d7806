"""How many streams one core serves, and how late its tokens are: `ridgeline lab serve` under an open-loop load.

    python bench/lab_serve.py [--streams 100] [--tokens 50] [--for 20] [--scrape]

The server runs on one core and measures its own lag (a token is due when its step ends in virtual time; it is late by
how long after that it was handed to the socket). The load runs in this process, on the other core. Where the system
allows it, both go before their neighbours on these cores (round robin in real time); how long the server had to wait
for its core all the same is printed, and so is the load average. With --scrape it is scraped every second.
"""

import argparse
import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

PORT = 31_500


async def stream(index: int, tokens: int, done: list[tuple[float, float]]) -> None:
    body = json.dumps({"messages": [{"role": "user", "content": f"request {index}"}], "max_tokens": tokens,
                       "ignore_eos": True, "stream": True}).encode()  # fmt: skip
    began = time.monotonic()
    reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n"
    writer.write(head.encode() + b"Connection: close\r\nContent-Type: application/json\r\n\r\n" + body)
    first = 0.0
    seen = b""
    while piece := await reader.read(65536):
        if not first and b"data:" in piece:
            first = time.monotonic()
        seen = (seen + piece)[-64:]
    writer.close()
    if b"[DONE]" in seen:
        done.append((first - began, time.monotonic() - began))


def ask(path: str) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}{path}", timeout=5) as answer:
        found: dict[str, float] = json.loads(answer.read())
    return found


async def looks(count: int) -> None:
    """A scrape every second."""
    for _ in range(count):
        await asyncio.gather(asyncio.sleep(1.0), asyncio.to_thread(page))


def page() -> bytes:
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/metrics", timeout=5) as answer:
        found: bytes = answer.read()
    return found


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def load(rate: float, tokens: int, for_s: float, scrape: bool) -> list[tuple[float, float]]:
    done: list[tuple[float, float]] = []
    tasks: set[asyncio.Task[None]] = set()
    began = time.monotonic()
    if scrape:
        tasks.add(asyncio.create_task(looks(int(for_s))))
    for index in range(int(rate * for_s)):
        await asyncio.sleep(max(0.0, began + index / rate - time.monotonic()))
        tasks.add(asyncio.create_task(stream(index, tokens, done)))
    await asyncio.gather(*tasks)
    return done


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--streams", type=float, nargs="*", default=[100.0, 250.0])
    parser.add_argument("--tokens", type=int, default=50)
    parser.add_argument("--for", dest="for_s", type=float, default=20.0)
    parser.add_argument("--scrape", action="store_true")
    given = parser.parse_args()
    for rate in given.streams:
        command = [sys.executable, "-m", "ridgeline", "lab", "serve", "--port", str(PORT), "--ranks", "4",
                   "--size", "fast", "--format", "json"]  # fmt: skip
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            server.stdout.readline()
            with contextlib.suppress(PermissionError):
                for pid in (server.pid, 0):
                    os.sched_setscheduler(pid, os.SCHED_RR, os.sched_param(1))
            os.sched_setaffinity(server.pid, {0})
            os.sched_setaffinity(0, {1})
            waited = ask("/lab/lag")["waited_s"]
            before, began = cpu_s(server.pid), time.monotonic()
            done = asyncio.run(load(rate, given.tokens, given.for_s, given.scrape))
            spent = cpu_s(server.pid) - before
            took = time.monotonic() - began
            lag = ask("/lab/lag")
            server.terminate()
        ttft = sorted(first for first, _ in done)
        wait = 100 * (lag["waited_s"] - waited) / took
        p50, p99, worst = (1e3 * lag[name] for name in ("p50_s", "p99_s", "max_s"))
        print(
            f"{rate:.0f} streams/s x {given.tokens} tokens for {given.for_s:.0f} s: {len(done)} complete of "
            f"{int(rate * given.for_s)}; lag p50 {p50:.1f} ms, p99 {p99:.1f} ms, max {worst:.1f} ms over "
            f"{lag['chunks']:.0f} chunks; {100 * spent / took:.0f}% of a core; client TTFT p50 "
            f"{1e3 * ttft[len(ttft) // 2]:.0f} ms; open at the end {lag['open']:.0f}; load average "
            f"{lag['load_average']:.1f}, it waited {wait:.1f}% of the time for its core"
        )


if __name__ == "__main__":
    main()
