"""English of what to switch on: for each ask its name, and how SGLang and vLLM supply it.

`{metrics}`, `{loads}` and the like are filled with that version's own switch (`words/flags.py`).
"""

from typing import Final

# ask → (what it tells, how SGLang supplies it, how vLLM supplies it)
ASKS: Final[dict[str, tuple[str, str, str]]] = {
    "load": (
        "running, waiting and pool usage over time",
        "the server log (prefill and decode lines), {loads}, or {metrics}",
        "the server log (its stats lines, on unless --disable-log-stats), or GET /metrics polled",
    ),
    "requests": (
        "each request and how it ended",
        "{request-log}",
        "--enable-log-requests with --otlp-traces-endpoint URL, or a client file (vLLM's log alone does not say how a "
        "request ended)",
    ),
    "stages": (
        "the time each request spent in each stage",
        "--enable-metrics with {exporter}, or {time-stats}",
        "--otlp-traces-endpoint URL (queue, prefill and decode time of each request)",
    ),
    "ends": (
        "the time before the queue and on the way back",
        "--enable-metrics with {exporter}, or {time-stats}",
        "a client file beside the engine's records (vLLM stamps neither)",
    ),
    "histograms": (
        "latency histograms",
        "{metrics}, scraped at least twice",
        "GET /metrics, scraped at least twice",
    ),
    "log": (
        "the server log",
        "keep the server's standard output and error",
        "keep the server's standard output and error",
    ),
    "pair": (
        "the queues of both sides of the pair",
        "the logs, or {pd-queues}, of both the prefill and the decode server",
        "the logs and GET /metrics of both the prefill and the decode server",
    ),
    "transfers": (
        "speed and failures of KV transfers",
        "{time-stats} on the prefill server, or its kv_transfer_ metrics",
        "the KV Transfer metrics lines of the log, or vllm:nixl_ in GET /metrics",
    ),
    "parameters": (
        "max_new_tokens beside real output lengths",
        "{request-log}",
        "--otlp-traces-endpoint URL (max_tokens beside completion tokens of each request)",
    ),
    "in-flight": (
        "every request in flight with its lengths",
        "{request-log}",
        "--otlp-traces-endpoint URL with --enable-log-requests",
    ),
    "attributes": (
        "thirty requests with times and attributes",
        "{request-log}",
        "--enable-log-requests with --otlp-traces-endpoint URL",
    ),
    "prompts": (
        "what the prompts say (their text or ids)",
        "{prompt-ids}, {request-dump}, or a file of the prompts",
        "--enable-log-requests with VLLM_LOGGING_LEVEL=DEBUG (prompts are written in clear), or a file of the prompts",
    ),
    "cached": (
        "cached tokens",
        "the prefill lines of the log, {metrics}, or the request log (cached_tokens)",
        "prefix_cache_queries and prefix_cache_hits in GET /metrics, or --enable-prompt-tokens-details",
    ),
    "evictions": (
        "evictions from the prefix cache",
        "evicted_tokens_total in /metrics (0.5.6 on), scraped twice",
        "--kv-cache-metrics (how long blocks live and idle before they are evicted)",
    ),
    "evictable": (
        "how much of the pool is evictable cache",
        "kv_evictable_tokens in /metrics (0.5.23 on)",
        "vLLM has no figure for it: kv_cache_usage_perc counts allocated blocks only",
    ),
    "settings": (
        "the launch settings (limits, pool, page, cache)",
        "{server-info}, or the start-up lines of the log",
        "the start-up lines of the log (non-default args, KV cache size), or the launch command",
    ),
    "ranks": (
        "the queue of each rank or replica",
        "{loads}, or the log and /metrics of every rank and replica",
        "the log and GET /metrics of every engine and replica",
    ),
    "placed": (
        "the rank of each request",
        "the request log (dp_rank, 0.5.23 on), or the gateway's records",
        "the router's records (vLLM does not say which engine took a request)",
    ),
    "keys": (
        "routing keys",
        "{routing-key}, with the request log",
        "the router's records (vLLM knows no routing keys)",
    ),
    "workers": (
        "what each worker got",
        "scrapes of every replica over a minute, or the gateway's log",
        "scrapes of every replica over a minute, or the router's log",
    ),
    "snapshot": (
        "the age of load figures",
        "GET /v1/loads polled (0.5.23 on)",
        "vLLM has no load endpoint: its gauges are of the moment they are scraped",
    ),
    "decode-lines": (
        "decode steps over time",
        "the server log (decode lines)",
        "inter_token_latency_seconds in GET /metrics, scraped twice (vLLM prints no decode lines)",
    ),
    "prefill-lines": (
        "prefill batches over time",
        "the server log (prefill lines)",
        "--otlp-traces-endpoint URL (prefill time of each request; vLLM prints no prefill lines)",
    ),
    "retractions": (
        "retractions",
        "the server log, or num_retracted_requests_total in /metrics (0.5.9 on)",
        "num_preemptions in GET /metrics, or Preemptions in the stats lines",
    ),
    "hang": (
        "whether the scheduler still moves",
        "the server log (watchdog lines), or {loads} polled for a minute",
        "GET /metrics polled for a minute (vLLM has no watchdog line)",
    ),
    "killer": (
        "who sent SIGKILL",
        "dmesg -T of the host, and the container's last state (OOMKilled) and memory.events of its cgroup",
        "dmesg -T of the host, and the container's last state (OOMKilled) and memory.events of its cgroup",
    ),
    "graphs": (
        "whether decode ran in CUDA graphs",
        "the server log (cuda graph on decode lines)",
        "vLLM does not log it for each step; the start-up lines say whether graphs are on (--enforce-eager: off)",
    ),
    "acceptance": (
        "how many speculated tokens are accepted",
        "the server log (accept len on decode lines), or spec_accept_length in /metrics",
        "SpecDecoding lines of the log, or spec_decode_num_accepted_tokens in GET /metrics",
    ),
    "device": (
        "how busy the device is",
        "{gpu-time}",
        "vLLM has no such figure: a profiler of the device",
    ),
    "idle": (
        "usage while no request runs",
        "scrapes of an idle minute after the load",
        "scrapes of an idle minute after the load",
    ),
    "gaps": (
        "gaps between chunks",
        "a client file with chunk times (bench_serving --output-details)",
        "a client file with chunk times (bench_serving --output-details)",
    ),
    "client": (
        "the client's times beside the engine's",
        "a client file (bench_serving, GuideLLM, AIPerf, or JSONL with send and chunk times)",
        "a client file (bench_serving, GuideLLM, AIPerf, or JSONL with send and chunk times)",
    ),
    "slow-readers": (
        "streams read too slowly",
        "the server log of 0.5.23 or later, or a client file with chunk times",
        "a client file with chunk times (vLLM logs no slow readers)",
    ),
    "correct": (
        "whether answers are right",
        "send the same requests to a clean server of the same version and compare the answers",
        "send the same requests to a clean server of the same version and compare the answers",
    ),
    "rates": (
        "printed hit rates",
        "the server log over a longer time, or {metrics} polled",
        "the stats lines of the log over a longer time",
    ),
    "rounds": (
        "TTFT and hit ratio by round",
        "the table a multi-round benchmark prints",
        "the table a multi-round benchmark prints",
    ),
    "usage-records": (
        "cache writes and reads of requests",
        "the client's usage records",
        "the client's usage records",
    ),
    "both": (
        "requests of both kinds",
        "a window that holds both",
        "a window that holds both",
    ),
    "onset": (
        "when it began",
        "--from and --to, or evidence from before the trouble as well",
        "--from and --to, or evidence from before the trouble as well",
    ),
    "baseline": (
        "a good time to compare with",
        "--baseline FROM..TO, or evidence from before the trouble as well",
        "--baseline FROM..TO, or evidence from before the trouble as well",
    ),
    "longer": (
        "a longer stretch of the same source",
        "the same files over a longer time",
        "the same files over a longer time",
    ),
}

# Where the evidence has it already.
HELD: Final[dict[str, str]] = {
    "held.file": "it is in the evidence ({file}), but that holds nothing to use for this window: give more of it",
    "held.on": "the server says it is on: give its files too (ridgeline capture URL --logs FILES, or add them here)",
}

MESSAGES: Final[dict[str, str]] = {
    f"ask.{name}.{part}": text
    for name, texts in ASKS.items()
    for part, text in zip(("signal", "sglang", "vllm"), texts, strict=True)
} | HELD
