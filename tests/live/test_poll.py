"""Polling over real HTTP on loopback."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from ridgeline.live.poll import collect, get
from ridgeline.model.errors import InputError, SourceUnavailable


class Handler(BaseHTTPRequestHandler):
    """A server in SGLang's shape, one endpoint of which hangs, one is older, one redirects elsewhere."""

    seen: ClassVar[list[tuple[str, str]]] = []

    def do_GET(self) -> None:
        self.seen.append((self.command, self.path))
        if self.path == "/metrics":
            self.answer(200, b"sglang:num_running_reqs 3.0\n")
        elif self.path == "/get_load":
            self.answer(200, b'[{"dp_rank": 0, "num_reqs": 2, "num_waiting_reqs": 1, "num_tokens": 77}]')
        elif self.path == "/server_info":
            time.sleep(1.5)
            self.answer(200, b'{"version": "0.5.6"}')
        elif self.path == "/model_info":
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.2:9/elsewhere")
            self.end_headers()
        elif self.path == "/health":
            self.answer(503, b"")
        else:
            self.answer(404, b"not here")

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def server() -> Iterator[str]:
    Handler.seen.clear()
    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{http.server_address[1]}"
    http.shutdown()
    thread.join()
    http.server_close()


def test_every_endpoint_is_polled_and_only_with_get(server: str, tmp_path: Path) -> None:
    collect([server], tmp_path, 2.2)
    (home,) = tmp_path.iterdir()
    metrics = (home / "metrics.scrapes.txt").read_text()
    assert 3 <= metrics.count("#### scrape ts=") <= 4  # at 0, 1, 2 s and once at the end
    assert metrics.count("sglang:num_running_reqs 3.0") == metrics.count("status=200")
    loads = (home / "loads.scrapes.txt").read_text()
    assert "url=" + server + "/get_load" in loads  # the older name is used where the newer is not there
    assert '"version": "0.5.6"' in (home / "server_info.scrapes.txt").read_text()
    assert "status=503" in (home / "health.scrapes.txt").read_text()
    assert {method for method, _ in Handler.seen} == {"GET"}


def test_a_redirect_to_another_host_is_not_followed(server: str) -> None:
    status, _ = get(f"{server}/model_info")
    assert status == 302


def test_nobody_there_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailable, match="no endpoint answered"):
        collect(["http://127.0.0.1:9"], tmp_path, 0.1)


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/x", "localhost:30000", "http://"])
def test_what_is_no_url_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a server's URL"):
        collect([url], tmp_path, 0.1)


def test_a_server_that_drips_is_given_up_in_time() -> None:
    def drip(server: socket.socket) -> None:
        peer, _ = server.accept()
        with peer, contextlib.suppress(OSError):
            peer.recv(4096)
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            for _ in range(100):
                peer.sendall(b"x")
                time.sleep(0.05)

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=drip, args=(server,), daemon=True).start()
        began = time.monotonic()
        status, said = get(f"http://127.0.0.1:{server.getsockname()[1]}/x", timeout_s=0.3)
    assert status == 0
    assert b"in time" in said
    assert time.monotonic() - began < 3
