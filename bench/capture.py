"""What watching costs: 64 endpoints of 100 KB each second for a minute, and how late each question is asked.

The endpoints are served by another process (its own core); the capture runs here, so that its CPU time is its own.
Bar: no question more than 100 ms late at p99, at most 10 % of a core.

    python bench/capture.py [--endpoints 64] [--bytes 100000] [--seconds 60] [--every 1.0]
"""

import argparse
import asyncio
import json
import multiprocessing
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

from ridgeline.live.capture import Plan, capture


def exposition(size: int, k: int) -> bytes:
    """About `size` bytes of exposition whose counters change with `k`."""
    lines = ["# TYPE sglang:http_requests counter"]
    lines += [f'sglang:http_requests_total{{endpoint="/generate/{i:06d}",method="POST"}} {i * 7 + k}.0'
              for i in range(size // 73)]  # fmt: skip
    return "\n".join(lines).encode() + b"\n"


async def serve(endpoints: int, size: int, tell: Connection) -> None:
    bodies = [exposition(size, k) for k in range(20)]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        count = 0
        while line := await reader.readline():
            path = line.split(b" ")[1] if line.count(b" ") > 1 else b"/"
            while (await reader.readline()).strip():
                pass
            count += 1
            known = path == b"/metrics"
            body = bodies[count % len(bodies)] if known else b""
            status = b"200 OK" if known else b"404 Not Found"
            writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()

    servers = [await asyncio.start_server(answer, "127.0.0.1", 0, backlog=256) for _ in range(endpoints)]
    tell.send([server.sockets[0].getsockname()[1] for server in servers])
    await asyncio.Event().wait()


def server(endpoints: int, size: int, tell: Connection) -> None:
    asyncio.run(serve(endpoints, size, tell))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--endpoints", type=int, default=64)
    parser.add_argument("--bytes", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--every", type=float, default=1.0)
    given = parser.parse_args()
    here, there = multiprocessing.Pipe()
    other = multiprocessing.get_context("spawn").Process(
        target=server, args=(given.endpoints, given.bytes, there), daemon=True
    )
    other.start()
    urls = [f"http://127.0.0.1:{port}" for port in here.recv()]
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / "raw"
        raw.mkdir()
        said: list[str] = []
        cpu, began = time.process_time(), time.monotonic()
        outcome = asyncio.run(
            capture(Plan(urls, every_s=given.every, for_s=given.seconds), Path(folder), raw, {}, said.append)
        )
        cpu, took = time.process_time() - cpu, time.monotonic() - began
        late = sorted(outcome.tally.late_s)
        p99 = late[int(0.99 * len(late))]
        share = cpu / took
        print(json.dumps({
            "endpoints": given.endpoints, "answers": outcome.tally.answers, "gaps": outcome.tally.gaps,
            "skipped": outcome.tally.skipped, "late_p50_ms": round(1000 * late[len(late) // 2], 2),
            "late_p99_ms": round(1000 * p99, 2), "late_max_ms": round(1000 * late[-1], 2),
            "cpu_of_a_core": round(share, 4), "written_mb": round(outcome.bytes_written / 1e6, 2),
            "received_mb": round(outcome.tally.answers * given.bytes / 1e6, 1), "slowed": len(said),
            "met": p99 <= 0.1 and share <= 0.10,
        }))  # fmt: skip
    other.terminate()
    return 0 if p99 <= 0.1 and share <= 0.10 else 1


if __name__ == "__main__":
    sys.exit(main())
