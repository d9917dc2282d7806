"""What a client asks for: the bodies of ``/generate``, ``/v1/completions`` and ``/v1/chat/completions``.

Field names are SGLang's and OpenAI's own (SIGNALS §3.3). A body that cannot be served is refused with the sentence
the client gets as ``400``.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ridgeline.lab.serve.text import encode

DEFAULT_NEW: Final = 128
"""New tokens of ``/generate`` and ``/v1/completions`` where the client gives no limit."""
MOST_CHOICES: Final = 16
MOST_TOKENS: Final = 1_000_000


class Refused(ValueError):
    """A body that cannot be served; the text goes to the client."""


@dataclass(frozen=True)
class Asked:
    """One choice of one request. ``max_new_tokens`` None: no limit given; ``texts``: whether the client wants text."""

    rid: str
    endpoint: str
    prompt: tuple[int, ...]
    max_new_tokens: int | None
    ignore_eos: bool
    stream: bool
    usage_in_stream: bool
    temperature: float
    choice: int
    client: str
    client_name: str | None
    received_s: float  # virtual seconds
    routing_key: str | None = None
    asked_rank: int | None = None
    priority: int | None = None
    schema: str | None = None
    model: str | None = None


def number(body: Mapping[str, Any], name: str, kind: type, default: Any = None) -> Any:
    """A number of the body, or ``default`` where it is absent or null.

    Raises:
        Refused: it is something else.
    """
    value = body.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float)) or (kind is int and value != int(value)):
        raise Refused(f"{name} must be a number, not {type(value).__name__}")
    return kind(value)


def new_tokens(value: Any) -> int | None:
    """A limit of new tokens.

    Raises:
        Refused: below one, or absurdly many.
    """
    if value is None:
        return None
    if not 1 <= value <= MOST_TOKENS:
        raise Refused(f"max_new_tokens must be 1 to {MOST_TOKENS}, got {value}")
    return int(value)


def message_text(message: Any) -> str:
    """The text of one chat message; parts that are not text count as their place holders.

    Raises:
        Refused: not a message.
    """
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
        raise Refused("messages: every message needs a role")
    content = message.get("content")
    if isinstance(content, str):
        said = content
    elif isinstance(content, Sequence):
        said = "".join(str(part.get("text", "<image>")) for part in content if isinstance(part, Mapping))
    else:
        said = ""
    return f"<|{message['role']}|>\n{said}\n"


def prompt_ids(value: Any, where: str) -> tuple[int, ...]:
    """Token ids of a prompt given as text or ids.

    Raises:
        Refused: neither, or empty.
    """
    if isinstance(value, str):
        ids = tuple(encode(value))
    elif isinstance(value, list) and all(isinstance(v, int) and not isinstance(v, bool) for v in value):
        ids = tuple(value)
    else:
        raise Refused(f"{where} must be text or a list of token ids")
    if not ids:
        raise Refused(f"{where} is empty")
    return ids


def choices_of(value: int) -> int:
    """How many answers are asked for.

    Raises:
        Refused: none, or too many.
    """
    if not 1 <= value <= MOST_CHOICES:
        raise Refused(f"n must be 1 to {MOST_CHOICES}, got {value}")
    return value


def common(body: Mapping[str, Any], headers: Mapping[str, str], now_s: float, peer: str) -> dict[str, Any]:
    """What every endpoint reads the same way."""
    temperature = number(body, "temperature", float, 1.0)
    if temperature < 0:
        raise Refused("temperature must be non-negative")
    rank = number(body, "routed_dp_rank", int, number(body, "data_parallel_rank", int))
    return {
        "stream": bool(body.get("stream", False)),
        "temperature": temperature,
        "client": peer,
        "client_name": headers.get("User-Agent"),
        "received_s": now_s,
        "routing_key": headers.get("X-SMG-Routing-Key") or headers.get("x-smg-routing-key"),
        "asked_rank": rank,
        "priority": number(body, "priority", int),
    }


def of_openai(body: Any, headers: Mapping[str, str], now_s: float, peer: str, chat: bool) -> list[Asked]:
    """The choices of a ``/v1/…`` body.

    Raises:
        Refused: see above.
    """
    if not isinstance(body, Mapping):
        raise Refused("the body must be a JSON object")
    if chat:
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            raise Refused("messages must be a list with at least one message")
        prompts = [tuple(encode("".join(message_text(m) for m in messages) + "<|assistant|>\n"))]
        limit = number(body, "max_completion_tokens", int, number(body, "max_tokens", int))
    else:
        given = body.get("prompt")
        parts: list[Any] = given if isinstance(given, list) and given and not isinstance(given[0], int) else [given]
        prompts = [prompt_ids(p, "prompt") for p in parts]
        limit = number(body, "max_tokens", int, DEFAULT_NEW)
    count = choices_of(number(body, "n", int, 1))
    form = body.get("response_format")
    schema = repr(form) if isinstance(form, Mapping) and form.get("type") in ("json_schema", "json_object") else None
    usage = body.get("stream_options")
    shared = common(body, headers, now_s, peer) | {
        "endpoint": "/v1/chat/completions" if chat else "/v1/completions",
        "max_new_tokens": new_tokens(limit),
        "ignore_eos": bool(body.get("ignore_eos", False)),
        "usage_in_stream": isinstance(usage, Mapping) and bool(usage.get("include_usage")),
        "schema": schema,
        "model": body.get("model") if isinstance(body.get("model"), str) else None,
    }
    rid = body.get("rid") if isinstance(body.get("rid"), str) else None
    many = len(prompts) * count > 1
    return [
        Asked(rid=f"{rid}_{k}" if rid and many else rid or uuid.uuid4().hex, prompt=prompt, choice=k, **shared)
        for k, prompt in enumerate(p for p in prompts for _ in range(count))
    ]


def of_generate(body: Any, headers: Mapping[str, str], now_s: float, peer: str) -> tuple[list[Asked], bool]:
    """The requests of a ``/generate`` body, and whether it was a batch (then the answer is a list).

    Raises:
        Refused: see above.
    """
    if not isinstance(body, Mapping):
        raise Refused("the body must be a JSON object")
    text, ids = body.get("text"), body.get("input_ids")
    if (text is None) == (ids is None):
        raise Refused("give either text or input_ids")
    given = text if ids is None else ids
    batch = isinstance(given, list) and (ids is None or (bool(given) and isinstance(given[0], list)))
    parts: list[Any] = given if batch and isinstance(given, list) else [given]
    prompts = [prompt_ids(p, "text" if ids is None else "input_ids") for p in parts]
    params = body.get("sampling_params")
    each = params if isinstance(params, list) else [params] * len(prompts)
    if len(each) != len(prompts):
        raise Refused("sampling_params: as many as there are prompts")
    out: list[Asked] = []
    rid = body.get("rid")
    for k, (prompt, p) in enumerate(zip(prompts, each, strict=True)):
        wanted = p if isinstance(p, Mapping) else {}
        name = rid[k] if isinstance(rid, list) and k < len(rid) else rid if isinstance(rid, str) else None
        shared = common({**wanted, **{n: v for n, v in body.items() if n != "temperature"}}, headers, now_s, peer)
        out += [
            Asked(
                rid=str(name) if name and c == 0 else uuid.uuid4().hex,
                endpoint="/generate",
                prompt=prompt,
                choice=c,
                max_new_tokens=new_tokens(number(wanted, "max_new_tokens", int, DEFAULT_NEW)),
                ignore_eos=bool(wanted.get("ignore_eos", False)),
                usage_in_stream=True,
                schema=repr(wanted["json_schema"]) if wanted.get("json_schema") else None,
                **shared,
            )
            for c in range(choices_of(number(wanted, "n", int, 1)))
        ]
    return out, batch or len(out) > 1
