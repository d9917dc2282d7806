"""A4 Which offline route, and the literal next commands: settings from the cause, valid for the engine read."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from ridgeline.ladder.context import Context, answer
from ridgeline.model.diagnosis import Answer

# Cause → what the simulator varies, in the names `ridgeline simulate` takes, for SGLang and for vLLM (None: not there).
VARY: Final[dict[str, tuple[str, str | None]]] = {
    "queue.running-cap": ("max_running_requests={cap},{double}", "max_running_requests={cap},{double}"),
    "queue.over-reservation": ("schedule_conservativeness=1.0,0.6,0.3", None),
    "queue.head-of-line": ("chunked_prefill_size=2048,8192", "chunked_prefill_size=2048,8192"),
    "queue.priority-starvation": ("enable_priority_scheduling=true,false", "schedule_policy=fcfs,priority"),
    "queue.limit-rejected": ("max_queued_requests=100,400", None),
    "prefill.prompt-mix": ("chunked_prefill_size=4096,8192,16384", "chunked_prefill_size=4096,8192,16384"),
    "prefill.lora": ("max_loras_per_batch=1,4,8", None),
    "decode.batch-growth": ("max_running_requests=64,128,256", "max_running_requests=64,128,256"),
    "decode.prefill-interference": ("enable_mixed_chunk=false,true", "chunked_prefill_size=2048,8192"),
    "memory.retraction-storm": ("schedule_conservativeness=1.0,1.3", "max_running_requests=64,128"),
    "disagg.prealloc": ("num_reserved_decode_tokens=512,128", None),
}
# Causes whose remedy is a pool of another size; and those whose remedy is where requests go.
POOL: Final = frozenset({"memory.saturation", "cache.eviction"})
PLACING: Final = frozenset({"routing.hot-key", "routing.token-skew", "routing.stale-load", "cache.scattered-routing"})
# `--load-balance-method` by version (SIGNALS §8.1): before 0.5.0 there is nothing but round robin.
BALANCES: Final = (
    ((0, 5, 9), "round_robin,total_requests,total_tokens"),
    ((0, 5, 0), "round_robin,shortest_queue"),
)
ROUTERS: Final = "consistent_hashing,cache_aware,power_of_two"
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
        varied = varies(context, first.cause)
        if varied is None:
            return [f"ridgeline sample {where} -o incident.scenario"]
        unpin = " --unpin" if first.cause in PLACING else ""
        sampled = f"ridgeline sample {where} -o incident.scenario{unpin}"
        return [f"{sampled} && ridgeline simulate incident.scenario {varied}"]
    if first.route == "replay":
        dumps = [n for s, n in sorted(context.book.view.names.items()) if context.book.view.kinds.get(s) == "dump"]
        if dumps:
            return [f"send the requests of {dumps[0]} to a clean server of the same version: does the fault come back?"]
        return [
            "send the same requests to a clean server of the same version; to have them next time: "
            "--crash-dump-folder, or dump_requests_folder by POST /configure_logging"
        ]
    if first.route == "profile":
        proven = any((context.book.ask(m).value or 0) >= 1.3 for m in ("step_excess", "prefill_excess"))
        return [PROFILE] if proven else []
    return []


SERVICE: Final = """
SELECT count(*) FILTER (WHERE engine = 'vllm') AS vllm, count(*) FILTER (WHERE engine = 'sglang') AS sglang,
    (SELECT count(*) FROM batches WHERE kind = 'stats') AS stats, min(version) FILTER (WHERE engine = 'sglang'),
    max(dp_size) AS dp_size, min(pool_tokens) AS pool,
    count(DISTINCT server) FILTER (WHERE coalesce(role, 'unified') = 'unified') AS whole,
    count(DISTINCT server) FILTER (WHERE role = 'prefill') AS prefill,
    count(DISTINCT server) FILTER (WHERE role = 'decode') AS decode,
    (SELECT count(DISTINCT dp_rank) FROM points) AS ranks
FROM servers
"""


def varies(context: Context, cause: str) -> str | None:
    """The options of `ridgeline simulate` that try other settings for this cause; None where it has none to try."""
    vllm, sglang, stats, version, dp_size, pool, whole, prefill, decode, ranks = context.book.view.one(SERVICE)
    other = vllm > sglang or (not sglang and stats > 0)
    places = max(dp_size or 1, ranks or 1)
    if cause == "queue.arrival-overload":
        return "--set router=power_of_two --vary workers=1,2"
    if cause in PLACING:
        if whole > 1:
            return f"--set workers={whole} --vary router={ROUTERS}"
        methods = None if other or places < 2 else balances(version)
        return f"--set dp_size={places} --vary load_balance_method={methods}" if methods else None
    if cause in POOL:
        return f"--vary max_total_num_tokens={pool},{pool * 5 // 4},{pool * 3 // 2}" if pool else None
    if cause == "disagg.ratio":
        apart = max(prefill + decode, 2) + 1
        tries = ",".join(str(n) for n in range(1, apart))
        return f"--set workers={apart} --set router=power_of_two --vary decode_workers={tries}"
    template = VARY.get(cause, (None, None))[1 if other else 0]
    if template is None:
        return None
    asked = context.book.ask
    cap = asked("running_cap").value or dict(asked("at_cap_share").statement.figures).get("cap") or 16
    sides = (
        f"--set workers={max(prefill, 1) + max(decode, 1)} --set decode_workers={max(decode, 1)} --set router=random "
    )
    before = sides if cause.startswith("disagg.") else "--set enable_lora=true " if cause == "prefill.lora" else ""
    return f"{before}--vary {template.format(cap=int(cap), double=2 * int(cap))}"


def balances(version: str | None) -> str | None:
    """Values of --load-balance-method worth trying in this version; of a recent one where none is known."""
    if version is None:
        return BALANCES[0][1]
    numbers = tuple(int(part) for part in version.split(".")[:3] if part.isdigit())
    return next((names for since, names in BALANCES if numbers >= since), None)
