"""Exposition text: ridgeline's reader against `prometheus_client.parser`, in one run, every sample kept and equal.

    python -m bench.exposition_read [metrics.scrapes.txt[.gz]] [--scrapes 1200]

Without a file, scrapes are composed in the format. The rival parses fewer of them (its rate does not depend on how
many); the comparison of samples covers all that it parsed. Exit status 1 below 20 times the rival's rate.
"""

import argparse
import gzip
import re
import time
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families
from tests.signals.exposition.flat import by_library, flat, tables

from ridgeline.signals.exposition import read
from ridgeline.signals.rows import Reading
from ridgeline.signals.stream import Blob

FLOOR = 20.0
RIVAL_SCRAPES = 40
ROUNDS = 3  # the best of each side counts: neighbours on the machine slow either


def composed(scrapes: int) -> list[str]:
    """Scrapes with the shape of a server's: some gauges, counters by label, histograms of 20 buckets."""
    out = []
    for n in range(scrapes):
        lines = [f"#### scrape ts={1796011162 + n}.250000 took=0.0210 status=200 url=http://127.0.0.1:30000/metrics"]
        for g in range(60):
            labels = f'engine_type="unified",model_name="m",moe_ep_rank="0",pp_rank="0",tp_rank="{g % 4}"'
            lines += [f"# HELP sglang:gauge_{g} Some gauge.", f"# TYPE sglang:gauge_{g} gauge"]
            lines.append(f"sglang:gauge_{g}{{{labels}}} {(n * 7 + g) % 100 / 8}")
        for h in range(26):
            labels = f'engine_type="unified",model_name="m",moe_ep_rank="0",pp_rank="0",stage="s{h}",tp_rank="0"'
            lines += [f"# HELP sglang:wait_{h}_seconds Some wait.", f"# TYPE sglang:wait_{h}_seconds histogram"]
            lines.append(f"sglang:wait_{h}_seconds_sum{{{labels}}} {n * 0.37 + h}")
            for b in range(20):
                lines.append(f'sglang:wait_{h}_seconds_bucket{{{labels},le="{0.01 * 2**b}"}} {n * b}.0')
            lines.append(f'sglang:wait_{h}_seconds_bucket{{{labels},le="+Inf"}} {n * 20}.0')
            lines.append(f"sglang:wait_{h}_seconds_count{{{labels}}} {n * 20}.0")
        out.append("\n".join(lines) + "\n")
    return out


def recorded(path: Path, scrapes: int) -> list[str]:
    """The scrapes of a file, repeated (with later times) until there are enough."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()
    parts = re.split(r"^(?=#### scrape )", text, flags=re.MULTILINE)[1:]
    out = []
    for n in range(max(scrapes, len(parts))):
        part = parts[n % len(parts)]
        out.append(re.sub(r"ts=[\d.]+", f"ts={1796011162 + n}.250000", part, count=1))
    return out


def _rival_rate(bodies: list[str]) -> float:
    began = time.perf_counter()
    parsed = sum(len(family.samples) for body in bodies for family in text_string_to_metric_families(body))
    return parsed / (time.perf_counter() - began)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--scrapes", type=int, default=1200)
    given = parser.parse_args()
    texts = recorded(given.file, given.scrapes) if given.file else composed(given.scrapes)
    few = "".join(texts[:RIVAL_SCRAPES])
    bodies = [text.split("\n", 1)[1] for text in texts[:RIVAL_SCRAPES]]
    rival = max(_rival_rate(bodies) for _ in range(ROUNDS))
    expected = by_library(few)
    assert flat(tables(Blob("few", None, few.encode()), Reading(1, "few"))) == expected, "a sample differs"

    data = "".join(texts).encode()
    samples = sum(1 for line in data.split(b"\n") if line.strip() and line[:1] != b"#")
    took = float("inf")
    for _ in range(ROUNDS):
        reading = Reading(1, "all")
        began = time.perf_counter()
        rows = sum(part.data.num_rows for part in read(Blob("all", None, data), reading))
        took = min(took, time.perf_counter() - began)
        assert (reading.understood, reading.unparsed) == (samples, 0), "a sample is missing"
    rate = samples / took
    print(f"prometheus_client.parser  {rival:>12,.0f} samples/s")
    print(f"ridgeline                 {rate:>12,.0f} samples/s   {samples:,} samples, {rows:,} rows, {took:.2f} s")
    print(f"ratio                     {rate / rival:>12.1f}   (floor {FLOOR:.0f})")
    return 0 if rate >= FLOOR * rival else 1


if __name__ == "__main__":
    raise SystemExit(main())
