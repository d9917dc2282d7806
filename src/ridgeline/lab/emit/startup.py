"""Lines of a start (SIGNALS §6.6) and the launch arguments behind them."""

from typing import Any, Final

from ridgeline.lab.emit.model import Line, Server
from ridgeline.lab.emit.stamp import prefix

WEIGHTS_GB: Final = 15.03
LOAD_S: Final = 14.0
"""From the first line of a start to the server being ready, seconds."""


def arguments(server: Server) -> dict[str, Any]:
    """Launch arguments by the release's own names; what was not given has its default."""
    args: dict[str, Any] = {
        "model_path": server.model,
        "tokenizer_path": server.model,
        "tokenizer_worker_num": 1,
        "context_length": server.context_len,
        "host": server.host,
        "port": server.port,
        "dtype": "auto",
        "kv_cache_dtype": "auto",
        "mem_fraction_static": 0.88,
        "max_running_requests": server.max_running,
        "max_queued_requests": None,
        "max_total_tokens": server.pool_tokens,
        "chunked_prefill_size": server.chunked_prefill_size,
        "max_prefill_tokens": server.max_prefill_tokens,
        "schedule_policy": "fcfs",
        "enable_priority_scheduling": False,
        "schedule_conservativeness": 1.0,
        "page_size": server.page_size,
        "radix_eviction_policy": "lru",
        "disable_radix_cache": False,
        "device": "cuda",
        "tp_size": server.tp_size,
        "pp_size": 1,
        "dp_size": server.dp_size,
        "load_balance_method": "round_robin",
        "enable_dp_attention": False,
        "random_seed": 1,
        "watchdog_timeout": 300,
        "log_requests": True,
        "log_requests_level": 1,
        "enable_metrics": True,
        "decode_log_interval": server.decode_log_interval,
        "enable_request_time_stats_logging": True,
        "api_key": None,
        "served_model_name": server.model,
        "enable_lora": False,
        "max_loras_per_batch": 8,
        "speculative_algorithm": None,
        "enable_hierarchical_cache": False,
        "disaggregation_mode": "null" if server.role == "unified" else server.role,
        "disaggregation_transfer_backend": "mooncake",
        "disaggregation_bootstrap_port": 8998,
        "num_reserved_decode_tokens": 512,
        "disable_cuda_graph": False,
        "cuda_graph_max_bs": 64,
        "enable_mixed_chunk": False,
        "disable_overlap_schedule": False,
    }
    if server.at == 2:
        args |= {"load_snapshot_publish_interval": 15, "log_requests_format": "json", "enable_trace": True,
                 "export_metrics_to_file": True, "prefill_decode_interval": 0}  # fmt: skip
    elif server.at == 1:
        args |= {"log_requests_format": "json", "enable_trace": False, "export_metrics_to_file": True}
    args.update(dict(server.args))
    return args


def args_text(server: Server) -> str:
    """What follows ``server_args=``."""
    args = arguments(server)
    if server.at == 2:
        return "{" + ", ".join(f"{k!r}: {v!r}" for k, v in args.items()) + "}"
    return "ServerArgs(" + ", ".join(f"{k}={v!r}" for k, v in args.items()) + ")"


def startup_lines(server: Server) -> list[Line]:
    """A boot from its first line to ready; the API server's lines and those of every scheduler rank."""
    t = server.boot_ts
    kv_gb = server.pool_tokens * 131072 / 2**31
    free = 79.1 - WEIGHTS_GB - 2 * kv_gb
    own = [
        (0.0, f"server_args={args_text(server)}"),
        (0.4, "Using default HuggingFace chat template with detected content format: string"),
    ]
    if server.dp_size > 1:
        own += [(0.9, f"Launch DP{k} starting at GPU #{k * server.tp_size}.") for k in range(server.dp_size)]
    if server.role == "prefill":
        own.append((0.5, f"CommonKVBootstrapServer started successfully on {server.host}:8998"))
    if server.role == "decode":
        own.append((0.5, "Radix cache is disabled for decode server"))
    lines = [Line(t + dt, prefix(server, t + dt) + text) for dt, text in own]
    begin = "Init parallel begin." if server.at == 2 else "Init torch distributed begin."
    elapsed = "" if server.at == 0 else "elapsed=6.31 s, "
    what = "dtype: torch.bfloat16, " if server.at == 2 else ""
    pool = (
        f"max_total_num_tokens={server.pool_tokens}, chunked_prefill_size={server.chunked_prefill_size}, "
        f"max_prefill_tokens={server.max_prefill_tokens}, max_running_requests={server.max_running}, "
        f"context_len={server.context_len}, available_gpu_mem={free - 2.0:.2f} GB"
    )
    each = [
        (2.0, begin),
        (3.1, f"Load weight begin. avail mem={79.1:.2f} GB"),
        (9.4, f"Load weight end. {elapsed}type=LlamaForCausalLM, dtype=torch.bfloat16, "
              f"avail mem={79.1 - WEIGHTS_GB:.2f} GB, mem usage={WEIGHTS_GB:.2f} GB."),
        (9.9, f"KV Cache is allocated. {what}#tokens: {server.pool_tokens}, K size: {kv_gb:.2f} GB, "
              f"V size: {kv_gb:.2f} GB"),
        (10.0, f"Memory pool end. avail mem={free:.2f} GB"),
        (10.1, f"Capture cuda graph begin. This can take up to several minutes. avail mem={free:.2f} GB"),
        (12.9, f"Capture cuda graph end. Time elapsed: 2.80 s. mem usage=1.52 GB. avail mem={free - 1.5:.2f} GB."),
        (13.0, pool),
    ]  # fmt: skip
    if server.at == 2:
        each.append((13.1, "Tree cache initialized: source=default impl=UnifiedRadixCache hybrid_swa=False "
                           "hybrid_ssm=False hicache_attached=False"))  # fmt: skip
    for rank in range(server.dp_size):
        lines += [Line(t + dt, prefix(server, t + dt, rank) + text) for dt, text in each]
    last = [
        (13.4, f"INFO:     Started server process [{server.pid}]"),
        (13.4, "INFO:     Waiting for application startup."),
        (13.5, "INFO:     Application startup complete."),
        (13.5, f"INFO:     Uvicorn running on http://{server.host}:{server.port} (Press CTRL+C to quit)"),
        (LOAD_S, "The server is fired up and ready to roll!"),
    ]
    return lines + [Line(t + dt, prefix(server, t + dt) + text) for dt, text in last]
