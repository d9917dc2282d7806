"""Raise a server's request logging for the time of a capture, and put it back: the one thing here that ever writes.

Only where it was asked for with --raise-logging, only to loopback or a host named with --allow-host, and only where
/server_info tells what to put back.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import urlsplit

from ridgeline.live.fetch import get, is_loopback, post, session
from ridgeline.live.poll import base_of
from ridgeline.live.polling import Say
from ridgeline.model.errors import InputError

RAISED: Final = {"log_requests": True, "log_requests_level": 1}
KEYS: Final = ("log_requests", "log_requests_level")


def may_write(urls: Sequence[str], allowed: Sequence[str]) -> None:
    """Raises InputError for the first URL that is neither loopback nor on a host that was named."""
    for url in urls:
        host = urlsplit(base_of(url)).hostname or ""
        if not is_loopback(url) and host not in allowed:
            raise InputError(f"{url}: is not loopback; to change its logging add --allow-host {host}")


@asynccontextmanager
async def raised(urls: Sequence[str], allowed: Sequence[str], say: Say) -> AsyncIterator[dict[str, dict[str, Any]]]:
    """Logging raised while the block runs; gives what will be put back, by server. Put back on any way out."""
    may_write(urls, allowed)
    before: dict[str, dict[str, Any]] = {}
    async with session() as client:
        try:
            for base in dict.fromkeys(base_of(url) for url in urls):
                known = await _known(client, base)
                if known is None:
                    say(f"{base}: /server_info does not tell its logging, so it could not be put back: left as it is")
                    continue
                if known["log_requests"] and known["log_requests_level"] >= RAISED["log_requests_level"]:
                    say(f"{base}: requests are logged already (level {known['log_requests_level']})")
                    continue
                before[base] = known
                answer = await post(client, f"{base}/configure_logging", RAISED)
                if not 200 <= answer.status < 300:
                    del before[base]
                    say(f"{base}: refused to change its logging (HTTP {answer.status})")
                    continue
                say(f"{base}: requests are logged at level 1 until the capture ends")
            yield before
        finally:
            for base, settings in before.items():
                answer = await post(client, f"{base}/configure_logging", settings)
                if 200 <= answer.status < 300:
                    say(f"{base}: logging is as it was")
                else:
                    say(f"{base}: its logging could not be put back; {put_back(base, settings)}")


def put_back(base: str, settings: dict[str, Any]) -> str:
    """The command that puts a server's logging back by hand."""
    return f"run: curl -X POST {base}/configure_logging -H 'Content-Type: application/json' -d '{json.dumps(settings)}'"


async def _known(client: Any, base: str) -> dict[str, Any] | None:
    for path in ("/server_info", "/get_server_info"):
        answer = await get(client, base + path)
        if answer.status != 200:
            continue
        try:
            info = json.loads(answer.body)
        except (ValueError, RecursionError):
            return None
        info = info.get("server_args", info) if isinstance(info, dict) else {}
        if isinstance(info, dict) and all(isinstance(info.get(key), int) for key in KEYS):
            return {key: info[key] for key in KEYS}
    return None
