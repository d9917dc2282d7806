"""``/v1/loads`` and ``/get_load`` answers (SIGNALS §7.1)."""

import json
from collections.abc import Mapping
from typing import Any

from ridgeline.lab.emit.model import Server
from ridgeline.lab.emit.stamp import iso, iso_zone

Snapshot = Mapping[str, float]
"""One rank as its last snapshot has it: ts, running, waiting, used_tokens, total_tokens, uncached_waiting,
gen_tps, hit_rate, queue lengths (bootstrap, inflight, prealloc, transfer, retracted, grammar)."""


def outside(server: Server, s: Snapshot) -> int:
    """Waiting as the load answers count it: with the queues of a disaggregated role."""
    more = {"prefill": ("bootstrap",), "decode": ("prealloc", "transfer", "retracted")}.get(server.role, ())
    return int(s["waiting"] + sum(s[name] for name in more))


def core_new(server: Server, rank: int, s: Snapshot) -> dict[str, Any]:
    """One rank in 0.5.23's answer."""
    mode = "null" if server.role == "unified" else server.role
    kv_gb = round(server.pool_tokens * 131072 / 2**30, 3)
    return {
        "timestamp": s["ts"],
        "dp_rank": rank,
        "num_running_reqs": int(s["running"]),
        "num_waiting_reqs": outside(server, s),
        "num_waiting_uncached_tokens": int(s["uncached_waiting"]),
        "num_used_tokens": int(s["used_tokens"]),
        "num_total_tokens": int(s["total_tokens"]),
        "num_active_tokens": int(s["used_tokens"]),
        "num_prealloc_ready_tokens": 0,
        "max_total_num_tokens": server.pool_tokens,
        "max_running_requests": server.max_running,
        "token_usage": round(s["used_tokens"] / server.pool_tokens, 4),
        "gen_throughput": round(s["gen_tps"], 2),
        "cache_hit_rate": round(s["hit_rate"], 4),
        "utilization": -1.0 if server.role == "prefill" else 0.0,
        "total_prefill_uncached_tokens": int(s["prefilled_tokens"]),
        "total_prefill_busy_us": int(s["prefill_us"]),
        "decode_moments": None,
        "memory": {"weight_gb": 15.03, "kv_cache_gb": kv_gb, "graph_gb": 1.52, "token_capacity": server.pool_tokens},
        "disaggregation": {
            "mode": mode,
            "prefill_bootstrap_queue_reqs": int(s["bootstrap"]),
            "prefill_inflight_queue_reqs": int(s["inflight"]),
            "decode_prealloc_queue_reqs": int(s["prealloc"]),
            "decode_transfer_queue_reqs": int(s["transfer"]),
            "decode_retracted_queue_reqs": int(s["retracted"]),
            "kv_transfer_speed_gb_s": 0.0,
            "kv_transfer_latency_ms": 0.0,
        },
        "queues": {
            "waiting": int(s["waiting"]),
            "grammar": int(s["grammar"]),
            "paused": 0,
            "retracted": 0,
            "prealloc_ready": 0,
        },
    }


def core_middle(server: Server, rank: int, s: Snapshot) -> dict[str, Any]:
    """One rank in 0.5.9's answer."""
    return {
        "dp_rank": rank,
        "timestamp": s["ts"],
        "num_running_reqs": int(s["running"]),
        "num_waiting_reqs": outside(server, s),
        "num_total_reqs": int(s["running"]) + outside(server, s),
        "num_used_tokens": int(s["used_tokens"]),
        "max_total_num_tokens": server.pool_tokens,
        "token_usage": round(s["used_tokens"] / server.pool_tokens, 4),
        "gen_throughput": round(s["gen_tps"], 2),
        "cache_hit_rate": round(s["hit_rate"], 4),
        "utilization": 0.0,
        "max_running_requests": server.max_running,
        "queues": {
            "waiting": int(s["waiting"]),
            "grammar": int(s["grammar"]),
            "paused": 0,
            "retracted": int(s["retracted"]),
        },
    }


def answer(server: Server, ts: float, snapshots: tuple[Snapshot, ...]) -> str:
    """The body at ``ts``, and for 0.5.3 that of ``/get_load``."""
    if server.at == 0:
        return json.dumps(
            [
                {
                    "dp_rank": k,
                    "num_reqs": int(s["running"]) + outside(server, s),
                    "num_waiting_reqs": outside(server, s),
                    "num_tokens": int(s["total_tokens"]),
                }
                for k, s in enumerate(snapshots)
            ],
            separators=(",", ":"),
        )
    if server.at == 1:
        cores = [core_middle(server, k, s) for k, s in enumerate(snapshots)]
        keys = ("num_running_reqs", "num_waiting_reqs", "num_used_tokens", "num_total_reqs")
        total = {f"total_{key[4:]}": sum(core[key] for core in cores) for key in keys}
        body = {"timestamp": iso(ts), "version": server.version, "dp_rank_count": server.dp_size, "loads": cores,
                "aggregate": total}  # fmt: skip
        return json.dumps(body, separators=(",", ":"))
    body = {
        "timestamp": iso_zone(ts),
        "version": server.version,
        "accelerator": "NVIDIA H100 80GB HBM3",
        "num_accelerators": server.dp_size * server.tp_size,
        "loads": [core_new(server, k, s) for k, s in enumerate(snapshots)],
    }
    return json.dumps(body, separators=(",", ":"))


def path(server: Server) -> str:
    """Where a client asks."""
    return "/get_load" if server.at == 0 else "/v1/loads?include=all"
