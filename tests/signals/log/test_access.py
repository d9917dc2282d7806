# ruff: noqa: E501 (lines as logs have them)
"""Access lines: clients, paths, statuses, prefixes; look-alikes that are none."""

import json

import pytest

from tests.signals.log.given import log

CASES = [
    ('INFO:     127.0.0.1:52614 - "POST /v1/chat/completions HTTP/1.1" 200 OK', "127.0.0.1", "POST", "/v1/chat/completions", 200),
    ('[2026-11-30 03:37:55] INFO:     10.1.2.3:5 - "GET /v1/loads?include=all HTTP/1.1" 404 Not Found', "10.1.2.3", "GET", "/v1/loads", 404),
    ('[INFO] "POST /v1/completions" 200 OK', None, "POST", "/v1/completions", 200),
    ('(APIServer pid=8) INFO:     [::1]:39072 - "GET /health HTTP/1.1" 503 Service Unavailable', "[::1]", "GET", "/health", 503),
    ('127.0.0.1 [05/Jun/2025:14:27:16 +0000] "GET /route?engine_rank=0 HTTP/1.1" 200 261 "-" "python-requests/2.32.4"', "127.0.0.1", "GET", "/route", 200),
    ('[2025-11-13 21:11:20] INFO:     127.0.0.1:59851 - "PRI %2A HTTP/2.0" 404 Not Found', "127.0.0.1", "PRI", "%2A", 404),
    ('INFO:     None:0 - "GET /metrics HTTP/1.1" 200 OK', "None", "GET", "/metrics", 200),
]  # fmt: skip


@pytest.mark.parametrize(("line", "peer", "method", "path", "status"), CASES)
def test_each_form(line: str, peer: str | None, method: str, path: str, status: int) -> None:
    reading, tables = log(f"{line}\n")
    (row,) = tables["events"]
    assert row["kind"] == "http"
    assert row.get("peer") == peer
    assert json.loads(row["attrs"]) == {"method": method, "path": path, "status": status}
    assert row["severity"] == ("error" if status >= 500 else "warning" if status >= 400 else "info")
    assert row["template"] == f"{method} {path} {status}"
    assert reading.unparsed == 0


def test_many_lines_keep_their_own_client_and_status() -> None:
    text = "".join(
        f'[2026-11-30 03:37:55] INFO:     10.0.0.{i % 5}:{30000 + i} - "POST /generate HTTP/1.1" {200 if i % 3 else 503} x\n'
        for i in range(300)
    )
    rows = log(text)[1]["events"]
    assert [row["peer"] for row in rows] == [f"10.0.0.{i % 5}" for i in range(300)]
    assert [json.loads(row["attrs"])["status"] for row in rows] == [200 if i % 3 else 503 for i in range(300)]


@pytest.mark.parametrize(
    "line",
    [
        'INFO:     1.2.3.4:5 - "POST /generate HTTP/1.1" 20',
        'INFO:     1.2.3.4:5 - "POST /generate',
        'he said "POST /generate HTTP/1.1" 200 OK',
        'INFO:     1.2.3.4:5 - "POST /generate HTTP/1.1" 2000',
    ],
)
def test_look_alikes_are_no_access_lines(line: str) -> None:
    assert "http" not in [row["kind"] for row in log(f"{line}\n")[1]["events"]]
