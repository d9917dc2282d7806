import gzip
import re
from pathlib import Path

import pytest

from ridgeline.model.tables import TABLES
from ridgeline.words.logkeys import LOG_KEYS, VLLM_LOG_KEYS, LineKind, log_key, vllm_log_key


def test_every_column_is_one_of_batches() -> None:
    for key in (*LOG_KEYS, *VLLM_LOG_KEYS):
        assert key.column is None or key.column in TABLES["batches"], key.raw


def test_prealloc_means_bootstrap_on_a_prefill_line() -> None:
    on_prefill, on_decode = log_key("#prealloc-req", "prefill"), log_key("#prealloc-req", "decode")
    assert on_prefill is not None
    assert on_prefill.column == "bootstrap"
    assert on_decode is not None
    assert on_decode.column == "prealloc"


def test_a_key_of_one_kind_of_line_is_unknown_on_the_other() -> None:
    assert log_key("#bootstrap-req", "decode") is None
    assert log_key("#transfer-req", "prefill") is None
    assert log_key("#running-req", "prefill") is not None


def test_per_cent_becomes_a_share() -> None:
    for raw in ("GPU KV cache usage", "CPU KV cache usage", "KV cache usage", "Prefix cache hit rate"):
        key = vllm_log_key(raw)
        assert key is not None
        assert key.scale == 0.01
    assert vllm_log_key("my other KV cache usage") is None
    assert vllm_log_key("nonsense") is None


@pytest.mark.shared
def test_every_key_of_the_recorded_batch_lines_is_known(shared_dir: Path) -> None:
    unknown = set()
    files = sorted((shared_dir / "real").rglob("*server.log.gz"))
    assert files
    for path in files:
        for line in gzip.decompress(path.read_bytes()).decode(errors="replace").splitlines():
            found = re.search(r"\] (Prefill|Decode) batch(?:\.|,| \[\d+\],) (.*)$", line)
            if found:
                kind: LineKind = "prefill" if found[1] == "Prefill" else "decode"
                keys = [part.rpartition(": ")[0] for part in found[2].strip().strip(",").split(", ")]
                unknown |= {key for key in keys if log_key(key, kind) is None}
    assert not unknown
