"""Response bodies: OpenAI's chunks and objects, and SGLang's ``/generate`` records."""

import time
from collections.abc import Sequence
from typing import Any

import msgspec

from ridgeline.lab.serve.hosts import MODEL
from ridgeline.lab.serve.records import ENDED
from ridgeline.lab.serve.text import word
from ridgeline.lab.serve.world import Handle, World
from ridgeline.sim.engine import params as p


def said(handle: Handle, since: int, upto: int) -> str:
    """The text of tokens ``since`` to ``upto`` (exclusive)."""
    return "".join(word(handle.start, j)[1] for j in range(since, upto))


def ids(handle: Handle) -> list[int]:
    """The token ids said so far."""
    return [word(handle.start, j)[0] for j in range(handle.tokens)]


def cached(world: World, handle: Handle) -> int:
    """Prompt tokens that came from the prefix cache (on the side that computed the prompt)."""
    if handle.row < 0:
        return 0
    return int(world.service.state.req[handle.row - handle.row % world.each].cached)


def reason(world: World, handle: Handle) -> str | None:
    """stop | length | abort; None while it goes on."""
    if not handle.done:
        return None
    if handle.outcome != p.FINISHED:
        return "abort"
    limit = handle.asked.max_new_tokens or max(1, world.settings.context_length - len(handle.asked.prompt) - 1)
    return "length" if handle.out >= limit else "stop"


def error_of(handle: Handle) -> tuple[int, str] | None:
    """(status, sentence) of a request that failed."""
    if handle.outcome in (p.OPEN, p.FINISHED):
        return None
    _, status, message = ENDED.get(handle.outcome, ENDED[p.FAILED])
    return status, message


def error_body(status: int, message: str) -> dict[str, Any]:
    """An error as both faces of the server answer it."""
    kind = "BadRequestError" if status < 500 else "InternalServerError"
    return {"object": "error", "message": message, "type": kind, "param": None, "code": status}


def usage(world: World, handles: Sequence[Handle]) -> dict[str, Any]:
    """Token counts over the choices of one request."""
    prompt = len(handles[0].asked.prompt)
    total = sum(h.tokens for h in handles)
    details = {"cached_tokens": cached(world, handles[0])}
    return {
        "prompt_tokens": prompt,
        "total_tokens": prompt + total,
        "completion_tokens": total,
        "prompt_tokens_details": details,
        "reasoning_tokens": 0,
    }


def openai_head(handle: Handle, stream: bool) -> dict[str, Any]:
    """What every OpenAI object begins with."""
    chat = handle.asked.endpoint.endswith("chat/completions")
    kind = ("chat.completion.chunk" if stream else "chat.completion") if chat else "text_completion"
    return {
        "id": handle.asked.rid,
        "object": kind,
        "created": int(time.time()),
        "model": handle.asked.model or MODEL,
    }


def openai_chunk(
    world: World, handle: Handle, head: dict[str, Any], since: int, upto: int, first: bool, last: bool
) -> dict[str, Any]:
    """One streamed piece of one choice; ``head``: `openai_head`, the same for all pieces of a stream."""
    text = said(handle, since, upto)
    ended = reason(world, handle) if last else None
    matched = 128009 if ended == "stop" else None
    choice: dict[str, Any] = {"index": handle.asked.choice}
    if handle.asked.endpoint.endswith("chat/completions"):
        delta: dict[str, Any] = {"role": "assistant", "content": text} if first else {"content": text}
        choice |= {"delta": delta, "logprobs": None, "finish_reason": ended, "matched_stop": matched}
    else:
        choice |= {"text": text, "logprobs": None, "finish_reason": ended, "matched_stop": matched}
    return head | {"choices": [choice], "usage": None}


def openai_whole(world: World, handles: Sequence[Handle]) -> dict[str, Any]:
    """The whole answer of a request that did not stream."""
    choices: list[dict[str, Any]] = []
    for h in handles:
        ended = reason(world, h)
        choice: dict[str, Any] = {"index": h.asked.choice}
        text = said(h, 0, h.tokens)
        if h.asked.endpoint.endswith("chat/completions"):
            choice["message"] = {"role": "assistant", "content": text, "reasoning_content": None, "tool_calls": None}
        else:
            choice["text"] = text
        choices.append(choice | {"logprobs": None, "finish_reason": ended,
                                 "matched_stop": 128009 if ended == "stop" else None})  # fmt: skip
    return openai_head(handles[0], False) | {
        "choices": choices,
        "usage": usage(world, handles),
        "metadata": {"weight_version": "default"},
    }


def generated(world: World, handle: Handle) -> dict[str, Any]:
    """A ``/generate`` record: everything so far, as the server sends it with every piece."""
    ended = reason(world, handle)
    found: dict[str, Any] | None = None
    if ended == "abort":
        status, message = error_of(handle) or (500, "")
        found = {"type": "abort", "message": message, "status_code": status, "err_type": None}
    elif ended == "stop":
        found = {"type": "stop", "matched": 128009}
    elif ended == "length":
        found = {"type": "length", "length": handle.tokens}
    meta: dict[str, Any] = {
        "id": handle.asked.rid,
        "finish_reason": found,
        "prompt_tokens": len(handle.asked.prompt),
        "weight_version": "default",
        "completion_tokens": handle.tokens,
        "cached_tokens": cached(world, handle),
    }
    if handle.done:
        meta["e2e_latency"] = world.now_s() - handle.asked.received_s
    return {"text": said(handle, 0, handle.tokens), "output_ids": ids(handle), "meta_info": meta}


def event(body: dict[str, Any]) -> bytes:
    """One server-sent event."""
    return b"data: " + msgspec.json.encode(body) + b"\n\n"


DONE = b"data: [DONE]\n\n"
