"""What is asked of a server, in one list; and the line that stands before an answer in a raw file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

HEALTH_S: Final = 30.0  # it costs the server a token each time (SIGNALS §7.3)
INFO_S: Final = 300.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint of every server. `instead`: its names in older releases and in vLLM, tried in order where the one
    before is not there; `least_s`: a long capture asks no more often.

    `secret`: its answer may hold secrets, which are cut out before anything lasting is written. `steady`: asked no less
    often when it is slow, for that it does not answer is what is looked for.
    """

    name: str
    path: str
    instead: tuple[str, ...] = ()
    least_s: float = 0.0
    secret: bool = False
    steady: bool = False

    @property
    def paths(self) -> tuple[str, ...]:
        """Every name, newest first."""
        return (self.path, *self.instead)

    @property
    def file(self) -> str:
        """The name of its raw file."""
        return f"{self.name}.scrapes.txt"

    @property
    def often(self) -> bool:
        """Whether it is asked at every tick."""
        return self.least_s == 0


ENDPOINTS: Final = (
    Endpoint("metrics", "/metrics"),
    Endpoint("loads", "/v1/loads?include=all", ("/get_load", "/load")),
    Endpoint("health", "/health", least_s=HEALTH_S, steady=True),
    Endpoint("server_info", "/server_info", ("/get_server_info",), INFO_S, secret=True),
    Endpoint("model_info", "/model_info", ("/get_model_info",), INFO_S, secret=True),
    Endpoint("version", "/version", least_s=INFO_S),
)


def header(url: str, ts: float, took_s: float, status: int) -> bytes:
    """The line before an answer: when it was asked, how long it took, its status (0: nothing came)."""
    return f"#### scrape ts={ts:.6f} took={took_s:.4f} status={status} url={url}\n".encode()
