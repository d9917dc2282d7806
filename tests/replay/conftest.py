"""Servers for tests: each in its own process, on a port of its own, ended with the test."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SERVER = Path(__file__).with_name("server.py")


@dataclass(frozen=True)
class Server:
    """A running test server."""

    url: str
    pid: int

    @property
    def restart(self) -> str:
        """The command that starts it again after a crash."""
        return f"kill -USR1 {self.pid}"


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def wait_for(port: int) -> None:
    for _ in range(400):
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise TimeoutError(f"no server on port {port}")


@pytest.fixture(scope="session")
def many() -> Iterator[subprocess.Popen[str]]:
    """The process that forks servers; it has the imports behind it."""
    with subprocess.Popen(
        [sys.executable, str(SERVER), "many"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    ) as child:  # fmt: skip
        yield child
        child.terminate()


@pytest.fixture
def serve(many: subprocess.Popen[str]) -> Iterator[Callable[..., Server]]:
    """Start a server with the given options."""
    running: list[int] = []

    def start(**options: Any) -> Server:
        port = free_port()
        assert many.stdin is not None and many.stdout is not None
        many.stdin.write(f"{port} {json.dumps(options)}\n")
        many.stdin.flush()
        running.append(int(many.stdout.readline()))
        wait_for(port)
        return Server(f"http://127.0.0.1:{port}", running[-1])

    yield start
    for pid in running:
        os.kill(pid, signal.SIGTERM)
