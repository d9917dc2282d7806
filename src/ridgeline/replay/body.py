"""A `Shot` as the bytes of one HTTP request: SGLang's native `/generate`, or OpenAI's completions and chat."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from ridgeline.model.errors import InputError
from ridgeline.replay.shot import Shot

As = Literal["generate", "completions", "chat"]
PATHS: Final[dict[As, str]] = {
    "generate": "/generate",
    "completions": "/v1/completions",
    "chat": "/v1/chat/completions",
}
# Sampling parameters of /generate → fields of the OpenAI endpoints, which take the rest under the same names.
RENAMED: Final = {"max_new_tokens": "max_tokens", "min_new_tokens": "min_tokens", "sampling_seed": "seed"}
# Known to /generate only.
NATIVE_ONLY: Final = frozenset({"logprob_start_len", "token_ids_logprob", "return_text_in_logprobs", "custom_params"})


@dataclass(frozen=True, slots=True)
class Manner:
    """How every request is sent: endpoint, model name, prefix of the rids, seed of drawn prompts, what to leave out."""

    as_: As = "generate"
    model: str = "default"
    prefix: str = ""
    seed: int = 0
    drop: frozenset[str] = frozenset()
    stream: bool | None = None  # None: as recorded


def path_of(shot: Shot, manner: Manner) -> str:
    """The path to post to; an embedding stays one whatever is asked."""
    return shot.endpoint if shot.endpoint != "/generate" else PATHS[manner.as_]


def streams(shot: Shot, manner: Manner) -> bool:
    """Whether the answer is asked for as a stream."""
    return shot.endpoint == "/generate" and (shot.stream if manner.stream is None else manner.stream)


def sent_rid(shot: Shot, manner: Manner) -> str:
    """The rid that is sent: the recorded one behind the run's prefix, so that no two runs clash on one server."""
    return manner.prefix + shot.rid


def encoded(shot: Shot, manner: Manner) -> bytes:
    """The JSON body. Raises InputError where the endpoint cannot carry the prompt."""
    return json_of(body_of(shot, manner))


def json_of(value: Any) -> bytes:
    """Plain data as JSON; what the fast encoder refuses (lone surrogates, numbers beyond 64 bits) goes the slow way."""
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, OverflowError):
        return json.dumps(value).encode()


def body_of(shot: Shot, manner: Manner) -> dict[str, Any]:
    """The body as plain data. Raises InputError where the endpoint cannot carry the prompt."""
    kept = {k: v for k, v in (shot.sampling or {}).items() if k not in manner.drop}
    fields = {k: v for k, v in (shot.fields or {}).items() if k not in manner.drop}
    rid = _rids(shot, manner)
    if manner.as_ == "generate" or shot.endpoint != "/generate":
        body: dict[str, Any] = {"rid": rid, **native_prompt(shot, manner.seed)}
        if kept:
            body["sampling_params"] = kept
        if shot.endpoint == "/generate":
            body["stream"] = streams(shot, manner)
        return {**body, **{k: v for k, v in fields.items() if k != "rid"}}
    body = {"model": manner.model, "rid": rid, **_prompt(shot, manner)}
    body |= _openai(kept)
    if streams(shot, manner):
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return {**body, **{k: v for k, v in fields.items() if k not in NATIVE_ONLY and k != "rid"}}


def _rids(shot: Shot, manner: Manner) -> Any:
    """One rid, or one for each prompt of a batch."""
    given = (shot.fields or {}).get("rid")
    return [manner.prefix + str(one) for one in given] if isinstance(given, list) else sent_rid(shot, manner)


def native_prompt(shot: Shot, seed: int) -> dict[str, Any]:
    """`input_ids` where they are known (a server refuses both), else `text`."""
    if shot.drawn is not None:
        from ridgeline.replay.synth import ids_of

        return {"input_ids": ids_of(shot.drawn, seed).tolist()}
    if shot.ids is not None:
        return {"input_ids": list(shot.ids)}
    return {"text": shot.text} if shot.text is not None else {}


def _prompt(shot: Shot, manner: Manner) -> dict[str, Any]:
    if manner.as_ == "completions":
        native = native_prompt(shot, manner.seed)
        found = native.get("input_ids", native.get("text"))
    elif shot.drawn is not None:
        from ridgeline.replay.synth import text_of

        found = text_of(shot.drawn, manner.seed)
    else:
        found = shot.text
    if found is None:
        raise InputError(
            f"request {shot.rid}: its prompt is kept as token ids only, a chat needs text; replay --as generate"
        )
    return {"messages": [{"role": "user", "content": found}]} if manner.as_ == "chat" else {"prompt": found}


def _openai(sampling: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in sampling.items():
        if value is None or name in NATIVE_ONLY:
            continue
        if name == "json_schema":
            named = {"name": "replayed", "schema": _schema(value)}
            out["response_format"] = {"type": "json_schema", "json_schema": named}
        else:
            out[RENAMED.get(name, name)] = value
    return out


def _schema(value: Any) -> Any:
    """A JSON schema as an object; one that is no JSON stays as it is, for the target to refuse as the first one did."""
    try:
        return msgspec.json.decode(value) if isinstance(value, str) else value
    except msgspec.DecodeError:
        return value
