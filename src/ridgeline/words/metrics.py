"""Every metric Ridgeline knows, and how a scraped name finds its entry.

`series.name` in a bundle is `Metric.name`; `names_for(word)` gives the names behind one shared word.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from ridgeline.words.metric import Metric, MetricKind, OldName
from ridgeline.words.metrics_other import GATEWAY_METRICS, VLLM_METRICS
from ridgeline.words.metrics_requests import REQUEST_METRICS
from ridgeline.words.metrics_scheduler import SCHEDULER_METRICS
from ridgeline.words.versions import Engine

__all__ = ["METRICS", "Metric", "MetricKind", "OldName", "canonical_metric", "metric", "names_for", "strip_prefix"]

METRICS: Final[tuple[Metric, ...]] = (*SCHEDULER_METRICS, *REQUEST_METRICS, *VLLM_METRICS, *GATEWAY_METRICS)

PREFIXES: Final[tuple[tuple[str, Engine], ...]] = (
    ("sglang:", "sglang"),
    ("sglang_", "sglang"),
    ("vllm:", "vllm"),
    ("vllm_", "vllm"),
    ("smg_", "gateway"),
    ("smg:", "gateway"),
    ("sgl_router_", "gateway"),  # before the gateway was renamed (late 2025)
)

_SERIES_SUFFIXES: Final = ("_bucket", "_sum", "_count")
# Names that any Python or HTTP server exports: without an engine's prefix they are not an engine's.
_ANYBODYS: Final = frozenset(
    {"process_cpu_seconds", "http_requests", "http_responses", "http_request_duration_seconds", "loads_timestamp"}
)
_ENGINES: Final[tuple[Engine, ...]] = ("sglang", "vllm", "gateway")


def _index() -> dict[tuple[Engine, str], Metric]:
    """Every spelling without prefix → entry; a metric's own name wins over another's old one."""
    spelled: dict[tuple[Engine, str], Metric] = {}
    for entry in METRICS:
        for old in entry.names:
            spelled[entry.engine, old.raw] = entry
    for entry in METRICS:
        spelled[entry.engine, entry.name] = entry
        if entry.kind == "counter":
            spelled[entry.engine, entry.name + "_total"] = entry
    return spelled


_SPELLED: Final = _index()


def strip_prefix(raw: str) -> tuple[Engine | None, str]:
    """The engine that a scraped name's prefix names (None: no known prefix) and the rest of it."""
    for prefix, engine in PREFIXES:
        if raw.startswith(prefix):
            return engine, raw[len(prefix) :]
    return None, raw


@lru_cache(maxsize=8192)
def canonical_metric(raw: str) -> Metric | None:
    """The entry for a scraped name: prefix, `_total` and `_bucket`/`_sum`/`_count` are taken off.

    Old names and typos of earlier releases find the present entry. A name without a prefix is looked up as
    SGLang's first. None for anything else: `_created` companions (a time, not the figure), process and
    Python metrics, and names no inspected release has.
    """
    engine, rest = strip_prefix(raw)
    for candidate in (engine,) if engine else _ENGINES:
        found = _look_up(candidate, rest)
        if found is not None and (engine is not None or found.name not in _ANYBODYS):
            return found
    return None


def _look_up(engine: Engine, name: str) -> Metric | None:
    found = _SPELLED.get((engine, name))
    if found is not None:
        return found
    for suffix in _SERIES_SUFFIXES:
        if name.endswith(suffix):
            found = _SPELLED.get((engine, name.removesuffix(suffix)))
            if found is not None and found.kind in ("histogram", "summary"):
                return found
    if name.endswith("_total"):
        bare = _SPELLED.get((engine, name.removesuffix("_total")))
        # Only counters gain `_total`; a gauge of that name would be another metric.
        if bare is not None and bare.kind == "counter":
            return bare
    return None


def metric(name: str, engine: Engine = "sglang") -> Metric:
    """The entry of a canonical name; KeyError if there is none."""
    found = _SPELLED.get((engine, name))
    if found is None or found.name != name:
        raise KeyError(f"{engine} has no metric {name!r} in the vocabulary")
    return found


@lru_cache(maxsize=512)
def names_for(word: str, engine: Engine | None = None) -> tuple[str, ...]:
    """The canonical names that carry one shared word (`running`, `usage`, `ttft_s`, …), in declared order."""
    names = [entry.name for entry in METRICS if entry.word == word and engine in (None, entry.engine)]
    return tuple(dict.fromkeys(names))
