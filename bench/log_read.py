"""Server log: lines per second of the reader (Parquet written, every row with source and line) against a loop of `re`.

Run: `python bench/log_read.py [lines]`. The log is composed here from a seed: mostly batch lines, some access,
time-stats and request-log lines, a few retractions. Both sides read the same bytes in the same run.
"""

import random
import re
import sys
import tempfile
import time
from pathlib import Path

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
            elif kind < 0.80:
                f.write(
                    f"[{stamp} DP{dp} TP0] Prefill batch, #new-seq: {rng.randrange(1, 9)}, #new-token: "
                    f"{rng.randrange(1, 8192)}, #cached-token: {rng.randrange(0, 4096)}, token usage: {rng.random():.2f}, "
                    f"#running-req: {rng.randrange(0, 200)}, #queue-req: {rng.randrange(0, 300)}, #pending-token: "
                    f"{rng.randrange(0, 500000)}, cuda graph: False, input throughput (token/s): {rng.random() * 40000:.2f}\n"
                )
            elif kind < 0.93:
                f.write(
                    f'[{stamp}] INFO:     10.0.{rng.randrange(4)}.{rng.randrange(250)}:{rng.randrange(30000, 60000)} - '
                    f'"POST /v1/chat/completions HTTP/1.1" 200 OK\n'
                )
            elif kind < 0.97:
                f.write(
                    f"[{stamp} DP{dp} TP0] ReqTimeStats(rid={rng.getrandbits(128):032x}, input_len={rng.randrange(1, 9000)}, "
                    f"cached_input_len=0, output_len={rng.randrange(1, 900)}, attempts=0, type=unified): "
                    f"queue_duration={rng.random() * 900:.2f}ms, forward_duration={rng.random() * 9000:.2f}ms, "
                    f"entry_time={second - 3}.{rng.randrange(1000):03d}\n"
                )
            elif kind < 0.999:
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


PREFIX = re.compile(r"^\[(?P<ts>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{3})?)(?P<ranks>(?: (?:DP|PP|TP|EP)\d+)*)\] ")
PREFILL = re.compile(r"Prefill batch(?:\.| \[\d+\],|,) #new-seq: (\d+), #new-token: (\d+), #cached-token: (\d+), (.*)$")
DECODE = re.compile(r"Decode batch(?:\.| \[\d+\],|,) #running-req: (\d+), (.*)$")
ITEM = re.compile(r"(#?[A-Za-z][A-Za-z0-9 +./()-]*?): (-?[\d.]+%?|True|False|nan)(?:,|\s|$)")


def loop(path: Path) -> int:
    """The straightforward reader: per line one prefix, one head, one pattern for the items; rows are dicts."""
    rows = []
    with path.open() as f:
        for number, line in enumerate(f, 1):
            prefix = PREFIX.match(line)
            if not prefix:
                continue
            at = prefix.end()
            found = PREFILL.match(line, at) or DECODE.match(line, at)
            if found:
                row = {key: value for key, value in ITEM.findall(found.group(found.lastindex or 0))}
                row |= {"line": number, "ts": prefix["ts"], "ranks": prefix["ranks"]}
                rows.append(row)
    return len(rows)


def main() -> None:
    lines = int(sys.argv[1]) if len(sys.argv) > 1 else 600_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "server.log"
        compose(path, lines)
        size = path.stat().st_size
        began = time.perf_counter()
        matched = loop(path)
        slow = time.perf_counter() - began
        reading = Reading(0, "server.log")
        began = time.perf_counter()
        writers: dict[str, pq.ParquetWriter] = {}
        rows: dict[str, int] = {}
        for table, data in read(Blob("server.log", path), reading):
            key = f"{table}-{hash(tuple(data.column_names)) & 0xFFFF:04x}"
            if key not in writers:
                writers[key] = pq.ParquetWriter(Path(folder) / f"{key}.parquet", data.schema, compression="zstd")
            writers[key].write_table(data.cast(writers[key].schema))
            rows[table] = rows.get(table, 0) + len(data)
        for writer in writers.values():
            writer.close()
        fast = time.perf_counter() - began
    print(f"{lines} lines, {size / 1e6:.0f} MB; batch rows {rows.get('batches')}, the loop's {matched}; {rows}")
    print(f"reader: {lines / fast:,.0f} lines/s with Parquet; re loop: {lines / slow:,.0f} lines/s; {slow / fast:.1f}x")
    if reading.unparsed:
        print(f"unparsed {reading.unparsed}")


if __name__ == "__main__":
    main()
