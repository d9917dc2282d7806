"""Where the time of requests went: the slow ones, the others beside them, and those of before."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.pictures.marks import WITHIN, Selection, marked
from ridgeline.facts.points import ready
from ridgeline.facts.requests import HOW_TIMES
from ridgeline.model.chart import Column, Picture, Stack, Stacks, Tone
from ridgeline.model.fact import Missing

# Means of each part over three groups: the slowest tenth of the incident, its other requests, the baseline. What no
# source names on the way stays as `unaccounted`; a part that only some requests state counts for those it is of.
SLICES: Final = f"""
WITH rows AS (
    SELECT coalesce(role, '') AS side, coalesce(e2e_s, finished_ts - received_ts) AS e2e_s, received_ts,
        -- On either side of a pair the way to the queue contains the handshake, on the decode side the transfer too.
        greatest(coalesce(pre_queue_s, queued_ts - received_ts, 0) - coalesce(bootstrap_s, 0)
            - CASE WHEN role = 'decode' THEN coalesce(alloc_wait_s, prealloc_s, 0) + coalesce(transfer_s, 0) ELSE 0 END,
            0) AS before_s,
        coalesce(queue_s, scheduled_ts - queued_ts, 0) AS queue_s,
        coalesce(bootstrap_s, 0) + coalesce(alloc_wait_s, prealloc_s, 0) + coalesce(transfer_s, 0) AS transfer_s,
        coalesce(prefill_s, 0) AS prefill_s, coalesce(decode_s, 0) AS decode_s, coalesce(return_s, 0) AS return_s
    FROM asks
    WHERE NOT coalesce(probe, false) AND coalesce(state, 'finished') = 'finished'
        AND ($whole OR request IN (SELECT request FROM marks WHERE {WITHIN}))
),
placed AS (
    SELECT *, CASE
            WHEN $start::DOUBLE IS NULL OR received_ts BETWEEN $start AND $stop THEN 'incident'
            WHEN received_ts BETWEEN $good_since AND $good_until THEN 'baseline'
        END AS part
    FROM rows WHERE e2e_s > 0
),
level AS (SELECT side, quantile_cont(e2e_s, 0.9) AS high FROM placed WHERE part = 'incident' GROUP BY side),
grouped AS (
    SELECT p.*, CASE WHEN part = 'baseline' THEN 'baseline' WHEN p.e2e_s >= l.high THEN 'slow' ELSE 'other' END AS lot
    FROM placed p JOIN level l USING (side)
    WHERE part IS NOT NULL
)
SELECT side, lot, count(*) AS n, avg(e2e_s), avg(before_s), avg(queue_s), avg(transfer_s), avg(prefill_s),
    avg(decode_s), avg(return_s),
    avg(greatest(0, e2e_s - before_s - queue_s - transfer_s - prefill_s - decode_s - return_s))
FROM grouped
GROUP BY side, lot
ORDER BY side, CASE lot WHEN 'slow' THEN 0 WHEN 'other' THEN 1 ELSE 2 END
"""
PARTS: Final[tuple[tuple[str, Tone], ...]] = (
    ("before the queue", "before"), ("queue", "queue"), ("transfer", "transfer"), ("prefill", "prefill"),
    ("decode", "decode"), ("return", "return"), ("unaccounted", "unaccounted"),
)  # fmt: skip
LOTS: Final = {"slow": "slowest tenth", "other": "the others", "baseline": "baseline"}
COLUMNS: Final = (
    Column("requests of"), Column("requests", "count"), Column("E2E", "s"), *(Column(name, "s") for name, _ in PARTS),
)  # fmt: skip


def slices(view: View, chosen: Selection | None = None) -> Picture:
    """Mean seconds of each part of the way, for the slow, the others, and the baseline; by side where there are two.

    Of a selection its rank, key and class count; its time is the view's windows.
    """
    window, good = view.incident, view.baseline
    edge = {
        "start": window.from_ts if window else None, "stop": window.to_ts if window else None,
        "good_since": good.from_ts if good else None, "good_until": good.to_ts if good else None,
    }  # fmt: skip
    picked = chosen or Selection()
    same = Selection(rank=picked.rank, key=picked.key, attribute=picked.attribute, value=picked.value)
    rows = marked(ready(view)).query(SLICES, {**edge, **same.parameters(), "whole": same.everything})
    if not rows:
        return Picture("slices", None, missing=(Missing("E2E and stages of requests", HOW_TIMES),))
    several = len({row[0] for row in rows}) > 1
    bars, table = [], []
    for side, lot, n, e2e, *parts in rows:
        name = LOTS[lot] if not several or not side else f"{side}: {LOTS[lot]}"
        bars.append(Stack(name, n, tuple((p, t, v) for (p, t), v in zip(PARTS, parts, strict=True) if v > 0)))
        table.append((name, n, e2e, *parts))
    slow = rows[0]
    most = max(range(len(PARTS)), key=lambda k: slow[4 + k])
    figures = (
        ("e2e", slow[3]), ("lot", table[0][0]), ("part", PARTS[most][0]), ("seconds", slow[4 + most]),
        ("share", slow[4 + most] / slow[3]),
    )  # fmt: skip
    return Picture("slices", Stacks("s", tuple(bars)), figures, COLUMNS, tuple(table))
