"""Which signals a server gives, which it does not, the flag for each and its cost, and which rungs would be blind.

Told from what can be seen from outside: which endpoints answer, which metrics are exposed, and the resolved launch
arguments of `/server_info`. What cannot be seen from outside (a log on the server's disk) is `unknown`, never off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from ridgeline.live.probe import Server
from ridgeline.words.flags import Switch, switches
from ridgeline.words.metrics import canonical_metric
from ridgeline.words.versions import INSPECTED, Engine, nearest_inspected, parse_version

State = Literal["on", "off", "unknown", "absent"]


@dataclass(frozen=True, slots=True)
class Signal:
    """One signal of one server. `seen` says what tells; `way` how it is switched on (None: not in this version)."""

    name: str
    state: State
    seen: str
    way: Switch | None


@dataclass(frozen=True, slots=True)
class Rung:
    """One question of the ladder: the signals that can answer it, and which of them are on."""

    rung: str
    question: str
    by: tuple[str, ...]
    on: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def sees(self) -> Literal["yes", "perhaps", "no"]:
        """Whether an incident would find evidence for it."""
        return "yes" if self.on else "perhaps" if self.unknown else "no"


@dataclass(frozen=True, slots=True)
class Survey:
    """What was found of one server."""

    server: Server
    signals: tuple[Signal, ...]
    rungs: tuple[Rung, ...]
    traps: tuple[tuple[str, str], ...]  # (metric as exposed, how it lies)
    notes: tuple[str, ...]

    @property
    def blind(self) -> bool:
        """Whether a question of the ladder would find nothing; so it is where nobody knows what answers there."""
        return not self.server.answers or self.server.engine is None or any(rung.sees == "no" for rung in self.rungs)


# Signals by the argument that switches them on: on where it is set (to at least the number, where one is given).
ARGUMENTS: Final[dict[str, tuple[str, float | None]]] = {
    "request-log": ("log_requests", None),
    "request-params": ("log_requests_level", 1),
    "time-stats": ("enable_request_time_stats_logging", None),
    "exporter": ("export_metrics_to_file", None),
    "traces": ("enable_trace", None),
    "crash-dump": ("crash_dump_folder", None),
    "cached-tokens": ("enable_cache_report", None),
    "metrics-all-ranks": ("enable_metrics_for_all_schedulers", None),
    "forward-passes": ("enable_forward_pass_metrics", None),
    "soft-watchdog": ("soft_watchdog_timeout", 0.001),
}
# Signals by the metric that shows them.
FAMILIES: Final[dict[str, tuple[str, ...]]] = {
    "stage-latency": ("per_stage_req_latency_seconds",),
    "queue-time": ("queue_time_seconds", "request_queue_time_seconds"),
    "scheduler-stages": ("scheduler_stage_seconds",),
    "cache-tiers": ("prefill_effective_tokens",),
    "transfer-stats": ("kv_transfer_speed_gb_s", "kv_transfer_latency_ms"),
    "kv-residency": ("kv_block_lifetime_seconds",),
}
PD_ONLY: Final = ("transfer-stats", "pd-queues")
# What is worth asking of a server of each engine, in the order of use.
ASKED: Final[dict[Engine, tuple[str, ...]]] = {
    "sglang": ("metrics", "loads", "server-info", "server-log", "request-log", "request-params", "exporter",
               "time-stats", "traces", "crash-dump", "queue-time", "stage-latency", "metrics-fine-buckets",
               "metrics-all-ranks", "cached-tokens", "cache-tiers", "scheduler-stages", "forward-passes", "gpu-time",
               "soft-watchdog", "pd-queues", "transfer-stats"),
    "vllm": ("metrics", "stats-line", "server-info", "request-log", "traces", "cached-tokens", "kv-residency"),
    "gateway": ("gateway-metrics",),
}  # fmt: skip
RUNGS: Final[dict[Engine, tuple[tuple[str, str, tuple[str, ...]], ...]]] = {
    "sglang": (
        ("A1", "global or local, and which regime", ("metrics", "loads")),
        ("A2", "which slice of the time", ("metrics", "time-stats", "exporter", "traces")),
        ("A3", "which requests", ("request-log", "exporter", "time-stats", "traces")),
        ("C", "memory: pool, lengths, limits", ("metrics", "loads")),
        ("D", "prefix cache", ("metrics", "request-log", "exporter")),
    ),
    "vllm": (
        ("A1", "global or local, and which regime", ("metrics", "stats-line")),
        ("A2", "which slice of the time", ("metrics", "traces")),
        ("A3", "which requests", ("request-log", "traces")),
        ("C", "memory: pool, lengths, limits", ("metrics", "stats-line")),
        ("D", "prefix cache", ("metrics", "stats-line")),
    ),
    "gateway": (("B1", "placement", ("gateway-metrics",)),),
}
# Figures that everybody reads: how they lie is said where they are exposed.
READ_BY_ALL: Final = ("num_running_reqs", "num_queue_reqs", "token_usage", "cache_hit_rate", "gen_throughput",
                      "num_retracted_reqs", "utilization", "time_to_first_token_seconds",
                      "inter_token_latency_seconds", "num_aborted_requests", "kv_transfer_latency_ms",
                      "pending_prealloc_token_usage", "kv_cache_usage_perc", "request_success",
                      "prefix_cache_hits", "request_queue_time_seconds")  # fmt: skip


def survey(server: Server) -> Survey:
    """Judge one server that was probed."""
    engine = server.engine or "sglang"
    names = [n for n in ASKED[engine] if n not in PD_ONLY or server.role in ("prefill", "decode")]
    found = tuple(_signal(server, engine, name) for name in names)
    state = {signal.name: signal.state for signal in found}
    rungs = tuple(
        Rung(rung, question, by, tuple(n for n in by if state.get(n) == "on"),
             tuple(n for n in by if state.get(n) == "unknown"))
        for rung, question, by in RUNGS[engine]
    )  # fmt: skip
    if server.role in ("prefill", "decode"):
        pd = ("pd-queues", "metrics", "loads")
        rungs += (Rung("B3", "disaggregation queues and their motion", pd,
                       tuple(n for n in pd if state.get(n) == "on"), ()),)  # fmt: skip
    return Survey(server, found, rungs, _traps(server), tuple(_notes(server)))


def _signal(server: Server, engine: Engine, name: str) -> Signal:
    ways = switches(name, server.version, engine)
    certain = [way for way in ways if way.span.has(server.version, engine)]
    way = next(iter((*certain, *ways)), None)
    if way is None or way.kind == "absent":
        return Signal(name, "absent", f"not in {engine} {server.version or 'of this version'}", way)
    state, seen = _seen(server, engine, name)
    return Signal(name, state, seen, way)


def _seen(server: Server, engine: Engine, name: str) -> tuple[State, str]:
    if name in ENDPOINTS:
        return ENDPOINTS[name](server)
    if name in FAMILIES:
        return _exposed(server, FAMILIES[name])
    if name in ARGUMENTS:
        argument, least = ARGUMENTS[name]
        return _argument(server, argument, least) if engine == "sglang" else ("unknown", "not visible from outside")
    return "unknown", "not visible from outside"


def _argument(server: Server, name: str, least: float | None) -> tuple[State, str]:
    if name not in server.settings:
        why = "/server_info does not name it" if server.settings else "/server_info gives no arguments"
        return "unknown", f"{name}: {why}"
    value: Any = server.settings[name]
    if least is not None:
        on = isinstance(value, int | float) and value >= least
        if name == "log_requests_level" and not server.settings.get("log_requests"):
            return "off", "log_requests=False"
    else:
        on = bool(value)
    return ("on" if on else "off"), f"{name}={value!r}"[:80]


def _exposed(server: Server, names: tuple[str, ...]) -> tuple[State, str]:
    if not server.ok("metrics"):
        return "off", "/metrics does not answer"
    known = {entry.name for family in server.families if (entry := canonical_metric(family)) is not None}
    hit = next((name for name in names if name in known), None)
    if hit:
        return "on", f"{hit} is exposed"
    # A metric appears with its first observation: on an idle server its absence proves nothing.
    return "unknown", f"{names[0]} is not exposed (yet: it appears with the first request)"


def _endpoint(what: str) -> Callable[[Server], tuple[State, str]]:
    def seen(server: Server) -> tuple[State, str]:
        reply = server.replies[what]
        if reply.ok:
            return "on", f"{reply.path.split('?')[0]} answers in {reply.took_s * 1000:.0f} ms"
        reason = reply.body.decode("utf-8", "replace")[:80] if reply.status == 0 else f"HTTP {reply.status}"
        return ("off" if reply.status in (404, 405) else "unknown"), f"{reply.path.split('?')[0]}: {reason}"

    return seen


def _metrics(server: Server) -> tuple[State, str]:
    reply = server.replies["metrics"]
    mine = sum(1 for name in server.families if canonical_metric(name) is not None)
    if reply.ok and not mine:
        return "off", "/metrics answers without one metric of the engine"
    state, seen = _endpoint("metrics")(server)
    return state, f"{seen}, {mine} names" if state == "on" else seen


def _fine_buckets(server: Server) -> tuple[State, str]:
    """Whether the first TTFT bound lies below 0.1 s, where quick answers are."""
    if not server.ok("metrics"):
        return "off", "/metrics does not answer"
    bounds = []
    for line in server.replies["metrics"].body.decode("utf-8", "replace").splitlines():
        if "time_to_first_token_seconds_bucket{" in line and 'le="' in line:
            try:
                bounds.append(float(line.split('le="', 1)[1].split('"', 1)[0]))
            except ValueError:
                continue
    if not bounds:
        return "unknown", "no TTFT histogram is exposed yet"
    return ("on" if min(bounds) < 0.1 else "off"), f"first TTFT bound {min(bounds):g} s"


def _gpu_time(server: Server) -> tuple[State, str]:
    if not server.ok("metrics"):
        return "off", "/metrics does not answer"
    on = any("forward_execution_seconds" in name or "gpu_execution_seconds" in name for name in server.families)
    return ("on", "forward_execution_seconds is exposed") if on else ("off", "no GPU busy seconds are exposed")


def _log(server: Server) -> tuple[State, str]:
    return "unknown", "a log is not visible over HTTP: give it to capture with --logs"


ENDPOINTS: Final[dict[str, Callable[[Server], tuple[State, str]]]] = {
    "metrics": _metrics,
    "gateway-metrics": _metrics,
    "loads": _endpoint("loads"),
    "pd-queues": _endpoint("loads"),
    "server-info": _endpoint("server_info"),
    "metrics-fine-buckets": _fine_buckets,
    "gpu-time": _gpu_time,
    "server-log": _log,
    "stats-line": _log,
}


def _traps(server: Server) -> tuple[tuple[str, str], ...]:
    out: dict[str, str] = {}
    for family in sorted(server.families):
        entry = canonical_metric(family)
        if entry is not None and entry.trap and entry.name in READ_BY_ALL:
            out.setdefault(entry.name, entry.trap)
    return tuple(out.items())


def _notes(server: Server) -> list[str]:
    notes = []
    if not server.answers:
        return ["no endpoint answers; is the server up and the port right?"]
    if server.engine is None:
        notes.append("the engine is not recognised: no metric and no endpoint names it; SGLang was assumed")
    engine = server.engine or "sglang"
    if server.version is None:
        notes.append("the version is not known: flags of every version are shown")
    elif INSPECTED[engine] and parse_version(server.version) is not None:
        near = nearest_inspected(server.version, engine)
        if near is not None and parse_version(near) != parse_version(server.version):
            notes.append(
                f"{server.version} was not inspected; read like {near}, where the two may differ it is not said"
            )
    for what, reply in server.replies.items():
        if reply.status >= 500:
            notes.append(f"{reply.path.split('?')[0]} answers HTTP {reply.status}" + (
                ": starting, stopping or stuck" if what == "health" else ""))  # fmt: skip
        elif reply.status in (401, 403):
            notes.append(f"{reply.path.split('?')[0]} answers HTTP {reply.status}: it needs a key")
    return notes
