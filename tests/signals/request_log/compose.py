"""Request-log records composed in the formats of the engine's releases, and what a reader should make of them."""

import json
from typing import Any

EPOCH = 1796009998.0  # 2026-11-30 03:39:58 UTC


def obj(rid: Any, **more: Any) -> dict[str, Any]:
    """The request as 0.5.23 prints it at level 2 (the fields that matter and some that do not)."""
    return {
        "rid": rid,
        "session_id": None,
        "text": "Summarise the following notes.",
        "input_ids": None,
        "image_data": None,
        "video_data": None,
        "audio_data": None,
        "sampling_params": {"temperature": 0.7, "max_new_tokens": 64, "stop": None, "n": 1, "ignore_eos": False},
        "return_logprob": False,
        "stream": True,
        "lora_path": None,
        "bootstrap_host": None,
        "bootstrap_room": None,
        "routed_dp_rank": None,
        "routing_key": None,
        "require_reasoning": False,
        "priority": None,
        "extra_key": None,
        "custom_labels": None,
        "received_time": 1663.25,
        **more,
    }


def meta(rid: str, **more: Any) -> dict[str, Any]:
    """The meta_info of a finished request of 0.5.23 with metrics on."""
    return {
        "id": rid,
        "finish_reason": {"type": "length", "length": 64},
        "prompt_tokens": 211,
        "weight_version": "default",
        "num_retractions": 2,
        "storage_prefetch_wait": 0.25,
        "storage_staging_wait": 0.5,
        "forward_entry_time": EPOCH + 1.5,
        "prefill_finished_time": EPOCH + 2.0,
        "queue_time": 1.375,
        "reasoning_tokens": 5,
        "completion_tokens": 64,
        "cached_tokens": 128,
        "cached_tokens_details": {"device": 96, "host": 32},
        "dp_rank": 3,
        "e2e_latency": 4.5,
        "request_received_ts": EPOCH,
        "first_token_latency": 2.125,
        "api_server_dispatch_finish_ts": EPOCH + 0.0625,
        "request_finished_ts": EPOCH + 4.5,
        "response_sent_to_client_ts": EPOCH + 2.25,
        "decode_throughput": 26.5,
        **more,
    }


def meta_59(rid: str, **more: Any) -> dict[str, Any]:
    """The meta_info of 0.5.9, whose names differ."""
    return {
        "id": rid,
        "finish_reason": {"type": "stop", "matched": 2},
        "prompt_tokens": 30,
        "weight_version": "default",
        "total_retractions": 1,
        "queue_time": 0.5,
        "prefill_launch_delay": 0.0009,
        "prefill_launch_latency": 0.0107,
        "prefill_finished_ts": EPOCH + 0.75,
        "completion_tokens": 11,
        "cached_tokens": 0,
        "cached_tokens_details": None,
        "e2e_latency": 3.0,
        "request_received_ts": EPOCH,
        "request_sent_to_scheduler_ts": EPOCH + 0.125,
        "decode_finished_ts": EPOCH + 3.0,
        "inference_time": 2.25,
        "response_sent_to_client_ts": EPOCH + 0.8125,
        "decode_throughput": 4.0,
        **more,
    }


def aborted(rid: str, message: str, status: int | None) -> dict[str, Any]:
    """The short meta_info of a request that never ran."""
    return {
        "id": rid,
        "finish_reason": {"type": "abort", "status_code": status, "message": message},
        "weight_version": "default",
        "e2e_latency": 0.0185,
        "completion_tokens": 0,
    }


def received(rid: Any, stamp: str = "2026-11-30T03:39:58.500000", **more: Any) -> dict[str, Any]:
    return {"timestamp": stamp, "event": "request.received", "rid": rid, "obj": obj(rid, **more)}


def finished(rid: str, out: dict[str, Any], stamp: str = "2026-11-30T03:40:02.750000", **more: Any) -> dict[str, Any]:
    return {
        "timestamp": stamp,
        "event": "request.finished",
        "rid": rid,
        "obj": obj(rid, **more),
        "out": {"text": "Here it is.", "output_ids": [5, 6, 7], "meta_info": out},
    }


def bare(*records: dict[str, Any]) -> str:
    """Lines as 0.5.9 writes them."""
    return "".join(json.dumps(record) + "\n" for record in records)


def prefixed(*records: dict[str, Any]) -> str:
    """Lines as 0.5.23 writes them."""
    return "".join(f"[{record['timestamp'][:19].replace('T', ' ')}] {json.dumps(record)}\n" for record in records)


def as_text(record: dict[str, Any]) -> str:
    """The text form of a record, behind its time."""
    stamp = record["timestamp"][:19].replace("T", " ")
    inside = ", ".join(f"{name}={value!r}" for name, value in record["obj"].items())
    if record["event"] == "request.received":
        return f"[{stamp}] Receive: obj=GenerateReqInput({inside})\n"
    return f"[{stamp}] Finish: obj=GenerateReqInput({inside}), out={record['out']!r}\n"
