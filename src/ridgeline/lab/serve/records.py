"""From an ended request's engine rows to what its server would log and count of it."""

from dataclasses import replace
from typing import Final

from ridgeline.lab.emit.model import Request
from ridgeline.lab.serve.asked import Asked
from ridgeline.lab.serve.hosts import Host
from ridgeline.lab.serve.world import Closed, World
from ridgeline.lab.shown import MESSAGES
from ridgeline.scenario.model import PS
from ridgeline.sim.engine import params as p

ENDED: Final = MESSAGES | {p.CANCELLED: ("aborted", 499, "Request is cancelled by the client.")}
"""Outcome to (state, HTTP status, the sentence the client gets)."""


def finish_reason(world: World, closed: Closed) -> str:
    """stop | length, as the limit says."""
    asked = closed.handle.asked
    limit = asked.max_new_tokens or max(1, world.settings.context_length - len(asked.prompt) - 1)
    return "length" if closed.handle.out >= limit else "stop"


def request_of(world: World, host: Host, closed: Closed) -> Request | None:
    """The request as ``host`` saw it; None where it never reached it."""
    asked = closed.handle.asked
    row = closed.row
    role = host.server.role

    def at(name: str) -> float | None:
        value = int(row[name])
        return world.wall(value / PS) if 0 < value < p.FOREVER // 2 else None

    if row["dispatch"] == 0:
        return None
    outcome = int(row["outcome"])
    state, status, message = ("finished", 200, None) if outcome == p.FINISHED else ENDED.get(outcome, ENDED[p.FAILED])
    queued, scheduled, first, ended = at("queued"), at("start"), at("first"), at("finish")
    entry = boot_done = alloc_done = moved = None
    mb = None
    if role == "prefill":
        entry = queued
        boot_done = queued = scheduled
        moved = ended if outcome == p.FINISHED else None
        mb = len(asked.prompt) * world.settings.kv_bytes_per_token / 2**20
    elif role == "decode":
        entry, alloc_done = queued, scheduled
        boot_done = scheduled
        moved = queued = scheduled = first
    speed = mb / 1024 / max(moved - first, 1e-4) if mb and moved and first else None
    waited = max(0.0, scheduled - queued) if scheduled is not None and queued is not None else 0.0
    finish = "abort"
    if outcome == p.FINISHED:
        finish = "length" if role == "prefill" else finish_reason(world, closed)
    return replace(
        opened(world, host, asked),
        rank=int(row["rank"]) - host.first_rank if world.settings.dp_size > 1 and row["rank"] >= 0 else None,
        completion_tokens=(1 if role == "prefill" else int(closed.handle.tokens)) if first is not None else 0,
        cached_tokens=int(row["cached"]),
        state=state,
        message=message,
        status=status,
        tokenized_ts=at("dispatch"),
        dispatched_ts=at("dispatch"),
        queued_ts=queued,
        scheduled_ts=scheduled,
        prefill_done_ts=first,
        first_token_ts=first,
        completed_ts=ended if outcome == p.FINISHED else None,
        queue_s=waited,
        retractions=int(row["retractions"]),
        room=10_000_000_000 + closed.handle.row // 2 if world.each == 2 else None,
        bootstrap_entry_ts=entry,
        bootstrap_done_ts=boot_done,
        alloc_done_ts=alloc_done,
        transfer_done_ts=moved,
        transfer_mb=mb,
        transfer_gb_s=speed,
        finish=finish,
        finished_ts=ended if outcome == p.FINISHED else ended or world.wall(world.now_s()),
    )


def opened(world: World, host: Host, asked: Asked) -> Request:
    """The request as the server knows it when it comes in: nothing has happened to it yet."""
    return Request(
        rid=asked.rid,
        role=host.server.role,
        rank=None,
        asked_rank=asked.asked_rank,
        endpoint=asked.endpoint,
        client=asked.client,
        client_name=asked.client_name,
        stream=asked.stream,
        prompt_tokens=len(asked.prompt),
        completion_tokens=0,
        cached_tokens=0,
        max_new_tokens=asked.max_new_tokens,
        ignore_eos=asked.ignore_eos,
        temperature=asked.temperature,
        state="open",
        finish=None,
        message=None,
        status=200,
        received_ts=world.wall(asked.received_s),
        tokenized_ts=None,
        dispatched_ts=None,
        queued_ts=None,
        scheduled_ts=None,
        prefill_done_ts=None,
        first_token_ts=None,
        completed_ts=None,
        finished_ts=None,
        queue_s=0.0,
        routing_key=asked.routing_key,
        priority=asked.priority,
        schema=asked.schema,
    )
