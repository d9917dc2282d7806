"""An OTLP receiver over HTTP on loopback: what exporters send to /v1/traces is kept as it came."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from ridgeline.live.raw import OutOfSpace, Sink
from ridgeline.model.errors import SourceUnavailable

if TYPE_CHECKING:
    from aiohttp import web

BODY_LIMIT: Final = 32 * 1024 * 1024


@asynccontextmanager
async def receiver(port: int, sink: Sink) -> AsyncIterator[int]:
    """Listen on 127.0.0.1 while the block runs; gives the port (another one where 0 was asked).

    JSON goes to `otlp/traces.jsonl`, one document per line; protobuf to `otlp/traces.pb`, each request behind its
    length as a varint, as signals/otlp.py reads them. Raises SourceUnavailable where the port is taken.
    """
    from aiohttp import web

    async def traces(request: web.Request) -> web.Response:
        body = await request.read()
        try:
            if "json" in request.content_type:
                try:
                    line = json.dumps(json.loads(body), separators=(",", ":")).encode()
                except (ValueError, RecursionError):
                    return web.Response(status=400, text="the body is no JSON")
                sink.append("otlp/traces.jsonl", line + b"\n", time.time())
                return web.json_response({})
            sink.append("otlp/traces.pb", varint(len(body)) + body, time.time())
        except OutOfSpace:
            return web.Response(status=507, text="the disk of the receiver is full")
        return web.Response(body=b"", content_type="application/x-protobuf")

    app = web.Application(client_max_size=BODY_LIMIT)
    app.router.add_post("/v1/traces", traces)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port)
        try:
            await site.start()
        except OSError as e:
            raise SourceUnavailable(f"127.0.0.1:{port}: cannot listen ({e.strerror}); give --otlp another port") from e
        address = runner.addresses[0]
        yield int(address[1])
    finally:
        await runner.cleanup()


def varint(number: int) -> bytes:
    """A length as protobuf writes it in front of a message."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)
