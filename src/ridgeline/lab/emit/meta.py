"""``meta_info`` and request objects of the request logger, exporter and dumps (SIGNALS §3.6, §3.3, §4)."""

from typing import Any

from ridgeline.lab.emit.model import Request, Server
from ridgeline.lab.emit.time_stats import mono

SENT_S = 0.0004
"""From the tokenizer's end to the scheduler having the request, seconds."""


def finish_reason(r: Request) -> dict[str, Any] | None:
    """How it ended, as the engine says it; None while it streams."""
    if r.finish is None:
        return None
    if r.finish == "abort":
        return {"type": "abort", "message": r.message, "status_code": r.status, "err_type": None}
    if r.finish == "stop":
        return {"type": "stop", "matched": 128009}
    return {"type": "length", "length": r.completion_tokens}


def speed(server: Server, r: Request) -> float | None:
    """Tokens per second after the first: 0.5.9 divides N by that time, 0.5.23 N-1."""
    if r.first_token_ts is None or r.completed_ts is None or r.completed_ts <= r.first_token_ts:
        return None
    return (r.completion_tokens - (server.at == 2)) / (r.completed_ts - r.first_token_ts)


def details(r: Request) -> dict[str, Any] | None:
    """Where cached tokens came from; absent when nothing was cached."""
    if r.cached_tokens == 0:
        return None
    found: dict[str, Any] = {"device": r.cached_tokens - r.host_tokens - r.storage_tokens, "host": r.host_tokens}
    if r.storage_tokens:
        found["storage"] = r.storage_tokens
    return found


def meta_info(server: Server, r: Request) -> dict[str, Any]:
    """The keys of the release, in its order; a request aborted in the queue has few."""
    e2e = (r.finished_ts or r.received_ts) - r.received_ts
    reason = finish_reason(r)
    if r.scheduled_ts is None:
        return {
            "id": r.rid,
            "finish_reason": reason,
            "weight_version": "default",
            "e2e_latency": e2e,
            "completion_tokens": 0,
        }
    meta: dict[str, Any] = {
        "id": r.rid,
        "finish_reason": reason,
        "prompt_tokens": r.prompt_tokens,
        "weight_version": "default",
    }
    if server.at == 0:
        return meta | {"completion_tokens": r.completion_tokens, "cached_tokens": r.cached_tokens, "e2e_latency": e2e}
    prefill = r.prefill_done_ts or r.scheduled_ts
    if server.at == 1:
        meta |= {
            "total_retractions": r.retractions,
            "queue_time": r.queue_s,
            "prefill_launch_delay": 0.0006,
            "prefill_launch_latency": prefill - r.scheduled_ts,
            "prefill_finished_ts": prefill,
            "completion_tokens": r.completion_tokens,
            "cached_tokens": r.cached_tokens,
            "cached_tokens_details": details(r),
            "e2e_latency": e2e,
            "request_received_ts": r.received_ts,
            "request_sent_to_scheduler_ts": r.dispatched_ts,
            "response_sent_to_client_ts": r.first_token_ts,
            "decode_finished_ts": r.completed_ts,
            "inference_time": (r.completed_ts or prefill) - r.scheduled_ts,
        }
    else:
        meta |= {
            "num_retractions": r.retractions,
            "storage_prefetch_wait": r.storage_wait_s,
            "storage_staging_wait": 0.0,
            "forward_entry_time": r.scheduled_ts,
            "prefill_finished_time": prefill,
            "queue_time": r.queue_s,
            "reasoning_tokens": 0,
            "completion_tokens": r.completion_tokens,
            "cached_tokens": r.cached_tokens,
            "weight_versions": [{"version": "default", "start": 0, "end": r.completion_tokens}],
            "cached_tokens_details": details(r),
            "dp_rank": r.rank,
            "e2e_latency": e2e,
            "request_received_ts": r.received_ts,
            "first_token_latency": (r.first_token_ts or prefill) - r.received_ts,
            "api_server_dispatch_finish_ts": r.dispatched_ts,
            "response_sent_to_client_ts": r.first_token_ts,
            "request_finished_ts": r.finished_ts,
        }
        if r.role == "decode":
            del meta["prefill_finished_time"], meta["storage_prefetch_wait"], meta["storage_staging_wait"]
    if r.accept_length is not None:
        meta["spec_accept_length"] = r.accept_length
        meta["spec_verify_ct"] = max(1, round(r.completion_tokens / r.accept_length))
    rate = speed(server, r)
    if rate is not None and r.role != "prefill":
        meta["decode_throughput"] = rate
    return meta


def sampling(server: Server, r: Request) -> dict[str, Any]:
    """Sampling parameters in the logger's order."""
    params: dict[str, Any] = {
        "temperature": r.temperature,
        "max_new_tokens": r.max_new_tokens,
        "min_new_tokens": 0,
        "stop": None,
        "stop_token_ids": None,
        "top_p": 1.0,
        "top_k": -1,
        "min_p": 0.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "repetition_penalty": 1.0,
        "regex": None,
        "json_schema": r.schema,
        "ebnf": None,
        "n": 1,
        "no_stop_trim": False,
        "ignore_eos": r.ignore_eos,
        "skip_special_tokens": True,
        "logit_bias": None,
        "custom_params": None,
        "sampling_seed": None,
    }
    if server.at == 0:
        del params["custom_params"], params["sampling_seed"]
    return params


def asked(server: Server, r: Request) -> dict[str, Any]:
    """The request object after the logger's level has taken the prompt out (ids only where the level keeps them)."""
    obj: dict[str, Any] = {"rid": r.rid}
    if server.at == 2:
        obj["session_id"] = None
    if r.input_ids is not None:
        obj |= {"text": None, "input_ids": list(r.input_ids), "lora_path": r.lora}
    obj |= {
        "video_data": None,
        "sampling_params": sampling(server, r),
        "return_logprob": False,
        "logprob_start_len": -1,
        "top_logprobs_num": 0,
        "token_ids_logprob": None,
        "return_text_in_logprobs": True,
        "stream": r.stream,
        "log_metrics": True,
        "return_hidden_states": False,
        "modalities": [r.modality] if r.modality else ([] if server.at == 2 else None),
        "session_params": None,
        "lora_id": lora_id(r.lora) if r.lora else None,
        "custom_logit_processor": None,
        "bootstrap_host": "10.4.0.11" if r.room is not None else None,
        "bootstrap_port": 8998 if r.room is not None else None,
        "bootstrap_room": r.room,
        "bootstrap_pair_key": None,
    }
    if server.at == 2:
        obj |= {"routed_dp_rank": r.asked_rank, "data_parallel_rank": None, "disagg_prefill_dp_rank": None}
    else:
        obj["data_parallel_rank"] = r.asked_rank
    if server.at > 0:
        obj["routing_key"] = r.routing_key
        obj["require_reasoning"] = r.reasoning
    obj |= {
        "background": False,
        "conversation_id": None,
        "priority": r.priority,
        "extra_key": r.extra_key,
        "no_logs": False,
        "custom_labels": {"client": r.client_name} if r.client_name else None,
        "return_bytes": False,
    }
    if server.at > 0:
        obj["received_time"] = r.received_ts if server.at == 1 else mono(r.received_ts)
    return obj


def lora_id(name: str) -> str:
    """The id the server gives an adapter: all that level 1 of the logger leaves of its name."""
    return f"{hash_text(name):016x}{hash_text(name[::-1]):016x}"


def hash_text(text: str | None) -> int:
    """A number of a text, the same in every process (FNV-1a, 64 bits)."""
    value = 0xCBF29CE484222325
    for byte in (text or "").encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value
