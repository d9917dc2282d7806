"""The diagnosis as JSON: schema `ridgeline.diagnosis/1`, the contract other programs build on (DESIGN §3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from ridgeline.model.cause import Remedy
from ridgeline.model.diagnosis import Answer, Coverage, Diagnosis, Finding, Window
from ridgeline.model.fact import Fact, Missing, Statement
from ridgeline.words.catalogue import say, text_in

SCHEMA: Final = "ridgeline.diagnosis/1"


def to_contract(d: Diagnosis, lang: str = "en") -> dict[str, Any]:
    """The whole diagnosis as plain dicts, lists, strings and finite numbers, keys in the contract's order.

    Sentences are in `lang`, which is stated; ids, flags, figures and literal commands are the same in every language.
    """
    return {
        "schema": SCHEMA,
        "lang": lang,
        "verdict": d.verdict,
        "symptom": d.symptom,
        "summary": _say(d.summary, lang),
        "windows": {"incident": _window(d.incident), "baseline": _window(d.baseline), "how": d.how},
        "findings": [_finding(f, lang) for f in d.findings],
        "ladder": [_answer(a, lang) for a in d.ladder],
        "evidence": {name: _fact(fact, lang) for name, fact in d.evidence},
        "ruled_out": {cause: list(ids) for cause, ids in d.ruled_out},
        "representatives": [{"rid": rid, "twin": twin} for rid, twin in d.representatives],
        "coverage": [_coverage(c) for c in d.coverage],
        "next": [text_in(step, lang) for step in d.next],
    }


def iso(ts: float | None) -> str | None:
    """Seconds since the epoch as ISO 8601 in UTC with milliseconds; None stays None, as does what no date can hold."""
    if ts is None or not math.isfinite(ts):
        return None
    try:
        return datetime.fromtimestamp(ts, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return None


def _say(statement: Statement, lang: str) -> str:
    return say(statement.key, dict(statement.figures), lang)


def _window(window: Window | None) -> list[str | None] | None:
    return None if window is None else [iso(window.from_ts), iso(window.to_ts)]


def _finding(f: Finding, lang: str) -> dict[str, Any]:
    return {
        "cause": f.cause,
        "layer": f.layer,
        "confidence": f.confidence,
        "score": f.score,
        "caps": list(f.caps),
        "statement": _say(f.statement, lang),
        "scope": {name: list(values) for name, values in f.scope},
        "onset": iso(f.onset_ts),
        "because_of": f.because_of,
        "evidence": list(f.evidence),
        "ruled_out": list(f.ruled_out),
        "remedies": [_remedy(r, lang) for r in f.remedies],
        "source_entry": list(f.source_entry),
        "route": f.route,
    }


def _remedy(r: Remedy, lang: str) -> dict[str, Any]:
    return {
        "kind": r.kind,
        "action": text_in(r.action, lang),
        "flag": r.flag,
        "needs_restart": r.needs_restart,
        "loses": None if r.loses is None else text_in(r.loses, lang),
        "risk": text_in(r.risk, lang),
    }


def _answer(a: Answer, lang: str) -> dict[str, Any]:
    return {
        "rung": a.rung,
        "question": _say(a.question, lang),
        "state": a.state,
        "answer": _say(a.answer, lang),
        "evidence": list(a.evidence),
        "ruled_out": list(a.ruled_out),
        "missing": _missing(a.missing, lang),
    }


def _missing(missing: Sequence[Missing], lang: str) -> list[dict[str, str]]:
    return [{"signal": text_in(m.signal, lang), "how": text_in(m.how, lang)} for m in missing]


def _fact(fact: Fact, lang: str) -> dict[str, Any]:
    return {
        "statement": _say(fact.statement, lang),
        "measure": fact.measure,
        "args": {name: _plain(value) for name, value in fact.args},
        "value": _plain(fact.value),
        "unit": fact.unit,
        "rows": fact.n,
        "sources": list(fact.sources),
        "kinds": list(fact.kinds),
    }


def _plain(value: Any) -> Any:
    """JSON has no infinity and no NaN: they are written as strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value


def _coverage(c: Coverage) -> dict[str, Any]:
    return {
        "source": c.source,
        "kind": c.kind,
        "rows": c.rows,
        "unparsed": c.unparsed,
        "from": iso(c.from_ts),
        "to": iso(c.to_ts),
        "notes": list(c.notes),
    }
