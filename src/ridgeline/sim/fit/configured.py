"""A view's configuration → settings of the simulator, and what had to be assumed."""

from dataclasses import dataclass, replace
from typing import Any, Final, get_type_hints

from ridgeline.bundle.view import View
from ridgeline.sim.settings import ROUTERS, Settings, parse_value

SERVERS_SQL: Final = """
    SELECT server, role, engine, version, pool_tokens, max_running, page_size, max_prefill_tokens,
        chunked_prefill_size, context_len, dp_size
    FROM servers
    ORDER BY boot_ts NULLS FIRST, server
"""
CONFIG_SQL: Final = (
    "SELECT server, key, value FROM config WHERE value IS NOT NULL ORDER BY ts NULLS FIRST, source, line"
)

OWN: Final = frozenset({"engine", "version", "workers", "decode_workers", "router", "dp_size", "context_length"})
"""Settings that the generic copy by name leaves alone: they come from the `servers` table or mean something else."""
NEVER_SHORT: Final = 50_000_000
"""Pool taken where nothing names one."""


@dataclass(frozen=True)
class Configured:
    """Settings read from the evidence; `pipelined`: the next step is scheduled while one runs (None: nothing says);
    `assumed`: in words."""

    settings: Settings
    pipelined: bool | None
    pool_known: bool
    limit_known: bool
    assumed: tuple[str, ...]


PLACES_SQL: Final = """
    SELECT
        count(DISTINCT server) FILTER (WHERE coalesce(role, 'unified') = 'unified'),
        count(DISTINCT server) FILTER (WHERE role = 'prefill'),
        count(DISTINCT server) FILTER (WHERE role = 'decode')
    FROM servers
"""
GATEWAY_SQL: Final = """
    WITH told AS (
        SELECT json_extract_string(s.labels, '$.policy') AS policy, max(p.ts) AS ts, max(p.value) - min(p.value) AS grew
        FROM series s
        JOIN samples p USING (series)
        WHERE s.name = 'worker_selection'
        GROUP BY ALL
    )

    SELECT policy
    FROM told
    WHERE policy IS NOT NULL
    ORDER BY ts DESC, grew DESC, policy
    LIMIT 1
"""


TAKEN_SQL: Final = """
    SELECT count(*)
    FROM requests
    WHERE coalesce(role, 'unified') = $role AND server IS NOT NULL AND received_ts IS NOT NULL
    GROUP BY server
"""
EVEN: Final = 2
"""Servers that took turns differ by no more requests than this."""


def whole_service(view: View, setup: Configured) -> Configured:
    """The settings with as many servers as the view shows, and the gateway's policy in front of them."""
    unified, prefill, decode = view.one(PLACES_SQL)
    assumed = list(setup.assumed)
    if prefill and decode:
        changed: dict[str, Any] = {"workers": prefill + decode, "decode_workers": decode}
    elif unified > 1:
        changed = {"workers": unified}
    else:
        return setup
    named = view.query(GATEWAY_SQL)
    policy = str(named[0][0]) if named else None
    if policy in ROUTERS:
        changed["router"] = policy
    else:
        role = "prefill" if prefill and decode else "unified"
        counts = [int(n) for (n,) in view.query(TAKEN_SQL, {"role": role})]
        even = bool(counts) and max(counts) - min(counts) <= EVEN
        changed["router"] = "round_robin" if even else "random"
        told = f"the gateway's policy {policy} is not simulated" if policy else "the gateway's policy: nothing names it"
        how = "every server took as many" if even else "servers took unequal shares"
        assumed.append(f"{told}; {how}: {changed['router']} is assumed")
    return replace(setup, settings=replace(setup.settings, **changed), assumed=tuple(assumed))


def configured(view: View) -> Configured:
    """Settings of the last boot of the first kind of server; engine defaults where the evidence is silent, and said."""
    servers = view.query(SERVERS_SQL)
    server = next((s for s in reversed(servers) if s[1] in (None, "unified")), servers[-1] if servers else None)
    name = server[0] if server else None
    config: dict[str, str] = {}
    for owner, key, value in view.query(CONFIG_SQL):
        if owner in (None, name) and str(value).lower() not in ("null", "none", ""):
            config[str(key).rsplit(".", 1)[-1]] = str(value)
    assumed: list[str] = []
    engine = str(server[2]) if server and server[2] in ("sglang", "vllm") else "sglang"
    if not server or server[2] not in ("sglang", "vllm"):
        assumed.append("engine: nothing names it, SGLang is assumed")
    changes = from_sglang(config) if engine == "sglang" else from_vllm(config, assumed)
    changes["engine"] = engine
    if server:
        for index, field in ((3, "version"), (5, "max_running_requests"), (6, "page_size"), (9, "context_length"),
                             (10, "dp_size")):  # fmt: skip
            if server[index] is not None:
                changes[field] = server[index]
        if engine == "sglang":
            for index, field in ((7, "max_prefill_tokens"), (8, "chunked_prefill_size")):
                if server[index] is not None:
                    changes[field] = server[index]
    pool = server[4] if server else None
    if pool is None and "num_gpu_blocks" in config and "block_size" in config:
        pool = int(float(config["num_gpu_blocks"])) * int(float(config["block_size"]))
    if pool is None:
        assumed.append("KV pool: nothing names its size, taken as never short")
    changes["max_total_num_tokens"] = pool or NEVER_SHORT
    limit_known = "max_running_requests" in changes
    if not limit_known:
        assumed.append("running limit: nothing names it; the engine's default and the most seen running are tried")
    overlap = config.get("async_scheduling") if engine == "vllm" else config.get("disable_overlap_schedule")
    if overlap is None:
        assumed.append("pipelined scheduling: nothing says, both are tried and the better fit kept")
    pipelined = None if overlap is None else overlap.lower() == ("true" if engine == "vllm" else "false")
    settings = replace(Settings(engine=engine, version=str(changes["version"])) if "version" in changes
                       else Settings(engine=engine), **changes)  # fmt: skip
    return Configured(settings, pipelined, pool is not None, limit_known, tuple(assumed))


def with_pipelining(settings: Settings, pipelined: bool) -> Settings:
    """The settings with the engine's own flag for pipelined scheduling set."""
    if settings.engine == "vllm":
        return replace(settings, async_scheduling=pipelined)
    return replace(settings, disable_overlap_schedule=not pipelined)


def is_pipelined(settings: Settings) -> bool:
    """Whether the next step is scheduled while one runs."""
    return settings.async_scheduling if settings.engine == "vllm" else not settings.disable_overlap_schedule


def from_sglang(config: dict[str, str]) -> dict[str, Any]:
    """Settings whose name is a server argument in the configuration."""
    kinds = get_type_hints(Settings)
    out: dict[str, Any] = {}
    for key, kind in kinds.items():
        if key in config and key not in OWN:
            out[key] = parse_value(key, config[key], kind)
    if out.get("load_balance_method") == "follow_bootstrap_room":
        del out["load_balance_method"]
    return out


def from_vllm(config: dict[str, str], assumed: list[str]) -> dict[str, Any]:
    """vLLM's names on the settings that mean the same: the token budget of a step, sequences, blocks."""
    out: dict[str, Any] = {}
    if "max_num_seqs" in config:
        out["max_running_requests"] = int(float(config["max_num_seqs"]))
    budget = config.get("max_num_batched_tokens")
    if budget is None:
        assumed.append("max_num_batched_tokens: nothing names it, 2048 is assumed")
    out["chunked_prefill_size"] = int(float(budget or 2048))
    out["page_size"] = int(float(config.get("block_size", 16)))
    out["disable_radix_cache"] = str(config.get("enable_prefix_caching", "true")).lower() == "false"
    if config.get("policy") == "priority":
        out["schedule_policy"] = "priority"
    return out
