"""What the reader gives and what prometheus_client's own parser gives, both as one flat list of samples."""

import json
import math
import re
from collections import Counter
from pathlib import Path

import pyarrow as pa
from prometheus_client.parser import text_string_to_metric_families

from ridgeline.signals.exposition import read
from ridgeline.signals.rows import Reading
from ridgeline.signals.stream import Blob

# scrape's time, name, labels (JSON), bound of a bucket, value ("NaN" for not measured)
Flat = tuple[float | None, str, str, float | None, float | str]


def tables(blob: Blob, reading: Reading) -> dict[str, list[dict]]:
    """All rows of one source, by table."""
    out: dict[str, list[pa.Table]] = {}
    for rows in read(blob, reading):
        out.setdefault(rows.table, []).append(rows.data)
    return {name: [row for part in parts for row in part.to_pylist()] for name, parts in out.items()}


def of_text(text: str | bytes) -> tuple[dict[str, list[dict]], Reading]:
    """Tables of a text in memory."""
    reading = Reading(1, "metrics")
    data = text if isinstance(text, bytes) else text.encode()
    return tables(Blob("metrics", None, data), reading), reading


def of_file(path: Path) -> tuple[dict[str, list[dict]], Reading]:
    reading = Reading(1, path.name)
    return tables(Blob(path.name, None, path.read_bytes()), reading), reading


def flat(read_tables: dict[str, list[dict]]) -> Counter[Flat]:
    """The samples behind the rows: histograms are taken apart into their parts again."""
    series = {row["series"]: row for row in read_tables.get("series", [])}
    out: Counter[Flat] = Counter()
    for row in read_tables.get("samples", []):
        one = series[row["series"]]
        out[row["ts"], one["raw"], one["labels"], None, _value(row["value"])] += 1
    for row in read_tables.get("histograms", []):
        one = series[row["series"]]
        if one["kind"] == "gaugehistogram":
            continue  # its samples are in `samples`
        for le, count in zip(row["le"], row["cumulative"], strict=True):
            out[row["ts"], one["raw"] + "_bucket", one["labels"], le, _value(count)] += 1
        for part in ("sum", "count"):
            if row[part] is not None:
                out[row["ts"], f"{one['raw']}_{part}", one["labels"], None, _value(row[part])] += 1
    return out


def by_library(text: str) -> Counter[Flat]:
    """The samples of a text of scrapes by prometheus_client alone."""
    out: Counter[Flat] = Counter()
    for ts, body in _bodies(text):
        for family in text_string_to_metric_families(body):
            for sample in family.samples:
                labels = dict(sample.labels)
                le = None
                if sample.name.endswith("_bucket") and "le" in labels:
                    le = float(labels.pop("le"))
                at = ts if sample.timestamp is None else sample.timestamp
                out[
                    at, sample.name, json.dumps(labels, sort_keys=True, ensure_ascii=False), le, _value(sample.value)
                ] += 1
    return out


def _bodies(text: str) -> list[tuple[float | None, str]]:
    parts = re.split(r"^(#### scrape .*)$", text, flags=re.MULTILINE)
    out: list[tuple[float | None, str]] = [(None, parts[0])]
    for header, body in zip(parts[1::2], parts[2::2], strict=True):
        out.append((float(re.search(r"ts=([\d.]+)", header).group(1)), body))  # type: ignore[union-attr]
    return out


def _value(value: float | None) -> float | str:
    return "NaN" if value is None or math.isnan(value) else float(value)
