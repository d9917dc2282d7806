"""Servers and requests to write lines of."""

from dataclasses import replace
from typing import Any

from ridgeline.lab.emit.model import Batch, Request, Server

T = 1_796_011_162.25


def server(version: str = "0.5.23", role: str = "unified", **more: Any) -> Server:
    found = Server(
        "sglang", version, role, "10.4.0.11", 30000, 700, "llama-3.1-8b-instruct", T - 40, 1, 1, 1, 214_016, 64, 16_384,
        8192, 131_072, 40,
    )  # fmt: skip
    return replace(found, **more)


def request(**more: Any) -> Request:
    found = Request(
        rid="9f2c" * 8, role="unified", rank=None, asked_rank=None, endpoint="/v1/chat/completions",
        client="10.9.1.2:40100", client_name="svc-0a1b2", stream=True, prompt_tokens=2048, completion_tokens=128,
        cached_tokens=512, max_new_tokens=256, ignore_eos=False, temperature=0.7, state="finished", finish="stop",
        message=None, status=200, received_ts=T, tokenized_ts=T + 0.002, dispatched_ts=T + 0.003, queued_ts=T + 0.004,
        scheduled_ts=T + 0.1, prefill_done_ts=T + 0.3, first_token_ts=T + 0.302, completed_ts=T + 2.5,
        finished_ts=T + 2.51, queue_s=0.096,
    )  # fmt: skip
    return replace(found, **more)


def rejected() -> Request:
    return request(
        state="rejected",
        finish="abort",
        message="The request queue is full.",
        status=503,
        completion_tokens=0,
        cached_tokens=0,
        scheduled_ts=None,
        prefill_done_ts=None,
        first_token_ts=None,
        completed_ts=None,
        finished_ts=T + 0.05,
        queue_s=0.0,
    )


def apart(role: str) -> Request:
    return request(
        role=role, room=8812, bootstrap_entry_ts=T + 0.004, bootstrap_done_ts=T + 0.007, alloc_done_ts=T + 0.2,
        transfer_done_ts=T + 0.4, transfer_mb=256.0, transfer_gb_s=11.2,
    )  # fmt: skip


def prefill(**more: Any) -> Batch:
    found = Batch(T, 0, "prefill", 12, 5, 87_000, 38_211.4, False, new_seq=3, new_tokens=4096, cached_tokens=1024,
                  pending_tokens=9216, bootstrap=4, inflight=2)  # fmt: skip
    return replace(found, **more)


def decode(**more: Any) -> Batch:
    found = Batch(
        T, 0, "decode", 64, 2, 182_340, 2810.55, True, prealloc=3, transfer=7, retracted=1, prealloc_tokens=10_700
    )
    return replace(found, **more)
