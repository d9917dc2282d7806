"""Ingest and diagnosis by size: seconds of wall and of processor, peak memory, per GB, growth exponent.

    python bench/scale.py [REQUESTS …] [--folder DIR] [--keep]

For each size (default 0.3, 1, 3 and 10 million requests) a request log is composed (two records a request, as SGLang
writes them; the last twentieth waits in a queue), ingested, diagnosed as a bundle whole and under a window of ten
minutes, and deleted. Every verb is a process of its own, so that its memory is its own. Beside the figures stands the
machine's load: on a busy machine only processor seconds tell anything.
"""

import argparse
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

SIZES = (300_000, 1_000_000, 3_000_000, 10_000_000)
STARTED = 1796011165.0
BLOCK = 50_000
PER_S = 100.0
RECEIVED = (
    '{{"timestamp": "{stamp}", "event": "request.received", "rid": "{rid}", "obj": {obj}}}\n'
    '{{"timestamp": "{end}", "event": "request.finished", "rid": "{rid}", "obj": {obj}, "out": {{"meta_info": '
    '{{"id": "{rid}", "finish_reason": {{"type": "length", "length": {output}}}, "prompt_tokens": {prompt}, '
    '"completion_tokens": {output}, "cached_tokens": {cached}, "total_retractions": 0, "queue_time": {queue:.6f}, '
    '"e2e_latency": {e2e:.6f}, "request_received_ts": {at:.6f}, "response_sent_to_client_ts": {sent:.6f}}}}}}}\n'
)
OBJ = (
    '{{"rid": "{rid}", "stream": true, "sampling_params": {{"max_new_tokens": 256, "temperature": 0.7, "n": 1}}, '
    '"routing_key": "key-{key}", "received_time": {mono:.6f}}}'
)


class Took(NamedTuple):
    """One verb: seconds of wall and of processor, peak memory in MB, exit status."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    status: int


def compose(path: Path, requests: int, seed: int = 7) -> None:
    """Two lines a request, each pair written at the arrival's place."""
    draw = np.random.default_rng(seed)
    slow_from = int(requests * 0.95)
    with path.open("w") as file:
        for first in range(0, requests, BLOCK):
            n = min(BLOCK, requests - first)
            ids = draw.bytes(16 * n).hex()
            prompt, output, key = draw.integers(50, 4000, n), draw.integers(1, 256, n), draw.integers(0, 100, n)
            queue = draw.exponential(0.1, n) + np.where(np.arange(first, first + n) >= slow_from, 8.0, 0.0)
            parts = []
            for i in range(n):
                at = STARTED + (first + i) / PER_S
                rid = ids[32 * i : 32 * i + 32]
                e2e = float(queue[i]) + 0.5 + int(output[i]) * 0.01
                obj = OBJ.format(rid=rid, key=key[i], mono=at - STARTED + 1000)
                parts.append(
                    RECEIVED.format(
                        stamp=stamp(at), end=stamp(at + e2e), rid=rid, obj=obj, output=output[i], prompt=prompt[i],
                        cached=prompt[i] // 2, queue=queue[i], e2e=e2e, at=at, sent=at + queue[i] + 0.3,
                    )
                )  # fmt: skip
            file.write("".join(parts))


def stamp(at: float) -> str:
    """ISO time with microseconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{int(at % 1 * 1e6):06d}"


def run(arguments: list[str], home: Path) -> Took:
    """One verb as a process."""
    env = {**os.environ, "RIDGELINE_KEY_FILE": str(home / "key"), "TMPDIR": str(home)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    done = subprocess.Popen(
        [sys.executable, "-m", "ridgeline", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env
    )
    _, said = done.communicate()
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode == 1:
        raise SystemExit(said.decode()[-2000:])
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Took(wall, cpu, after.ru_maxrss / 1024, done.returncode)


def alone(arguments: list[str], home: Path) -> Took:
    """`run` from a child, so that the peak is of this one verb and not of the largest so far."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import scale; from pathlib import Path\n"
    code += "print(*scale.run(sys.argv[3:], Path(sys.argv[2])))"
    here = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", code, here, str(home), *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    wall, cpu, peak, status = done.stdout.split()
    return Took(float(wall), float(cpu), float(peak), int(status))


def measure(requests: int, home: Path, keep: bool) -> dict[str, Took]:
    """One size, printed as it goes."""
    log, bundle = home / f"requests-{requests}.log", home / f"bundle-{requests}"
    began = time.perf_counter()
    if not log.exists():
        compose(log, requests)
    size_gb = log.stat().st_size / 1e9
    print(
        f"{requests:,} requests, {size_gb:.2f} GB of JSON, composed in {time.perf_counter() - began:.0f} s", flush=True
    )
    begin = STARTED + requests / PER_S * 0.97
    window = ["--from", f"{begin:.0f}", "--to", f"{begin + 600:.0f}"]
    verbs = {
        "ingest": ["ingest", str(log), "-o", str(bundle), "--force", "--quiet"],
        "diagnose": ["diagnose", str(bundle), "--format", "json"],
        "diagnose, 10 minutes": ["diagnose", str(bundle), *window, "--format", "json"],
    }
    found = {}
    for name, arguments in verbs.items():
        took = found[name] = alone(arguments, home)
        per = f", {took.wall_s / size_gb:.1f} s and {took.cpu_s / size_gb:.1f} CPU-s a GB" if name == "ingest" else ""
        print(
            f"  {name}: {took.wall_s:.1f} s wall, {took.cpu_s:.1f} s of processor, peak {took.peak_mb:,.0f} MB{per}"
            f" (load {os.getloadavg()[0]:.1f})",
            flush=True,
        )
        if name == "ingest" and not keep:
            log.unlink()
    if not keep:
        subprocess.run(["rm", "-rf", str(bundle)], check=True)
    return found


def exponent(points: list[tuple[int, float]]) -> float:
    """Slope of log(seconds) over log(requests), least squares."""
    x, y = np.log([float(n) for n, _ in points]), np.log([s for _, s in points])
    return float(np.polyfit(x, y, 1)[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=list(SIZES))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--keep", action="store_true")
    given = parser.parse_args()
    points: dict[str, list[tuple[int, Took]]] = {}
    with tempfile.TemporaryDirectory() as made:
        home = given.folder or Path(made)
        home.mkdir(parents=True, exist_ok=True)
        for requests in sorted(given.sizes):
            for name, took in measure(requests, home, given.keep).items():
                points.setdefault(name, []).append((requests, took))
    for name, all_of in points.items():
        if len(all_of) > 1:
            cpu = exponent([(n, t.cpu_s) for n, t in all_of])
            wall = exponent([(n, t.wall_s) for n, t in all_of])
            print(f"{name}: grows with requests to the power {cpu:.2f} (processor), {wall:.2f} (wall)")
    return 0 if all(math.isfinite(t.wall_s) for each in points.values() for _, t in each) else 1


if __name__ == "__main__":
    raise SystemExit(main())
