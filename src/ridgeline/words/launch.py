"""Launch arguments of SGLang and vLLM that a diagnosis or a what-if needs: type, default per version, counterpart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from ridgeline.words.versions import ALWAYS, Engine, Span, parse_version

ArgType = Literal["int", "float", "bool", "str", "json"]
Value = int | float | bool | str | None


@dataclass(frozen=True, slots=True)
class Launch:
    """One argument, named as in server_info (underscores). `default` None means the engine works it out.

    `changed` lists (last version that had it, its default) for earlier defaults, oldest first. `same_as` is
    the other engine's argument for the same thing; `differs` says where the two part. `choices` are the legal
    words; a choice with a span is legal only there.
    """

    name: str
    engine: Engine
    type: ArgType
    default: Value
    meaning: str
    same_as: str | None = None
    differs: str = ""
    changed: tuple[tuple[str, Value], ...] = ()
    span: Span = ALWAYS
    choices: tuple[tuple[str, Span], ...] = ()

    @property
    def flag(self) -> str:
        """The command-line spelling."""
        return "--" + self.name.replace("_", "-")

    def default_in(self, version: str | None) -> Value:
        """The default of that version; the newest one where the version is unknown."""
        at = parse_version(version)
        for last, value in self.changed:
            mark = parse_version(last)
            if at is not None and mark is not None and at <= mark:
                return value
        return self.default


def _sgl(
    name: str,
    kind: ArgType,
    default: Value,
    meaning: str,
    same_as: str | None = None,
    *,
    differs: str = "",
    changed: tuple[tuple[str, Value], ...] = (),
    span: Span = ALWAYS,
    choices: tuple[tuple[str, Span], ...] = (),
) -> Launch:
    return Launch(name, "sglang", kind, default, meaning, same_as, differs, changed, span, choices)


def _vllm(
    name: str, kind: ArgType, default: Value, meaning: str, same_as: str | None = None, *, differs: str = ""
) -> Launch:
    return Launch(name, "vllm", kind, default, meaning, same_as, differs)


_53: Final = Span("0.5.3")
_59: Final = Span("0.5.9")
_523: Final = Span("0.5.23")

# fmt: off
SGLANG_ARGS: Final[tuple[Launch, ...]] = (
    _sgl("max_running_requests", "int", None, "most requests decoding at once, per DP rank", "max_num_seqs",
         differs="SGLang's is per DP rank and worked out from the pool when unset"),
    _sgl("max_queued_requests", "int", None, "longest waiting queue; beyond it requests are refused",
         "max_num_queued_reqs", span=_53),
    _sgl("max_total_tokens", "int", None, "KV pool in tokens", "num_gpu_blocks_override", differs="tokens, not blocks"),
    _sgl("mem_fraction_static", "float", None, "device memory for weights and KV", "gpu_memory_utilization",
         differs="SGLang leaves activations out of it, vLLM counts them in"),
    _sgl("chunked_prefill_size", "int", None, "most prompt tokens per pass; -1 is off", "max_num_batched_tokens",
         differs="vLLM's budget also holds the decode tokens of the step"),
    _sgl("max_prefill_tokens", "int", 16384, "most prompt tokens admitted per pass"),
    _sgl("prefill_max_requests", "int", None, "most requests admitted per pass", span=_59),
    _sgl("prefill_decode_interval", "int", 0, "decode rounds between prefills", span=_523),
    _sgl("schedule_policy", "str", "fcfs", "order of the waiting queue", "scheduling_policy",
         choices=(("lpm", ALWAYS), ("random", ALWAYS), ("fcfs", ALWAYS), ("dfs-weight", ALWAYS), ("lof", ALWAYS),
                  ("routing-key", _59), ("hrrn", _523), ("shortest-prefill-first", _523))),
    _sgl("schedule_conservativeness", "float", 1.0, "how much of max_new_tokens admission reserves"),
    _sgl("enable_priority_scheduling", "bool", False, "order by priority first", "scheduling_policy", span=_53),
    _sgl("priority_scheduling_preemption_threshold", "int", 10, "priority difference that preempts", span=_53),
    _sgl("retraction_policy", "str", "length", "who is put back first", span=_523,
         choices=(("length", _523), ("priority", _523))),
    _sgl("page_size", "int", None, "tokens per KV page; 1 unless backend or model forces more", "block_size",
         changed=(("0.4.6.post5", 1),), differs="vLLM's default is 16"),
    _sgl("disable_radix_cache", "bool", False, "no prefix cache", "enable_prefix_caching", differs="inverse"),
    _sgl("radix_eviction_policy", "str", "lru", "what the prefix cache evicts first", span=_53,
         choices=(("lru", _53), ("lfu", _53), ("slru", _523), ("priority", _523), ("tlru", _523))),
    _sgl("enable_hierarchical_cache", "bool", False, "host and storage tiers"),
    _sgl("hicache_ratio", "float", 2.0, "host tier over device pool"),
    _sgl("hicache_size", "int", 0, "host tier in GB; 0: by ratio"),
    _sgl("hicache_write_policy", "str", "write_through", "when KV goes to the host"),
    _sgl("hicache_storage_backend", "str", None, "third tier"),
    _sgl("hicache_storage_prefetch_policy", "str", "timeout", "how long to wait for storage",
         changed=(("0.5.9", "best_effort"),), span=_53,
         choices=(("best_effort", _53), ("wait_complete", _53), ("timeout", _53))),
    _sgl("context_length", "int", None, "longest prompt plus output", "max_model_len"),
    _sgl("allow_auto_truncate", "bool", False, "cut prompts that are too long"),
    _sgl("tp_size", "int", 1, "tensor parallel", "tensor_parallel_size"),
    _sgl("pp_size", "int", 1, "pipeline parallel", "pipeline_parallel_size"),
    _sgl("dp_size", "int", 1, "data parallel", "data_parallel_size"),
    _sgl("ep_size", "int", 1, "expert parallel", "enable_expert_parallel"),
    _sgl("enable_dp_attention", "bool", False, "attention data-parallel; ranks step together"),
    _sgl("load_balance_method", "str", "auto", "which DP rank takes a request", changed=(("0.5.6", "round_robin"),),
         choices=(("round_robin", ALWAYS), ("shortest_queue", Span(None, "0.5.6")),
                  ("minimum_tokens", Span("0.5.3", "0.5.6")), ("auto", _59), ("follow_bootstrap_room", _59),
                  ("total_requests", _59), ("total_tokens", _59))),
    _sgl("load_watch_interval", "float", 0.1, "period of load polling", span=Span("0.5.3", "0.5.6")),
    _sgl("load_snapshot_publish_interval", "int", 15, "decode steps between load snapshots", span=_523),
    _sgl("disaggregation_mode", "str", "null", "role: null, prefill, decode", "kv_transfer_config"),
    _sgl("disaggregation_transfer_backend", "str", "mooncake", "who moves KV"),
    _sgl("disaggregation_bootstrap_port", "int", 8998, "handshake port"),
    _sgl("disaggregation_decode_allocation_policy", "str", "early", "when decode allocates KV", span=_523,
         choices=(("early", _523), ("prefill_complete", _523))),
    _sgl("num_reserved_decode_tokens", "int", 512, "KV kept free per request on decode"),
    _sgl("optimistic_prefill_attempts", "int", 0, "prefill before the handshake is done", span=_523),
    _sgl("disable_overlap_schedule", "bool", False, "no overlap of scheduling and execution"),
    _sgl("enable_mixed_chunk", "bool", False, "decodes ride along with a prefill chunk", "enable_chunked_prefill",
         differs="vLLM always mixes"),
    _sgl("num_continuous_decode_steps", "int", 1, "decode steps between admissions"),
    _sgl("stream_interval", "int", 1, "tokens per streamed chunk", "stream_interval"),
    _sgl("disable_cuda_graph", "bool", False, "no graphs", "enforce_eager"),
    _sgl("max_loras_per_batch", "int", 8, "adapters per batch", "max_loras"),
    _sgl("speculative_algorithm", "str", None, "speculative decoding", "speculative_config"),
    _sgl("tokenizer_worker_num", "int", 1, "tokenizer processes", "api_server_count", span=_53),
    _sgl("watchdog_timeout", "float", 300.0, "seconds without progress before the server ends itself"),
    _sgl("soft_watchdog_timeout", "float", None, "the same, only logged", span=_59),
    _sgl("decode_log_interval", "int", 40, "decode steps per log line"),
    _sgl("enable_metrics", "bool", False, "serve /metrics"),
    _sgl("log_requests", "bool", False, "request log", "enable_log_requests"),
    _sgl("log_requests_level", "int", 2, "how much of a request is logged", changed=(("0.4.10", 0),)),
)

VLLM_ARGS: Final[tuple[Launch, ...]] = (
    _vllm("max_num_seqs", "int", None, "most requests running at once", "max_running_requests"),
    _vllm("max_num_batched_tokens", "int", None, "token budget of a step", "chunked_prefill_size",
          differs="holds decode tokens too"),
    _vllm("max_num_queued_reqs", "int", None, "longest queue", "max_queued_requests"),
    _vllm("gpu_memory_utilization", "float", 0.9, "device memory to use", "mem_fraction_static"),
    _vllm("num_gpu_blocks_override", "int", None, "KV pool in blocks", "max_total_tokens",
          differs="blocks: times block_size for tokens"),
    _vllm("block_size", "int", None, "tokens per block; usually 16", "page_size"),
    _vllm("enable_prefix_caching", "bool", True, "prefix cache", "disable_radix_cache", differs="inverse"),
    _vllm("enable_chunked_prefill", "bool", True, "prompts in chunks beside decodes", "enable_mixed_chunk"),
    _vllm("scheduling_policy", "str", "fcfs", "fcfs or priority", "schedule_policy"),
    _vllm("max_model_len", "int", None, "longest prompt plus output", "context_length"),
    _vllm("tensor_parallel_size", "int", 1, "tensor parallel", "tp_size"),
    _vllm("pipeline_parallel_size", "int", 1, "pipeline parallel", "pp_size"),
    _vllm("data_parallel_size", "int", 1, "data parallel", "dp_size"),
    _vllm("enable_expert_parallel", "bool", False, "expert parallel", "ep_size"),
    _vllm("kv_transfer_config", "json", None, "KV connector and role", "disaggregation_mode"),
    _vllm("enforce_eager", "bool", False, "no graphs", "disable_cuda_graph"),
    _vllm("enable_lora", "bool", False, "serve adapters"),
    _vllm("max_loras", "int", 1, "adapters per batch", "max_loras_per_batch"),
    _vllm("speculative_config", "json", None, "speculative decoding", "speculative_algorithm"),
    _vllm("stream_interval", "int", 1, "tokens per streamed chunk", "stream_interval"),
    _vllm("api_server_count", "int", 1, "API server processes", "tokenizer_worker_num"),
    _vllm("disable_log_stats", "bool", False, "no stats line, no metrics"),
    _vllm("enable_log_requests", "bool", False, "request log", "log_requests"),
)

# Environment variables that change what the figures mean or when things end: name → (default, unit, meaning).
ENVIRONMENT: Final[dict[str, tuple[Value, str, str]]] = {
    "SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION": (4096, "tokens", "cap on max_new_tokens in admission"),
    "SGLANG_INIT_NEW_TOKEN_RATIO": (0.7, "share", "first new-token ratio, times conservativeness"),
    "SGLANG_MIN_NEW_TOKEN_RATIO_FACTOR": (0.14, "share", "floor of the ratio over its start"),
    "SGLANG_NEW_TOKEN_RATIO_DECAY_STEPS": (600, "steps", "decode steps from start to floor"),
    "SGLANG_RETRACT_DECODE_STEPS": (20, "tokens", "tokens allowed per survivor after a retraction"),
    "SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT": (300, "s", "prefill: handshake too long"),
    "SGLANG_DISAGGREGATION_WAITING_TIMEOUT": (300, "s", "decode: KV not arrived"),
    "SGLANG_DISAGGREGATION_HEARTBEAT_INTERVAL": (5, "s", "decode looks at prefill"),
    "SGLANG_DISAGGREGATION_HEARTBEAT_MAX_FAILURE": (2, "count", "failures until the peer is lost"),
    "SGLANG_DISAGG_STAGING_POOL_SIZE_MB": (4096, "MB", "staging pool"),
    "SGLANG_HEALTH_CHECK_TIMEOUT": (20, "s", "health probe"),
    "SGLANG_REQ_WAITING_TIMEOUT": (None, "s", "longest wait in the queue; off by default"),
    "SGLANG_REQ_RUNNING_TIMEOUT": (None, "s", "longest run; off by default"),
}

_INDEX: Final = {(entry.engine, entry.name): entry for entry in (*SGLANG_ARGS, *VLLM_ARGS)}
# Short spellings the command lines accept.
_SHORT: Final = {"tp": "tp_size", "dp": "dp_size", "pp": "pp_size", "ep": "ep_size",
                 "tensor_parallel_size": "tp_size", "data_parallel_size": "dp_size",
                 "pipeline_parallel_size": "pp_size", "expert_parallel_size": "ep_size"}
_SHORT_VLLM: Final = {"tp": "tensor_parallel_size", "dp": "data_parallel_size", "pp": "pipeline_parallel_size",
                      "tensor_parallel": "tensor_parallel_size"}


def launch_arg(text: str, engine: Engine = "sglang") -> Launch | None:
    """The argument behind a spelling: `--max-running-requests`, `max_running_requests`, `--tp`; or None."""
    name = text.strip().lstrip("-").replace("-", "_")
    found = _INDEX.get((engine, name))
    if found is None:
        short = _SHORT if engine == "sglang" else _SHORT_VLLM
        found = _INDEX.get((engine, short.get(name, name)))
    return found


def counterpart(entry: Launch) -> Launch | None:
    """The other engine's argument for the same thing, or None."""
    other: Engine = "vllm" if entry.engine == "sglang" else "sglang"
    return _INDEX.get((other, entry.same_as)) if entry.same_as else None


def choices_in(entry: Launch, version: str | None) -> tuple[str, ...]:
    """The legal words of that version; those that the releases read cannot rule out stay in."""
    return tuple(word for word, span in entry.choices if version is None or span.has(version) is not False)
