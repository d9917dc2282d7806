"""One minimal view for each cause: what it takes for the finding, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.causes.rows import T0, Tables, decode, event, gauge, join, prefill, requests


@dataclass(frozen=True)
class Case:
    """Tables, the symptom asked, and whether the first hundred seconds are the baseline."""

    tables: Tables
    symptom: str = "slow"
    compare: bool = False


def server(**values: Any) -> Tables:
    return {"servers": [{"source": 1, "line": 900, "engine": "sglang", **values}]}


def batches(*rows: list[dict[str, Any]]) -> Tables:
    return {"batches": [row for part in rows for row in part]}


def asks(*rows: list[dict[str, Any]]) -> Tables:
    return {"requests": [row for part in rows for row in part]}


def events(*rows: list[dict[str, Any]]) -> Tables:
    return {"events": [row for part in rows for row in part]}


def before_after(before: dict[str, Any], after: dict[str, Any], n: int = 40) -> Tables:
    """Requests of the baseline (100 s) and of the incident (100 s)."""
    return asks(requests(n, 0, 100 / n, **before), requests(n, 100, 100 / n, first=1000, **after))


def steps(before: dict[str, Any], after: dict[str, Any]) -> Tables:
    """Decode lines of the baseline, with two batch sizes so that a curve can be fitted, and of the incident."""
    return batches(decode(50, 0, 2, **before), decode(50, 100, 2, first_line=100, **after))


CURVE = {"running": [4, 8], "gen_tps": [400.0, 400.0]}  # 10 ms at 4 running, 20 ms at 8
QUEUE = {"waiting": 20, "running": 12, "usage": 0.5}
WAITS = {"queue_s": 5.0, "ttft_s": 5.2, "e2e_s": 8.0}
HOT = batches(
    decode(20, dp_rank=0, waiting=20, running=12, usage=0.5),
    decode(20, 0.5, dp_rank=1, waiting=0, running=3, usage=0.1, first_line=200),
)

CASES: dict[str, Case] = {
    "queue.arrival-overload": Case(
        join(
            batches(
                prefill(
                    10,
                    waiting=264,
                    pending_tokens=501600,
                    input_tps=24000.0,
                    new_seq=7,
                    new_tokens=13440,
                    running=[131, 138, 145, 152, 159, 166, 173, 180, 187, 194],
                    usage=0.02,
                )
            )
        )
    ),
    "queue.burst": Case(
        join(batches(decode(40, waiting=[*range(0, 20, 4), *range(20, 0, -2), *[0] * 25], running=[8, 9, 10, 11])))
    ),
    "queue.running-cap": Case(join(batches(decode(20, **QUEUE)), asks(requests(30, **WAITS)), server(max_running=12))),
    "queue.over-reservation": Case(
        join(
            batches(decode(20, waiting=20, running=5, usage=0.5)),
            asks(requests(30, max_new_tokens=4000, **WAITS)),
            server(max_running=64, pool_tokens=20000),
        )
    ),
    "queue.head-of-line": Case(
        join(
            batches(
                decode(3, waiting=5, usage=0.4),
                prefill(12, waiting=9, new_seq=1, new_tokens=8192, cached_tokens=0, running=2, usage=0.4),
            )
        )
    ),
    "queue.priority-starvation": Case(
        join(
            batches(decode(20, waiting=3, running=10, usage=0.5)),
            asks(requests(40, priority=[0, 10], queue_s=[9.0, 0.1], ttft_s=[9.2, 0.3])),
        )
    ),
    "queue.slot-leak": Case(
        join(
            events(event("other-warning", 11, every=0.2, rid="gone", text="Received output but the state was deleted")),
            batches(decode(10, waiting=4, running=8, usage=0.2)),
        )
    ),
    "queue.never-fits": Case(
        join(
            events(event("request-too-large", 2, rid=["a", "b"], text="Request exceeds the maximum number of tokens")),
            batches(decode(8, usage=0.2)),
        ),
        "errors",
    ),
    "queue.limit-rejected": Case(
        join(
            asks(
                requests(
                    30,
                    state=["finished", "rejected"],
                    finish_reason=["stop", "abort"],
                    abort_message=[None, "The request queue is full."],
                )
            ),
            batches(decode(10, waiting=2, running=12, usage=0.5)),
        ),
        "errors",
    ),
    "queue.scheduler-overhead": Case(join(batches(decode(12, occupancy=35.0)))),
    "prefill.prompt-mix": Case(
        join(
            before_after(
                {"prefill_s": [0.1, 0.2], "prompt_tokens": [500, 900]},
                {"prefill_s": 0.4, "prompt_tokens": 1700, "ttft_s": 0.5, "cached_tokens": 100},
            )
        ),
        compare=True,
    ),
    "prefill.regression": Case(
        join(
            before_after(
                {"prefill_s": [0.1, 0.2], "prompt_tokens": [500, 900]},
                {"prefill_s": [0.3, 0.6], "prompt_tokens": [500, 900], "ttft_s": 0.7},
            )
        ),
        compare=True,
    ),
    "prefill.cold-start": Case(
        join(
            asks(requests(5, 5, ttft_s=6.0, queue_s=0.0), requests(30, 20, first=100, ttft_s=0.2, queue_s=0.0)),
            events(event("ready", start=0), event("compile", start=6)),
        )
    ),
    "prefill.grammar": Case(
        join(
            asks(
                requests(
                    40,
                    schema_set=[True, False],
                    ttft_s=[4.0, 0.2],
                    prefill_s=0.1,
                    grammar_s=[3.8, None],
                    pre_queue_s=[3.8, 0.01],
                )
            )
        )
    ),
    "prefill.multimodal": Case(
        join(asks(requests(40, modality=["image", "text"], ttft_s=[4.0, 0.2], pre_queue_s=[3.8, 0.01])))
    ),
    "prefill.lora": Case(
        join(
            batches(decode(10, waiting=4, running=1, usage=0.05)),
            {
                "config": [
                    {"source": 1, "line": 901, "key": "enable_lora", "value": "true"},
                    {"source": 1, "line": 901, "key": "max_loras_per_batch", "value": "1"},
                ]
            },
        )
    ),
    "decode.batch-growth": Case(
        join(
            steps({"running": [8, 16], "gen_tps": [400.0, 640.0]}, {"running": 32, "gen_tps": 856.0}),
            before_after({}, {"tpot_s": 0.04, "completion_tokens": 200}),
        ),
        compare=True,
    ),
    "decode.regression": Case(
        join(steps(CURVE, {"running": [4, 8], "gen_tps": [200.0, 200.0]}), before_after({}, {"tpot_s": 0.04})),
        compare=True,
    ),
    "decode.graph-miss": Case(
        join(steps(CURVE, {"running": [4, 8], "gen_tps": [200.0, 200.0], "graph": False})), compare=True
    ),
    "decode.spec-acceptance": Case(
        join(
            steps(
                {**CURVE, "gen_tps": 1200.0, "accept_length": 3.0}, {**CURVE, "gen_tps": 600.0, "accept_length": 1.5}
            ),
            before_after({}, {"tpot_s": 0.04}),
        ),
        compare=True,
    ),
    "decode.slow-rank": Case(
        join(
            batches(
                decode(10, dp_rank=0, gen_tps=200.0),
                decode(10, 0.5, dp_rank=1, first_line=100),
                decode(10, 0.7, dp_rank=2, first_line=200),
            ),
            asks(requests(30, dp_rank=[0, 1, 2])),
        )
    ),
    "decode.prefill-interference": Case(
        join(
            batches(
                decode(3, running=39),
                prefill(8, 10, 1, running=39, new_seq=3, new_tokens=16384, cached_tokens=0, waiting=0),
                decode(3, 20, first_line=2000, running=40),
            )
        ),
        "stream",
    ),
    "decode.token-stall": Case(join(batches(decode(10, gen_tps=[0.4, 0.2], running=4))), "hang"),
    "frontend.tokenizer": Case(
        join(
            asks(requests(40, pre_queue_s=[1.0, 1.3, 0.8, 1.9], tokenize_s=[0.9, 1.2, 0.7, 1.8], ttft_s=2.2, every=3.3))
        )
    ),
    "frontend.detokenizer": Case(
        join(asks(requests(40, completion_tokens=[100, 400, 800], return_s=[1.0, 4.0, 8.0], e2e_s=[3.0, 8.0, 14.0])))
    ),
    "frontend.output-parser": Case(
        join(asks(requests(40, tools_set=[True, False], return_s=[3.0, 0.02], e2e_s=[5.2, 2.2])))
    ),
    "frontend.blocked-loop": Case(
        join(
            asks(
                requests(60, 0, 0.5),
                requests(
                    12,
                    40,
                    0.25,
                    first=500,
                    pre_queue_s=[3.0 - 0.25 * i for i in range(12)],
                    ttft_s=[3.2 - 0.25 * i for i in range(12)],
                ),
            )
        )
    ),
    "frontend.gateway": Case(
        join(
            {
                "records": [
                    row
                    for i in range(20)
                    for row in (
                        {
                            "source": 2,
                            "line": i,
                            "kind": "client",
                            "role": "client",
                            "rid": f"r{i}",
                            "ttft_s": 3.0,
                            "received_ts": T0 + i,
                            "dispatched_ts": T0 + i + 0.01,
                        },
                        {
                            "source": 1,
                            "line": i,
                            "kind": "request-log",
                            "role": "unified",
                            "rid": f"r{i}",
                            "ttft_s": 0.3,
                        },
                    )
                ]
            }
        )
    ),
    "frontend.slow-client": Case(
        join(events(event("streaming-backlog", 9, rid=["a", "b", "c", "d"], text="coalescing queued chunks"))), "stream"
    ),
    "client.request-config": Case(
        join(
            asks(
                requests(
                    30,
                    status_code=[200, 400, 200],
                    state=["finished", "error", "finished"],
                    finish_reason=["stop", None, "stop"],
                )
            )
        ),
        "errors",
    ),
    "client.cancelled": Case(
        join(
            asks(
                requests(
                    30,
                    state=["finished", "aborted"],
                    finish_reason=["stop", "abort"],
                    abort_message=[None, "Aborted by AbortReq."],
                )
            ),
            batches(decode(8)),
        ),
        "errors",
    ),
    "client.load-generator": Case(
        join(
            {
                "records": [
                    {
                        "source": 2,
                        "line": i,
                        "kind": "client",
                        "role": "client",
                        "rid": f"r{i}",
                        "received_ts": T0 + i,
                        "dispatched_ts": T0 + i + 2.0,
                    }
                    for i in range(20)
                ]
            },
            batches(decode(8)),
        )
    ),
    "memory.saturation": Case(
        join(
            batches(decode(20, waiting=20, running=16, usage=0.96, tokens=192000)),
            asks(requests(30, **WAITS)),
            server(max_running=64, pool_tokens=200000),
        ),
        "memory",
    ),
    "memory.retraction-storm": Case(
        join(
            batches(decode(20, waiting=8, running=16, usage=0.97, tokens=194000)),
            events(event("retraction", 12, every=2, count=2)),
            server(max_running=64, pool_tokens=200000),
        ),
        "memory",
    ),
    "memory.leak": Case(
        join(
            *(
                gauge(i, name, values, every=10)
                for i, (name, values) in enumerate(
                    [
                        ("num_running_reqs", [4.0] * 5 + [0.0] * 10),
                        ("num_queue_reqs", [0.0] * 15),
                        ("token_usage", [0.6] * 5 + [0.42] * 10),
                    ],
                    1,
                )
            )
        ),
        "memory",
    ),
    "memory.oom-crash": Case(
        join(
            events(
                event("pool-full", value=173, text="Decode out of memory", attrs={"available": 2560, "evictable": 0}),
                event("crash", start=11, first_line=5100),
            ),
            server(page_size=64),
        ),
        "memory",
    ),
    "memory.slots-exhausted": Case(
        join(
            events(event("slots-exhausted", text="alloc_req_slots runs out of memory")), batches(decode(8, usage=0.3))
        ),
        "memory",
    ),
    "memory.host-oom": Case(
        join(
            events(
                event("host-oom", text="Out of memory: Killed process 412"), event("crash", start=11, first_line=5100)
            )
        ),
        "memory",
    ),
    "memory.no-token-limit": Case(
        join(batches(decode(10, waiting=0, running=2, usage=1.0, tokens=[347640 + 80 * i for i in range(10)]))),
        "memory",
    ),
    "memory.retained-cache": Case(
        join(
            gauge(1, "kv_evictable_tokens", [150000.0] * 10),
            gauge(2, "kv_available_tokens", [10000.0] * 10),
            gauge(3, "kv_used_tokens", [40000.0] * 10),
            asks(requests(30, cached_tokens=450)),
            batches(decode(10, usage=0.2)),
        ),
        "memory",
    ),
    "memory.pool-misconfigured": Case(
        join(batches(decode(10, waiting=4, running=7, usage=0.94, tokens=2176))), "memory"
    ),
    "cache.flushed": Case(
        join(before_after({"cached_tokens": 400}, {"cached_tokens": 50}), events(event("cache-flushed", start=100))),
        "cache",
        compare=True,
    ),
    "cache.prompt-drift": Case(
        join(
            {
                "prompts": [
                    {
                        "source": 2,
                        "line": i,
                        "rid": f"r{i}",
                        "tokens": 2000,
                        "common_tokens": 8,
                        "drift": "clock or date",
                    }
                    for i in range(12)
                ]
            },
            asks(requests(12, cached_tokens=0)),
        ),
        "cache",
    ),
    "cache.eviction": Case(
        join(
            before_after({"cached_tokens": 400}, {"cached_tokens": 100}),
            batches(decode(50, 0, 4, usage=0.9)),
            gauge(1, "evicted_tokens", [1000.0 * i for i in range(40)]),
        ),
        "cache",
        compare=True,
    ),
    "cache.page-misaligned": Case(
        join(asks(requests(20, prompt_tokens=27, cached_tokens=8)), server(page_size=16)), "cache"
    ),
    "cache.scattered-routing": Case(
        join(
            before_after(
                {"cached_tokens": 400, "routing_key": ["a", "b"], "dp_rank": [0, 1]},
                {"cached_tokens": 100, "routing_key": ["a", "b"], "dp_rank": [0, 0, 1, 1, 2, 2, 3, 3]},
            )
        ),
        "cache",
        compare=True,
    ),
    "cache.key-split": Case(
        join(
            {
                "prompts": [
                    {
                        "source": 2,
                        "line": i,
                        "rid": f"r{i}",
                        "tokens": 1000,
                        "common_tokens": 990,
                        "namespace": f"lora-{i % 2}",
                        "neighbour": f"r{i ^ 1}",
                    }
                    for i in range(12)
                ]
            }
        ),
        "cache",
    ),
    "cache.disabled": Case(
        join(
            batches(
                prefill(
                    8,
                    new_seq=10,
                    new_tokens=30000,
                    cached_tokens=0,
                    running=[1, 11, 21, 31, 41, 51, 61, 71],
                    waiting=[70, 60, 50, 40, 30, 20, 10, 2],
                    usage=0.3,
                )
            )
        ),
        "cache",
    ),
    "cache.metric-artefact": Case(
        join(
            {
                "batches": [
                    {
                        "source": 1,
                        "line": i,
                        "kind": "stats",
                        "ts": T0 + 60 * i,
                        "running": 1,
                        "waiting": 0,
                        "usage": 0.03,
                        "hit_rate": rate,
                    }
                    for i, rate in enumerate([0.0, 0.48, 0.64, 0.72, 0.77, 0.8])
                ]
            }
        ),
        "cache",
    ),
    "routing.hot-key": Case(
        join(HOT, asks(requests(40, dp_rank=[0, 0, 0, 1], routing_key=["hot", "hot", "hot", "b"], **WAITS)))
    ),
    "routing.token-skew": Case(
        join(HOT, asks(requests(40, dp_rank=[0, 1], prompt_tokens=[8000, 500], completion_tokens=[900, 100])))
    ),
    "routing.worker-out": Case(
        join(
            batches(
                *(
                    decode(20, 0.1 * r, dp_rank=r, waiting=w, running=b, first_line=100 * r + 1)
                    for r, (w, b) in enumerate([(9, 8), (8, 8), (0, 0)])
                )
            ),
            events(event("worker-out", peer="http://w2", text="worker removed")),
        )
    ),
    "routing.stale-load": Case(
        join(
            {
                "loads": [
                    row
                    for i in range(20)
                    for row in (
                        {
                            "source": 3,
                            "line": i,
                            "ts": T0 + i,
                            "snapshot_ts": T0 + i - 20,
                            "dp_rank": 0,
                            "running": 10 + i % 3,
                            "waiting": 20 + i % 4,
                            "usage": 0.5,
                        },
                        {
                            "source": 3,
                            "line": i,
                            "ts": T0 + i,
                            "snapshot_ts": T0 + i - 20,
                            "dp_rank": 1,
                            "running": 1 + i % 2,
                            "waiting": 0,
                            "usage": 0.1,
                        },
                    )
                ]
            }
        )
    ),
    "disagg.bootstrap": Case(
        join(events(event("kvpoll-timeout", 3, room=[1, 2, 3], value=300, attrs={"state": "Bootstrapping"}))), "disagg"
    ),
    "disagg.prealloc": Case(
        join(batches(decode(20, role="decode", prealloc=12, transfer=2, retracted=0, usage=0.5))), "disagg"
    ),
    "disagg.transfer-slow": Case(
        join(
            before_after({"transfer_gb_s": 10.0, "transfer_s": 0.1}, {"transfer_gb_s": 1.0, "transfer_s": 1.0}),
            batches(prefill(50, 0, 4, role="prefill", inflight=6, bootstrap=0, running=0)),
        ),
        "disagg",
        compare=True,
    ),
    "disagg.transfer-stuck": Case(
        join(events(event("kvpoll-timeout", 2, room=[1, 2], value=600, attrs={"state": "WaitingForInput"}))), "disagg"
    ),
    "disagg.ratio": Case(
        join(
            batches(
                prefill(20, role="prefill", waiting=30, running=0, bootstrap=0, inflight=1, new_tokens=8000),
                decode(20, role="decode", prealloc=0, transfer=1, retracted=0, usage=0.2, waiting=0),
            )
        ),
        "disagg",
    ),
    "disagg.abort-hold": Case(
        join(
            events(
                event("kv-released", 2, room=[1, 2], text="Deferred KV release for room timed out after 30s"),
                event("abort", 2, rid=["a", "b"], text="Aborted by AbortReq.", first_line=5100),
            )
        ),
        "disagg",
    ),
    "disagg.peer-lost": Case(
        join(
            events(
                event("peer-lost", text="Lost connection with prefill instance"),
                event("transfer-failed", 3, room=[1, 2, 3], text="Decode transfer failed", first_line=5100),
            )
        ),
        "disagg",
    ),
    "disagg.room-mismatch": Case(
        join(events(event("room-mismatch", text="received metadata from another bootstrap_room"))), "disagg"
    ),
    "disagg.config-mismatch": Case(
        join(events(event("config-mismatch", text="Page size mismatch: prefill 64, decode 1"))), "disagg"
    ),
    "disagg.staging": Case(join(events(event("staging", text="alloc failed room=1"))), "disagg"),
    "storage.tier-stall": Case(
        join(asks(requests(40, storage_wait_s=[2.0, 1.5], ttft_s=[2.4, 1.9], cached_tokens=450)))
    ),
    "storage.tier-miss": Case(
        join(
            before_after({"cached_tokens": 400, "storage_wait_s": 0.0}, {"cached_tokens": 200, "storage_wait_s": 0.0}),
            events(event("storage", 5, start=100, text="Failed to put key")),
        ),
        "cache",
        compare=True,
    ),
    "fault.hang": Case(
        join(
            events(
                event("watchdog", value=300, text="Scheduler watchdog timeout"), event("health-fail", first_line=5100)
            )
        ),
        "hang",
    ),
    "fault.crash": Case(
        join(events(event("crash", text="Scheduler hit an exception"), event("traceback", first_line=5100))), "errors"
    ),
    "fault.wrong-output": Case(
        join(events(event("other-error", 2, text="KV checksum mismatch")), batches(decode(8))), "wrong-output"
    ),
    "fault.abort": Case(
        join(
            asks(
                requests(
                    30,
                    state=["finished", "error"],
                    finish_reason=["stop", "error"],
                    status_code=[200, 500],
                    abort_message=[None, "internal error"],
                )
            )
        ),
        "errors",
    ),
}
