"""For each signal: the flag, endpoint or variable that switches it on, per version, and what it costs.

Every "cannot tell" of the ladder answers with an entry of this file (`how_to_get`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from ridgeline.words.versions import ALWAYS, Engine, Span

SwitchKind = Literal["flag", "endpoint", "env", "file", "client", "default", "absent"]


@dataclass(frozen=True, slots=True)
class Switch:
    """One way to get one signal. `gives` says what it adds; `cost` what it costs on the server."""

    signal: str
    how: str
    gives: str
    kind: SwitchKind
    span: Span = ALWAYS
    engine: Engine = "sglang"
    restart: bool = True
    cost: str = "negligible"
    caution: str = ""


_53: Final = Span("0.5.3")
_56: Final = Span("0.5.6")
_59: Final = Span("0.5.9")
_523: Final = Span("0.5.23")
_RUNTIME: Final = "POST /configure_logging"

# fmt: off
SWITCHES: Final[tuple[Switch, ...]] = (
    Switch("server-log", "keep the server's standard output", "batch lines, retractions, failures, start-up facts",
           "default", restart=False),
    Switch("batch-lines", "--decode-log-interval N", "a decode line every N steps (40 by default)", "flag",
           cost="one log line per N steps"),
    Switch("metrics", "GET /metrics with --enable-metrics", "gauges, counters, histograms", "flag",
           cost="low; one more process directory with several workers"),
    Switch("metrics-all-ranks", "--enable-metrics-for-all-schedulers", "scheduler metrics of every TP rank", "flag",
           Span("0.4.10")),
    Switch("metrics-fine-buckets", "--bucket-time-to-first-token, --bucket-inter-token-latency, "
           "--bucket-e2e-request-latency", "bounds that fit the figures", "flag"),
    Switch("metrics-labels", "--tokenizer-metrics-allowed-custom-labels, header x-custom-labels",
           "latency split by a label of the client", "flag", cost="one series per label value"),
    Switch("queue-time", "--enable-metrics", "queue_time and the *_ts stamps in meta_info, log and exporter", "flag",
           _59),
    Switch("stage-latency", "--enable-metrics", "per_stage_req_latency_seconds{stage}", "flag", _53),
    Switch("loads", "GET /v1/loads?include=all", "running, waiting, tokens and PD queues per DP rank", "endpoint",
           _59, restart=False, caution="a snapshot: a stuck scheduler's old one is still answered"),
    Switch("loads", "GET /get_load", "requests, waiting and tokens per DP rank", "endpoint", Span("0.5.3", "0.5.9"),
           restart=False),
    Switch("loads", "GET /get_load", "one number of tokens, first rank only", "endpoint", Span("0.4.10", "0.4.10"),
           restart=False),
    Switch("loads", "no load endpoint in this version: use /metrics or the log", "", "absent",
           Span(None, "0.4.6.post5"), restart=False),
    Switch("server-info", "GET /server_info", "resolved arguments, pool, cap per DP rank, version", "endpoint", _56,
           restart=False, caution="may contain secrets: redacted on reading"),
    Switch("server-info", "GET /get_server_info", "resolved arguments, pool, version", "endpoint",
           Span(None, "0.5.9"), restart=False, caution="may contain secrets: redacted on reading"),
    Switch("request-log", "--log-requests --log-requests-format json --log-requests-level 1",
           "one line per request received and finished, sampling parameters included", "flag", _59,
           cost="two log lines per request"),
    Switch("request-log", "--log-requests --log-requests-level 1",
           "the same as Python text; read by targeted patterns only", "flag", Span("0.4.10", "0.5.6"),
           cost="two log lines per request"),
    Switch("request-log", "--log-requests --log-requests-level 1", "full input and output as Python text", "flag",
           Span(None, "0.4.6.post5"), cost="whole prompts in the log", caution="prompts are written in clear"),
    Switch("request-log-now", _RUNTIME + ' {"log_requests": true, "log_requests_level": 1}',
           "the request log without a restart", "endpoint", restart=False, caution="changes a running server"),
    Switch("request-params", "--log-requests --log-requests-level 1",
           "max_new_tokens, stop, regex, ignore_eos per request", "flag", Span("0.4.10")),
    Switch("prompt-ids", "--log-requests --log-requests-level 3", "token ids and text of every request", "flag",
           Span("0.4.10"), cost="large logs", caution="prompts are written in clear"),
    Switch("request-headers", "SGLANG_LOG_REQUEST_HEADERS=name,name", "further headers in the request log", "env",
           _523),
    Switch("routing-key", "header x-smg-routing-key on each request", "routing_key in the log; rank and key metrics",
           "client", _59, restart=False),
    Switch("rank-asked", "header X-Data-Parallel-Rank or field routed_dp_rank", "the DP rank that was asked for",
           "client", _523, restart=False),
    Switch("time-stats", "--enable-request-time-stats-logging", "ReqTimeStats: queue, forward, PD waits per request",
           "flag", cost="one log line per request"),
    Switch("exporter", "--export-metrics-to-file --export-metrics-to-file-dir DIR",
           "one JSON record per finished request", "flag", _56, cost="one flushed write per request",
           caution="holds whole prompts unless --log-requests-level 0 or 1 is active"),
    Switch("request-dump", _RUNTIME + ' {"dump_requests_folder": DIR, "dump_requests_threshold": 100}',
           "whole requests and answers, for replay", "endpoint", restart=False,
           caution="pickles with whole prompts; a partial buffer is never flushed"),
    Switch("crash-dump", "--crash-dump-folder DIR", "requests of the last five minutes and unfinished ones", "flag",
           Span("0.4.10"), caution="not written on SIGKILL or a host OOM kill"),
    Switch("traces", "--enable-trace --otlp-traces-endpoint HOST:PORT", "spans of every stage per request", "flag",
           _56, cost="some per cent of host time at level 3"),
    Switch("traces", "--enable-trace --oltp-traces-endpoint HOST:PORT", "spans of the main stages (flag spelt so)",
           "flag", Span("0.5.3", "0.5.3")),
    Switch("decode-spans", "GET /set_trace_level?level=3", "one span per decode step", "endpoint", _523,
           restart=False, cost="one span per step and request"),
    Switch("scheduler-stages", "--enable-metrics", "scheduler_stage_seconds_total: where the loop spends its time",
           "flag", _523),
    Switch("gpu-time", "SGLANG_ENABLE_METRICS_DEVICE_TIMER=1", "GPU busy seconds and occupancy", "env", _523,
           cost="two device events per pass"),
    Switch("forward-passes", "--enable-forward-pass-metrics", "one record per forward pass (ZMQ)", "flag", _523),
    Switch("scheduler-status", "SGLANG_LOG_SCHEDULER_STATUS_TARGET=stdout", "running and queued rids every 60 s",
           "env", _59),
    Switch("log-ms", "SGLANG_LOG_MS=1", "milliseconds in log times", "env", _523),
    Switch("cached-tokens", "--enable-cache-report", "cached_tokens in the usage of OpenAI answers", "flag"),
    Switch("cache-tiers", "--enable-metrics", "prefill_effective_tokens_total{mode}: device, host, storage", "flag",
           _523),
    Switch("transfer-stats", "--enable-metrics", "kv_transfer_* of the prefill side", "flag", _53),
    Switch("pd-queues", "GET /v1/loads?include=disagg", "bootstrap, inflight, prealloc, transfer, retracted",
           "endpoint", _59, restart=False),
    Switch("pd-queues", "--enable-metrics", "bootstrap, inflight, prealloc, transfer", "flag", Span(None, "0.5.6")),
    Switch("hang-stacks", "py-spy dump --pid PID of the scheduler", "where a frozen scheduler stands", "file",
           restart=False, cost="a pause of milliseconds", caution="needs ptrace rights"),
    Switch("soft-watchdog", "--soft-watchdog-timeout S", "a log line at a stall without ending the server", "flag",
           _59),
    Switch("profile", "POST /start_profile", "a kernel trace; only after execution is proven slow", "endpoint",
           restart=False, cost="slows the server while it runs", caution="never sent by Ridgeline"),
    Switch("client-view", "the client's or gateway's own record per request", "TTFT, gaps and errors as the user saw",
           "client", restart=False),
    Switch("second-scrape", "a second scrape, ten seconds or more after the first", "rates instead of totals",
           "endpoint", restart=False),
    Switch("baseline", "the same evidence from a time that was good", "what is different, not only what is high",
           "file", restart=False),
    Switch("stats-line", "default; do not pass --disable-log-stats", "throughput, running, waiting, usage every 10 s",
           "default", engine="vllm"),
    Switch("metrics", "default; GET /metrics", "gauges, counters, histograms", "default", engine="vllm",
           restart=False),
    Switch("request-log", "--enable-log-requests", "request ids and parameters as they arrive", "flag",
           engine="vllm"),
    Switch("traces", "--otlp-traces-endpoint URL", "one span per request with queue, prefill and decode times",
           "flag", engine="vllm"),
    Switch("cached-tokens", "--enable-prompt-tokens-details", "cached tokens in the usage of answers", "flag",
           engine="vllm"),
    Switch("kv-residency", "--kv-cache-metrics", "block lifetime, idle time and reuse gap", "flag", engine="vllm",
           cost="sampled"),
    Switch("server-info", "the line `non-default args` of the start-up log", "launch arguments", "file",
           engine="vllm", restart=False),
    Switch("gateway-metrics", "GET http://GATEWAY:29000/metrics", "picks, health, retries, circuit breakers",
           "endpoint", engine="gateway", restart=False),
)

SIGNALS: Final = tuple(dict.fromkeys(switch.signal for switch in SWITCHES))


def switches(signal: str, version: str | None = None, engine: Engine = "sglang") -> tuple[Switch, ...]:
    """Every way to get a signal with that engine and version; with no version, every way there is.

    Ways that the version certainly lacks are left out; those that the releases read cannot decide stay.
    KeyError for a signal that is not in the vocabulary.
    """
    if signal not in SIGNALS:
        raise KeyError(f"no signal {signal!r} in the vocabulary")
    ways = [switch for switch in SWITCHES if switch.signal == signal and switch.engine == engine]
    if version is None:
        return tuple(ways)
    return tuple(switch for switch in ways if switch.span.has(version, engine) is not False)


def how_to_get(signal: str, version: str | None = None, engine: Engine = "sglang") -> str:
    """One line: the newest way to get a signal, with what it costs and whether the server must restart."""
    ways = switches(signal, version, engine)
    if not ways:
        return f"not available in {engine} {version}" if version else f"not available in {engine}"
    certain = [way for way in ways if version and way.span.has(version, engine)]
    way = (certain or list(ways))[0]
    extras = [way.caution] if way.caution else []
    if way.kind in ("flag", "env") and way.restart:
        extras.append("needs a restart")
    if way.cost not in ("negligible", ""):
        extras.append(f"cost: {way.cost}")
    return way.how + (f" ({'; '.join(extras)})" if extras else "")
