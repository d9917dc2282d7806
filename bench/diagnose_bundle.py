"""A million requests: ingest them once, then time `ridgeline diagnose` on the bundle as a whole process.

    python -m bench.diagnose_bundle [--requests 1000000]

Bars: at most 15 s and 2 GB. The named rival, in the same run: DuckDB reading the same request log with its own typed
`read_json` and computing three quantiles, which is the least anybody would do by hand.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import duckdb

BAR_S: Final = 15.0
BAR_MB: Final = 2048.0


def compose(path: Path, requests: int) -> None:
    """A bare JSON request log: ten requests a second on two ranks, the second slower in the last third."""
    with path.open("w", encoding="utf-8") as f:
        for i in range(requests):
            at, rank = 1796000000 + i / 10, i % 2
            queue = 0.002 + (i * 7919 % 97) / 1000 + (3.0 if rank and i > requests * 2 // 3 else 0.0)
            prompt, out = 200 + i * 31 % 1800, 20 + i * 17 % 400
            meta = {
                "id": f"r{i:08x}", "finish_reason": {"type": "stop", "matched": 2}, "prompt_tokens": prompt,
                "completion_tokens": out, "cached_tokens": prompt // 3, "num_retractions": 0, "dp_rank": rank,
                "queue_time": queue, "e2e_latency": queue + 0.1 + out * 0.02, "request_received_ts": at,
                "first_token_latency": queue + 0.1, "request_finished_ts": at + queue + 0.1 + out * 0.02,
            }  # fmt: skip
            obj = {
                "rid": meta["id"],
                "stream": True,
                "routing_key": f"k{i % 50}",
                "sampling_params": {"max_new_tokens": 512},
            }
            stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{i % 10}00000"
            record = {
                "timestamp": stamp,
                "event": "request.finished",
                "rid": meta["id"],
                "obj": obj,
                "out": {"meta_info": meta},
            }
            f.write(json.dumps(record) + "\n")


def run(*words: str) -> tuple[float, float]:
    """Seconds and peak MiB of one ridgeline process. Raises RuntimeError where it fails."""
    began = time.perf_counter()
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen([sys.executable, "-m", "ridgeline", *words], stdout=out, stderr=out)
        _, status, used = os.wait4(child.pid, 0)
        took = time.perf_counter() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in (0, 2, 3):
            out.seek(0)
            raise RuntimeError(out.read().decode("utf-8", "replace")[-2000:])
    return took, used.ru_maxrss / 1024


def main() -> int:
    """Print the figures; exit 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=1_000_000)
    requests = parser.parse_args().requests
    with tempfile.TemporaryDirectory(prefix="ridgeline-bench-") as folder:
        log, bundle = Path(folder) / "requests.log", Path(folder) / "bundle"
        compose(log, requests)
        began = time.perf_counter()
        duckdb.sql(
            f"SELECT quantile_cont(out.meta_info.e2e_latency, [0.5, 0.95, 0.99]) FROM read_json('{log}')"
        ).fetchall()
        rival = time.perf_counter() - began
        ingest_s, ingest_mb = run("ingest", str(log), "-o", str(bundle), "--quiet")
        diagnose_s, peak_mb = run("diagnose", str(bundle), "--format", "json")
    print(f"{requests} requests, {log.name}")
    print(f"duckdb read_json and three quantiles   {rival:6.1f} s   1.00x")
    print(f"ridgeline ingest                       {ingest_s:6.1f} s   {ingest_s / rival:.2f}x   {ingest_mb:.0f} MB")
    print(
        f"ridgeline diagnose on the bundle       {diagnose_s:6.1f} s   {diagnose_s / rival:.2f}x   <= {peak_mb:.0f} MB"
    )
    print(f"bars: diagnose <= {BAR_S:.0f} s and <= {BAR_MB:.0f} MB")
    return 0 if diagnose_s <= BAR_S and peak_mb <= BAR_MB else 1


if __name__ == "__main__":
    sys.exit(main())
