"""What watching costs: 64 endpoints of 100 KB each second for a minute, and how late each question is asked.

The endpoints are served by another process (its own core); the capture runs here, so that its CPU time is its own.
Bar: no question more than 100 ms late at p99, at most 10 % of a core. `--watch`: the flight recorder with its live view
on 16 ranks instead, at most 5 %.

    python bench/capture.py [--endpoints 64] [--bytes 100000] [--seconds 60] [--every 1.0] [--watch]
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


def ranks(k: int, many: int = 16) -> bytes:
    """What a server with that many DP ranks exposes: gauges, counters and histograms of SGLang 0.5.9 per rank."""
    lines = []
    for r in range(many):
        labels = f'dp_rank="{r}",engine_type="unified",model_name="m",moe_ep_rank="0",pp_rank="0",tp_rank="0"'
        gauges = {"num_running_reqs": 30 + (k + r) % 5, "num_queue_reqs": (k * r) % 4,
                  "token_usage": 0.5 + (k + r) % 10 / 100, "gen_throughput": 900 + (k * 37 + r) % 100}  # fmt: skip
        lines += [f"sglang:{name}{{{labels}}} {value}" for name, value in gauges.items()]
        for stage in ("prefill_waiting", "prefill_forward", "request_process", "decode_waiting"):
            name, own = "sglang:per_stage_req_latency_seconds", f'stage="{stage}",{labels}'
            lines += [f'{name}_bucket{{le="{0.001 * 1.62**i:.6g}",{own}}} {k * 3 + i}' for i in range(30)]
            lines.append(f"{name}_sum{{{own}}} {k * (1 + r % 3)}")
    bounds = (0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400, "+Inf")
    lines += [f'sglang:time_to_first_token_seconds_bucket{{le="{le}",model_name="m"}} {k * 20}' for le in bounds]
    lines += [f'sglang:time_to_first_token_seconds_{part}{{model_name="m"}} {k * 20 * scale}'
              for part, scale in (("sum", 0.05), ("count", 1))]  # fmt: skip
    lines.append(f'sglang:num_requests_total{{model_name="m"}} {k * 20}')
    return "\n".join(lines).encode() + b"\n"


async def serve_ranks(tell: Connection) -> None:
    began = time.monotonic()
    bodies = [ranks(k) for k in range(200)]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            known = line.startswith(b"GET /metrics")
            while (await reader.readline()).strip():
                pass
            body = bodies[min(int(time.monotonic() - began), len(bodies) - 1)] if known else b""
            status = b"200 OK" if known else b"404 Not Found"
            writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    tell.send((server.sockets[0].getsockname()[1], len(bodies[0])))
    await asyncio.Event().wait()


def ranks_server(tell: Connection) -> None:
    asyncio.run(serve_ranks(tell))


def watch(seconds: float) -> int:
    """The recorder with its view (drawn as on a terminal of 160 columns) on 16 ranks at 1 Hz."""
    import io

    from rich.console import Console
    from rich.live import Live

    from ridgeline.live.screen import screen
    from ridgeline.live.watch import Recorder, Watch, record

    here, there = multiprocessing.Pipe()
    other = multiprocessing.get_context("spawn").Process(target=ranks_server, args=(there,), daemon=True)
    other.start()
    port, size = here.recv()
    console = Console(file=io.StringIO(), force_terminal=True, width=160)
    with tempfile.TemporaryDirectory() as folder, Live(console=console, auto_refresh=False) as live:

        def show(recorder: Recorder) -> None:
            servers = {base: list(w.history) for base, w in recorder.watchers.items()}
            live.update(screen(servers, f"ring {recorder.ring.span_s:.0f} s", [], time.time()), refresh=True)
            console.file.seek(0)
            console.file.truncate()

        plan = Watch([f"http://127.0.0.1:{port}"], Path(folder), for_s=seconds)
        cpu, began = time.process_time(), time.monotonic()
        recorder = asyncio.run(record(plan, print, show))
        share = (time.process_time() - cpu) / (time.monotonic() - began)
    other.terminate()
    print(json.dumps({"ranks": 16, "scrape_bytes": size, "answers": recorder.tally.answers,
                      "incidents": len(recorder.incidents), "ring_mb": round(recorder.ring.size / 1e6, 2),
                      "cpu_of_a_core": round(share, 4), "met": share <= 0.05}))  # fmt: skip
    return 0 if share <= 0.05 else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--endpoints", type=int, default=64)
    parser.add_argument("--bytes", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--every", type=float, default=1.0)
    parser.add_argument("--watch", action="store_true")
    given = parser.parse_args()
    if given.watch:
        return watch(given.seconds)
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
