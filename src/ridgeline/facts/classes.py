"""Which requests are slow: the class search over input attributes, and representatives beside a normal twin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ridgeline.bundle.view import View
from ridgeline.facts.make import bounds, found, lacking, rounded
from ridgeline.model.fact import Fact
from ridgeline.stats.class_search import ClassSearch, Codes, SlowClass, bin_numbers, search_classes

MOST_ROWS: Final = 300_000  # more are thinned evenly: shares of classes do not need them
FEWEST_ROWS: Final = 30
ATTRIBUTES: Final = (
    "endpoint",
    "stream",
    "n",
    "lora",
    "schema_set",
    "schema_hash",
    "regex_set",
    "tools_set",
    "priority",
    "logprobs",
    "ignore_eos",
    "stop_set",
    "reasoning",
    "modality",
    "routing_key",
    "extra_key",
    "session_id",
    "dp_rank_asked",
    "user",
    "client",
    "worker",
)
ROWS: Final = """
WITH total AS (SELECT count(*) AS n FROM asks),
timed AS (
    SELECT CASE $what WHEN 'ttft_s' THEN coalesce(ttft_s, first_token_ts - received_ts)
                      WHEN 'e2e_s' THEN coalesce(e2e_s, finished_ts - received_ts) END AS seconds, *
    FROM asks
    WHERE NOT coalesce(probe, false)
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
)
SELECT seconds, request, prompt_tokens, rid, source, line, endpoint, stream, n, lora, schema_set, schema_hash,
    regex_set, tools_set,
    priority, logprobs, ignore_eos, stop_set, reasoning, modality, routing_key, extra_key, session_id,
    dp_rank_asked, "user",
    client, worker
FROM timed
WHERE seconds IS NOT NULL AND coalesce(request, 0) % greatest(1, (SELECT n FROM total) // $most) = 0
ORDER BY source, line, rid
"""


# What the caller wrote on a request (SGLang's custom labels, such as label.client).
LABELS: Final = """
SELECT name, request, min(value) AS value FROM request_attrs
WHERE starts_with(name, 'label.') AND request IS NOT NULL AND value IS NOT NULL
GROUP BY name, request
"""
MOST_LABELS: Final = 8


def labelled(view: View, table: pa.Table) -> tuple[pa.Table, tuple[str, ...]]:
    """The rows (with their `request`) with a column for each custom label, and the names of these columns."""
    said: dict[str, dict[int, str]] = {}
    for name, request, value in view.query(LABELS):
        said.setdefault(str(name), {})[request] = str(value)
    names = tuple(sorted(said)[:MOST_LABELS])
    requests = table["request"].to_pylist()
    for name in names:
        table = table.append_column(name, pa.array([said[name].get(r) for r in requests], pa.string()))
    return table, names


@dataclass(frozen=True)
class Slow:
    """The search with its names: threshold, the outcome, value names per attribute, and the rows it looked at."""

    what: str
    threshold_s: float
    search: ClassSearch
    names: dict[str, list[str]]
    table: pa.Table

    def label(self, one: SlowClass) -> str:
        """`routing_key=user-7 and stream=true`."""
        return " and ".join(f"{name}={self.names[name][code]}" for name, code in one.key)


def slow_classes(view: View) -> Slow | None:
    """Search the classes of slow requests (by TTFT, else E2E); None where fewer than thirty have a time."""
    for what in ("ttft_s", "e2e_s"):
        table = view.arrow(ROWS, {**bounds(view), "what": what, "most": MOST_ROWS})
        if len(table) >= FEWEST_ROWS:
            break
    else:
        return None
    table, labels = labelled(view, table)
    seconds = table["seconds"].to_numpy()
    threshold = max(float(np.quantile(seconds, 0.9)), 2 * float(np.median(seconds)))
    columns, names = coded(table, (*ATTRIBUTES, *labels))
    outcome = search_classes(seconds >= threshold, columns, strata=columns["prompt_tokens"], exempt=("prompt_tokens",))
    return Slow(what, threshold, outcome, names, table)


def coded(table: pa.Table, attributes: Sequence[str]) -> tuple[dict[str, Codes], dict[str, list[str]]]:
    """Attributes of requests as codes, and the value behind each code; lengths of prompts are binned."""
    columns: dict[str, Codes] = {}
    names: dict[str, list[str]] = {}
    for attribute in attributes:
        values = pc.cast(table[attribute], pa.string()).combine_chunks().dictionary_encode()
        known = [str(v) for v in values.dictionary.to_pylist()]
        if len(known) < 1 or len(known) > 5000:
            continue
        columns[attribute] = values.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        names[attribute] = known
    lengths = pc.cast(table["prompt_tokens"], pa.float64()).to_numpy(zero_copy_only=False)
    columns["prompt_tokens"], edges = bin_numbers(lengths)
    ends = [f"<= {edge:g}" for edge in edges]
    names["prompt_tokens"] = [*ends, f"> {edges[-1]:g}" if edges else "any"]
    return columns, names


def slow_class(view: View) -> Fact:
    """The class that marks the slow requests best, in words; "none" where no attribute does."""
    slow = slow_classes(view)
    if slow is None:
        return lacking("thirty requests with times and attributes", "--log-requests --log-requests-level 1")
    rows = len(slow.table)
    span = [{"source": s, "a": None, "b": None} for s in sorted(set(slow.table["source"].drop_null().to_pylist()))]
    told: dict[str, Any] = {"what": slow.what, "threshold": rounded(slow.threshold_s), "slow": slow.search.slow}
    if not slow.search.classes:
        key = "class.outlier" if slow.search.outlier is not None else "class.none"
        return found(view, "none", "", rows, span, key=key, **told)
    best = slow.search.classes[0]
    return found(
        view, slow.label(best), "", rows, span, key="class.best", **told, members=best.rows, hits=best.slow,
        lift=rounded(best.lift), coverage=rounded(best.coverage), within=best.within,
    )  # fmt: skip


TWINS: Final = """
WITH rows AS (
    SELECT rid, coalesce(ttft_s, first_token_ts - received_ts, e2e_s) AS seconds, prompt_tokens, completion_tokens,
        source, line
    FROM asks
    WHERE rid IS NOT NULL AND NOT coalesce(probe, false)
        AND coalesce(ttft_s, first_token_ts - received_ts, e2e_s) IS NOT NULL
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
),
level AS (SELECT quantile_cont(seconds, 0.95) AS high, median(seconds) AS middle FROM rows),
slow AS (
    SELECT r.* FROM rows r, level l WHERE r.seconds >= l.high AND r.seconds >= 1.5 * l.middle
    ORDER BY abs(r.seconds - l.high), r.rid LIMIT 3
),
pairs AS (
    SELECT s.rid, arg_min(r.rid, (abs(ln((r.prompt_tokens + 1) / (s.prompt_tokens + 1)))
        + 0.2 * abs(ln((coalesce(r.completion_tokens, 0) + 1) / (coalesce(s.completion_tokens, 0) + 1))),
            r.rid)) AS twin
    FROM slow s JOIN rows r ON r.rid <> s.rid, level l
    WHERE r.seconds <= l.middle AND r.prompt_tokens IS NOT NULL AND s.prompt_tokens IS NOT NULL
    GROUP BY s.rid
)
SELECT s.rid, p.twin FROM slow s LEFT JOIN pairs p USING (rid) ORDER BY s.seconds DESC, s.rid
"""


def representatives(view: View) -> list[tuple[str, str | None]]:
    """Up to three slow requests (near the 95th percentile), each with a normal one of the nearest shape."""
    return [(rid, twin) for rid, twin in view.query(TWINS, bounds(view))]
