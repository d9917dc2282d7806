"""Pictures of a decision (`decision.json`): what each setting would have given, and how far that can be trusted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from ridgeline.model.chart import Column, Picture, Range, Ranges
from ridgeline.model.errors import InputError

SCHEMA: Final = "ridgeline.decision/"
SPANS: Final = {"queue_s": "queue time", "ttft_s": "TTFT", "tpot_s": "time per output token", "e2e_s": "E2E"}
FAR: Final = 0.2  # of the observed figure
STATISTICS: Final = ("mean", "p50", "p90", "p99")
TRIED_COLUMNS: Final = (
    Column("setting"), Column("as it was", "s"), Column("simulated", "s"), Column("low", "s"), Column("high", "s"),
)  # fmt: skip
ERROR_COLUMNS: Final = (
    Column("time"), Column("statistic"), Column("observed", "s"), Column("predicted", "s"), Column("error", "share"),
)  # fmt: skip


def pictures_of(decision: Mapping[str, Any], where: str) -> list[Picture]:
    """The settings tried, and prediction against observation. Raises InputError where it is no decision."""
    if not isinstance(decision, Mapping) or not str(decision.get("schema", "")).startswith(SCHEMA):
        raise InputError(f"{where}: is no decision; `ridgeline decide` writes one")
    try:
        return [p for p in (_tried(decision), _fidelity(decision)) if p is not None]
    except (TypeError, KeyError, AttributeError) as e:
        raise InputError(f"{where}: is damaged ({type(e).__name__}: {e}); run `ridgeline decide` again") from e


def _tried(decision: Mapping[str, Any]) -> Picture | None:
    rows: list[tuple[Any, ...]] = []
    shown: list[Range] = []
    change = decision["change"] or {}
    chosen = (change.get("settings"), change.get("unpin"))
    for one in decision["tried"]:
        gain = one["gain"] or {}
        before, after = _number(gain.get("before")), _number(gain.get("after"))
        if before is None or after is None:
            continue
        low, high = (None if (v := _number(gain.get(k))) is None else max(0.0, before + v) for k in ("low", "high"))
        words = [f"{k}={v}" for k, v in one["settings"].items()] + (["unpinned"] if one["unpin"] else [])
        name = ", ".join(words) or "as it was"
        shown.append(Range(name, "marked" if (one["settings"], one["unpin"]) == chosen else "other", after, low, high))
        rows.append((name, before, after, low, high))
    if not rows:
        return None
    best = min(rows, key=lambda row: row[2])
    figures = (
        ("best", best[2]), ("baseline", best[1]), ("setting", best[0]),
        ("figure", str((decision["gain"] or {}).get("figure") or "the figure it hurts")),
    )  # fmt: skip
    trusted = bool((decision["fidelity"] or {}).get("trust"))
    says = "picture.simulation.trusted" if trusted else "picture.simulation.untrusted"
    drawing = Ranges("s", tuple(shown), best[1], "as it was")
    return Picture("simulation", drawing, figures, TRIED_COLUMNS, tuple(rows), says=says)


def _fidelity(decision: Mapping[str, Any]) -> Picture | None:
    told = decision["fidelity"]
    if told is None:
        return None
    rows: list[tuple[Any, ...]] = []
    shown: list[Range] = []
    trusted = bool(told.get("trust"))
    for span, name in SPANS.items():
        for statistic in STATISTICS:
            one = ((told["metrics"] or {}).get(span) or {}).get(statistic) or {}
            observed, predicted, error = (_number(one.get(k)) for k in ("observed", "predicted", "error"))
            if observed is None or predicted is None or error is None:
                continue
            rows.append((name, statistic, observed, predicted, error))
            edges = [
                None if (v := _number(one.get(k))) is None or observed <= 0 else v / observed - 1
                for k in ("low", "high")
            ]
            shown.append(
                Range(f"{name} {statistic}", "other" if trusted or abs(error) <= FAR else "marked", error, *edges)
            )
    if not rows:
        return None
    # What is trusted although its share is large is close in seconds: milliseconds of a queue that hardly was one.
    near = [row for row in rows if abs(row[4]) <= FAR] if trusted else []
    worst = max(near or rows, key=lambda row: abs(row[4]))
    why = told.get("why") or []
    figures = (
        ("n", told.get("requests")),
        ("span", f"{worst[0]} {worst[1]}"),
        ("share", abs(worst[4])),
        ("why", "; ".join(map(str, why[:2]))),
    )
    says = "picture.fidelity.trusted" if trusted else "picture.fidelity.untrusted"
    return Picture(
        "fidelity", Ranges("share", tuple(shown), 0.0, "as observed"), figures, ERROR_COLUMNS, tuple(rows), says=says
    )


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)
