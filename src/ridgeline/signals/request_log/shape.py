"""What of a request-log record is read, as typed shapes.

Every form of the record (bare JSON, prefixed JSON, exporter line, Python repr, a cut line's complete part) is first
brought to the JSON form of SGLang 0.5.9 and later, `{timestamp, event, rid, obj{…}, headers, out{meta_info{…}}}`, and
then read here; so a key is mapped to a column in one place. Names differ by version (`total_retractions` in 0.5.6 and
0.5.9, `num_retractions` in 0.5.23, …; SIGNALS §3.6): both are read, the newer one wins.

A value of another type than declared (a list where a batch request has one) is null, never a guess.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

Shape = Mapping[str, Any]

_SAMPLING: Final[dict[str, Any]] = {
    "max_new_tokens": "BIGINT",
    "n": "BIGINT",
    "temperature": "DOUBLE",
    "ignore_eos": "BOOLEAN",
    "stop": "JSON",
    "stop_token_ids": "JSON",
    "stop_regex": "JSON",
    "regex": "VARCHAR",
    "json_schema": "VARCHAR",
    "ebnf": "VARCHAR",
    "structural_tag": "VARCHAR",
}
_OBJ: Final[dict[str, Any]] = {
    "rid": "VARCHAR",
    "text": "VARCHAR",
    "input_ids": "JSON",
    "image_data": "JSON",
    "video_data": "JSON",
    "audio_data": "JSON",
    "modalities": "JSON",
    "sampling_params": _SAMPLING,
    "stream": "BOOLEAN",
    "return_logprob": "BOOLEAN",
    "require_reasoning": "BOOLEAN",
    "lora_path": "VARCHAR",
    "lora_id": "VARCHAR",
    "bootstrap_host": "VARCHAR",
    "bootstrap_room": "BIGINT",
    "routed_dp_rank": "BIGINT",
    "data_parallel_rank": "BIGINT",
    "disagg_prefill_dp_rank": "BIGINT",
    "routing_key": "VARCHAR",
    "extra_key": "VARCHAR",
    "cache_salt": "VARCHAR",
    "session_id": "VARCHAR",
    "session_params": {"id": "VARCHAR"},
    "priority": "BIGINT",
    "custom_labels": "JSON",
    "received_time": "DOUBLE",
    "received_time_perf": "DOUBLE",
    # only in the raw OpenAI payload of `request.received.openai`
    "messages": "JSON",
    "prompt": "JSON",
    "max_tokens": "BIGINT",
    "max_completion_tokens": "BIGINT",
    "n": "BIGINT",
    "temperature": "DOUBLE",
    "ignore_eos": "BOOLEAN",
    "stop": "JSON",
    "regex": "VARCHAR",
    "ebnf": "VARCHAR",
    "tools": "JSON",
    "response_format": "JSON",
    "logprobs": "BOOLEAN",
    "user": "VARCHAR",
    "model": "VARCHAR",
}
META: Final[dict[str, Any]] = {
    "id": "VARCHAR",
    "finish_reason": {
        "type": "VARCHAR",
        "length": "BIGINT",
        "message": "VARCHAR",
        "status_code": "BIGINT",
        "err_type": "VARCHAR",
    },
    "prompt_tokens": "BIGINT",
    "completion_tokens": "BIGINT",
    "cached_tokens": "BIGINT",
    "reasoning_tokens": "BIGINT",
    "cached_tokens_details": {"device": "BIGINT", "host": "BIGINT", "storage": "BIGINT"},
    "num_retractions": "BIGINT",
    "total_retractions": "BIGINT",
    "dp_rank": "BIGINT",
    "spec_accept_length": "DOUBLE",
    "weight_version": "VARCHAR",
    "e2e_latency": "DOUBLE",
    "queue_time": "DOUBLE",
    "first_token_latency": "DOUBLE",
    "inference_time": "DOUBLE",
    "decode_throughput": "DOUBLE",
    "storage_prefetch_wait": "DOUBLE",
    "storage_staging_wait": "DOUBLE",
    "request_received_ts": "DOUBLE",
    "api_server_dispatch_finish_ts": "DOUBLE",
    "request_sent_to_scheduler_ts": "DOUBLE",
    "forward_entry_time": "DOUBLE",
    "prefill_finished_time": "DOUBLE",
    "prefill_finished_ts": "DOUBLE",
    "request_finished_ts": "DOUBLE",
    "decode_finished_ts": "DOUBLE",
    "response_sent_to_client_ts": "DOUBLE",
}
WIDE: Final[Shape] = {
    "timestamp": "VARCHAR",
    "event": "VARCHAR",
    "rid": "VARCHAR",
    "obj": _OBJ,
    "headers": "JSON",
    "out": {"meta_info": META, "output_ids": "JSON"},
    "rank": "BIGINT",
    "running_rids": ["VARCHAR"],
    "queued_rids": ["VARCHAR"],
}
# What a log at level 0 without metrics says. A chunk that has no other key of `WIDE` (`keys.narrow`) is read by this
# shape at half the cost; keys whose last eight characters are those of one of these are here too.
_NARROW_OBJ: Final = ("text", "modalities", "stream", "routed_dp_rank", "disagg_prefill_dp_rank")
_NARROW_META: Final = (
    "finish_reason",
    "prompt_tokens",
    "completion_tokens",
    "cached_tokens",
    "num_retractions",
    "total_retractions",
    "dp_rank",
    "queue_time",
    "first_token_latency",
    "e2e_latency",
)
NARROW: Final[Shape] = {
    "timestamp": "VARCHAR",
    "event": "VARCHAR",
    "rid": "VARCHAR",
    "obj": {name: _OBJ[name] for name in _NARROW_OBJ},
    "out": {"meta_info": {name: META[name] for name in _NARROW_META}},
}
# Keys that only `request.received.openai` has: such a record is told by its event.
OPENAI: Final = frozenset(
    (
        "messages",
        "prompt",
        "max_tokens",
        "max_completion_tokens",
        "n",
        "temperature",
        "ignore_eos",
        "stop",
        "regex",
        "ebnf",
        "tools",
        "response_format",
        "logprobs",
        "user",
        "model",
    )
)
KEPT: Final = frozenset(_OBJ) | frozenset(META)


def structure(shape: Shape) -> str:
    """A shape as the JSON text that DuckDB's `from_json` takes."""
    return json.dumps(shape)


def columns(shape: Shape) -> dict[str, str]:
    """A shape as the column → type mapping that DuckDB's `read_json` takes."""
    return {name: _type(kind) for name, kind in shape.items()}


def _type(kind: Any) -> str:
    if isinstance(kind, Mapping):
        inner = ", ".join(f'"{name}" {_type(one)}' for name, one in kind.items())
        return f"STRUCT({inner})"
    if isinstance(kind, list):
        return f"{_type(kind[0])}[]"
    return str(kind)
