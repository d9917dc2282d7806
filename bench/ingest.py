"""Ingest of a request log of N requests: processor seconds, peak memory, size; and of server logs, each larger.

Run: python bench/ingest.py [N [MB …]] (default 200,000 requests, 100 and 400 MB). The last line says how far the peak
grows from the last log but one to the last. Processor seconds, because a busy machine makes all others worthless.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import log_read

LINES_PER_MB = 5180

LOG = """\
import resource, sys, time
from pathlib import Path
from ridgeline.bundle.find import find
from ridgeline.bundle.open import read_sources
from ridgeline.bundle.store import write_bundle
started = time.process_time()
view, sources = read_sources(find([sys.argv[1]]), hash_all=True)
read = time.process_time()
rows = write_bundle(view, sources, Path(sys.argv[2]))
done = time.process_time()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{rows.get('requests', 0)} {read - started:.2f} {done - read:.2f} {peak:.0f}")
"""


def request_log(path: Path, requests: int, seed: int = 7) -> None:
    """Two records per request, as SGLang 0.5.9 writes them at level 0."""
    draw = random.Random(seed)
    started = 1796011165.0
    with path.open("w") as f:
        for i in range(requests):
            at = started + i * 0.01
            stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{int(at % 1 * 1e6):06d}"
            rid = f"{draw.getrandbits(128):032x}"
            obj = {
                "rid": rid,
                "stream": True,
                "sampling_params": {"max_new_tokens": 256, "temperature": 0.7, "n": 1},
                "routing_key": f"key-{draw.randrange(100)}",
                "received_time": 1000 + i * 0.01,
            }
            f.write(json.dumps({"timestamp": stamp, "event": "request.received", "rid": rid, "obj": obj}) + "\n")
            prompt, output = draw.randrange(50, 4000), draw.randrange(1, 256)
            meta = {
                "id": rid,
                "finish_reason": {"type": "length", "length": output},
                "prompt_tokens": prompt,
                "completion_tokens": output,
                "cached_tokens": prompt // 2,
                "total_retractions": 0,
                "queue_time": draw.expovariate(10),
                "e2e_latency": 0.5 + output * 0.01,
                "request_received_ts": at,
                "response_sent_to_client_ts": at + 0.4,
            }
            done = {"timestamp": stamp, "event": "request.finished", "rid": rid, "obj": obj, "out": {"meta_info": meta}}
            f.write(json.dumps(done) + "\n")


def ingest(log: Path, folder: Path) -> tuple[int, float, float, int]:
    """(requests, processor seconds of reading and merging, of writing, peak MB) of one ingest in its own process."""
    env = {**os.environ, "RIDGELINE_KEY_FILE": str(folder / "key")}
    out = folder / f"{log.name}.bundle"
    run = subprocess.run(
        [sys.executable, "-c", LOG, str(log), str(out)], capture_output=True, text=True, check=True, env=env
    )
    rows, read_s, write_s, peak_mb = run.stdout.split()
    return int(rows), float(read_s), float(write_s), int(peak_mb)


def main(requests: int, sizes_mb: list[int]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "requests.log"
        request_log(log, requests)
        rows, read_s, write_s, peak_mb = ingest(log, folder)
        size = sum(p.stat().st_size for p in (folder / "requests.log.bundle").rglob("*") if p.is_file())
        print(
            f"{rows:,} requests, {log.stat().st_size / 1e6:.0f} MB of log: read and merged in {read_s:.2f} CPU-s, "
            f"written in {write_s:.2f} CPU-s, peak {peak_mb} MB, bundle {size / 1e6:.0f} MB"
        )
        log.unlink()
        peaks = []
        for mb in sizes_mb:
            log = folder / f"server-{mb}.log"
            log_read.compose(log, mb * LINES_PER_MB)
            _, read_s, write_s, peak_mb = ingest(log, folder)
            print(f"server log of {mb} MB: {read_s:.2f} + {write_s:.2f} CPU-s, peak {peak_mb} MB")
            peaks.append(peak_mb)
            log.unlink()
        if len(peaks) > 1:
            more = (peaks[-1] - peaks[-2]) / (sizes_mb[-1] - sizes_mb[-2])
            print(f"{more:.2f} MB of peak for each MB more")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000, [int(mb) for mb in sys.argv[2:]] or [100, 400])
