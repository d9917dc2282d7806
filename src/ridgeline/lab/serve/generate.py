"""The endpoints that generate: ``/v1/chat/completions``, ``/v1/completions``, ``/generate``, streaming or whole."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from aiohttp import web

from ridgeline.lab.serve import answers
from ridgeline.lab.serve.asked import Asked, Refused, of_generate, of_openai
from ridgeline.lab.serve.service import Running
from ridgeline.lab.serve.world import Handle

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
LARGEST_BODY = 32 * 2**20


async def body_of(request: web.Request) -> Any:
    """The JSON body.

    Raises:
        Refused: it is not JSON.
    """
    try:
        return json.loads(await request.read())
    except ValueError as e:
        raise Refused(f"the body is not JSON: {e}") from e


def peer_of(request: web.Request) -> str:
    """host:port of the connection."""
    name = request.transport.get_extra_info("peername") if request.transport is not None else None
    return f"{name[0]}:{name[1]}" if name else "unknown:0"


def refused(status: int, message: str) -> web.Response:
    """An error answer."""
    return web.json_response(answers.error_body(status, message), status=status)


async def follow(running: Running, handle: Handle) -> None:
    """Wait until there is something new of a request."""
    await handle.news.wait()
    handle.news.clear()


async def whole(running: Running, handles: Sequence[Handle]) -> tuple[int, str] | None:
    """Wait until all have ended; the first error, if any."""
    for handle in handles:
        while not handle.done:
            await follow(running, handle)
        running.wrote(handle)
    return next((found for h in handles if (found := answers.error_of(h)) is not None), None)


async def stream_openai(running: Running, response: web.StreamResponse, handle: Handle) -> None:
    """Write one choice as it comes; tokens of one moment go out in one piece."""
    world = running.world
    head = answers.openai_head(handle, True)
    sent = 0
    first = True
    while True:
        await follow(running, handle)
        error = answers.error_of(handle)
        if error is not None:
            # the status line has gone out long ago: the error is an event of the stream
            await response.write(answers.event({"error": answers.error_body(*error)}))
            return
        if handle.tokens > sent or handle.done:
            chunk = answers.openai_chunk(world, handle, head, sent, handle.tokens, first, handle.done)
            await response.write(answers.event(chunk))
            running.wrote(handle)
            sent, first = handle.tokens, False
        if handle.done:
            return


async def stream_generate(running: Running, response: web.StreamResponse, handle: Handle, many: bool) -> None:
    """Write one request as it comes; each piece holds everything so far."""
    while True:
        await follow(running, handle)
        piece = answers.generated(running.world, handle)
        if many:
            piece["index"] = handle.asked.choice
        await response.write(answers.event(piece))
        running.wrote(handle)
        if handle.done:
            return


async def streamed(
    running: Running, request: web.Request, handles: Sequence[Handle], openai: bool
) -> web.StreamResponse:
    """A response of server-sent events."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
    await response.prepare(request)
    many = len(handles) > 1
    if openai:
        await asyncio.gather(*(stream_openai(running, response, h) for h in handles))
        if handles[0].asked.usage_in_stream and all(answers.error_of(h) is None for h in handles):
            end = answers.openai_head(handles[0], True) | {
                "choices": [],
                "usage": answers.usage(running.world, handles),
            }
            await response.write(answers.event(end))
    else:
        await asyncio.gather(*(stream_generate(running, response, h, many) for h in handles))
    await response.write(answers.DONE)
    await response.write_eof()
    return response


def openai_endpoint(running: Running, chat: bool) -> Handler:
    """The handler of one OpenAI endpoint."""

    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            body = await body_of(request)
            asked = of_openai(body, request.headers, running.world.now_s(), peer_of(request), chat)
        except Refused as e:
            return refused(400, str(e))
        return await respond(running, request, asked, True, False)

    return handle


def generate_endpoint(running: Running) -> Handler:
    """The handler of ``/generate``."""

    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            body = await body_of(request)
            asked, many = of_generate(body, request.headers, running.world.now_s(), peer_of(request))
        except Refused as e:
            return web.json_response({"error": {"message": str(e)}}, status=400)
        return await respond(running, request, asked, False, many)

    return handle


async def respond(
    running: Running, request: web.Request, asked: Sequence[Asked], openai: bool, many: bool
) -> web.StreamResponse:
    """Serve what was asked; a client that goes away takes its requests with it."""
    handles = [running.submit(a) for a in asked]
    try:
        if asked[0].stream:
            return await streamed(running, request, handles, openai)
        error = await whole(running, handles)
        if openai:
            return refused(*error) if error else web.json_response(answers.openai_whole(running.world, handles))
        found = [answers.generated(running.world, h) for h in handles]
        return web.json_response(found if many else found[0], status=error[0] if error and not many else 200)
    except (ConnectionResetError, ConnectionAbortedError):
        # the client closed its side while we wrote: there is nobody to answer
        return web.Response(status=499)
    finally:
        for handle in handles:
            running.forget(handle)
