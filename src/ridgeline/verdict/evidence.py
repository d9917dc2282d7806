"""One side of a comparison: its view, its window, and what was taken from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from ridgeline.bundle.view import View
from ridgeline.model.diagnosis import Window
from ridgeline.verdict.observed import HISTOGRAMS, Counted, Observed, counted_of, names_of, observed_of
from ridgeline.verdict.requests import Requests, requests_of, shared_perspective

# Share → (counters above, counters below) as engines name them, first that every side has. A label picks values.
RATIOS: Final[dict[str, tuple[tuple[tuple[str, ...], tuple[str, ...], str, tuple[str, ...]], ...]]] = {
    "hit_ratio": (
        (("cached_tokens",), ("prompt_tokens",), "", ()),
        (("prefix_cache_hits",), ("prefix_cache_queries",), "", ()),
    ),
    "errors": (
        (("num_aborted_requests",), ("num_requests",), "", ()),
        (("request_success",), ("request_success",), "finished_reason", ("abort", "error")),
    ),
    "retractions": (
        (("num_retracted_requests",), ("num_requests",), "", ()),
        (("num_preemptions",), ("request_success",), "", ()),
    ),
    # Mean lengths where no histogram of them is exposed: for comparability only.
    "prompt_tokens": (
        (("prompt_tokens",), ("num_requests",), "", ()),
        (("prompt_tokens",), ("request_success",), "", ()),
    ),
    "completion_tokens": (
        (("generation_tokens",), ("num_requests",), "", ()),
        (("generation_tokens",), ("request_success",), "", ()),
    ),
}
RATE: Final = ("num_requests", "request_success")
SUMMARIES: Final = """
SELECT s.name,
    coalesce(s.labels ->> 'stat', 'p' || (round(100 * try_cast(s.labels ->> 'quantile' AS DOUBLE), 3))::VARCHAR),
    avg(m.value), count(*)
FROM samples m JOIN series s USING (series)
WHERE s.name IN ('client_ttft_s', 'client_tpot_s', 'client_e2e_s') GROUP BY 1, 2
"""
SERVERS: Final = """
SELECT string_agg(DISTINCT model, ', ' ORDER BY model), string_agg(DISTINCT version, ', ' ORDER BY version),
    string_agg(DISTINCT engine, ', ' ORDER BY engine)
FROM servers
"""
VERSIONS: Final = "SELECT string_agg(DISTINCT version, ', ' ORDER BY version) FROM sources WHERE version IS NOT NULL"
MODELS: Final = """
SELECT string_agg(DISTINCT labels ->> 'model_name', ', ' ORDER BY labels ->> 'model_name') FROM series
"""
CONFIG: Final = """
SELECT origin, key, string_agg(DISTINCT value, ' | ' ORDER BY value) FROM config
WHERE key IS NOT NULL GROUP BY origin, key ORDER BY origin, key
"""
SPAN: Final = "SELECT min(from_ts), max(to_ts) FROM sources"


@dataclass(frozen=True)
class Side:
    """What is compared, before anything was computed."""

    name: str
    view: View
    window: Window | None = None
    note: str | None = None  # how the window came about, where nobody gave it


@dataclass(frozen=True)
class Evidence:
    """What one side has: request rows, histograms by quantity, counter pairs by share, printed summaries."""

    name: str  # INCIDENT, AFTER or BASELINE
    window: Window | None
    requests: Requests | None
    histograms: dict[str, Observed]
    ratios: dict[str, tuple[Counted, Counted]]
    finished: Counted | None
    summaries: dict[str, float]
    identity: dict[str, str | None]
    config: dict[str, dict[str, str | None]]
    note: str | None
    reach: tuple[float, float] | None

    def span(self) -> tuple[float, float] | None:
        """From when to when this side reaches."""
        if self.window is not None:
            return self.window.from_ts, self.window.to_ts
        if self.requests is not None and self.requests.ordered and self.requests.n > 1:
            return float(self.requests.at[0]), float(self.requests.at[-1])
        return self.reach


def day_of(view: View) -> datetime | None:
    """The day the evidence begins, for moments given as a time of day."""
    reach = _reach(view)
    return datetime.fromtimestamp(reach[0], UTC) if reach else None


def gather(sides: Sequence[Side]) -> list[Evidence]:
    """The evidence of every side, by names and points of view that all of them have."""
    views = [side.view for side in sides]
    perspective = shared_perspective(views)
    names = set.intersection(*(names_of(view) for view in views))
    return [
        Evidence(
            side.name,
            side.window,
            requests_of(side.view, perspective, side.window) if perspective else None,
            _histograms(side, names),
            _ratios(side, names),
            next((counted_of(side.view, (name,), side.window) for name in RATE if name in names), None),
            _summaries(side.view),
            _identity(side.view),
            _config(side.view),
            side.note,
            _reach(side.view),
        )
        for side in sides
    ]


def _histograms(side: Side, names: set[str]) -> dict[str, Observed]:
    out: dict[str, Observed] = {}
    for quantity, choices in HISTOGRAMS.items():
        name = next((choice for choice in choices if choice in names), None)
        found = observed_of(side.view, name, side.window) if name else None
        if found is not None:
            out[quantity] = found
    return out


def _ratios(side: Side, names: set[str]) -> dict[str, tuple[Counted, Counted]]:
    out: dict[str, tuple[Counted, Counted]] = {}
    for share, choices in RATIOS.items():
        for above, below, label, values in choices:
            if not names.issuperset((*above, *below)):
                continue
            top = counted_of(side.view, above, side.window, label, values)
            base = counted_of(side.view, below, side.window)
            if top is not None and base is not None and base.total > 0:
                out[share] = (top, base)
                break
    return out


def _summaries(view: View) -> dict[str, float]:
    """Figures a benchmark printed of a whole run: `ttft_p99` → seconds; several runs are averaged."""
    out: dict[str, float] = {}
    for name, statistic, value, _ in view.query(SUMMARIES):
        if statistic is not None and value is not None:
            short = str(statistic).removesuffix(".0")
            out[f"{str(name).removeprefix('client_').removesuffix('_s')}_{short}"] = float(value)
    return out


def _identity(view: View) -> dict[str, str | None]:
    model, version, engine = view.one(SERVERS)
    return {"model": model or view.one(MODELS)[0], "version": version or view.one(VERSIONS)[0], "engine": engine}


def _config(view: View) -> dict[str, dict[str, str | None]]:
    out: dict[str, dict[str, str | None]] = {}
    for origin, key, value in view.query(CONFIG):
        out.setdefault(str(origin), {})[str(key)] = value
    return out


def _reach(view: View) -> tuple[float, float] | None:
    low, high = view.one(SPAN)
    return None if low is None or high is None else (float(low), float(high))
