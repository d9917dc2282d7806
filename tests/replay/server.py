"""A server on loopback that answers as SGLang does, with faults on a switch, for tests of the player and of minimise.

    python server.py PORT OPTIONS-AS-JSON
    python server.py many       one server for each line of standard input, without the imports for each

The process holds no socket itself: it forks the child that serves, and forks a new one on SIGUSR1. A crash ends the
child with all its connections, so that the port refuses as a dead server's does, until it is started again.

A prompt may steer one answer: `@500`, `@abort`, `@error` (HTTP 200, error in the stream), `@full` (queue full, HTTP
200), `@cut` (connection closed in the middle), `@slow N` (a pause of N ms before the first token), `@length`.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import random
import re
import signal
import sys
import time
from typing import Any

from aiohttp import web

IDS = 32_000


class Options:
    """What the server does wrong, and how it speaks."""

    def __init__(self, text: str) -> None:
        given = json.loads(text)
        self.crash: str | None = given.get("crash")  # a prompt that holds it kills the server
        self.crash_ids: list[int] | None = given.get("crash_ids")  # and so do these token ids in a row
        self.crash_params: dict[str, Any] = given.get("crash_params", {})  # only with these sampling parameters
        self.least: int = given.get("least", 0)  # and a prompt at least so long
        self.pair: list[str] | None = given.get("pair")  # [a, b]: b kills it while a runs
        self.after: list[str] | None = given.get("after")  # [a, b]: b kills it where a came before
        self.rate: float = given.get("rate", 1.0)  # how often a crash that could happen does
        self.seed: int = given.get("seed", 0)
        self.stall: bool = given.get("stall", False)  # takes every request and answers none
        self.incremental: bool = given.get("incremental", False)
        self.model: str = given.get("model", "first")
        self.token_s: float = given.get("token_s", 0.0)
        self.log: str | None = given.get("log")  # arrival times and bodies, one JSON line each


class Engine:
    """The child: one server from start to crash."""

    def __init__(self, options: Options, port: int, life: int) -> None:
        self.o, self.port = options, port
        self.rng = random.Random(options.seed * 1009 + life)
        self.seen_first = False
        self.running: list[str] = []
        self.log = open(options.log, "a", buffering=1) if options.log else None  # noqa: SIM115, PTH123

    def prompt(self, body: dict[str, Any], path: str) -> tuple[str, list[int]]:
        if path == "/v1/chat/completions":
            return " ".join(str(m.get("content")) for m in body.get("messages", [])), []
        said = body.get("prompt") if path == "/v1/completions" else body.get("input_ids", body.get("text"))
        return ("", said) if isinstance(said, list) else (str(said or ""), [])

    def dies(self, text: str, ids: list[int], sampling: dict[str, Any]) -> bool:
        o = self.o
        if o.after is not None:
            if o.after[1] in text and self.seen_first:
                return True
            self.seen_first = self.seen_first or o.after[0] in text
        if o.pair is not None and o.pair[1] in text and any(o.pair[0] in one for one in self.running):
            return True
        hit = (o.crash is not None and o.crash in text) or (o.crash_ids is not None and holds(ids, o.crash_ids))
        hit = (
            hit and all(sampling.get(k) == v for k, v in o.crash_params.items()) and max(len(text), len(ids)) >= o.least
        )
        return hit and self.rng.random() < o.rate

    def output(self, text: str, ids: list[int], n: int, greedy: bool) -> list[int]:
        """Token ids that depend on the prompt and the model; sampled ones on chance too."""
        told = f"{self.o.model} {text} {ids}" + ("" if greedy else f" {self.rng.random()}")
        digest = hashlib.sha256(told.encode()).digest()
        made = [int.from_bytes(digest[i % 30 : i % 30 + 2], "big") % IDS for i in range(n)]
        if self.o.model == "second" and greedy:  # parts from the first model at the fifth token
            same = hashlib.sha256(told.replace("second", "first", 1).encode()).digest()
            made[:4] = [int.from_bytes(same[i % 30 : i % 30 + 2], "big") % IDS for i in range(min(4, n))]
        return made

    async def handle(self, request: web.Request) -> web.StreamResponse:
        at = time.time()
        body = await request.json()
        shown = str(body.get("text", body.get("prompt")))
        self.running.append(shown)
        try:
            return await self.answer(request, body, at)
        finally:
            self.running.remove(shown)

    async def answer(self, request: web.Request, body: dict[str, Any], came: float) -> web.StreamResponse:
        if self.log is not None:
            head = {k: v for k, v in request.headers.items() if k.lower().startswith("x-")}
            self.log.write(json.dumps({"at": came, "path": request.path, "body": body, "headers": head}) + "\n")
        text, ids = self.prompt(body, request.path)
        native = request.path == "/generate"
        sampling = body.get("sampling_params", {}) if native else body
        if self.dies(text, ids, sampling):
            os._exit(1)
        if self.o.stall:
            await asyncio.sleep(3600)
        if "@500" in text:
            return web.json_response({"error": {"message": "Internal server error", "code": 500}}, status=500)
        if native and "text" in body and "input_ids" in body:
            return web.json_response(
                {"error": {"message": "Only one of text, input_ids should be provided."}}, status=400
            )
        limit = sampling.get("max_new_tokens" if native else "max_tokens") or 8
        greedy = sampling.get("temperature", 1.0) == 0
        made = self.output(
            text, ids, limit if "@length" in text or sampling.get("ignore_eos") else min(limit, 8), greedy
        )
        reason = "length" if len(made) == limit else "stop"
        rid = body.get("rid") or "none"
        if "@slow" in text:
            said = re.search(r"@slow (\d+)", text)
            await asyncio.sleep(int(said[1]) / 1000 if said else 0.0)
        say = Native(self.o.incremental) if native else Chat(request.path.endswith("chat/completions"))
        prompt = len(ids) or len(text.split())
        if not body.get("stream"):
            if "@abort" in text:
                return web.json_response(say.abort(rid, prompt), status=200)
            return web.json_response(say.whole(rid, made, reason, prompt))
        out = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await out.prepare(request)
        if "@error" in text or "@full" in text:
            message = "The request queue is full." if "@full" in text else "Internal error in the scheduler"
            await event(out, {"error": {"message": message, "type": "InternalServerError", "code": 503}})
            await out.write(b"data: [DONE]\n\n")
            return out
        if "@abort" in text:
            await event(out, say.abort(rid, prompt))
            await out.write(b"data: [DONE]\n\n")
            return out
        for at, piece in enumerate(say.stream(rid, made, reason, prompt)):
            await event(out, piece)
            if "@cut" in text and at == 2:
                assert request.transport is not None
                request.transport.abort()
                return out
            if self.o.token_s:
                await asyncio.sleep(self.o.token_s)
        await out.write(b"data: [DONE]\n\n")
        return out

    async def serve(self) -> None:
        app = web.Application(client_max_size=1 << 30)
        for path in ("/generate", "/v1/completions", "/v1/chat/completions"):
            app.router.add_post(path, self.handle)
        app.router.add_get("/health", health)
        app.router.add_get("/v1/models", models)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self.port, backlog=4096, reuse_address=True).start()
        await asyncio.Event().wait()


async def health(_: web.Request) -> web.Response:
    return web.Response(status=200)


async def models(_: web.Request) -> web.Response:
    return web.json_response({"object": "list", "data": [{"id": "tiny"}]})


async def event(out: web.StreamResponse, data: dict[str, Any]) -> None:
    await out.write(b"data: " + json.dumps(data).encode() + b"\n\n")


def holds(ids: list[int], part: list[int]) -> bool:
    return any(ids[i : i + len(part)] == part for i in range(len(ids) - len(part) + 1))


def word(token: int) -> str:
    return f" w{token}"


class Native:
    """/generate: whole text and ids in every piece, or with incremental output only what is new."""

    def __init__(self, incremental: bool) -> None:
        self.incremental = incremental

    def meta(self, rid: str, n: int, reason: Any, prompt: int) -> dict[str, Any]:
        return {"id": rid, "finish_reason": reason, "prompt_tokens": prompt, "completion_tokens": n, "cached_tokens": 0}

    def end(self, reason: str, n: int) -> dict[str, Any]:
        return {"type": "length", "length": n} if reason == "length" else {"type": "stop", "matched": 2}

    def stream(self, rid: str, made: list[int], reason: str, prompt: int) -> Any:
        for i in range(1, len(made) + 1):
            shown = made[i - 1 : i] if self.incremental else made[:i]
            last = self.end(reason, i) if i == len(made) else None
            yield {"text": "".join(map(word, shown)), "output_ids": shown, "meta_info": self.meta(rid, i, last, prompt)}

    def whole(self, rid: str, made: list[int], reason: str, prompt: int) -> dict[str, Any]:
        meta = self.meta(rid, len(made), self.end(reason, len(made)), prompt)
        return {"text": "".join(map(word, made)), "output_ids": made, "meta_info": meta}

    def abort(self, rid: str, prompt: int) -> dict[str, Any]:
        reason = {"type": "abort", "message": "Aborted by the scheduler", "status_code": 503, "err_type": None}
        return {"text": "", "output_ids": [], "meta_info": self.meta(rid, 0, reason, prompt)}


class Chat:
    """OpenAI's endpoints: a role first, then deltas, then the usage."""

    def __init__(self, chat: bool) -> None:
        self.chat = chat
        self.object = "chat.completion.chunk" if chat else "text_completion"

    def piece(self, rid: str, content: str | None, reason: str | None) -> dict[str, Any]:
        inside: dict[str, Any] = {"delta": {"content": content}} if self.chat else {"text": content or ""}
        return {"id": rid, "object": self.object, "choices": [{"index": 0, "finish_reason": reason, **inside}]}

    def usage(self, made: int, prompt: int) -> dict[str, Any]:
        return {"prompt_tokens": prompt, "completion_tokens": made, "total_tokens": prompt + made,
                "prompt_tokens_details": {"cached_tokens": 0}}  # fmt: skip

    def stream(self, rid: str, made: list[int], reason: str, prompt: int) -> Any:
        if self.chat:
            yield {**self.piece(rid, "", None)}
        for token in made:
            yield self.piece(rid, word(token), None)
        yield self.piece(rid, None, reason)
        yield {"id": rid, "object": self.object, "choices": [], "usage": self.usage(len(made), prompt)}

    def whole(self, rid: str, made: list[int], reason: str, prompt: int) -> dict[str, Any]:
        text = "".join(map(word, made))
        inside: dict[str, Any] = {"message": {"role": "assistant", "content": text}} if self.chat else {"text": text}
        return {
            "id": rid,
            "choices": [{"index": 0, "finish_reason": reason, **inside}],
            "usage": self.usage(len(made), prompt),
        }

    def abort(self, rid: str, prompt: int) -> dict[str, Any]:
        return self.piece(rid, "", "abort")


HEARD = {signal.SIGUSR1, signal.SIGTERM, signal.SIGCHLD}


def keep(port: int, options: Options) -> None:
    """Fork the child that serves, and another one whenever SIGUSR1 asks for it; SIGTERM ends both."""
    signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
    child, life = 0, 0
    while True:
        if child == 0:
            child = os.fork()
            if child == 0:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)
                asyncio.run(Engine(options, port, life).serve())
            life += 1
        got = signal.sigwait(HEARD)
        if got == signal.SIGCHLD:
            continue
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child, 0)
        child = 0
        if got == signal.SIGTERM:
            os._exit(0)


def main() -> None:
    """One server, or, with the word `many`, one for each line `PORT OPTIONS` of standard input (its pid is printed)."""
    if sys.argv[1] != "many":
        keep(int(sys.argv[1]), Options(sys.argv[2]))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them here
    for line in sys.stdin:
        port, options = line.split(" ", 1)
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            keep(int(port), Options(options))
        print(pid, flush=True)


if __name__ == "__main__":
    main()
