"""One bounded GET over aiohttp: a limit of bytes and of seconds, no other host, never an exception."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin, urlsplit

from ridgeline.model.errors import Unsupported

if TYPE_CHECKING:
    import aiohttp

BODY_LIMIT: Final = 16 * 1024 * 1024
TIMEOUT_S: Final = 10.0
LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came. `status` 0: nothing usable did, and `body` says why in one line."""

    ts: float
    took_s: float
    status: int
    body: bytes


def require_live() -> None:
    """Raises Unsupported, with what to install, where the extra `live` is missing."""
    try:
        import aiohttp  # noqa: F401
    except ImportError as e:
        raise Unsupported("this needs the extra `live`: pip install 'ridgeline[live]'") from e


def session() -> aiohttp.ClientSession:
    """A client that reuses connections, ignores proxies and keeps no cookies."""
    import aiohttp

    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, limit_per_host=0, force_close=False, keepalive_timeout=75),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"Accept-Encoding": "identity", "User-Agent": "ridgeline"},
        auto_decompress=False,
        trust_env=False,
        read_bufsize=1 << 18,
    )


async def get(
    client: aiohttp.ClientSession, url: str, *, timeout_s: float = TIMEOUT_S, limit: int = BODY_LIMIT
) -> Answer:
    """One GET; a redirect is followed once, and only to the same host and port."""
    ts, began = time.time(), time.monotonic()
    try:
        async with asyncio.timeout(timeout_s):
            status, body = await _get(client, url, limit, hops=1)
    except TimeoutError:
        status, body = 0, f"no whole answer within {timeout_s:g} s".encode()
    except Exception as e:  # whatever a hostile server provokes in the client costs this one answer
        status, body = 0, one_line(f"{type(e).__name__}: {e}").encode()
    return Answer(ts, time.monotonic() - began, status, body)


async def _get(client: aiohttp.ClientSession, url: str, limit: int, hops: int) -> tuple[int, bytes]:
    async with client.get(url, allow_redirects=False, max_line_size=65536, max_field_size=65536) as answer:
        if answer.status in (301, 302, 303, 307, 308) and hops:
            target = urljoin(url, answer.headers.get("Location", ""))
            if urlsplit(target)[:2] == urlsplit(url)[:2]:
                return await _get(client, target, limit, hops - 1)
            return answer.status, one_line(f"redirects to another server: {target}").encode()
        parts, size = [], 0
        async for part in answer.content.iter_any():
            parts.append(part)
            size += len(part)
            if size > limit:
                answer.close()
                return 0, f"an answer of more than {limit >> 20} MiB was not taken".encode()
        return answer.status, b"".join(parts)


async def post(client: aiohttp.ClientSession, url: str, body: Mapping[str, Any]) -> Answer:
    """One POST of JSON; only `raising` uses it, after asking whether it may."""
    ts, began = time.time(), time.monotonic()
    try:
        async with asyncio.timeout(TIMEOUT_S), client.post(url, json=dict(body), allow_redirects=False) as answer:
            return Answer(ts, time.monotonic() - began, answer.status, await answer.content.read(65536))
    except Exception as e:
        return Answer(ts, time.monotonic() - began, 0, one_line(f"{type(e).__name__}: {e}").encode())


def one_line(text: str, limit: int = 300) -> str:
    """Text of a stranger as one line."""
    return " ".join(text.split())[:limit]


def is_loopback(url: str) -> bool:
    """Whether a URL names this machine by a loopback name."""
    return (urlsplit(url).hostname or "") in LOOPBACK
