"""The prompts of a view in the order they reached their cache, as arrays."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ridgeline.bundle.view import View

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]

# One row for each prompt a cache was asked for: ids before text, the prefill side before decode (which is sent the
# same prompt and asks no cache), no probes, nothing that was turned away before it was computed.
PROMPTS_SQL: Final = """
WITH asked AS (
    SELECT rid, server, any_value(role) AS role, bool_or(coalesce(probe, FALSE)) AS probe,
        min(coalesce(scheduled_ts, received_ts, logged_ts)) AS ts, min(received_ts) AS received_ts,
        min(dp_rank) AS dp_rank, min(worker) AS worker, min(routing_key) AS routing_key, min(session_id) AS session_id,
        min(cached_tokens) AS cached_tokens, max(completion_tokens) AS completion_tokens,
        min(prompt_tokens) AS prompt_tokens,
        bool_and(coalesce(
            state IN ('rejected', 'error') OR (state = 'aborted' AND cached_tokens IS NULL AND scheduled_ts IS NULL),
            FALSE)) AS refused
    FROM requests
    WHERE rid IS NOT NULL
    GROUP BY rid, server
),
prefilled AS (SELECT DISTINCT rid FROM asked WHERE role = 'prefill'),
known AS (
    SELECT p.*, a.ts, a.received_ts, a.dp_rank, a.worker, a.routing_key, a.session_id, a.cached_tokens,
        a.completion_tokens,
        coalesce(p.tokens, CASE WHEN p.unit = 'tokens' THEN a.prompt_tokens END) AS length,
        row_number() OVER (
            PARTITION BY coalesce(p.rid, concat(p.source, ':', p.line)), p.server
            ORDER BY p.unit = 'tokens' DESC, p.seen_tokens DESC, p.held_tokens DESC NULLS LAST, p.source, p.line
        ) AS choice
    FROM prompts AS p
    LEFT JOIN asked AS a ON a.rid = p.rid AND a.server IS NOT DISTINCT FROM p.server
    WHERE NOT coalesce(a.probe, FALSE) AND NOT coalesce(a.refused, FALSE)
        AND NOT (coalesce(a.role, '') = 'decode' AND p.rid IN (SELECT rid FROM prefilled))
),
-- Where a server names ranks, a request without one was never given to any.
placed AS (SELECT *, bool_or(dp_rank IS NOT NULL) OVER (PARTITION BY server) AS ranked FROM known)
SELECT rid, server, namespace, unit, basis, grain, length, seen_tokens, held_tokens, hashes, common_tokens,
    neighbour, neighbour_line, drift, drift_tokens, ts, received_ts, dp_rank, worker,
    coalesce(routing_key, session_id) AS class, cached_tokens, completion_tokens, source, line
FROM placed
WHERE choice = 1 AND unit = $unit AND grain > 0 AND len(hashes) > 0 AND NOT (ranked AND dp_rank IS NULL)
ORDER BY ts NULLS LAST, source, line
"""
UNITS_SQL: Final = "SELECT unit, count(*) AS n FROM prompts WHERE unit IS NOT NULL GROUP BY unit ORDER BY unit DESC"


@dataclass(frozen=True)
class Prompts:
    """n prompts in order of time. Unknown integers are -1, unknown times NaN.

    The hashes of prompt i are `hashes[offsets[i]:offsets[i + 1]]`: number k is that of its first
    min((k + 1) x grain[i], held[i]) units. `space`, `place` and `label` are numbers into the tuples of their names.
    """

    unit: str  # tokens | chars
    length: I64  # [n] whole prompt; where the source does not say, what it shows
    seen: I64  # [n] units shown, from the start
    held: I64  # [n] units whose KV is known to be kept: seen, and the output behind them
    cut: npt.NDArray[np.bool_]  # [n] the whole length is unknown
    grain: I64  # [n]
    offsets: I64  # [n + 1]
    hashes: npt.NDArray[np.uint64]
    common: I64  # [n] exact common prefix with the neighbour
    neighbour: I64  # [n] which prompt that is
    drift: tuple[str | None, ...]  # [n]
    drift_tokens: I64  # [n] 0: none
    space: I64  # [n] namespace
    place: I64  # [n] rank of a server
    label: I64  # [n] class: routing key or session
    cached: I64  # [n] cached tokens as the engine said
    outputs: I64  # [n] tokens produced
    ts: F64  # [n] arrival; order goes by entry into prefill where known
    source: I64  # [n]
    line: I64  # [n]
    rids: tuple[str | None, ...]
    spaces: tuple[str, ...]
    places: tuple[tuple[str | None, int | None], ...]  # (server, dp rank)
    labels: tuple[str, ...]
    blocks: bool  # numbers of a trace's blocks: nothing inside a block is seen
    drifts_known: bool  # content was compared, so that a null drift means none

    @property
    def n(self) -> int:
        """How many prompts."""
        return len(self.length)


def units(view: View) -> list[tuple[str, int]]:
    """(unit, rows) of the prompts there are: tokens before characters."""
    return [(str(unit), int(n)) for unit, n in view.query(UNITS_SQL)]


def load(view: View, unit: str) -> Prompts:
    """The prompts of one unit; n may be 0."""
    table = view.arrow(PROMPTS_SQL, {"unit": unit})
    lists = table["hashes"].combine_chunks()
    if isinstance(lists, pa.ChunkedArray):
        lists = lists.chunk(0) if lists.num_chunks else pa.array([], pa.list_(pa.int64()))
    counts = np.asarray(lists.value_lengths().to_numpy(zero_copy_only=False), np.int64)
    hashes = np.asarray(lists.flatten().to_numpy(zero_copy_only=False)).astype(np.int64).view(np.uint64)
    basis = table["basis"].to_pylist()
    source = _whole(table, "source")
    if "hash-ids" in basis:
        # Block numbers mean nothing outside their file.
        mine = np.where(np.array([b == "hash-ids" for b in basis]), source + 1, 0).astype(np.uint64)
        hashes = hashes ^ np.repeat(mine * np.uint64(0x9E3779B97F4A7C15), counts)
    length, seen = _whole(table, "length"), _whole(table, "seen_tokens")
    space, spaces = _numbered(table["namespace"].to_pylist())
    label, labels = _numbered(table["class"].to_pylist())
    servers, workers = table["server"].to_pylist(), table["worker"].to_pylist()
    ranks = table["dp_rank"].to_pylist()
    places = [(s if w is None else w, r) for s, w, r in zip(servers, workers, ranks, strict=True)]
    order = sorted(set(places), key=lambda p: (str(p[0] or ""), -1 if p[1] is None else p[1]))
    at = {p: i for i, p in enumerate(order)}
    here = {k: i for i, k in enumerate(zip(source.tolist(), _whole(table, "line").tolist(), strict=True))}
    # Of a request that two records show, the fuller one is here, and the neighbour may name the other.
    rids = table["rid"].to_pylist()
    named = {(s, rid): i for i, (s, rid) in enumerate(zip(source.tolist(), rids, strict=True)) if rid is not None}
    beside = zip(source.tolist(), _whole(table, "neighbour_line").tolist(), table["neighbour"].to_pylist(), strict=True)
    return Prompts(
        unit=unit,
        length=np.where(length > 0, np.maximum(length, seen), seen),
        seen=seen,
        held=np.maximum(_whole(table, "held_tokens"), seen),
        cut=length <= 0,
        grain=_whole(table, "grain"),
        offsets=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        hashes=hashes,
        common=_whole(table, "common_tokens"),
        neighbour=np.array([here.get((s, at), named.get((s, rid), -1)) for s, at, rid in beside], np.int64),
        drift=tuple(table["drift"].to_pylist()),
        drift_tokens=np.maximum(_whole(table, "drift_tokens"), 0),
        space=space,
        place=np.array([at[p] for p in places], np.int64),
        label=label,
        cached=_whole(table, "cached_tokens"),
        outputs=_whole(table, "completion_tokens"),
        ts=np.asarray(table["received_ts"].to_numpy(), np.float64),
        source=source,
        line=_whole(table, "line"),
        rids=tuple(rids),
        spaces=tuple(spaces),
        places=tuple(order),
        labels=tuple(labels),
        blocks="hash-ids" in basis,
        drifts_known="hash-ids" not in basis and len(basis) > 0,
    )


def _whole(table: pa.Table, name: str) -> I64:
    return np.asarray(table[name].fill_null(-1).to_numpy(), np.int64)


def _numbered(values: list[Any]) -> tuple[I64, list[str]]:
    """(numbers into the sorted distinct names, the names); None is -1."""
    names = sorted({v for v in values if v is not None})
    at = {name: i for i, name in enumerate(names)}
    return np.array([-1 if v is None else at[v] for v in values], np.int64), names
