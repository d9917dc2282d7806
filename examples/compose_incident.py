"""Compose `examples/incident`: four minutes of one server with two DP ranks, in the formats SGLang 0.5.23 writes.

From 03:41:30 on, the routing key `tenant-7` sends long prompts with long answers, and all of them land on rank 1: that
rank reaches its running limit and everything placed there waits, while rank 0 stays as it was.

    python examples/compose_incident.py        # rewrites the folder, byte for byte the same

The queueing is a plain first-come-first-served loop per rank with a step cost; nothing of Ridgeline is imported.
"""

import gzip
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent / "incident"
START = datetime(2026, 11, 30, 3, 40, tzinfo=UTC).timestamp()
LENGTH_S, ONSET_S = 240.0, 90.0
CAP, POOL = 12, 180_000
TTFT_LE = (0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400)
QUEUE_LE = (0, 0.001, 0.005, 0.01, 0.05, 0.1, 0.2, 0.5, 1, 2, 3, 4, 5, 10, 15, 20, 30, 40, 50, 60)


@dataclass
class Req:
    """One request and its stamps (seconds since START)."""

    rid: str
    rank: int
    key: str
    arrival: float
    prompt: int
    output: int
    cached: int
    start: float = 0.0
    first: float = 0.0
    end: float = 0.0
    done: int = 0


@dataclass
class Rank:
    """One scheduler: its clock, its waiting list, its running batch."""

    rank: int
    now: float = 0.0
    waiting: list[Req] = field(default_factory=list)
    running: list[Req] = field(default_factory=list)
    steps: int = 0
    lines: list[tuple[float, str]] = field(default_factory=list)
    last_report: float = 0.0
    generated: int = 0
    states: list[tuple[float, int, int, int]] = field(default_factory=list)  # time, running, waiting, tokens


def traffic(rng: random.Random) -> list[Req]:
    """Two steady tenants on each rank, and from the onset on one heavy key on rank 1."""
    out: list[Req] = []

    def arrive(
        rank: int, key: str, rate: float, begin: float, prompt: tuple[int, int], output: tuple[int, int]
    ) -> None:
        t = begin
        while (t := t + rng.expovariate(rate)) < LENGTH_S:
            p = rng.randint(*prompt)
            out.append(Req(f"{rng.getrandbits(64):016x}", rank, key, t, p, rng.randint(*output), min(96, p - 1)))

    for rank in (0, 1):
        for key in (f"tenant-{rank + 1}", f"tenant-{rank + 3}"):
            arrive(rank, key, 0.42, 0.0, (220, 900), (60, 180))
    arrive(1, "tenant-7", 0.85, ONSET_S, (2800, 4200), (320, 520))
    return sorted(out, key=lambda r: r.arrival)


def serve(rank: Rank, requests: list[Req]) -> None:
    """Prefill first, then one decode step for everything that runs; a decode line every 40 steps."""
    todo = list(requests)
    while todo or rank.waiting or rank.running:
        if not rank.waiting and not rank.running:
            rank.now = max(rank.now, todo[0].arrival)
        while todo and todo[0].arrival <= rank.now:
            rank.waiting.append(todo.pop(0))
        room = CAP - len(rank.running)
        batch = rank.waiting[: min(room, 2)]
        if batch:
            del rank.waiting[: len(batch)]
            new = sum(r.prompt - r.cached for r in batch)
            rank.lines.append((rank.now, prefill_line(rank, batch, new)))
            for r in batch:
                r.start = rank.now
            rank.now += 0.022 + new / 11_000
            for r in batch:
                r.first, r.done = rank.now, 1
            rank.running += batch
        elif rank.running:
            rank.now += 0.019 + 0.0009 * len(rank.running)
            rank.steps += 1
            rank.generated += len(rank.running)
            for r in rank.running:
                r.done += 1
            if rank.steps % 40 == 0:
                rank.lines.append((rank.now, decode_line(rank)))
                rank.generated, rank.last_report = 0, rank.now
        for r in [r for r in rank.running if r.done >= r.output]:
            r.end = rank.now
            rank.running.remove(r)
        tokens = sum(r.prompt + r.done for r in rank.running)
        rank.states.append((rank.now, len(rank.running), len(rank.waiting), tokens))


def usage(rank: Rank) -> str:
    """Locked KV as a share of the pool."""
    return f"{sum(r.prompt + r.done for r in rank.running) / POOL:.2f}"


def prefill_line(rank: Rank, batch: list[Req], new: int) -> str:
    """A prefill batch in the 0.5.23 shape."""
    pending = sum(r.prompt for r in rank.waiting)
    cached = sum(r.cached for r in batch)
    return (
        f"Prefill batch, #new-seq: {len(batch)}, #new-token: {new}, #cached-token: {cached}, "
        f"token usage: {usage(rank)}, "
        f"#running-req: {len(rank.running)}, #queue-req: {len(rank.waiting)}, #pending-token: {pending}, "
        f"cuda graph: False, input throughput (token/s): {new / (0.022 + new / 11_000):.2f}"
    )


def decode_line(rank: Rank) -> str:
    """A decode batch in the 0.5.23 shape."""
    tokens = sum(r.prompt + r.done for r in rank.running)
    rate = rank.generated / max(rank.now - rank.last_report, 0.001)
    return (
        f"Decode batch, #running-req: {len(rank.running)}, #token: {tokens}, token usage: {usage(rank)}, "
        f"cuda graph: True, gen throughput (token/s): {rate:.2f}, #queue-req: {len(rank.waiting)}"
    )


def clock(t: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """Seconds since START as the log writes them."""
    return datetime.fromtimestamp(START + t, UTC).strftime(form)


def iso(t: float) -> str:
    """The request logger's naive stamp."""
    return datetime.fromtimestamp(START + t, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")


def meta(r: Req) -> dict[str, object]:
    """meta_info of a finished request."""
    return {
        "id": r.rid, "finish_reason": {"type": "stop", "matched": 2}, "prompt_tokens": r.prompt,
        "weight_version": "default", "num_retractions": 0, "reasoning_tokens": 0, "dp_rank": r.rank,
        "completion_tokens": r.output, "cached_tokens": r.cached,
        "cached_tokens_details": {"device": r.cached, "host": 0},
        "request_received_ts": START + r.arrival, "api_server_dispatch_finish_ts": START + r.arrival + 0.004,
        "queue_time": round(r.start - r.arrival - 0.004, 6) if r.start - r.arrival > 0.004 else 0.0005,
        "forward_entry_time": START + max(r.start, r.arrival + 0.0045), "prefill_finished_time": START + r.first,
        "first_token_latency": r.first - r.arrival + 0.003, "response_sent_to_client_ts": START + r.first + 0.004,
        "request_finished_ts": START + r.end + 0.003, "e2e_latency": r.end - r.arrival + 0.003,
        "decode_throughput": (r.output - 1) / max(r.end - r.first, 0.001),
    }  # fmt: skip


def obj(r: Req) -> dict[str, object]:
    """The request as level 1 of the request logger keeps it."""
    return {
        "rid": r.rid, "stream": True, "sampling_params": {"max_new_tokens": 1024, "temperature": 0.7},
        "routing_key": r.key, "routed_dp_rank": r.rank, "priority": None, "session_id": None,
    }  # fmt: skip


def request_log(requests: list[Req]) -> Iterator[str]:
    """JSON records, received and finished, in order of time, behind the 0.5.23 prefix."""
    events: list[tuple[float, dict[str, object]]] = []
    for r in requests:
        common = {"rid": r.rid, "obj": obj(r), "headers": {"x-smg-routing-key": r.key}}
        events.append((r.arrival, {"timestamp": iso(r.arrival), "event": "request.received", **common}))
        if r.end <= LENGTH_S:
            done = {"timestamp": iso(r.end), "event": "request.finished", **common, "out": {"meta_info": meta(r)}}
            events.append((r.end, done))
    for t, record in sorted(events, key=lambda e: e[0]):
        yield f"[{clock(t)}] {json.dumps(record)}"


def server_log(ranks: list[Rank], requests: list[Req]) -> Iterator[str]:
    """Start-up facts, batch lines of both ranks, time stats, access lines, and one harmless warning."""
    args = (
        "server_args=ServerArgs(model_path='acme/chat-8b', host='0.0.0.0', port=30000, dp_size=2, tp_size=1, "
        f"page_size=1, max_running_requests={CAP * 2}, chunked_prefill_size=8192, max_prefill_tokens=16384, "
        "schedule_policy='fcfs', load_balance_method='auto', enable_metrics=True, disable_radix_cache=False)"
    )
    yield f"[{clock(-60)}] {args}"
    for rank in ranks:
        yield (
            f"[{clock(-40)} DP{rank.rank} TP0] max_total_num_tokens={POOL}, chunked_prefill_size=8192, "
            f"max_prefill_tokens=16384, max_running_requests={CAP}, context_len=32768, available_gpu_mem=9.12 GB"
        )
    yield f"[{clock(-30)}] The server is fired up and ready to roll!"
    rows = [(t, f"[{clock(t)} DP{k.rank} TP0] {text}") for k in ranks for t, text in k.lines if t <= LENGTH_S]
    for r in requests:
        if r.end <= LENGTH_S:
            stats = (
                f"ReqTimeStats(rid={r.rid}, input_len={r.prompt}, cached_input_len={r.cached}, output_len={r.output}, "
                f"attempts=1, type=unified): queue_duration={max(r.start - r.arrival, 0.0005) * 1000:.2f}ms, "
                f"forward_duration={(r.end - r.start) * 1000:.2f}ms, entry_time={START + r.arrival:.3f}"
            )
            rows.append((r.end, f"[{clock(r.end)} DP{r.rank} TP0] {stats}"))
            access = f'INFO:     10.0.4.{17 + r.rank}:51{r.rank}24 - "POST /v1/chat/completions HTTP/1.1" 200 OK'
            rows.append((r.arrival, f"[{clock(r.arrival)}] {access}"))
    rows.append(
        (40.2, f"[{clock(40.2)}] Streaming backlog: rid={requests[9].rid}, coalescing 2 queued chunks into one.")
    )
    yield from (text for _, text in sorted(rows))


def scrape_times() -> list[float]:
    """Every five seconds."""
    return [5.0 * k for k in range(1, int(LENGTH_S / 5) + 1)]


def state(rank: Rank, t: float) -> tuple[int, int, int]:
    """(running, waiting, tokens) of a rank at a time."""
    past = [s for s in rank.states if s[0] <= t]
    return (past[-1][1], past[-1][2], past[-1][3]) if past else (0, 0, 0)


def histogram(name: str, labels: str, values: list[float], bounds: tuple[float, ...]) -> Iterator[str]:
    """One histogram in exposition text."""
    for le in bounds:
        yield f'{name}_bucket{{le="{float(le)}",{labels}}} {float(sum(v <= le for v in values))}'
    yield f'{name}_bucket{{le="+Inf",{labels}}} {float(len(values))}'
    yield f"{name}_count{{{labels}}} {float(len(values))}"
    yield f"{name}_sum{{{labels}}} {sum(values)}"


def metrics(ranks: list[Rank], requests: list[Req], t: float) -> Iterator[str]:
    """The scrape at one time: scheduler gauges per rank, counters and histograms."""
    base = 'engine_type="unified",model_name="acme/chat-8b"'
    for name, at in (("num_running_reqs", 0), ("num_queue_reqs", 1), ("num_used_tokens", 2)):
        yield f"# HELP sglang:{name} {name.replace('_', ' ')}"
        yield f"# TYPE sglang:{name} gauge"
        for k in ranks:
            yield f'sglang:{name}{{dp_rank="{k.rank}",{base},tp_rank="0"}} {float(state(k, t)[at])}'
    yield "# TYPE sglang:token_usage gauge"
    for k in ranks:
        yield f'sglang:token_usage{{dp_rank="{k.rank}",{base},tp_rank="0"}} {round(state(k, t)[2] / POOL, 2)}'
    yield "# TYPE sglang:max_total_num_tokens gauge"
    for k in ranks:
        yield f'sglang:max_total_num_tokens{{dp_rank="{k.rank}",{base},tp_rank="0"}} {float(POOL)}'
    yield "# TYPE sglang:queue_time_seconds histogram"
    for k in ranks:
        waits = [max(r.start - r.arrival, 0.0005) for r in requests if r.rank == k.rank and 0 < r.start <= t]
        yield from histogram("sglang:queue_time_seconds", f'dp_rank="{k.rank}",{base},tp_rank="0"', waits, QUEUE_LE)
    front = f'{base},is_streaming="true"'
    done = [r for r in requests if r.end <= t]
    yield "# TYPE sglang:time_to_first_token_seconds histogram"
    first = [r.first - r.arrival for r in requests if 0 < r.first <= t]
    yield from histogram("sglang:time_to_first_token_seconds", front, first, TTFT_LE)
    yield "# TYPE sglang:e2e_request_latency_seconds histogram"
    yield from histogram("sglang:e2e_request_latency_seconds", front, [r.end - r.arrival for r in done], TTFT_LE)
    for name, total in (
        ("prompt_tokens", sum(r.prompt for r in done)), ("generation_tokens", sum(r.output for r in done)),
        ("num_requests", len(done)),
    ):  # fmt: skip
        yield f"# TYPE sglang:{name} counter"
        yield f"sglang:{name}_total{{{front}}} {float(total)}"
    yield "# TYPE sglang:cached_tokens counter"
    yield f'sglang:cached_tokens_total{{cache_source="device",{base}}} {float(sum(r.cached for r in done))}'
    yield "# TYPE sglang:num_retracted_requests counter"
    for k in ranks:
        yield f'sglang:num_retracted_requests_total{{dp_rank="{k.rank}",{base},tp_rank="0"}} 0.0'


def loads(ranks: list[Rank], t: float) -> str:
    """The /v1/loads answer at one time."""
    rows = []
    for k in ranks:
        running, waiting, tokens = state(k, t)
        rows.append({
            "timestamp": START + t - 0.05, "dp_rank": k.rank, "num_running_reqs": running, "num_waiting_reqs": waiting,
            "num_used_tokens": tokens, "max_total_num_tokens": POOL, "max_running_requests": CAP,
            "token_usage": round(tokens / POOL, 4), "gen_throughput": round(running / (0.019 + 0.0009 * running), 2),
            "cache_hit_rate": 0.0, "utilization": 0.0, "disaggregation": {"mode": "null"},
            "queues": {"waiting": waiting, "grammar": 0, "paused": 0, "retracted": 0, "prealloc_ready": 0},
        })  # fmt: skip
    stamp = datetime.fromtimestamp(START + t, UTC).isoformat()
    return json.dumps({"timestamp": stamp, "version": "0.5.23", "num_accelerators": 2, "loads": rows})


def main() -> None:
    """Write the folder."""
    requests = traffic(random.Random(20261130))
    ranks = [Rank(0), Rank(1)]
    for k in ranks:
        serve(k, [r for r in requests if r.rank == k.rank])
    HERE.mkdir(exist_ok=True)

    def put(name: str, text: str) -> None:
        data = text.encode()
        packed = gzip.compress(data, mtime=0) if name.endswith(".gz") else data
        (HERE / name).write_bytes(packed)

    put("server.log", "\n".join(server_log(ranks, requests)) + "\n")
    put("request_log.log.gz", "\n".join(request_log(requests)) + "\n")
    finished = sorted((r for r in requests if r.end <= LENGTH_S), key=lambda r: r.end)
    rows = (json.dumps({"request_parameters": json.dumps(obj(r)), **meta(r)}) for r in finished)
    put("sglang-request-metrics-20261130_03.log.gz", "\n".join(rows) + "\n")
    head = "#### scrape ts={:.6f} took=0.0121 status=200 url=http://127.0.0.1:30000{}\n{}\n"
    scrapes = [head.format(START + t, "/metrics", "\n".join(metrics(ranks, requests, t))) for t in scrape_times()]
    put("metrics.scrapes.txt.gz", "".join(scrapes))
    put("loads.scrapes.txt", "".join(head.format(START + t, "/v1/loads", loads(ranks, t)) for t in scrape_times()))
    info = {
        "model_path": "acme/chat-8b", "version": "0.5.23", "dp_size": 2, "tp_size": 1, "page_size": 1,
        "max_running_requests": CAP * 2, "chunked_prefill_size": 8192, "schedule_policy": "fcfs",
        "load_balance_method": "auto", "max_total_num_tokens": POOL, "disaggregation_mode": "null",
        "internal_states": [{"effective_max_running_requests_per_dp": CAP} for _ in ranks],
    }  # fmt: skip
    put("server_info.json", json.dumps(info, indent=1) + "\n")


if __name__ == "__main__":
    main()
