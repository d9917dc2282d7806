"""One look at a server: each endpoint once, with GET only, and what engine, version and role it says it is."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ridgeline.live.endpoints import ENDPOINTS
from ridgeline.live.poll import base_of, get
from ridgeline.words.metrics import strip_prefix
from ridgeline.words.versions import Engine

DEADLINE_S: Final = 12.0
# Endpoint → its paths, newest first; the first that is not 404 counts.
PATHS: Final[dict[str, tuple[str, ...]]] = {e.name: e.paths for e in ENDPOINTS}


@dataclass(frozen=True)
class Reply:
    """What one endpoint answered; status 0: nothing came, `body` then says why."""

    path: str
    status: int
    body: bytes
    took_s: float

    @property
    def ok(self) -> bool:
        """Whether it is an answer to use."""
        return 200 <= self.status < 300


@dataclass
class Server:
    """One server as seen from outside. `settings` are its resolved launch arguments (empty: it does not tell)."""

    url: str
    replies: dict[str, Reply] = field(default_factory=dict)
    engine: Engine | None = None
    version: str | None = None
    role: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    families: frozenset[str] = frozenset()  # metric names as exposed, `_bucket` and the like included

    @property
    def answers(self) -> bool:
        """Whether anything at all answered."""
        return any(reply.status > 0 for reply in self.replies.values())

    def ok(self, what: str) -> bool:
        """Whether an endpoint gave an answer to use."""
        reply = self.replies.get(what)
        return reply is not None and reply.ok


def probe(urls: Sequence[str]) -> list[Server]:
    """Look at every server at once; an endpoint that does not answer in time costs only itself.

    Raises InputError for something that is no http(s) URL.
    """
    servers = [Server(base_of(url)) for url in urls]
    threads = [threading.Thread(target=_ask, args=(server, what), daemon=True) for server in servers for what in PATHS]
    for thread in threads:
        thread.start()
    until = time.monotonic() + DEADLINE_S
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    for server in servers:
        for what, paths in PATHS.items():
            server.replies.setdefault(what, Reply(paths[0], 0, b"no answer in time", DEADLINE_S))
        _identify(server)
    return servers


def _ask(server: Server, what: str) -> None:
    for path in PATHS[what]:
        began = time.monotonic()
        status, body = get(server.url + path)
        reply = Reply(path, status, body, time.monotonic() - began)
        if status != 404:
            break
    server.replies[what] = reply


def _identify(server: Server) -> None:
    info, loads, version, model = (_json(server, what) for what in ("server_info", "loads", "version", "model_info"))
    settings = info.get("server_args") if isinstance(info.get("server_args"), dict) else info
    server.settings = settings if isinstance(settings, dict) else {}
    text = server.replies["metrics"].body.decode("utf-8", "replace") if server.ok("metrics") else ""
    server.families = frozenset(_name(line) for line in text.splitlines() if line and not line.startswith("#"))
    engines = [engine for name in server.families if (engine := strip_prefix(name)[0]) is not None]
    named = next((str(doc["version"]) for doc in (info, loads, version) if doc.get("version")), None)
    server.version = named
    if engines:
        server.engine = Counter(sorted(engines)).most_common(1)[0][0]
    elif info.get("internal_states") or "model_path" in model or "loads" in loads or "dp_rank" in loads:
        server.engine = "sglang"
    elif named is not None and version.get("version"):
        server.engine = "vllm"
    mode = server.settings.get("disaggregation_mode")
    server.role = str(mode) if mode in ("prefill", "decode") else "unified" if server.engine == "sglang" else None


def _json(server: Server, what: str) -> dict[str, Any]:
    if not server.ok(what):
        return {}
    try:
        value = json.loads(server.replies[what].body)
    except (ValueError, RecursionError):
        return {}
    if isinstance(value, list):
        value = value[0] if value else {}
    return value if isinstance(value, dict) else {}


def _name(line: str) -> str:
    return line.split("{", 1)[0].split(" ", 1)[0]
