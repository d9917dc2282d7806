"""SGLang's start-up lines → `servers`, `config` and `events` rows (SIGNALS §6.6); talk that says nothing."""

import hashlib
import json
import re
from typing import Any, Final

import numpy as np

from ridgeline.signals.lines import LogLines, Mask, Parsed
from ridgeline.signals.log.rules import Rule, apply_rules, in_turn, matching, table_rows
from ridgeline.signals.log.server_args import arguments
from ridgeline.signals.log.version import narrow
from ridgeline.signals.rows import Reading
from ridgeline.signals.settings import ROLES, server_columns

VOLATILE: Final = ("random_seed", "nccl_port", "port")  # differ from start to start without anyone's doing
POOL: Final = re.compile(
    r"max_total_num_tokens=(?P<max_total_num_tokens>\d+),"
    r" chunked_prefill_size=(?P<chunked_prefill_size>-?\d+|None)(?=,)"
    r"(?:, max_prefill_tokens=(?P<max_prefill_tokens>\d+)(?=,))?"
    r"(?:, max_running_requests=(?P<max_running_requests>\d+)(?=,))?"
    r"(?:, context_len=(?P<context_len>\d+)(?=,|\s*$))?"
    r"(?:, available_(?P<device>gpu|cpu)_mem=(?P<available_gb>\d+\.\d\d) GB)?"
)
POOL_FACTS: Final = r"#tokens: (?P<pool_tokens>\d+),.*?K size: (?P<k_gb>[\d.]+) GB, V size: (?P<v_gb>[\d.]+) GB"
TREE_FACTS: Final = r"impl=(?P<tree_cache>\w+)(?:.*?hicache_attached=(?P<hicache>\w+))?"
CAPTURE: Final = r"(?i)capture .{0,60}cuda graph (?P<step>begin|end)(?:\..*?elapsed=(?P<value>[\d.]+) s)?"
FACTS: Final = (
    Rule("startup", "Load weight end.", r"type=(?P<model_class>\w+).{0,200}?avail mem=(?P<avail_gb>[\d.]+) GB", "info"),
    Rule("startup", "Load weight begin", r"avail mem=(?P<avail_gb>[\d.]+) GB", "info", {"what": "weights"}),
    Rule("startup", "KV Cache is allocated", POOL_FACTS, "info"),
    Rule("startup", " is allocated.", r"(?P<pool>[\w ]+?) is allocated\.", "info"),
    Rule("startup", "Memory pool end.", r"avail mem=(?P<avail_gb>[\d.]+) GB", "info", {"what": "pool"}),
    Rule("warmup", "UDA graph", CAPTURE, "info"),
    Rule("warmup", "uda graph", CAPTURE, "info"),
    Rule("startup", "Tree cache initialized", TREE_FACTS, "info"),
    Rule("startup", "PrefillDelayer initialized", severity="info"),
    Rule("startup", "Engine startup timings", r"scheduler_e2e=(?P<value>[\d.]+)", "info"),
    Rule("startup", "using torch native attention backend", severity="info", attrs={"cuda_graph": "disabled"}),
    Rule("warmup", "End of warmup", severity="info"),
    Rule("compile", "Compiling", r"^(?:JIT )?[Cc]ompiling\b", "info"),
    Rule("compile", "DeepGEMM", r"DeepGEMM.{0,80}(?:JIT|[Cc]ompil|warmup)", "info"),
)  # fmt: skip
# Talk of a start that needs no row. RE2 syntax.
TALK: Final = (
    r"^(?:Auto-set |Fail to set RLIMIT|Using default |Init torch distributed|Init parallel|init_threads_binding|"
    r"init_cpu_threads_env|Memory baseline taken|Cannot detect |Ignore import error when loading|"
    r"Disable prefill CUDA graph|"
    r"Init Unified Radix Cache|Using KV cache dtype|MOE_RUNNER_BACKEND|Launch DP\d+ starting|The total number of ranks|"
    r"SGLANG_CPU_OMP_THREADS_BIND|Mamba selective_state_update backend|Using Transformers backend|"
    r"\w+ has no SGLang implementation|sgl-kernel |Cuda graph is disabled|Expected NFS directory|post-warmup freeze_gc|"
    r"Endpoint '[^']*' is deprecated|Attention backend not |Automatically (?:turn|set|adjust)|Set |Setting |"
    r"No chat template|"
    r"Detected |Loading |Capture |Capturing |Registering |Custom allreduce|sglang is using nccl|NCCL version|"
    r"Multi-thread loading|Overlap scheduler|Chunked prefill|mem_fraction_static|Enable |Disable |Use |Using |"
    r"`torch_dtype` is deprecated|Freezing |Unexpected error during package walk|Reasoning parser|Tool call parser|"
    r"Shared experts|Rank \d+ scheduler|Beginning of |Starting |Start of |Metrics |kv_cache|KV cache)"
)

# Talk with such a word in it is not taken for granted, but for a few that are known to be harmless.
TROUBLE: Final = r"(?i)\b(?:error|exception|failed|failure|fatal|timed? ?out|unreachable|killed|crash\w*)\b"
CALM: Final = r"^(?:Auto-set |Ignore import error|post-warmup freeze_gc failed|SGLANG_CPU_OMP|The total number of)"


def parse(lines: LogLines, reading: Reading) -> Parsed:
    """Facts of a start; a role set by `--disaggregation-mode` goes before what batch lines suggest."""
    return in_turn((_args, _pool, _facts, _talk), lines, reading)


def _args(lines: LogLines, reading: Reading) -> Parsed:
    understood = matching(lines.body, r"^server_args=")
    servers: list[dict[str, Any]] = []
    config: list[dict[str, Any]] = []
    for i in np.flatnonzero(understood).tolist():
        found = arguments(lines.body[i].as_py().removeprefix("server_args="))
        if not found:
            reading.note(f"{reading.path}:{int(lines.line[i])}: server arguments in no known form; not read")
            continue
        if lines.body[i].as_py().startswith("server_args={"):
            narrow(reading, ("0.5.23",))
        mode = found.get("disaggregation_mode")
        reading.role = (None if mode is None else ROLES.get(mode)) or reading.role
        at = _at(lines, i, reading)
        stable = json.dumps({k: v for k, v in found.items() if k not in VOLATILE}, sort_keys=True)
        servers.append(
            {
                "source": reading.source,
                "line": at["line"],
                "role": reading.role,
                "engine": "sglang",
                "boot_ts": at["ts"],
                "args_hash": hashlib.sha256(stable.encode()).hexdigest()[:16],
                "model": found.get("served_model_name") or found.get("model_path") or None,
                **server_columns(found),
            }
        )
        config += [{**at, "key": k, "value": v, "origin": "server_args"} for k, v in found.items()]
    return Parsed(table_rows("servers", servers) + table_rows("config", config), understood)


def _pool(lines: LogLines, reading: Reading) -> Parsed:
    understood = matching(lines.body, r"^max_total_num_tokens=\d")
    servers: list[dict[str, Any]] = []
    config: list[dict[str, Any]] = []
    for i in np.flatnonzero(understood).tolist():
        found = POOL.match(lines.body[i].as_py()[:1000])
        if found is None:
            understood[i] = False
            continue
        at = _at(lines, i, reading)
        facts = {k: v for k, v in found.groupdict().items() if v is not None and k != "device"}
        whole = bool(lines.ended[i]) or "available_gb" in facts
        if not whole:
            facts.pop("context_len", None)
        dp = int(lines.dp_rank[i])
        config += [
            {**at, "key": k, "value": v, "origin": "log", "dp_rank": dp if dp >= 0 else None} for k, v in facts.items()
        ]
        servers.append(
            {
                "source": reading.source,
                "line": at["line"],
                "role": reading.role,
                "engine": "sglang",
                "boot_ts": at["ts"],
                "pool_tokens": _integer(facts.get("max_total_num_tokens")),
                "chunked_prefill_size": _integer(facts.get("chunked_prefill_size")),
                "max_prefill_tokens": _integer(facts.get("max_prefill_tokens")),
                "max_running": _integer(facts.get("max_running_requests")),
                "context_len": _integer(facts.get("context_len")),
            }
        )
    return Parsed(table_rows("servers", servers) + table_rows("config", config), understood)


def _at(lines: LogLines, i: int, reading: Reading) -> dict[str, Any]:
    ts = float(lines.ts[i])
    return {"source": reading.source, "line": int(lines.line[i]), "ts": None if np.isnan(ts) else ts}


def _integer(text: str | None) -> int | None:
    try:
        return int(text) if text is not None and len(text) < 18 else None
    except ValueError:
        return None


def _facts(lines: LogLines, reading: Reading) -> Parsed:
    return apply_rules(FACTS, lines, reading)


def _talk(lines: LogLines, reading: Reading) -> Parsed:
    understood: Mask = matching(lines.body, TALK)
    if understood.any():
        understood &= ~matching(lines.body, TROUBLE) | matching(lines.body, CALM)
    return Parsed([], understood)
