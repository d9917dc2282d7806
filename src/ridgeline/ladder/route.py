"""A4 Which offline route, and the literal next commands: settings from the cause, valid for the engine read."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from ridgeline.ladder.context import Context, answer
from ridgeline.model.diagnosis import Answer

# Cause → what to vary in the simulator, SGLang's word and vLLM's (None: that engine has no such setting).
VARY: Final[dict[str, tuple[str, str | None]]] = {
    "queue.arrival-overload": ("replicas=1,2", "replicas=1,2"),
    "queue.running-cap": ("max_running_requests={cap},{double}", "max_num_seqs={cap},{double}"),
    "queue.over-reservation": ("schedule_conservativeness=1.0,0.6,0.3", None),
    "queue.head-of-line": ("chunked_prefill_size=2048,8192", "max_num_batched_tokens=2048,8192"),
    "queue.priority-starvation": ("enable_priority_scheduling=true,false", "scheduling_policy=fcfs,priority"),
    "queue.limit-rejected": ("max_queued_requests=100,400", None),
    "prefill.prompt-mix": ("chunked_prefill_size=4096,8192,16384", "max_num_batched_tokens=4096,8192,16384"),
    "prefill.lora": ("max_loras_per_batch=1,4,8", "max_loras=1,4,8"),
    "decode.batch-growth": ("max_running_requests=64,128,256", "max_num_seqs=64,128,256"),
    "decode.prefill-interference": ("enable_mixed_chunk=false,true", "max_num_batched_tokens=2048,8192"),
    "memory.saturation": ("pool_scale=1.0,1.25,1.5", "pool_scale=1.0,1.25,1.5"),
    "memory.retraction-storm": ("schedule_conservativeness=1.0,1.3", "max_num_seqs=64,128"),
    "cache.eviction": ("pool_scale=1.0,1.5,2.0", "pool_scale=1.0,1.5,2.0"),
    "cache.scattered-routing": ("router=round_robin,cache_aware", "router=round_robin,cache_aware"),
    "routing.hot-key": ("router=sticky,least_tokens", "router=sticky,least_tokens"),
    "routing.token-skew": ("router=round_robin,least_tokens", "router=round_robin,least_tokens"),
    "routing.stale-load": ("load_age=0,5", "load_age=0,5"),
    "disagg.prealloc": ("num_reserved_decode_tokens=512,128", None),
    "disagg.ratio": ("prefill_decode=1:1,1:2,2:1", "prefill_decode=1:1,1:2,2:1"),
    "storage.tier-stall": ("hicache=off,on", None),
}
PROFILE: Final = (
    "only if it is still unexplained: POST /start_profile "
    '{"num_steps": 20, "activities": ["CPU", "GPU"], "profile_by_stage": true, "output_dir": "/tmp/profile"} '
    "while the incident shows (never sent by ridgeline; slows serving for those steps; one trace file for each rank)"
)
MOST_ASKS: Final = 4


def rung(context: Context) -> Answer:
    """Functional faults replay, placement and scheduling simulate, settings are changed, or neither."""
    if not context.findings:
        return answer(context, "A4", "a4.none", (context.book.ask("load_points"), context.book.ask("bad_events")))
    first = context.findings[0]
    facts = [fact for name, fact in context.book.evidence() if name in first.evidence]
    return answer(context, "A4", f"a4.{first.route}", facts or (context.book.ask("bad_events"),), cause=first.cause)


def next_steps(context: Context, missing: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Literal commands for the first finding's route, then what to switch on for what could not be told."""
    steps: list[str] = []
    where = " ".join(shlex.quote(s) for s in context.sources) or "SOURCES"
    if context.findings:
        steps += _route_steps(context, where)
    steps += [f"to tell {signal}: {how}" for signal, how in list(dict.fromkeys(missing))[:MOST_ASKS]]
    return tuple(dict.fromkeys(steps))


def _route_steps(context: Context, where: str) -> list[str]:
    first = context.findings[0]
    if first.route == "simulate":
        vary = _vary(context, first.cause)
        base = f"ridgeline ingest {where} -o incident.bundle && ridgeline sample incident.bundle -o incident.scenario"
        return [f"{base} && ridgeline simulate incident.scenario --vary {vary}" if vary else base]
    if first.route == "replay":
        dumps = [n for s, n in sorted(context.book.view.names.items()) if context.book.view.kinds.get(s) == "dump"]
        dump = shlex.quote(dumps[0]) if dumps else "DUMP"
        note = (
            []
            if dumps
            else ["a dump to replay: --crash-dump-folder, or dump_requests_folder by POST /configure_logging"]
        )
        return [f"ridgeline replay {dump} --to http://127.0.0.1:30000 -o replayed", *note]
    if first.route == "profile":
        proven = any((context.book.ask(m).value or 0) >= 1.3 for m in ("step_excess", "prefill_excess"))
        return [PROFILE] if proven else []
    return []


def _vary(context: Context, cause: str) -> str | None:
    sglang, vllm = VARY.get(cause, (None, None))
    template = vllm if engine_of(context) == "vllm" else sglang
    if template is None:
        return None
    cap = (
        context.book.ask("running_cap").value
        or dict(context.book.ask("at_cap_share").statement.figures).get("cap")
        or 16
    )
    return template.format(cap=int(cap), double=2 * int(cap))


ENGINE: Final = """
SELECT count(*) FILTER (WHERE engine = 'vllm') AS vllm, count(*) FILTER (WHERE engine = 'sglang') AS sglang,
    (SELECT count(*) FROM batches WHERE kind = 'stats') AS stats
FROM servers
"""


def engine_of(context: Context) -> str:
    """`sglang` or `vllm`, by the servers read, else by the kind of line."""
    vllm, sglang, stats = context.book.view.one(ENGINE)
    return "vllm" if vllm > sglang or (not sglang and stats) else "sglang"
