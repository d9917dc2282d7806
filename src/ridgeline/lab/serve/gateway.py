"""The gateway in front of a prefill and a decode server: takes requests, counts what it passes on."""

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Awaitable, Callable

from aiohttp import web

from ridgeline.lab.emit import buckets, gateway
from ridgeline.lab.emit.exposition import Histogram, page
from ridgeline.lab.serve.admin import EXPOSITION, probe
from ridgeline.lab.serve.generate import Handler
from ridgeline.lab.serve.service import Running


class Gateway:
    """What the gateway has counted."""

    def __init__(self, running: Running) -> None:
        """Nothing has passed."""
        self.running = running
        self.active = 0
        self.sent = 0
        self.responses: Counter[int] = Counter()
        self.took = [0] * (len(buckets.GATEWAY) + 1)
        self.total_s = 0.0

    def counting(self, handler: Handler) -> Handler:
        """The handler, counted."""

        async def handle(request: web.Request) -> web.StreamResponse:
            began = time.monotonic()
            self.active += 1
            self.sent += 1
            try:
                response = await handler(request)
                self.responses[response.status] += 1
                return response
            finally:
                self.active -= 1
                took = time.monotonic() - began
                self.total_s += took
                self.took[bisect_left(buckets.GATEWAY, took)] += 1

        return handle

    async def metrics(self, request: web.Request) -> web.Response:
        """The gateway's exposition page."""
        bad = sum(n for status, n in self.responses.items() if status >= 500)
        workers = tuple(
            gateway.Worker(f"http://127.0.0.1:{f.host.server.port}", self.active, True, self.sent, bad, 0)
            for f in self.running.fronts
        )
        spread = Histogram(tuple(self.took), self.total_s)
        found = gateway.families("round_robin", workers, self.responses, spread, {"backend_error": bad})
        return web.Response(body=page(found).encode(), headers={"Content-Type": EXPOSITION})

    async def health(self, request: web.Request) -> web.Response:
        """Healthy when the servers behind it give a token."""
        return web.Response(status=200 if await probe(self.running) else 503)


def routes(gate: Gateway) -> list[tuple[str, str, Callable[[web.Request], Awaitable[web.StreamResponse]]]]:
    """The gateway's own endpoints."""
    return [("GET", "/metrics", gate.metrics), ("GET", "/health", gate.health)]
