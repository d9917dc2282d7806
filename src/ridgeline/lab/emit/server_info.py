"""``/server_info`` (SIGNALS §7.2): resolved arguments, scheduler facts, one internal state per rank."""

import json

from ridgeline.lab.emit.model import Server
from ridgeline.lab.emit.startup import WEIGHTS_GB, arguments


def answer(server: Server, tps: float) -> str:
    """The body; ``tps``: generation throughput at the time of asking, tokens per second."""
    kv_gb = round(server.pool_tokens * 131072 / 2**30, 2)
    memory: dict[str, object] = {"weight": WEIGHTS_GB, "kvcache": kv_gb, "token_capacity": server.pool_tokens}
    state: dict[str, object] = {"last_gen_throughput": round(tps, 2), "memory_usage": memory}
    if server.at == 2:
        memory |= {"startup_available": 62.4, "graph": {"decode": 1.52, "prefill": 0.0}}
        state |= {
            "effective_max_running_requests_per_dp": server.max_running,
            "disaggregation_mode": "null" if server.role == "unified" else server.role,
            "decode_cuda_graph_bs": [1, 2, 4, 8, 16, 24, 32, 48, 64],
        }
    body = {
        **arguments(server),
        "max_total_num_tokens": server.pool_tokens,
        "max_req_input_len": min(server.context_len, server.pool_tokens) - 6,
        "internal_states": [dict(state) for _ in range(server.dp_size)],
        "version": server.version,
    }
    if server.at == 2:
        body |= {"startup_time": 13.9, "frontend": "http"}
    return json.dumps(body, separators=(",", ":"))


def path(server: Server) -> str:
    """Where a client asks."""
    return "/get_server_info" if server.at == 0 else "/server_info"
