"""A million request-log lines: ridgeline's reader against a `json.loads` loop and DuckDB's typed `read_json`, one run.

    python -m bench.request_log_read [--lines 1000000] [--folder DIR] [--long]

Composes the lines of SGLang's JSON request log, bare (0.5.9) and behind a time (0.5.23); `--long` composes lines with
every field of a request, as level 1 writes them. Each side's best of three counts: neighbours on the machine slow any.
The typed rival declares the columns the reader has; a second one only those that this file happens to fill (shown,
not judged: it would have to be told them by hand). Exit status 1 where a floor is missed.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow.compute as pc

from ridgeline.signals.request_log import read
from ridgeline.signals.request_log.shape import NARROW, WIDE, columns
from ridgeline.signals.rows import Reading
from ridgeline.signals.stream import Blob

ROUNDS = 3
BARE_FLOOR, PREFIXED_FLOOR, TYPED_CEILING = 5.0, 3.0, 1.3
MORE = (
    "session_id",
    "text",
    "input_ids",
    "image_data",
    "lora_path",
    "lora_id",
    "bootstrap_host",
    "bootstrap_room",
    "data_parallel_rank",
    "routing_key",
    "conversation_id",
    "priority",
    "extra_key",
    "custom_labels",
    "received_time",
    "validation_time",
    "http_worker_ipc",
    "session_params",
)


def compose(folder: Path, lines: int, long: bool) -> tuple[Path, Path]:
    """(file of bare lines, file of prefixed lines): finished records, all different."""
    rng = random.Random(7)
    bare, prefixed = folder / "bare.log", folder / "prefixed.log"
    with bare.open("w") as one, prefixed.open("w") as two:
        for i in range(lines):
            rid = f"{rng.getrandbits(48):012x}"
            stamp = f"2026-11-30T{i // 3600 % 24:02d}:{i // 60 % 60:02d}:{i % 60:02d}.{rng.randrange(10**6):06d}"
            prompt, output = rng.randrange(10, 4000), rng.randrange(1, 400)
            obj = {"rid": rid, "stream": True}
            meta = {
                "finish_reason": {"type": "length"},
                "prompt_tokens": prompt,
                "completion_tokens": output,
                "cached_tokens": prompt // 3,
                "dp_rank": i % 4,
                "queue_time": round(rng.random(), 5),
                "e2e_latency": round(1 + 3 * rng.random(), 5),
            }
            if long:
                obj |= dict.fromkeys(MORE) | {"sampling_params": {"temperature": 0.0, "max_new_tokens": output, "n": 1}}
                meta |= {
                    "id": rid,
                    "weight_version": "default",
                    "total_retractions": 0,
                    "request_received_ts": 1.8e9 + i,
                }
            record = {
                "timestamp": stamp,
                "event": "request.finished",
                "rid": rid,
                "obj": obj,
                "out": {"meta_info": meta},
            }
            text = json.dumps(record)
            one.write(text + "\n")
            two.write(f"[{stamp[:10]} {stamp[11:19]}] {text}\n")
    return bare, prefixed


def loop(path: Path) -> int:
    """The simple way: `json.loads` line by line, one figure taken."""
    total = 0
    with path.open("rb") as lines:
        for line in lines:
            total += json.loads(line[line.index(b"{") :])["out"]["meta_info"]["prompt_tokens"]
    return total


def ours(path: Path) -> int:
    """The reader, every row handed over."""
    total, at = 0, 0
    for rows in read(Blob(path.name, path), Reading(1, path.name)):
        if rows.table == "records":
            total += pc.sum(rows.data["prompt_tokens"]).as_py()
            assert rows.data["line"][0].as_py() == at + 1, "line numbers are wrong"
            at += len(rows.data)
    return total


def typed(shape: dict[str, str]) -> Callable[[Path], int]:
    """DuckDB's own reader with the columns declared."""

    def run(path: Path) -> int:
        con = duckdb.connect()
        sql = "SELECT * FROM read_json($path, format = 'newline_delimited', columns = $columns)"
        table = con.sql(sql, params={"path": str(path), "columns": shape}).to_arrow_table()
        meta = pc.struct_field(table["out"], ["meta_info", "prompt_tokens"])
        return int(pc.sum(meta).as_py())

    return run


class Took(NamedTuple):
    """Seconds of the fastest round, and of processor time of the cheapest (which neighbours disturb less)."""

    wall_s: float
    cpu_s: float


def best(run: Callable[[Path], int], path: Path, expected: int | None) -> tuple[Took, int]:
    """(what it took, the figure)."""
    walls, cpus = [], []
    for _ in range(ROUNDS):
        wall, cpu = time.perf_counter(), time.process_time()
        total = run(path)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
        assert expected is None or total == expected, "the sums differ"
    return Took(min(walls), min(cpus)), total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--long", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        bare, prefixed = compose(Path(folder), given.lines, given.long)
        size = bare.stat().st_size / 1e6
        print(f"{given.lines} lines, {size:.0f} MB")
        json_loop, total = best(loop, bare, None)
        wide, _ = best(typed(columns(WIDE)), bare, total)
        narrow, _ = best(typed(columns(NARROW)), bare, total)
        mine, _ = best(ours, bare, total)
        json_prefixed, _ = best(loop, prefixed, total)
        mine_prefixed, _ = best(ours, prefixed, total)
    faster, share = json_loop.wall_s / mine.wall_s, mine.wall_s / wide.wall_s
    prefixed_faster = json_prefixed.wall_s / mine_prefixed.wall_s
    rows = (
        ("json.loads loop", json_loop, ""),
        ("read_json, typed as ours", wide, ""),
        ("read_json, only the file's keys", narrow, ""),
        ("ridgeline, bare", mine, f"{faster:.1f} x the loop's rate, {share:.2f} x read_json's time"),
        ("json.loads loop, prefixed", json_prefixed, ""),
        ("ridgeline, prefixed", mine_prefixed, f"{prefixed_faster:.1f} x the loop's rate"),
    )
    for name, took, note in rows:
        print(f"{name:34s} {took.wall_s:7.2f} s  cpu {took.cpu_s:6.2f} s  {note}")
    good = faster >= BARE_FLOOR and share <= TYPED_CEILING and prefixed_faster >= PREFIXED_FLOOR
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
