"""May the two sides be held against each other: model, version, arguments, load, mix of requests, stream share.

A difference does not forbid a verdict as such: less load on AFTER explains away an improvement, never a
deterioration. Each check says which verdicts it could explain (`Check.eases`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.model.comparison import Check, Eases, Setting
from ridgeline.stats.buckets import merge
from ridgeline.verdict.evidence import Evidence

Floats = NDArray[np.float64]

LOAD: Final = 0.75  # a rate below this share of the other side's is less load
MIX: Final = 0.15  # total variation between the distributions of lengths that still counts as the same mix
STREAM: Final = 0.1
# Best first: what the server resolved, then what it was asked.
ORIGINS: Final = ("server_args", "server_info", "config", "arguments", "launch", "log")
# Keys that name a place or a run, not a way to serve.
PLACES: Final = (
    "_dir", "_target", "_path_file", "_folder", "port", "host", "random_seed", "seed", "api_key", "launch_command",
    "startup_time", "memory_usage", "last_gen_throughput", "available_gb", "available_gpu_mem", "nccl_init_addr",
    "dist_init_addr", "served_model_name", "log_level", "version", "uptime", "internal_states", "_endpoint", "_url",
    "instance", "pid", "_ipc_name", "status", "avg_spec_accept_length", "kv_events", "crash_dump_folder",
)  # fmt: skip


def checks_of(incident: Evidence, after: Evidence) -> tuple[Check, ...]:
    """Every check, in the order in which they matter."""
    mine, theirs = incident.identity, after.identity
    return (
        _named("engine", mine["engine"], theirs["engine"], "either"),
        _named("model", mine["model"], theirs["model"], "either"),
        _named("version", mine["version"], theirs["version"], "none"),
        _load(incident, after),
        _mix(incident, after, "prompt_tokens", "prompt lengths"),
        _mix(incident, after, "completion_tokens", "output lengths"),
        _stream(incident, after),
    )


def settings_of(incident: Evidence, after: Evidence) -> tuple[Setting, ...]:
    """Launch arguments that differ, each from the best origin that both sides have."""
    found: dict[str, Setting] = {}
    for origin in ORIGINS:
        left, right = incident.config.get(origin), after.config.get(origin)
        if left is None or right is None:
            continue
        for key in {*left, *right}:
            if left.get(key) != right.get(key) and not _is_place(key):
                found.setdefault(key, Setting(key, left.get(key), right.get(key)))
    return tuple(found[key] for key in sorted(found))


def _is_place(key: str) -> bool:
    last = key.rsplit(".", 1)[-1]
    return any(last.endswith(mark) or key.startswith(mark) for mark in PLACES)


def _named(name: str, a: str | None, b: str | None, eases: Eases) -> Check:
    if a is None or b is None:
        return Check(name, "unknown", "none", a or "not known", b or "not known",
                     f"the {name} is not known on both sides")  # fmt: skip
    if a == b:
        return Check(name, "same", "none", a, b, f"the {name} is the same")
    todo = "" if eases == "none" else f"capture AFTER on the same {name}"
    return Check(name, "differs", eases, a, b, f"the {name} went from {a} to {b}", todo)


def _load(incident: Evidence, after: Evidence) -> Check:
    a, b = rate_of(incident), rate_of(after)
    if a is None or b is None:
        return Check("load", "unknown", "none", "not known", "not known", "the request rate is not known on both sides")
    said = (f"{a:.3g} requests/s", f"{b:.3g} requests/s")
    ratio = b / a if a > 0 else 1.0
    if LOAD <= ratio <= 1 / LOAD:
        return Check("load", "same", "none", *said, "the request rate is alike")
    return Check(
        "load", "differs", "easier" if ratio < 1 else "harder", *said,
        f"AFTER carried {ratio:.2g} times the requests per second",
        f"capture AFTER again at about {a:.3g} requests/s",
    )  # fmt: skip


def rate_of(side: Evidence) -> float | None:
    """Requests per second that arrived (rows) or finished (counters)."""
    window = side.window
    if side.requests is not None and side.requests.ordered and side.requests.n >= 10:
        span = window.to_ts - window.from_ts if window else side.requests.span_s()
        return side.requests.n / span if span > 0 else None
    if side.finished is not None and side.finished.at.size >= 2:
        span = float(side.finished.at[-1] - side.finished.at[0])
        return side.finished.total / span if span > 0 and side.finished.total >= 10 else None
    return None


def _mix(incident: Evidence, after: Evidence, column: str, words: str) -> Check:
    rows = [_values(side, column) for side in (incident, after)]
    if rows[0] is not None and rows[1] is not None:
        return _distributions(column, words, rows[0], rows[1])
    means = [histogram_mean(side, column) for side in (incident, after)]
    if means[0] is None or means[1] is None:
        return Check(column, "unknown", "none", "not known", "not known", f"{words} are not known on both sides")
    ratio = means[1] / means[0] if means[0] > 0 else 1.0
    said = (f"mean {means[0]:.4g} tokens", f"mean {means[1]:.4g} tokens")
    if 0.8 <= ratio <= 1.25:
        return Check(column, "same", "none", *said, f"{words} are alike (means)")
    return _mixed(column, words, ratio, said)


def _distributions(column: str, words: str, a: Floats, b: Floats) -> Check:
    """Total variation over octaves of length, less what chance alone gives between samples of these sizes."""
    top = int(np.ceil(np.log2(max(float(a.max()), float(b.max()), 1.0) + 1))) + 1
    edges = np.concatenate([[-0.5], 2.0 ** np.arange(0, top + 1)])
    p, q = (np.histogram(x, edges)[0] / x.size for x in (a, b))
    chance = float(np.sqrt((p + q) / 2 * (1 / a.size + 1 / b.size) / (2 * np.pi)).sum())
    distance = max(0.0, 0.5 * float(np.abs(p - q).sum()) - 1.5 * chance)
    ratio = float(b.mean() / a.mean()) if a.mean() > 0 else 1.0
    said = (f"mean {a.mean():.4g}, p90 {np.quantile(a, 0.9):.4g} tokens",
            f"mean {b.mean():.4g}, p90 {np.quantile(b, 0.9):.4g} tokens")  # fmt: skip
    if distance <= MIX:
        return Check(column, "same", "none", *said, f"{words} are alike")
    return _mixed(column, words, ratio, said)


def _mixed(column: str, words: str, ratio: float, said: tuple[str, str]) -> Check:
    eases: Eases = "easier" if ratio < 0.9 else "harder" if ratio > 1.1 else "either"
    if column == "completion_tokens" and eases != "either":
        words += " (which a fix may change)"
    return Check(column, "differs", eases, *said, f"the mix of {words} is another one (mean {ratio:.2g} times)",
                 "capture AFTER under the same traffic, or replay the incident's")  # fmt: skip


def _values(side: Evidence, column: str) -> Floats | None:
    if side.requests is None:
        return None
    values = side.requests.columns[column]
    values = values[~np.isnan(values)]
    return values if values.size >= 10 else None


def histogram_mean(side: Evidence, column: str) -> float | None:
    """The mean of a column from its histogram or counters; None below ten values."""
    seen, counted = side.histograms.get(column), side.ratios.get(column)
    if seen is not None and seen.n >= 10:
        return merge(seen.steps).mean
    if counted is not None and counted[1].total >= 10:
        return counted[0].total / counted[1].total
    return None


def _stream(incident: Evidence, after: Evidence) -> Check:
    shares = [_values(side, "stream") for side in (incident, after)]
    if shares[0] is None or shares[1] is None:
        return Check("stream", "unknown", "none", "not known", "not known", "the share of streams is not known")
    a, b = float(shares[0].mean()), float(shares[1].mean())
    said = (f"{a:.0%} stream", f"{b:.0%} stream")
    if abs(a - b) <= STREAM:
        return Check("stream", "same", "none", *said, "the share of streams is alike")
    return Check("stream", "differs", "either", *said, "streams and single answers measure TTFT differently",
                 "compare the same kind of requests on both sides")  # fmt: skip


def changed(settings: Sequence[Setting], asked: Sequence[str]) -> Check | None:
    """With the argument under test named: what else differs, as a check; None where nothing does."""
    names = {name.lstrip("-").replace("-", "_") for name in asked}
    others = [setting.key for setting in settings if setting.key.rsplit(".", 1)[-1] not in names]
    if not asked or not others:
        return None
    few = ", ".join(others[:6]) + (", …" if len(others) > 6 else "")
    said = f"besides {', '.join(asked)} other arguments changed: {few}"
    return Check("arguments", "differs", "either", "", few, said, "change one thing at a time")
