"""One request from head to tail: its stages in order, and the time that no stamp explains."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from ridgeline.bundle.view import View
from ridgeline.model.picture import Segment, Timeline

# The stamps that cut a request's life, in order, and the stage that ends at each.
CUTS: Final = (
    ("received_ts", ""),
    ("dispatched_ts", "tokenize and dispatch"),
    ("queued_ts", "before the queue"),
    ("scheduled_ts", "queue"),
    ("prefill_done_ts", "prefill"),
    ("first_token_ts", "first token out"),
    ("last_token_ts", "decode"),
    ("finished_ts", "return"),
)

# Where stamps are absent but the source stated durations, they are laid end to end in this order.
DURATIONS: Final = (
    ("bootstrap_s", "bootstrap"),
    ("alloc_wait_s", "alloc wait"),
    ("transfer_s", "KV transfer"),
    ("queue_s", "queue"),
    ("prefill_s", "prefill"),
    ("decode_s", "decode"),
)

SHOWN: Final = (
    ("prompt_tokens", "prompt"), ("completion_tokens", "output"), ("cached_tokens", "cached"),
    ("retractions", "retractions"), ("dp_rank", "rank"), ("routing_key", "key"), ("finish_reason", "finish"),
    ("state", "state"),
)  # fmt: skip

REQUEST_SQL: Final = """
    SELECT r.*, coalesce(s.path, '') AS path
    FROM requests AS r
    LEFT JOIN sources AS s USING (source)
    WHERE r.rid = $rid OR r.client_rid = $rid OR starts_with(r.rid, $rid)
    ORDER BY r.rid <> $rid, r.request
    LIMIT $most
"""

TWIN_SQL: Final = """
    SELECT t.rid
    FROM requests AS t, (SELECT * FROM requests WHERE rid = $rid ORDER BY request LIMIT 1) AS a
    WHERE t.rid <> a.rid
        AND t.state = 'finished'
        AND t.role IS NOT DISTINCT FROM a.role
        AND NOT coalesce(t.probe, FALSE)
        AND t.e2e_s IS NOT NULL
        AND abs(ln((1 + t.prompt_tokens) / (1 + a.prompt_tokens))) < 0.5
        AND abs(ln((1 + t.completion_tokens) / (1 + coalesce(a.completion_tokens, t.completion_tokens)))) < 0.7
    ORDER BY
        abs(ln((1 + t.prompt_tokens) / (1 + a.prompt_tokens))) > 0.2,
        coalesce(t.ttft_s, t.e2e_s),
        t.request
    LIMIT 1
"""


def find(view: View, rid: str, most: int = 4) -> list[dict[str, Any]]:
    """Rows of `requests` with this rid (or client's id, or a rid that starts so), the exact ones first."""
    rows: list[dict[str, Any]] = view.arrow(REQUEST_SQL, {"rid": rid, "most": most}).to_pylist()
    return rows


def twin(view: View, rid: str) -> str | None:
    """A finished request of much the same shape that was fast, or None where no such request was seen."""
    rows = view.query(TWIN_SQL, {"rid": rid})
    return rows[0][0] if rows else None


def timeline(row: dict[str, Any], label: str = "", *, vllm: bool = False) -> Timeline:
    """One `requests` row as a bar; what is missing is asked for in the engine's own flags."""
    stamps = [(name, stage, row[name]) for name, stage in CUTS if row[name] is not None]
    segments: list[Segment] = []
    missing: list[str] = []
    if len(stamps) >= 2:
        zero = stamps[0][2]
        segments = [
            Segment(stage, begin[2] - zero, end[2] - zero)
            for begin, end in pairwise(stamps)
            if end[2] > begin[2]
            for stage in [_stage_between(begin[0], end[0])]
        ]
    else:
        at = 0.0
        for name, stage in DURATIONS:
            if row[name] is not None:
                segments.append(Segment(stage, at, at + row[name]))
                at += row[name]
        if row["e2e_s"] is not None and row["e2e_s"] > at:
            segments.append(Segment("unaccounted", at, row["e2e_s"]))
        missing.append("no stamps of its own: stages are laid end to end from their durations")
    total = row["e2e_s"] if row["e2e_s"] is not None else (segments[-1].end_s if segments else None)
    if row["queue_s"] is None and row["queued_ts"] is None:
        if row["role"] in ("client", "gateway"):
            missing.append("a view from outside: the server's own records tell its queue and stages")
        else:
            way = "--otlp-traces-endpoint URL" if vllm else "--enable-metrics with the exporter or the request log"
            missing.append(f"queue time not known (needs {way})")
    facts = tuple((shown, str(row[name])) for name, shown in SHOWN if row[name] is not None)
    cite = (f"{row['path']}:{row['line']}",) if row["line"] is not None else ()
    return Timeline(row["rid"] or "?", row["role"] or "", label, facts, tuple(segments), total, tuple(missing), cite)


def _stage_between(begin: str, end: str) -> str:
    """The stage's name where the two cuts are neighbours; else the names of what lies between, joined."""
    names = [name for name, _ in CUTS]
    between = [stage for name, stage in CUTS[names.index(begin) + 1 : names.index(end) + 1]]
    return between[0] if len(between) == 1 else f"{between[0]} … {between[-1]}"


def timelines(view: View, pairs: Sequence[tuple[str, str | None]]) -> list[Timeline]:
    """Bars of representative rids, each followed by its twin; rids that no row holds are left out."""
    out: list[Timeline] = []
    for rid, normal in pairs:
        wanted = [(rid, "slow")] + ([(normal, "its normal twin")] if normal is not None else [])
        out += [timeline(row, label) for name, label in wanted for row in find(view, name, 1)]
    return out
