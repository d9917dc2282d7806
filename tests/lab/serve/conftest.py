"""A real `ridgeline lab serve` process on loopback."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Served:
    """Where it listens: ``urls`` of the servers, ``gate`` what clients talk to."""

    gate: str
    urls: tuple[str, ...]
    logs: Path
    pid: int

    def ask(self, path: str, body: Any = None, method: str | None = None, base: str | None = None) -> bytes:
        """The answer of one request; a body is sent as JSON."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request((base or self.gate) + path, data, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            found: bytes = answer.read()
        return found

    def json(self, path: str, body: Any = None, method: str | None = None) -> Any:
        """The same, decoded."""
        return json.loads(self.ask(path, body, method))


def free_ports() -> int:
    """The first of three ports in a row that are free."""
    for port in range(32_000 + 3 * (os.getpid() % 2000), 40_000, 7):  # test processes run side by side
        try:
            with socket.create_server(("127.0.0.1", port)), socket.create_server(("127.0.0.1", port + 1)):
                socket.create_server(("127.0.0.1", port + 2)).close()
                return port
        except OSError:
            continue
    raise AssertionError("no free ports")


@pytest.fixture(scope="module")
def lab_serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Served]]:
    """Start a server with more arguments; all end with the module."""
    running: list[subprocess.Popen[str]] = []

    def start(*more: str) -> Served:
        port, logs = free_ports(), tmp_path_factory.mktemp("logs")
        command = [sys.executable, "-m", "ridgeline", "lab", "serve", "--port", str(port), "--logs", str(logs),
                   "--format", "json", *more]  # fmt: skip
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout is not None
        found = json.loads(process.stdout.readline())
        return Served(f"http://127.0.0.1:{port}", tuple(s["url"] for s in found["servers"]), logs, process.pid)

    yield start
    for process in running:
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        assert process.stdout is not None
        process.stdout.close()
