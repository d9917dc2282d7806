"""The endpoints around generation: health, metrics, loads, what the server is, and the fault switch."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from aiohttp import web

from ridgeline.lab.emit import loads, server_info, sglang_metrics
from ridgeline.lab.emit.exposition import page
from ridgeline.lab.emit.life import flushed
from ridgeline.lab.serve.asked import Asked, Refused
from ridgeline.lab.serve.generate import body_of, refused
from ridgeline.lab.serve.hosts import MODEL
from ridgeline.lab.serve.service import PROBE, Front, Running
from ridgeline.lab.serve.switch import Switch
from ridgeline.model.errors import InputError
from ridgeline.sim.engine import params as p

HEALTH_S: Final = 20.0
"""How long a health probe waits for its one token."""
EXPOSITION: Final = "text/plain; version=0.0.4; charset=utf-8"


async def probe(running: Running) -> bool:
    """Whether the service gives one token within `HEALTH_S`."""
    now = running.world.now_s()
    asked = Asked(f"{PROBE}{now:.6f}", "/generate", (0,), 1, True, False, False, 0.0, 0, "127.0.0.1:0", None, now)
    handle = running.submit(asked)
    try:
        while not handle.done:
            await asyncio.wait_for(handle.news.wait(), HEALTH_S)
            handle.news.clear()
    except TimeoutError:
        return False
    finally:
        running.forget(handle)
    return handle.outcome == p.FINISHED


def text(found: str) -> web.Response:
    """A plain answer."""
    return web.Response(text=found)


def example(switch: Switch) -> str:
    """A body that works here, and how a fault ends."""
    names = [f.id for f in switch.available()]
    name = "fault.hang" if "fault.hang" in names else names[0]
    return f'such as {{"fault": "{name}", "severity": 2, "rank": 0}}; DELETE /lab/fault turns off'


def fault_of(body: Any) -> tuple[str, int, int | None]:
    """(fault, severity, rank) that a body asks for.

    Raises:
        Refused: no such body.
    """
    if not isinstance(body, dict) or not isinstance(body.get("fault"), str):
        raise Refused("no fault is named")
    more = sorted(set(body) - {"fault", "severity", "rank"})
    if more:
        raise Refused(f"{more[0]}: not known here")
    severity, rank = body.get("severity", 2), body.get("rank")
    if type(severity) is not int or not (rank is None or type(rank) is int):
        raise Refused("severity and rank must be whole numbers")
    return body["fault"], severity, rank


class Admin:
    """The endpoints of one server."""

    def __init__(self, running: Running, front: Front) -> None:
        """For the server ``front`` of the service."""
        self.running = running
        self.front = front

    async def health(self, request: web.Request) -> web.Response:
        """``/health`` and ``/health_generate``: one token from the engine, or 503 after twenty seconds."""
        return web.Response(status=200 if await probe(self.running) else 503)

    async def metrics(self, request: web.Request) -> web.Response:
        """The exposition page."""
        await self.front.counts.fold()
        counted = self.front.counts.counted(self.front.reports.gauges())
        body = page(sglang_metrics.families(self.front.host.server, counted))
        return web.Response(body=body.encode(), headers={"Content-Type": EXPOSITION})

    async def loads(self, request: web.Request) -> web.Response:
        """``/v1/loads`` (``/get_load`` of 0.5.3)."""
        now = self.running.world.wall(self.running.world.now_s())
        body = loads.answer(self.front.host.server, now, self.front.reports.snapshots())
        return web.Response(text=body, content_type="application/json")

    async def info(self, request: web.Request) -> web.Response:
        """``/server_info``."""
        tps = sum(r.decode.tps for r in self.front.reports.ranks if r.decode is not None)
        return web.Response(text=server_info.answer(self.front.host.server, tps), content_type="application/json")

    async def model(self, request: web.Request) -> web.Response:
        """``/model_info``."""
        return web.json_response(
            {"model_path": MODEL, "tokenizer_path": MODEL, "is_generation": True, "preferred_sampling_params": None,
             "weight_version": "default", "model_type": "llama", "architectures": ["LlamaForCausalLM"]}
        )  # fmt: skip

    async def models(self, request: web.Request) -> web.Response:
        """``/v1/models``."""
        one = {"id": MODEL, "object": "model", "created": int(self.running.world.started_ts), "owned_by": "sglang",
               "root": MODEL, "max_model_len": self.front.host.server.context_len}  # fmt: skip
        return web.json_response({"object": "list", "data": [one]})

    async def configure_logging(self, request: web.Request) -> web.Response:
        """Takes what it is given, as the real endpoint does."""
        try:
            body = await body_of(request)
        except Refused as e:
            return refused(400, str(e))
        if isinstance(body, dict):
            self.front.logging.update(body)
        return web.Response(status=200)

    async def flush_cache(self, request: web.Request) -> web.Response:
        """Empties the prefix cache when nothing is open: what was stored before is never matched again."""
        if self.running.world.open_requests:
            return web.Response(status=400, text="Cache not flushed: requests are running or waiting.\n")
        self.running.world.space += 1
        now = self.running.world.wall(self.running.world.now_s())
        server = self.front.host.server
        self.front.write([flushed(server, now, k) for k in range(server.dp_size)])
        return text("Cache flushed.\n")

    async def start_profile(self, request: web.Request) -> web.Response:
        """There is no device to profile; the answer is the real one."""
        self.front.profiling = True
        return text("Start profiling.\n")

    async def stop_profile(self, request: web.Request) -> web.Response:
        """See `start_profile`."""
        if not self.front.profiling:
            return refused(500, "Profiling is not in progress. Call /start_profile first.")
        self.front.profiling = False
        return text("Stop profiling. This will take some time.\n")

    async def abort(self, request: web.Request) -> web.Response:
        """``/abort_request``: by rid, or all."""
        try:
            body = await body_of(request)
        except Refused as e:
            return refused(400, str(e))
        body = body if isinstance(body, dict) else {}
        rid = body.get("rid")
        for name, handle in list(self.running.by_rid.items()):
            if body.get("abort_all") or (isinstance(rid, str) and rid and name.startswith(rid)):
                self.running.world.cancel(handle)
        return web.Response(status=200)

    async def fault(self, request: web.Request) -> web.Response:
        """The switch: GET lists, POST ``{"fault", "severity", "rank"}`` turns on, DELETE (``?fault=``) off."""
        switch = self.running.switch
        if request.method == "POST":
            try:
                name, severity, rank = fault_of(await body_of(request))
            except Refused as e:
                return refused(400, f"{e}; send a body {example(switch)}; GET /lab/fault lists them")
            try:
                switch.turn_on(name, severity, rank)
            except InputError as e:
                return refused(400, str(e))
        elif request.method == "DELETE":
            switch.turn_off(request.query.get("fault"))
        return web.json_response(switch.listed())

    async def lag(self, request: web.Request) -> web.Response:
        """How late this process hands tokens over, and what it holds: requests, handles, tasks."""
        open_now = {"open": self.running.world.open_requests, "handles": len(self.running.by_rid),
                    "tasks": len(asyncio.all_tasks())}  # fmt: skip
        return web.json_response({"schema": "ridgeline.lab-lag/1", **self.running.lag(), **open_now})


Method = Callable[[web.Request], Awaitable[web.StreamResponse]]


def routes(admin: Admin) -> list[tuple[str, str, Method]]:
    """(method, path, handler) of every endpoint around generation."""
    both = ("GET", "POST")
    return [
        ("GET", "/health", admin.health),
        ("GET", "/health_generate", admin.health),
        ("GET", "/metrics", admin.metrics),
        ("GET", "/v1/loads", admin.loads),
        ("GET", "/get_load", admin.loads),
        ("GET", "/server_info", admin.info),
        ("GET", "/get_server_info", admin.info),
        ("GET", "/model_info", admin.model),
        ("GET", "/get_model_info", admin.model),
        ("GET", "/v1/models", admin.models),
        ("POST", "/configure_logging", admin.configure_logging),
        *((m, "/flush_cache", admin.flush_cache) for m in both),
        *((m, "/start_profile", admin.start_profile) for m in both),
        *((m, "/stop_profile", admin.stop_profile) for m in both),
        ("POST", "/abort_request", admin.abort),
        *((m, "/lab/fault", admin.fault) for m in ("GET", "POST", "DELETE")),
        ("GET", "/lab/lag", admin.lag),
    ]


def described(running: Running) -> dict[str, Any]:
    """The service in one JSON object: printed when it is ready."""
    servers = [(f.host.server.role, f.host.server.port) for f in running.fronts]
    return {
        "schema": "ridgeline.lab-serve/1",
        "servers": [{"role": role, "url": f"http://127.0.0.1:{port}"} for role, port in servers],
        "faults": [f.id for f in running.switch.available()],
    }
