import gzip
import json
from pathlib import Path

import pytest

from ridgeline.model.tables import TABLES
from ridgeline.words.fields import FIELDS, field


def test_every_column_exists_in_its_table() -> None:
    for kind, fields in FIELDS.items():
        columns = TABLES["loads" if kind == "load" else "records"]
        for entry in fields:
            assert entry.column is None or entry.column in columns, (kind, entry.raw)


def test_a_key_is_listed_once_per_kind() -> None:
    for kind, fields in FIELDS.items():
        raws = [entry.raw for entry in fields]
        assert len(raws) == len(set(raws)), kind


def test_durations_of_time_stats_become_seconds() -> None:
    for entry in FIELDS["time-stats-body"]:
        if entry.raw.endswith(("duration", "alloc_wait", "bootstrap", "other")):
            assert entry.scale == 1e-3, entry.raw


def test_times_on_another_clock_say_so() -> None:
    start, received = field("time-stats-body", "start"), field("request", "received_time")
    assert start is not None
    assert (start.column, start.clock) == (None, "monotonic")
    assert received is not None
    assert (received.column, received.clock) == (None, "varies")
    assert field("meta", "no_such_key") is None


@pytest.mark.shared
def test_every_scalar_key_of_the_recorded_meta_info_is_known(shared_dir: Path) -> None:
    own = {"request_parameters", "finish_reason", "cached_tokens_details", "weight_versions"}
    unknown = set()
    files = sorted((shared_dir / "real").rglob("exporter/*"))
    assert files
    for path in files:
        text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
        for line in text.splitlines()[:50]:
            unknown |= {key for key in json.loads(line) if key not in own and field("meta", key) is None}
    assert not unknown
