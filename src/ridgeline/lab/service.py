"""The service of a case: settings, time model and perturbations for the engine, boot by boot."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ridgeline.lab.case import HORIZON_S, Case
from ridgeline.lab.faults.model import Change
from ridgeline.scenario.model import PS
from ridgeline.sim.settings import Settings
from ridgeline.sim.tables import Perturbation
from ridgeline.sim.timing import TimeModel

MODELS: Final = {
    "small": TimeModel("lab small", 15_000_000_000, 280_000_000, 300, 500_000_000, 60_000, 0, 250_000_000),
    "large": TimeModel("lab large", 24_000_000_000, 420_000_000, 500, 700_000_000, 60_000, 0, 350_000_000),
}
TIME_PARAMETERS: Final = frozenset(
    {"step_base", "prefill_token", "attention", "decode_request", "context_token", "tokenize", "tokenize_token",
     "handshake", "link_token", "link_latency", "request_work", "lora_load", "return", "return_token"}
)  # fmt: skip
OURS: Final = frozenset({"random_seed", "enable_hierarchical_cache", "hicache_storage_backend"})
"""Launch arguments that the server shows and the simulator does not know."""
DOWN_S: Final = 16.0
"""How long a restart takes the server away, seconds."""


@dataclass(frozen=True)
class Boot:
    """One life of the whole service: from when it can take requests to when it ends, with its arguments."""

    from_s: float
    to_s: float
    settings: Settings
    shown: tuple[tuple[str, Any], ...]


def version_of(case: Case) -> str:
    """The version the simulator's rules follow."""
    return "0.5.23" if case.engine == "vllm" else case.version


def base_settings(case: Case, extra: tuple[tuple[str, Any], ...]) -> Settings:
    """The settings of a boot; what the fault does not fix is drawn by seed."""
    rng = case.rng("service")
    pool = int(rng.choice([90_000, 120_000, 160_000]))
    cap = int(rng.choice([48, 64]))
    chunk = int(rng.choice([2048, 4096, 8192]))
    values: dict[str, Any] = {
        "engine": case.engine, "version": version_of(case), "workers": case.workers,
        "decode_workers": 1 if case.pd else 0, "router": "round_robin" if case.workers > 1 else "none",
        "dp_size": case.dp_size, "load_balance_method": "round_robin", "max_total_num_tokens": pool,
        "max_running_requests": cap, "chunked_prefill_size": chunk, "max_prefill_tokens": 16_384,
        "context_length": 131_072, "decode_log_interval": 1, "tokenize_s": 0.0012, "tokenize_token_s": 0.000_000_4,
        "transfer_gb_per_s": 20.0, "page_size": 16 if case.engine == "vllm" else 1, "tokenizer_worker_num": 1,
    }  # fmt: skip
    if case.engine == "vllm":
        values |= {"max_prefill_tokens": chunk, "version": "0.5.23"}
    if case.pd:
        values["load_balance_method"] = "round_robin" if case.version == "0.5.3" else "auto"
    for name, value in (*case.fault.settings, *extra):
        if name not in OURS:
            values[name] = case.setting(value)
    return Settings(**(values | dict(case.changed)))


def boots(case: Case) -> list[Boot]:
    """One boot, or two where the fault is a deployment."""
    given = tuple((k, case.setting(v)) for k, v in case.fault.settings)
    first = base_settings(case, ())
    if not case.fault.deploy or case.healthy:
        return [Boot(0.0, HORIZON_S, first, given)]
    changed = tuple((k, case.setting(v)) for k, v in case.fault.deploy)
    again = base_settings(case, case.fault.deploy)
    return [
        Boot(0.0, case.onset_s, first, given),
        Boot(case.onset_s + DOWN_S, HORIZON_S, again, (*given, *changed)),
    ]


def windows(case: Case, change: Change) -> list[tuple[float, float, float]]:
    """(from, to, share of the full strength) of a change, in virtual seconds."""
    start, end = case.onset_s + change.after_s, case.end_s
    if case.fault.deploy:
        start += DOWN_S
    if change.shape == "ramp":
        edges = np.linspace(start, min(end, start + 200.0), 9)
        steps = [(float(edges[k]), float(edges[k + 1]), (k + 1) / 8) for k in range(8)]
        return [*steps, (float(edges[8]), max(end, float(edges[8]) + 1), 1.0)]
    if change.shape == "decay":
        edges = np.linspace(start, start + 75.0, 6)
        return [(float(edges[k]), float(edges[k + 1]), 0.55**k) for k in range(5)]
    if change.shape == "pulses":
        width = change.width_s * (0.6, 1.0, 1.5)[case.severity - 1]
        return [(float(s), float(s) + width, 1.0) for s in np.arange(start, end - width, change.every_s)]
    return [(start, end, 1.0)]


def ranks_of(case: Case, where: str) -> tuple[list[int], int]:
    """(ranks, class) a change is for; -1: all."""
    if where == "rank":
        return [case.target], -1
    if where == "class":
        return [-1], 1
    if where in ("prefill", "decode"):
        return ([0, 1] if where == "prefill" else [case.workers - 1]), -1
    return [-1], -1


def perturbations(case: Case) -> list[Perturbation]:
    """What the fault does to the engine."""
    out: list[Perturbation] = []
    if case.healthy:
        return out
    for change in case.fault.changes:
        times, plus = case.strength(change.times), case.strength(change.plus)
        unit = PS if change.parameter in TIME_PARAMETERS else 1
        ranks, kind = ranks_of(case, change.where)
        for start, end, part in windows(case, change):
            out += [
                Perturbation(
                    change.parameter, round(start * PS), round(end * PS), round((1 + (times - 1) * part) * 1000),
                    round(plus * unit * part), rank, kind,
                )
                for rank in ranks
            ]  # fmt: skip
    return out


def time_model(case: Case) -> TimeModel:
    """Step times of the case's size."""
    return MODELS[case.size]
