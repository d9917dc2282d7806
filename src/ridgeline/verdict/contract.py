"""A comparison as JSON, schema ridgeline.comparison/1: names, units and order are a contract."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any, Final

from ridgeline.model.comparison import Check, ClassChange, Comparison, Estimate, Figure
from ridgeline.model.contrast import Contrast
from ridgeline.words.catalogue import said, text_in
from ridgeline.words.phrases import phrase

SCHEMA: Final = "ridgeline.comparison/1"


def to_contract(c: Comparison, lang: str = "en") -> dict[str, Any]:
    """Everything, with null for what is not known; no NaN and no infinity; statements in `lang`."""
    blocking = [check.name for check in c.checks if check.state == "differs" and check.eases != "none"]
    return {
        "schema": SCHEMA,
        "verdict": c.verdict,
        "summary": said(c.ruling, lang),
        "reference": c.reference,
        "windows": {name.lower(): _window(low, high) for name, low, high in c.spans},
        "comparable": {
            "same": not blocking,
            "differs": blocking,
            "checks": [_check(check, lang) for check in c.checks],
            "config": [{"key": s.key, "incident": s.incident, "after": s.after} for s in c.settings],
        },
        "figures": [_figure(f, lang) for f in c.figures],
        "classes": [_class(row) for row in c.classes],
        "needs": None
        if c.needs is None
        else {
            "figure": c.needs.figure,
            "factor": _number(c.needs.factor),
            "seconds": _number(c.needs.seconds),
            "requests": c.needs.requests,
            "statement": text_in(c.needs.statement, lang),
        },
        "notes": [text_in(note, lang) for note in c.notes],
    }


def _check(check: Check, lang: str) -> dict[str, Any]:
    return {
        "name": check.name, "state": check.state, "eases": check.eases,
        "incident": phrase(check.incident, lang), "after": phrase(check.after, lang),
        "statement": text_in(check.statement, lang), "todo": text_in(check.todo, lang) or None,
    }  # fmt: skip


def _figure(f: Figure, lang: str) -> dict[str, Any]:
    return {
        "name": f.name,
        "unit": f.unit,
        "basis": f.basis,
        "better": f.better,
        "decides": f.drives or f.slo is not None,
        "change": f.change,
        "incident": _estimate(f.incident, lang),
        "after": _estimate(f.after, lang),
        "baseline": _estimate(f.baseline, lang) if f.baseline else None,
        **_contrast(f.contrast),
        "p_adjusted": _number(f.p_adjusted),
        "harmed": f.harmed if f.baseline else None,
        "slo": f.slo,
        "incident_slo": f.incident_slo,
        "after_slo": f.after_slo,
    }


def _estimate(e: Estimate, lang: str) -> dict[str, Any]:
    bounds = {} if e.least == e.most else {"at_least": _number(e.least), "at_most": _number(e.most)}
    return {
        "value": _number(e.value), "low": _number(e.low), "high": _number(e.high), "n": e.n,
        "n_effective": round(e.n_eff, 1), "blocks": e.blocks, "why": text_in(e.why, lang) or None, **bounds,
    }  # fmt: skip


def _contrast(c: Contrast) -> dict[str, Any]:
    return {
        "difference": _number(c.difference), "low": _number(c.low), "high": _number(c.high),
        "level": c.level, "margin": _number(c.margin), "ratio": _number(c.ratio), "p_value": _number(c.p_value),
    }  # fmt: skip


def _class(row: ClassChange) -> dict[str, Any]:
    return {
        "attribute": row.attribute, "value": row.value, "figure": row.figure, "n_incident": row.n_incident,
        "n_after": row.n_after, "incident": _number(row.contrast.a), "after": _number(row.contrast.b),
        **_contrast(row.contrast), "p_adjusted": _number(row.p_adjusted), "change": row.change,
    }  # fmt: skip


def _number(value: float | None) -> float | None:
    return float(f"{value:.6g}") if value is not None and math.isfinite(value) else None


def _window(low: float | None, high: float | None) -> list[str] | None:
    if low is None or high is None:
        return None
    try:
        return [datetime.fromtimestamp(ts, UTC).isoformat(timespec="milliseconds") for ts in (low, high)]
    except (OverflowError, ValueError, OSError):
        return None  # a number that no calendar holds
