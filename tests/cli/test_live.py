"""`ridgeline diagnose URL`: a server is watched with GETs only and read like files."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest


class Server(BaseHTTPRequestHandler):
    """A server at its running limit: 40 requests wait while 16 run and the pool is a fifth full."""

    methods: ClassVar[set[str]] = set()

    def do_GET(self) -> None:
        self.methods.add(self.command)
        now = time.time()
        if self.path == "/metrics":
            base = 'engine_type="unified",model_name="m",tp_rank="0"'
            done = int(now * 3)
            body = (
                f"# TYPE sglang:num_running_reqs gauge\nsglang:num_running_reqs{{{base}}} 16.0\n"
                f"# TYPE sglang:num_queue_reqs gauge\nsglang:num_queue_reqs{{{base}}} 40.0\n"
                f"# TYPE sglang:token_usage gauge\nsglang:token_usage{{{base}}} 0.21\n"
                f"# TYPE sglang:gen_throughput gauge\nsglang:gen_throughput{{{base}}} 610.5\n"
                f'# TYPE sglang:num_requests counter\nsglang:num_requests_total{{model_name="m"}} {done}.0\n'
            )
        elif self.path.startswith("/v1/loads"):
            row = {
                "timestamp": now, "dp_rank": 0, "num_running_reqs": 16, "num_waiting_reqs": 40,
                "num_used_tokens": 42000,
                "max_total_num_tokens": 200000, "max_running_requests": 16, "token_usage": 0.21,
                "gen_throughput": 610.5,
                "cache_hit_rate": 0.0, "utilization": 0.0,
            }  # fmt: skip
            stamp = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(now))
            body = json.dumps({"timestamp": stamp, "version": "0.5.23", "num_accelerators": 1, "loads": [row]})
        elif self.path == "/server_info":
            body = json.dumps({"version": "0.5.23", "max_running_requests": 16, "dp_size": 1, "api_key": "sk-secret-1"})
        else:
            self.send_error(404)
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def url() -> Iterator[str]:
    http = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=http.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{http.server_address[1]}"
    http.shutdown()
    thread.join()
    http.server_close()


def test_a_live_server_is_diagnosed(url: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ridgeline", "diagnose", url, "--for", "7s", "--format", "json"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    answer = json.loads(done.stdout)
    assert answer["findings"][0]["cause"] == "queue.running-cap"
    assert {c["kind"] for c in answer["coverage"]} >= {"exposition", "loads", "server-info"}
    assert Server.methods == {"GET"}
    assert "sk-secret-1" not in done.stdout


def test_nobody_there_is_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ridgeline", "diagnose", "http://127.0.0.1:9", "--for", "1s"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    waiting, error = done.stderr.splitlines()
    assert waiting == "ridgeline: watching http://127.0.0.1:9 for 1 s, then reading"
    assert "no endpoint answered" in error


def test_an_address_without_its_scheme_is_no_missing_file() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ridgeline", "diagnose", "127.0.0.1:9", "--for", "1s"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "write http://HOST:PORT" in done.stderr
