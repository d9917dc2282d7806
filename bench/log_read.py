# ruff: noqa: E501 (composed log lines)
"""Server log: lines per second of the reader (Parquet written, every row with source and line) against a loop of `re`.

The loop does the same work line by line: times, ranks, typed values, access, time-stats, request and retraction lines,
and Parquet.

Run: `python bench/log_read.py [lines]`. The log is composed here from a seed: mostly batch lines, some access,
time-stats and request-log lines, a few retractions. Both sides read the same bytes in the same run.
"""

import json
import os
import random
import re
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ridgeline.signals.log.reader import read
from ridgeline.signals.rows import Reading
from ridgeline.signals.stream import Blob

START = 1_796_011_200


def compose(path: Path, lines: int, seed: int = 7) -> None:
    """Write a log in the form of 0.5.23."""
    rng = random.Random(seed)
    with path.open("w") as f:
        for i in range(lines):
            second = START + i // 400
            stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(second))
            dp = rng.randrange(4)
            kind = rng.random()
            if kind < 0.45:
                f.write(
                    f"[{stamp} DP{dp} TP0] Decode batch, #running-req: {rng.randrange(1, 200)}, #token: "
                    f"{rng.randrange(1000, 400000)}, token usage: {rng.random():.2f}, cuda graph: True, gen throughput "
                    f"(token/s): {rng.random() * 9000:.2f}, #queue-req: {rng.randrange(0, 300)}\n"
                )
            elif kind < 0.84:
                f.write(
                    f"[{stamp} DP{dp} TP0] Prefill batch, #new-seq: {rng.randrange(1, 9)}, #new-token: "
                    f"{rng.randrange(1, 8192)}, #cached-token: {rng.randrange(0, 4096)}, token usage: {rng.random():.2f}, "
                    f"#running-req: {rng.randrange(0, 200)}, #queue-req: {rng.randrange(0, 300)}, #pending-token: "
                    f"{rng.randrange(0, 500000)}, cuda graph: False, input throughput (token/s): {rng.random() * 40000:.2f}\n"
                )
            elif kind < 0.94:
                f.write(
                    f"[{stamp}] INFO:     10.0.{rng.randrange(4)}.{rng.randrange(250)}:{rng.randrange(30000, 60000)} - "
                    f'"POST /v1/chat/completions HTTP/1.1" 200 OK\n'
                )
            elif kind < 0.97:
                f.write(
                    f"[{stamp} DP{dp} TP0] ReqTimeStats(rid={rng.getrandbits(128):032x}, input_len={rng.randrange(1, 9000)}, "
                    f"cached_input_len=0, output_len={rng.randrange(1, 900)}, attempts=0, type=unified): "
                    f"queue_duration={rng.random() * 900:.2f}ms, forward_duration={rng.random() * 9000:.2f}ms, "
                    f"entry_time={second - 3}.{rng.randrange(1000):03d}\n"
                )
            elif kind < 0.995:
                rid = f"{rng.getrandbits(128):032x}"
                f.write(
                    f'[{stamp}] {{"timestamp": "{stamp.replace(" ", "T")}.118734", "event": "request.finished", "rid": '
                    f'"{rid}", "obj": {{"rid": "{rid}", "stream": true}}, "out": {{"meta_info": {{"id": "{rid}", '
                    f'"finish_reason": {{"type": "length", "length": 128}}, "prompt_tokens": 2048, "completion_tokens": 128, '
                    f'"cached_tokens": 512, "dp_rank": {dp}, "queue_time": 0.0013, "e2e_latency": 2.61}}}}}}\n'
                )
            else:
                f.write(
                    f"[{stamp} DP{dp} TP0] KV cache pool is full. Retract requests. #retracted_reqs: 2, "
                    f"#new_tokens_gained: 8192, #new_token_ratio: 0.2210 -> 0.6432\n"
                )


PREFIX = re.compile(r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)((?: (?:DP|PP|ATTN_CP|MOE_DP|TP|EP)\d+)*)\] ")
RANK = re.compile(r"(DP|TP|PP)(\d+)")
PREFILL = re.compile(r"Prefill batch(?:\.| \[\d+\],|,) (.*)$")
DECODE = re.compile(r"Decode batch(?:\.| \[\d+\],|,) (.*)$")
ITEM = re.compile(r"(#?[A-Za-z][A-Za-z0-9 +./()-]*?): (-?[\d.]+%?|True|False|nan)(?:,|\s|$)")
ACCESS = re.compile(r'INFO: +([\d.]+):\d+ - "(\w+) (\S+) HTTP/[\d.]+" (\d+)')
STATS = re.compile(
    r"ReqTimeStats\(rid=([^,]+), input_len=(\d+), cached_input_len=(\d+), output_len=(\d+), attempts=(\d+), type=(\w+)\): "
    r"queue_duration=([\d.]+)ms, forward_duration=([\d.]+)ms, entry_time=([\d.]+)"
)
RETRACT = re.compile(r"KV cache pool is full\. Retract requests\. #retracted_reqs: (\d+).*?(\d\.\d+) -> (\d\.\d+)")


def loop(path: Path, folder: Path) -> dict[str, int]:
    """The straightforward reader: one line, one pattern after the other, a dict per row, Parquet at the end."""
    tables: dict[str, list[dict[str, object]]] = {
        "prefill": [],
        "decode": [],
        "http": [],
        "stats": [],
        "request": [],
        "retract": [],
    }
    with path.open() as f:
        for number, line in enumerate(f, 1):
            prefix = PREFIX.match(line)
            if not prefix:
                continue
            row: dict[str, object] = {"line": number, "ts": datetime.fromisoformat(prefix[1] + "+00:00").timestamp()}
            row |= {name: int(value) for name, value in RANK.findall(prefix[2])}
            body = line[prefix.end() :]
            for kind, pattern in (("prefill", PREFILL), ("decode", DECODE)):
                found = pattern.match(body)
                if found:
                    for key, value in ITEM.findall(found[1]):
                        row[key] = (
                            value == "True"
                            if value in ("True", "False")
                            else float(value)
                            if "." in value
                            else int(value)
                        )
                    tables[kind].append(row)
                    break
            else:
                if body.startswith("{"):
                    value = json.loads(body)
                    meta = value["out"]["meta_info"]
                    row |= {
                        "rid": value["rid"],
                        "prompt": meta["prompt_tokens"],
                        "completion": meta["completion_tokens"],
                    }
                    row |= {
                        "e2e": meta["e2e_latency"],
                        "queue": meta["queue_time"],
                        "reason": meta["finish_reason"]["type"],
                    }
                    tables["request"].append(row)
                elif found := ACCESS.match(body):
                    row |= {
                        "peer": found[1],
                        "method": found[2],
                        "path": found[3],
                        "status": int(found[4]),
                        "text": body[:500],
                    }
                    tables["http"].append(row)
                elif found := STATS.match(body):
                    names = ("input", "cached", "output", "attempts")
                    row |= {"rid": found[1], "type": found[6], **{n: int(found[i]) for i, n in enumerate(names, 2)}}
                    row |= {n: float(found[i]) for i, n in enumerate(("queue", "forward", "entry"), 7)}
                    tables["stats"].append(row)
                elif found := RETRACT.match(body):
                    row |= {"count": int(found[1]), "text": body[:500]}
                    tables["retract"].append(row)
    for name, rows in tables.items():
        if rows:
            pq.write_table(pa.Table.from_pylist(rows), folder / f"loop-{name}.parquet", compression="zstd")
    return {name: len(rows) for name, rows in tables.items()}


def main() -> None:
    lines = int(sys.argv[1]) if len(sys.argv) > 1 else 600_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "server.log"
        compose(path, lines)
        size = path.stat().st_size
        began = time.perf_counter()
        matched = loop(path, Path(folder))
        slow = time.perf_counter() - began
        reading = Reading(0, "server.log")
        began, used = time.perf_counter(), time.process_time()
        writers: dict[str, pq.ParquetWriter] = {}
        rows: dict[str, int] = {}
        for table, data in read(Blob("server.log", path), reading):
            key = f"{table}-{hash(tuple(data.column_names)) & 0xFFFF:04x}"
            if key not in writers:
                words = [f.name for f in data.schema if pa.types.is_string(f.type)]
                writers[key] = pq.ParquetWriter(
                    Path(folder) / f"{key}.parquet", data.schema, compression="zstd", use_dictionary=words
                )
            writers[key].write_table(data.cast(writers[key].schema))
            rows[table] = rows.get(table, 0) + len(data)
        for writer in writers.values():
            writer.close()
        fast, used = time.perf_counter() - began, time.process_time() - used
    print(f"{lines} lines, {size / 1e6:.0f} MB; rows {rows}; the loop's {matched}")
    print(f"reader: {lines / fast:,.0f} lines/s with Parquet; re loop: {lines / slow:,.0f} lines/s; {slow / fast:.1f}x")
    print(
        f"processor time of the reader {used:.2f} s in {fast:.2f} s; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )
    if reading.unparsed:
        print(f"unparsed {reading.unparsed}")


if __name__ == "__main__":
    main()
