"""Put the service on loopback ports and run it until it is told to stop."""

import asyncio
import gc
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

from aiohttp import web

from ridgeline.lab.serve import gateway
from ridgeline.lab.serve.admin import Admin, routes
from ridgeline.lab.serve.generate import LARGEST_BODY, Handler, generate_endpoint, openai_endpoint
from ridgeline.lab.serve.service import Running
from ridgeline.lab.serve.text import words
from ridgeline.model.errors import InputError
from ridgeline.sim.settings import Settings
from ridgeline.sim.timing import TimeModel

LOOPBACK = "127.0.0.1"


def application(found: Sequence[tuple[str, str, Handler]]) -> web.Application:
    """An application with the given endpoints."""
    app = web.Application(client_max_size=LARGEST_BODY)
    for method, path, handler in found:
        app.router.add_route(method, path, handler)
    return app


def generating(running: Running) -> list[tuple[str, str, Handler]]:
    """The endpoints that generate."""
    return [
        ("POST", "/v1/chat/completions", openai_endpoint(running, True)),
        ("POST", "/v1/completions", openai_endpoint(running, False)),
        ("POST", "/generate", generate_endpoint(running)),
    ]


def applications(running: Running) -> list[web.Application]:
    """One per port: the server, or the gateway and then the servers behind it."""
    admins = [Admin(running, front) for front in running.fronts]
    if len(admins) == 1:
        return [application([*routes(admins[0]), *generating(running)])]
    gate = gateway.Gateway(running)
    taken = [(method, path, gate.counting(handler)) for method, path, handler in generating(running)]
    rest = [r for r in routes(admins[0]) if r[1] in ("/v1/models", "/abort_request", "/lab/fault", "/lab/lag")]
    return [application([*gateway.routes(gate), *taken, *rest]), *(application(routes(a)) for a in admins)]


async def serve(
    settings: Settings,
    model: TimeModel,
    port: int,
    seed: int = 0,
    logs: Path | None = None,
    ready: Callable[[Running], None] = lambda running: None,
) -> None:
    """Serve from ``port`` on (a pair: gateway, prefill, decode) until SIGINT or SIGTERM.

    Raises:
        InputError: a port that cannot be had.
    """
    words()
    many = settings.decode_workers > 0
    ports = (port + 1, port + 2) if many else (port,)
    running = Running(settings, model, ports, seed, logs)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, running.stopping.set)
    runners: list[web.AppRunner] = []
    try:
        for app, at in zip(applications(running), (port, *ports) if many else ports, strict=True):
            runner = web.AppRunner(app, handler_cancellation=True, access_log=None)
            runners.append(runner)
            await runner.setup()
            try:
                await web.TCPSite(runner, LOOPBACK, at, backlog=1024, shutdown_timeout=1.0).start()
            except OSError as e:
                raise InputError(f"lab serve: port {at} on {LOOPBACK} cannot be had ({e.strerror})") from e
        # what was made up to here stays: collections during streams need not look at it
        gc.freeze()
        ready(running)
        await running.run()
    finally:
        for runner in runners:
            await runner.cleanup()
