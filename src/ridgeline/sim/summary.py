"""What one run gave, as the figures of ``ridgeline.simulation/1``."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline.sim.engine import params as p
from ridgeline.sim.engine.batch import gap_edge
from ridgeline.sim.returns import sent_times
from ridgeline.sim.service import Service
from ridgeline.sim.settings import as_dict
from ridgeline.sim.timing import NO_WAY, PS, TimeModel, Way

QUANTILES = (50, 90, 99)
SCHEMA = "ridgeline.simulation/1"


def spread(seconds: NDArray[np.float64]) -> dict[str, float] | None:
    """Mean and quantiles (nearest rank), or None where there is nothing."""
    if len(seconds) == 0:
        return None
    ordered = np.sort(seconds)
    at = {q: ordered[max(0, -(-q * len(ordered) // 100) - 1)] for q in QUANTILES}
    return {"mean": round(float(ordered.mean()), 9)} | {f"p{q}": round(float(v), 9) for q, v in at.items()}


def gap_spread(counts: NDArray[np.int64]) -> dict[str, float] | None:
    """The same of inter-token gaps from their bins: middles, so within 6 % of the true figure."""
    total = int(counts.sum())
    if total == 0:
        return None
    middle = np.array([(gap_edge(b) + gap_edge(b + 1)) / 2 for b in range(min(len(counts), 480))]) / PS
    counts = counts[: len(middle)]
    summed = np.cumsum(counts)
    at = {q: middle[int(np.searchsorted(summed, -(-q * total // 100)))] for q in QUANTILES}
    mean = float((counts * middle).sum() / total)
    return {"mean": round(mean, 9)} | {f"p{q}": round(float(v), 9) for q, v in at.items()}


@dataclass(frozen=True)
class Moments:
    """Per request, in seconds, NaN where it never happened: ``queue_s`` from entering the scheduler to the first batch,
    ``ttft_s`` and ``e2e_s`` from arrival to what the caller has, ``tpot_s`` per token after the first."""

    values: dict[str, NDArray[np.float64]]
    done: NDArray[np.bool_]


def moments(service: Service, way: Way = NO_WAY) -> Moments:
    """What every request got so far. ``way``: time beside the engine; requests were pushed ``way.front_s`` late."""
    rows = service.requests()
    first, last = sent_times(service.state)
    pairs = service.each == 2
    shown, queued_rows = (rows[1::2], rows[0::2]) if pairs else (rows, rows)
    first, last = (first[1::2], last[1::2]) if pairs else (first, last)
    done = shown["outcome"] == p.FINISHED
    arrival = shown["arrival"] / PS - way.front_s
    out = shown["gen"]
    first_s = np.where(first > 0, first / PS + way.back_first_s, np.nan)
    last_s = np.where(done, last / PS + max(way.back_s, way.back_first_s), np.nan)
    started = queued_rows["start"] > 0
    values = {
        "ttft_s": first_s - arrival,
        "queue_s": np.where(started, (queued_rows["start"] - queued_rows["queued"]) / PS, np.nan),
        "tpot_s": np.where(done & (out > 1), (last_s - first_s) / np.maximum(out - 1, 1), np.nan),
        "e2e_s": last_s - arrival,
    }
    return Moments({name: np.where(done, v, np.nan) for name, v in values.items()}, done)


def summary(
    service: Service, model: TimeModel, cpu_s: float | None = None, way: Way = NO_WAY, found: Moments | None = None
) -> dict[str, Any]:
    """Figures of everything that happened so far; spans in seconds, over finished requests (see `Moments`)."""
    st = service.state
    rows = service.requests()
    pairs = service.each == 2
    shown = rows[1::2] if pairs else rows
    queued_rows = rows[0::2] if pairs else rows
    told = found or moments(service, way)
    done = told.done
    out = shown["gen"][done]
    cached, prompt = int(queued_rows["cached"].sum()), int(queued_rows["prompt"][queued_rows["start"] > 0].sum())
    end = int(shown["finish"].max()) if len(shown) else 0
    span = (end - int(shown["arrival"][0])) / PS if len(shown) else 0.0
    outcomes = {name: int(n) for name, n in zip(p.OUTCOMES, np.bincount(shown["outcome"], minlength=9), strict=True)
                if n}  # fmt: skip
    ranks = st.rank[: int(st.g[p.G_RANKS])]
    spans = {name: spread(values[~np.isnan(values)]) for name, values in told.values.items()}
    result: dict[str, Any] = {
        "settings": as_dict(service.settings), "time_model": model.label, "requests": len(shown),
        "outcomes": outcomes, "span_s": round(span, 9),
        "ttft_s": spans["ttft_s"], "queue_s": spans["queue_s"], "tpot_s": spans["tpot_s"],
        "itl_s": gap_spread(service.gaps()), "e2e_s": spans["e2e_s"],
        "input_tokens_per_s": round(float(shown["prompt"][done].sum() / span), 6) if span > 0 else None,
        "output_tokens_per_s": round(float(out.sum() / span), 6) if span > 0 else None,
        "cache_hit_ratio": round(cached / prompt, 9) if prompt else None,
        "retractions": int(shown["retractions"].sum()), "peak_kv_tokens": [int(v) for v in ranks["peak"]],
        "busy_share": [round(float(v) / PS / span, 9) for v in ranks["busy"]] if span > 0 else None,
    }  # fmt: skip
    if cpu_s is not None:
        result["cpu_s"] = round(cpu_s, 6)
    return result
