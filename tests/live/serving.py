"""A small real HTTP server on loopback in the shape of an engine: /metrics, /v1/loads, /server_info, /health."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TTFT_BOUNDS = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 20.0)


@dataclass
class Engine:
    """The state that the endpoints show; a test changes it while the server runs. `faults` override a path."""

    version: str = "0.5.9"
    ranks: int = 1
    settings: dict[str, Any] = field(default_factory=dict)
    running: float = 4.0
    waiting: float = 0.0
    usage: float = 0.3
    rate: float = 20.0  # finished requests per second
    ttft_s: float = 0.15
    retracted: float = 0.0
    padding: int = 0  # bytes of further series
    labels: str = ""
    faults: dict[str, Callable[["Handler"], None]] = field(default_factory=dict)
    seen: list[tuple[str, str, bytes]] = field(default_factory=list)
    done: float = 0.0
    over: dict[float, float] = field(default_factory=dict)
    total_s: float = 0.0
    at: float = field(default_factory=time.monotonic)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def advance(self) -> None:
        """Finish the requests of the time that went by."""
        with self.lock:
            now = time.monotonic()
            n = self.rate * (now - self.at)
            self.at = now
            self.done += n
            self.total_s += n * self.ttft_s
            for le in TTFT_BOUNDS:
                if self.ttft_s <= le:
                    self.over[le] = self.over.get(le, 0.0) + n

    def restart(self) -> None:
        """Counters begin anew."""
        with self.lock:
            self.done, self.total_s, self.retracted = 0.0, 0.0, 0.0
            self.over.clear()

    def metrics(self) -> str:
        """The exposition text."""
        self.advance()
        lines = []
        for name, kind, value in (
            ("num_running_reqs", "gauge", self.running), ("num_queue_reqs", "gauge", self.waiting),
            ("token_usage", "gauge", self.usage), ("gen_throughput", "gauge", 500.0 * (self.rate > 0)),
            ("num_retracted_requests_total", "counter", self.retracted),
        ):  # fmt: skip
            lines.append(f"# TYPE sglang:{name.removesuffix('_total')} {kind}")
            for rank in range(self.ranks):
                labels = f'dp_rank="{rank}",engine_type="unified",model_name="m",tp_rank="0"{self.labels}'
                lines.append(f"sglang:{name}{{{labels}}} {value}")
        base = f'model_name="m"{self.labels}'
        lines += ["# TYPE sglang:num_requests counter", f"sglang:num_requests_total{{{base}}} {int(self.done)}",
                  "# TYPE sglang:prompt_tokens counter", f"sglang:prompt_tokens_total{{{base}}} {int(self.done) * 200}",
                  "# TYPE sglang:time_to_first_token_seconds histogram"]  # fmt: skip
        for le in TTFT_BOUNDS:
            lines.append(f'sglang:time_to_first_token_seconds_bucket{{le="{le}",{base}}} {int(self.over.get(le, 0))}')
        lines += [f'sglang:time_to_first_token_seconds_bucket{{le="+Inf",{base}}} {int(self.done)}',
                  f"sglang:time_to_first_token_seconds_sum{{{base}}} {self.total_s:.3f}",
                  f"sglang:time_to_first_token_seconds_count{{{base}}} {int(self.done)}"]  # fmt: skip
        if self.padding:
            lines.append("# TYPE sglang:http_requests counter")
            lines += [f'sglang:http_requests_total{{endpoint="/generate/{k:06d}",method="POST"}} {k}.0'
                      for k in range(self.padding // 72)]  # fmt: skip
        return "\n".join(lines) + "\n"

    def loads(self) -> dict[str, Any]:
        """The body of /v1/loads."""
        now = time.time()
        rows = [
            {"timestamp": now, "dp_rank": rank, "num_running_reqs": int(self.running),
             "num_waiting_reqs": int(self.waiting), "num_used_tokens": int(self.usage * 100000),
             "max_total_num_tokens": 100000, "max_running_requests": 64, "token_usage": self.usage,
             "gen_throughput": 500.0, "cache_hit_rate": 0.0, "utilization": 0.0}
            for rank in range(self.ranks)
        ]  # fmt: skip
        return {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(now)), "version": self.version,
                "dp_rank_count": self.ranks, "loads": rows}  # fmt: skip

    def info(self) -> dict[str, Any]:
        """The body of /server_info."""
        return {"version": self.version, "model_path": "m", "served_model_name": "m", "tokenizer_path": "m",
                "dp_size": self.ranks, "max_running_requests": 64, "api_key": "sk-secret-9", "internal_states": [],
                "disaggregation_mode": "null", **self.settings}  # fmt: skip


class Handler(BaseHTTPRequestHandler):
    """Answers from the engine of its server."""

    engine: Engine

    def do_GET(self) -> None:
        self.engine.seen.append((self.command, self.path, b""))
        path = self.path.split("?")[0]
        if path in self.engine.faults:
            self.engine.faults[path](self)
        elif path == "/metrics":
            self.answer(200, self.engine.metrics().encode())
        elif path == "/v1/loads":
            self.answer(200, json.dumps(self.engine.loads()).encode())
        elif path == "/server_info":
            self.answer(200, json.dumps(self.engine.info()).encode())
        elif path == "/model_info":
            self.answer(200, json.dumps({"model_path": "m", "is_generation": True}).encode())
        elif path == "/health":
            self.answer(200, b"")
        else:
            self.answer(404, b"not here")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.engine.seen.append((self.command, self.path, body))
        self.answer(200, b"{}")

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        return


class Quiet(ThreadingHTTPServer):
    """Threads do not outlive the test, and a client that leaves is no error."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        return


@contextmanager
def serving(engine: Engine, port: int = 0) -> Iterator[str]:
    """The engine's address while it runs."""
    handler = type("Bound", (Handler,), {"engine": engine})
    http = Quiet(("127.0.0.1", port), handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_address[1]}"
    finally:
        http.shutdown()
        http.server_close()
        thread.join(5)
