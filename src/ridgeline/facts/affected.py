"""Whom it hits: the values of attributes that set the requests apart which were slow, failed, missed or ran on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ridgeline.bundle.view import View
from ridgeline.facts.classes import labelled
from ridgeline.facts.make import bounds, found, lacking, rounded, spans_of
from ridgeline.facts.points import ready
from ridgeline.model.fact import Fact
from ridgeline.stats.class_search import Flags
from ridgeline.stats.intervals import wilson_ends

MOST_ROWS: Final = 200_000
FEWEST_ROWS: Final = 30
FEWEST_HIT: Final = 8
COVERAGE: Final = 0.6  # of those hit must lie in a class that is named
TIMES_THE_REST: Final = 3.0  # as often hit as everybody else, at least
SAME: Final = 0.9  # classes that overlap by this much are the same requests under another name
MANY_TOGETHER: Final = 4  # values of one attribute that may be named together
MANY_VALUES: Final = 200  # an attribute with more values is looked at by its most frequent ones
LONGER: Final = (0.5, 0.75, 0.9, 0.97)  # quantiles of prompt lengths that are tried as the lower edge of a band
ATTRIBUTES: Final = (
    "endpoint", "stream", "lora", "schema_set", "tools_set", "priority", "ignore_eos", "reasoning", "modality",
    "routing_key", "extra_key", "session_id", "dp_rank_asked", "user", "client", "dp_rank", "worker",
)  # fmt: skip
# The measure by which a request of the incident is slow is held against the same measure before it.
ROWS: Final = """
WITH total AS (SELECT count(*) AS n FROM asks),
many AS (SELECT count(DISTINCT server) > 1 AS servers FROM asks)
SELECT CASE $who
        WHEN 'ttft_s' THEN coalesce(ttft_s, first_token_ts - received_ts)
        WHEN 'e2e_s' THEN coalesce(e2e_s, finished_ts - received_ts)
        WHEN 'return_s' THEN return_s
        WHEN 'missed' THEN CASE WHEN prompt_tokens >= 32 THEN 1 - cached_tokens / prompt_tokens END
        WHEN 'longer' THEN prompt_tokens
        WHEN 'failed' THEN CASE
            WHEN (state IN ('aborted', 'error', 'rejected') OR finish_reason IN ('abort', 'error')
                OR status_code >= 400) THEN 1.0
            WHEN state = 'finished' THEN 0.0 END
        WHEN 'unlimited' THEN CASE WHEN params_logged THEN CASE WHEN max_new_tokens IS NULL THEN 1.0 ELSE 0.0 END END
        WHEN 'short' THEN CASE WHEN finish_reason = 'stop' AND completion_tokens <= 2 THEN 1.0
            WHEN completion_tokens IS NOT NULL THEN 0.0 END
    END AS measure, request, prompt_tokens, endpoint, stream, lora, schema_set, tools_set, priority, ignore_eos,
    reasoning, modality, routing_key, extra_key, session_id, dp_rank_asked, "user", client, dp_rank,
    coalesce(worker, CASE WHEN (SELECT servers FROM many)
        AND coalesce(role, 'unified') = 'unified' THEN server END) AS worker, source, line
FROM asks
WHERE NOT coalesce(probe, false) AND coalesce(request, 0) % greatest(1, (SELECT n FROM total) // $most) = 0
    AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
ORDER BY source, line
"""
SLOW: Final = ("ttft_s", "e2e_s", "return_s")
YES_OR_NO: Final = ("failed", "unlimited", "short")


def affected(view: View, who: str) -> Fact:
    """The class that sets apart those hit, as `client=svc-1, lora=a`; empty where nothing clearly does.

    `who`: ttft_s, e2e_s, return_s (slow by it), missed (found less in the cache), longer (prompts), failed, unlimited
    (no max_new_tokens), short (stopped at once). A class is named where it holds most of those hit, is hit three
    times as often as everybody else, and, for slow ones, as often beside requests of its own length.
    """
    ready(view)
    table = view.arrow(ROWS, {**bounds(view), "who": who, "most": MOST_ROWS})
    table = table.filter(pc.is_valid(table["measure"]))
    if len(table) < FEWEST_ROWS:
        return lacking("thirty requests with their attributes", "--log-requests --log-requests-level 1", len(table))
    table, labels = labelled(view, table)
    edge = _edge(view, who, table)
    hit = np.asarray(table["measure"].to_numpy() >= edge, np.bool_)
    told: dict[str, Any] = {"who": who, "hits": int(hit.sum()), "edge": rounded(edge)}
    if hit.sum() < FEWEST_HIT or hit.all():
        return found(view, "", "", len(table), (), **told)
    classes, inside = _named(table, hit, who, (*ATTRIBUTES, *labels))
    if classes and who == "missed":
        told |= _found(view, table, labels, inside, classes)
    rows = table.filter(pa.array(hit))
    cites = spans_of(list(zip(rows["source"].to_pylist(), rows["line"].to_pylist(), strict=True)))
    value = ", ".join(f"{name}={text}" for name, text in sorted(classes.items()))
    told |= {"names": " ".join(sorted(classes)), **{f"in_{name}": text for name, text in classes.items()}}
    return found(view, value, "", len(table), cites, **told)


def _edge(view: View, who: str, table: pa.Table) -> float:
    """From which figure on a request counts as hit: beyond nearly all of the baseline, else the slow tail."""
    if who in YES_OR_NO:
        return 1.0
    now = table["measure"].to_numpy()
    then = np.zeros(0)
    if view.baseline is not None:
        before = view.window(view.baseline, None)
        then = view.arrow(ROWS, {**bounds(before), "who": who, "most": MOST_ROWS})["measure"].drop_null().to_numpy()
    if who == "missed":
        usual = float(np.median(then)) if then.size >= FEWEST_ROWS else float(np.quantile(now, 0.1))
        return usual + 0.6 * (1 - usual)
    if then.size >= FEWEST_ROWS:
        return float(np.quantile(then, 0.95)) * (1.0 if who == "longer" else 1.25)
    return max(float(np.quantile(now, 0.9)), 2 * float(np.median(now)))


def _found(
    view: View, table: pa.Table, labels: Sequence[str], inside: Flags, classes: dict[str, str]
) -> dict[str, Any]:
    """What share of its prompts the class found in the cache, now and in the baseline (None where it was not there)."""
    share = 1 - float(table.filter(pa.array(inside))["measure"].to_numpy().mean())
    told: dict[str, Any] = {"in_ratio": rounded(share), "in_ratio_then": None}
    if view.baseline is None:
        return told
    before = view.arrow(ROWS, {**bounds(view.window(view.baseline, None)), "who": "missed", "most": MOST_ROWS})
    before, _ = labelled(view, before.filter(pc.is_valid(before["measure"])))
    name = next((n for n in (*labels, *ATTRIBUTES) if n in classes and n in before.column_names), None)
    if name is not None:
        members = pc.is_in(pc.cast(before[name], pa.string()), value_set=pa.array(classes[name].split(", ")))
        then = before.filter(members)["measure"].to_numpy()
        told["in_ratio_then"] = rounded(1 - float(then.mean())) if then.size >= FEWEST_HIT else None
    return told


def _named(table: pa.Table, hit: Flags, who: str, attributes: Sequence[str]) -> tuple[dict[str, str], Flags]:
    """Attribute → value of the best class and of every other that is the same requests under another name; its rows."""
    lengths = pc.cast(table["prompt_tokens"], pa.float64()).to_numpy(zero_copy_only=False)
    octaves = np.where(np.isnan(lengths), -1, np.round(np.log2(np.maximum(np.nan_to_num(lengths), 1)))).astype(int)
    scored: list[tuple[float, str, str, Flags]] = []
    for name, text, mask in _candidates(table, lengths, hit, attributes):
        own = name != "prompt_tokens" and who in SLOW
        if (score := _score(mask, hit, octaves if own else None)) is not None:
            scored.append((score, name, text, mask))
    if not scored:
        return {}, np.zeros(hit.size, np.bool_)
    scored.sort(key=lambda s: (-s[0], s[1], s[2]))
    best = scored[0]
    out: dict[str, str] = {}
    for score, name, text, mask in scored:
        same = (mask & best[3]).sum() >= SAME * (mask | best[3]).sum()
        # A place is said beside the class that is sent there: the two do not compete.
        place = name in ("dp_rank", "worker") and score >= 0.5 * best[0]
        if name not in out and (same or place):
            out[name] = text
    return out, best[3]


def _candidates(
    table: pa.Table, lengths: np.ndarray[Any, np.dtype[np.float64]], hit: Flags, attributes: Sequence[str]
) -> Iterator[tuple[str, str, Flags]]:
    for attribute in attributes:
        column = pc.cast(table[attribute], pa.string()).combine_chunks()
        coded = column.dictionary_encode()
        known = coded.dictionary.to_pylist()
        codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        if not known:
            continue
        counts = np.bincount(codes[codes >= 0], minlength=len(known))
        hits = np.bincount(codes[(codes >= 0) & hit], minlength=len(known))
        for code in np.argsort(-counts, kind="stable")[:MANY_VALUES].tolist():
            if str(known[code]) not in ("", "false"):
                yield attribute, str(known[code]), codes == code
        # Several values may be hit alike: those most of whose requests are, together.
        alike = [c for c in range(len(known)) if hits[c] >= 5 and hits[c] >= 0.5 * counts[c]]
        if 1 < len(alike) <= MANY_TOGETHER:
            yield attribute, ", ".join(sorted(str(known[c]) for c in alike)), np.isin(codes, alike)
    told = lengths[~np.isnan(lengths)]
    for edge in sorted({float(np.quantile(told, q)) for q in LONGER}) if told.size else ():
        yield "prompt_tokens", f"> {edge:g}", np.nan_to_num(lengths) > edge


def _score(mask: Flags, hit: Flags, octaves: np.ndarray[Any, np.dtype[np.int64]] | None) -> float | None:
    """Coverage times share hit; None where the class is not clearly apart from the rest."""
    inside, outside = int(mask.sum()), int((~mask).sum())
    both = int((mask & hit).sum())
    if inside < FEWEST_HIT or both < FEWEST_HIT or not outside:
        return None
    coverage, share, rest = both / int(hit.sum()), both / inside, (int(hit.sum()) - both) / outside
    if coverage < COVERAGE or share < TIMES_THE_REST * rest:
        return None
    low, _ = wilson_ends([both], [inside], 0.99)
    _, high = wilson_ends([int(hit.sum()) - both], [outside], 0.99)
    if low[0] <= high[0]:
        return None
    if octaves is not None and not _beyond_length(mask, hit, octaves):
        return None
    return coverage * share


def _beyond_length(mask: Flags, hit: Flags, octaves: np.ndarray[Any, np.dtype[np.int64]]) -> bool:
    """Whether the class is hit twice as often as its lengths alone explain, where the rest has such lengths."""
    expected, seen = 0.0, 0
    for octave in np.unique(octaves[mask]):
        here = octaves == octave
        peers = here & ~mask
        if peers.sum() >= 3:
            expected += float((hit & peers).sum() / peers.sum()) * int((here & mask).sum())
            seen += int((here & mask & hit).sum())
    return seen == 0 or seen >= 2 * expected
