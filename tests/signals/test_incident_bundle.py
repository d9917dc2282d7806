"""A folder in the layout of SGLang's incident bundle."""

import json
from pathlib import Path
from typing import Any

from ridgeline.signals.read import read
from ridgeline.signals.rows import Reading
from ridgeline.signals.stream import Blob
from tests.signals.test_loads import ANSWER
from tests.signals.test_server_info import INFO

FILES: dict[str, Any] = {
    "metadata.json": {
        "artifact_type": "incident_bundle", "base_url": "http://user:pw@127.0.0.1:30000",
        "collected_at": "20261130_035922",
        "token_provided": False, "timeout_seconds": 10.0,
    },
    "health.txt": "",
    "health_generate.txt.error.json": {"ok": False, "status": 503, "path": "/health_generate", "error": ""},
    "metrics.txt": "# TYPE sglang:num_queue_reqs gauge\nsglang:num_queue_reqs 3.0\n",
    "server_info.json": {"ok": True, "status": 200, "path": "/server_info", "json": INFO},
    "loads_all.json": {"ok": True, "status": 200, "path": "/v1/loads?include=all", "json": ANSWER},
    "hicache_storage_backend.json": {"ok": False, "status": 401, "path": "/hicache/storage-backend", "error": "no key"},
    "SUMMARY.txt": "health.txt: ok\nhealth_generate.txt: failed status=503 error=\n\nThis bundle is read-only. Yes.\n",
}  # fmt: skip
KINDS = {
    "metadata.json": "incident-bundle", "health.txt": "health", "health_generate.txt.error.json": "health",
    "metrics.txt": "exposition", "server_info.json": "server-info", "loads_all.json": "loads",
    "hicache_storage_backend.json": "server-info", "SUMMARY.txt": "incident-bundle",
}  # fmt: skip


def test_every_file_is_read_as_what_it_is(tmp_path: Path) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content if isinstance(content, str) else json.dumps(content, indent=2) + "\n")
    rows: dict[str, list[dict[str, Any]]] = {}
    for number, name in enumerate(FILES):
        reading = Reading(number, name)
        for part in read(Blob(name, tmp_path / name), reading):
            rows.setdefault(part.table, []).extend(part.data.to_pylist())
        assert (name, reading.kind, reading.unparsed) == (name, KINDS[name], 0)
        assert reading.understood > 0
    assert [(e["kind"], e["text"].split(" ")[0].rstrip(":")) for e in rows["events"]] == [
        ("health-ok", "/health"),
        ("health-fail", "/health_generate"),
    ]
    assert len(rows["loads"]) == 1 and len(rows["samples"]) == 1
    metadata = {r["key"]: r["value"] for r in rows["config"] if r["origin"] == "incident_bundle"}
    assert metadata["base_url"] == "http://<secret>@127.0.0.1:30000"
    assert {r["ts"] for r in rows["config"] if r["origin"] == "incident_bundle"} == {1796011162.0}


def test_an_empty_file_elsewhere_is_no_health_answer(tmp_path: Path) -> None:
    (tmp_path / "health.txt").write_text("")
    reading = Reading(1, "health.txt")
    assert list(read(Blob("health.txt", tmp_path / "health.txt"), reading)) == []
    assert reading.kind == "empty"
