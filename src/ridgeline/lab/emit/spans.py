"""The span tree of an SGLang 0.5.23 request (SIGNALS §11.2) and vLLM's one span (§15.3)."""

import json

from ridgeline.lab.emit.meta import finish_reason, hash_text
from ridgeline.lab.emit.model import Request, Server
from ridgeline.lab.emit.otlp import Span, line

Stage = tuple[str, float, float]


def api_stages(r: Request) -> list[Stage]:
    """Slices of the API server."""
    out: list[Stage] = []
    if r.tokenized_ts is not None:
        out.append(("tokenize", r.received_ts, r.tokenized_ts))
        if r.dispatched_ts is not None:
            out.append(("api_server_dispatch", r.tokenized_ts, r.dispatched_ts))
    return out


def scheduler_stages(r: Request) -> list[Stage]:
    """Slices of the scheduler, by role; a stage that did not end is left out, as the tracer does."""
    out: list[Stage] = []

    def add(name: str, start: float | None, end: float | None) -> None:
        if start is not None and end is not None and end >= start:
            out.append((name, start, end))

    if r.role == "unified":
        add("request_process", r.dispatched_ts, r.queued_ts)
        add("prefill_waiting", r.queued_ts, r.scheduled_ts)
        add("prefill_forward", r.scheduled_ts, r.prefill_done_ts)
        add("decode_forward", r.prefill_done_ts, r.completed_ts)
    elif r.role == "prefill":
        add("prefill_prepare", r.dispatched_ts, r.bootstrap_entry_ts)
        add("prefill_bootstrap", r.bootstrap_entry_ts, r.bootstrap_done_ts)
        add("prefill_waiting", r.queued_ts, r.scheduled_ts)
        add("prefill_forward", r.scheduled_ts, r.prefill_done_ts)
        add("prefill_transfer_kv_cache", r.prefill_done_ts, r.transfer_done_ts)
    else:
        add("decode_prepare", r.dispatched_ts, r.bootstrap_entry_ts)
        add("decode_bootstrap", r.bootstrap_entry_ts, r.alloc_done_ts)
        add("decode_transferred", r.alloc_done_ts, r.transfer_done_ts)
        add("decode_waiting", r.transfer_done_ts, r.scheduled_ts)
        add("decode_forward", r.prefill_done_ts or r.scheduled_ts, r.completed_ts)
    return out


def chained(trace: str, parent: str, stages: list[Stage]) -> list[Span]:
    """Slices under a thread span, each linked to the one before."""
    spans: list[Span] = []
    before = None
    for name, start, end in stages:
        spans.append(Span(trace, name, name, start, end, parent=parent, link=before))
        before = name
    return spans


def root_attrs(server: Server, r: Request) -> tuple[tuple[str, str | int | float], ...]:
    """Attributes of the root; usage and latencies are set when it finishes."""
    attrs: list[tuple[str, str | int | float]] = [("rid", r.rid), ("module", "sglang::request")]
    if r.room is not None:
        attrs.append(("bootstrap_room", hex(r.room)))
    if r.finished_ts is None or r.finish == "abort" or r.scheduled_ts is None:
        return tuple(attrs)
    reason = finish_reason(r)
    attrs += [
        ("gen_ai.usage.completion_tokens", r.completion_tokens),
        ("gen_ai.usage.prompt_tokens", r.prompt_tokens),
        ("gen_ai.usage.cached_tokens", r.cached_tokens),
        ("gen_ai.request.id", r.rid),
        ("gen_ai.response.model", server.model),
        ("gen_ai.response.finish_reasons", json.dumps([reason["type"] if reason else None])),
    ]
    if r.max_new_tokens is not None:
        attrs.append(("gen_ai.request.max_tokens", r.max_new_tokens))
    if r.first_token_ts is not None:
        attrs += [
            ("gen_ai.latency.time_to_first_token", r.first_token_ts - r.received_ts),
            ("gen_ai.latency.e2e", r.finished_ts - r.received_ts),
        ]
        if r.dispatched_ts is not None:
            attrs.append(("gen_ai.latency.time_in_model_prefill", r.first_token_ts - r.dispatched_ts))
    return tuple(attrs)


def request_lines(server: Server, r: Request) -> list[str]:
    """The exports of one request: the API server's process and the scheduler's."""
    trace = f"{server.role}:{r.rid}"
    role = server.role if server.role != "unified" else ""
    end = r.finished_ts if r.finished_ts is not None else r.received_ts
    host = f"{hash_text(server.host) >> 32:08x}"
    host_id = host + "c4c5404aaa1f6d2a48adfda4"
    mine = api_stages(r)
    rank = r.rank or 0
    out: list[str] = []
    theirs = scheduler_stages(r)
    if theirs:
        dp = f" [DP {rank}]" if server.dp_size > 1 else ""
        label = f"Scheduler [TP 0]  [PP 0]{dp} (host:{host} | pid:{server.pid + 60 + rank})"
        attrs: list[tuple[str, str | int | float]] = [("tp_rank", "0"), ("pp_rank", "0")]
        if server.dp_size > 1:
            attrs.append(("dp_rank", str(rank)))
        attrs += [("host_id", host_id), ("pid", server.pid + 60 + rank), ("thread_label", "Scheduler")]
        thread = Span(trace, "scheduler", label, theirs[0][1], theirs[-1][2], parent="root", attrs=tuple(attrs))
        out.append(
            line([*chained(trace, "scheduler", theirs), thread], "sglang", f"{server.pid}-s{rank}", "sglang server")
        )
    root = Span(
        trace,
        "root",
        f"{role} Req {r.rid[:8]}",
        r.received_ts,
        end,
        attrs=root_attrs(server, r),
        failed=r.message if r.finish == "abort" else None,
    )
    own: list[Span] = [root]
    if mine:
        thread = Span(
            trace, "tokenizer", f"Tokenizer(host:{host} | pid:{server.pid})", mine[0][1], mine[-1][2], parent="root",
            attrs=(("host_id", host_id), ("pid", server.pid), ("thread_label", "Tokenizer")),
        )  # fmt: skip
        own = [*chained(trace, "tokenizer", mine), thread, root]
    out.append(line(own, "sglang", f"{server.pid}-a", "sglang server"))
    return out


def vllm_line(server: Server, r: Request) -> str:
    """vLLM's span of a finished request."""
    assert r.finished_ts is not None
    first, scheduled, done = r.first_token_ts, r.scheduled_ts, r.completed_ts
    attrs: list[tuple[str, str | int | float]] = []
    if first is not None and scheduled is not None and done is not None and r.queued_ts is not None:
        attrs = [
            ("gen_ai.latency.time_to_first_token", first - r.received_ts),
            ("gen_ai.latency.e2e", r.finished_ts - r.received_ts),
            ("gen_ai.latency.time_in_queue", scheduled - r.queued_ts),
            ("gen_ai.usage.prompt_tokens", r.prompt_tokens),
            ("gen_ai.usage.completion_tokens", r.completion_tokens),
            ("gen_ai.latency.time_in_model_prefill", (r.prefill_done_ts or first) - scheduled),
            ("gen_ai.latency.time_in_model_decode", done - (r.prefill_done_ts or first)),
            ("gen_ai.latency.time_in_model_inference", done - scheduled),
        ]
    attrs += [("gen_ai.request.id", r.rid), ("gen_ai.request.top_p", 1.0)]
    if r.max_new_tokens is not None:
        attrs.append(("gen_ai.request.max_tokens", r.max_new_tokens))
    attrs.append(("gen_ai.request.n", 1))
    span = Span(f"vllm:{r.rid}", "root", "llm_request", r.received_ts, r.finished_ts, attrs=tuple(attrs),
                kind="SPAN_KIND_SERVER")  # fmt: skip
    return line([span], "unknown_service:python3.11", f"{server.pid}", "vllm.tracing.otel")
