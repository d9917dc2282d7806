"""Load points: what every kind of evidence says of one rank at one moment, in one table.

`points` has batch lines, stats lines, scrapes and load answers side by side; `lane` keeps, for each role, the one
kind that says most (step lines, then scrapes, stats lines, loads, prefill lines), so that nothing counts twice;
`totals` is the queue of all places of `lane` together at each moment.
`busy` is the number of requests that hold a slot: on a prefill line running excludes the batch itself, so new_seq
is added. `usage` is the fullest pool (hybrid models print several); a gauge that says exactly 0 throughout while
requests run measures nothing, and is missing. `cap` is the stated running limit of the rank.
"""

from __future__ import annotations

from typing import Final
from weakref import WeakSet

import duckdb

from ridgeline.bundle.view import View
from ridgeline.facts.asks import asks_of

POINTS: Final = """
CREATE TABLE points AS
WITH shared AS ( -- with attention split by rank, SGLang divides the limit that was asked for among the ranks
    SELECT server, max(try_cast(value AS BIGINT)) FILTER (WHERE key = 'dp_size') AS ranks FROM config
    GROUP BY server
    HAVING bool_or(key = 'enable_dp_attention' AND lower(value) IN ('true', '1'))
),
stated AS (
    SELECT server, max(cap) AS cap
    FROM (
        SELECT server, max_running AS cap FROM servers WHERE max_running IS NOT NULL
        UNION ALL
        SELECT c.server, try_cast(value AS BIGINT) // CASE WHEN key IN ('max_running_requests', 'max-running-requests')
            THEN greatest(coalesce(d.ranks, 1), 1) ELSE 1 END
        FROM config c LEFT JOIN shared d ON d.server IS NOT DISTINCT FROM c.server
        WHERE key IN ('effective_max_running_requests_per_dp', 'max_running_requests', 'max-running-requests',
                      'max_num_seqs', 'max-num-seqs')
          AND NOT EXISTS (SELECT 1 FROM servers WHERE max_running IS NOT NULL)
    )
    WHERE cap > 0
    GROUP BY server
),
-- A restart may bring another limit: each point is held against that of its boot.
boots AS (SELECT server, boot_ts, max(max_running) AS cap FROM servers
    WHERE max_running > 0 AND boot_ts IS NOT NULL GROUP BY ALL),
alone AS (SELECT min(cap) AS cap FROM stated HAVING count(DISTINCT cap) = 1),
named AS (
    SELECT r.series, r.server, r.role, r.dp_rank,
        coalesce(r.labels ->> 'pod', r.labels ->> 'instance', r.labels ->> 'worker_id', r.labels ->> 'worker',
                 CASE WHEN r.dp_rank IS NULL THEN r.labels ->> 'engine' END) AS replica,
        CASE
            WHEN r.name IN ('num_running_reqs', 'num_requests_running') THEN 'running'
            WHEN r.name IN ('num_queue_reqs', 'num_requests_waiting', 'queue_req') THEN 'waiting'
            WHEN r.name IN ('token_usage', 'kv_cache_usage_perc', 'full_token_usage', 'swa_token_usage',
                            'mamba_usage') THEN 'usage'
            WHEN r.name IN ('gen_throughput', 'avg_generation_throughput_toks_per_s') THEN 'gen_tps'
            WHEN r.name IN ('num_prefill_bootstrap_queue_reqs', 'num_prefill_prealloc_queue_reqs') THEN 'bootstrap'
            WHEN r.name IN ('num_prefill_inflight_queue_reqs', 'num_prefill_infight_queue_reqs') THEN 'inflight'
            WHEN r.name = 'num_decode_prealloc_queue_reqs' THEN 'prealloc'
            WHEN r.name = 'num_decode_transfer_queue_reqs' THEN 'transfer'
            WHEN r.name = 'num_grammar_queue_reqs' THEN 'grammar'
            WHEN r.name = 'spec_accept_length' THEN 'accept'
        END AS what
    FROM series r
    WHERE coalesce(r.labels ->> 'priority', '') = ''
),
scraped AS (
    SELECT m.ts, s.server, s.role, s.dp_rank, s.replica, m.source, min(m.line) AS line,
        max(m.value) FILTER (WHERE s.what = 'running') AS running,
        max(m.value) FILTER (WHERE s.what = 'waiting') AS waiting,
        max(m.value) FILTER (WHERE s.what = 'usage') AS usage,
        max(m.value) FILTER (WHERE s.what = 'gen_tps') AS gen_tps,
        max(m.value) FILTER (WHERE s.what = 'bootstrap') AS bootstrap,
        max(m.value) FILTER (WHERE s.what = 'inflight') AS inflight,
        max(m.value) FILTER (WHERE s.what = 'prealloc') AS prealloc,
        max(m.value) FILTER (WHERE s.what = 'transfer') AS transfer,
        max(m.value) FILTER (WHERE s.what = 'grammar') AS grammar,
        max(m.value) FILTER (WHERE s.what = 'accept' AND m.value > 0) AS accept_length
    FROM samples m JOIN named s USING (series)
    WHERE s.what IS NOT NULL AND NOT isnan(m.value)
    GROUP BY m.ts, m.scrape, s.server, s.role, s.dp_rank, s.replica, m.source
),
together AS (
    SELECT b.ts, b.server, b.role, b.dp_rank, NULL::VARCHAR AS replica, b.kind AS via,
        CASE WHEN b.kind IN ('decode', 'fpm') THEN 'steps' ELSE b.kind END AS class,
        b.running::DOUBLE AS running, coalesce(b.new_seq, 0)::DOUBLE AS new_seq, b.waiting::DOUBLE AS waiting,
        greatest(b.usage, b.full_usage, b.swa_usage, b.mamba_usage) AS usage, NULL::DOUBLE AS cap, b.gen_tps,
        b.bootstrap::DOUBLE AS bootstrap, b.inflight::DOUBLE AS inflight, b.prealloc::DOUBLE AS prealloc,
        b.transfer::DOUBLE AS transfer, NULL::DOUBLE AS grammar, b.retracted::DOUBLE AS retracted, b.accept_length,
        b.source, b.line
    FROM batches b
    UNION ALL
    SELECT l.ts, l.server, l.role, l.dp_rank, NULL, 'loads', 'loads', l.running, 0, coalesce(l.queue_waiting,
        l.waiting),
        l.usage, l.max_running, l.gen_tps, l.bootstrap, l.inflight, l.prealloc, l.transfer, l.queue_grammar,
        l.decode_retracted, l.accept_length, l.source, l.line
    FROM loads l
    UNION ALL
    SELECT ts, server, role, dp_rank, replica, 'scrape', 'scrape', running, 0, waiting, usage, NULL, gen_tps, bootstrap,
        inflight, prealloc, transfer, grammar, NULL, accept_length, source, line
    FROM scraped
),
-- Lines print two digits, so few requests in a large pool read 0 there too; many do not.
dead AS (
    SELECT source, class FROM together GROUP BY ALL
    HAVING max(usage) = 0 AND count(*) FILTER (WHERE running >= CASE class WHEN 'scrape' THEN 2 ELSE 16 END) >= 3
)
SELECT row_number() OVER (ORDER BY coalesce(t.ts, 0), t.source, t.line, t.via) AS ord,
    t.* EXCLUDE (cap, usage),
    CASE WHEN d.class IS NULL THEN t.usage END AS usage,
    t.running + CASE WHEN t.via = 'prefill' THEN t.new_seq ELSE 0 END AS busy,
    coalesce(t.cap, b.cap, s.cap, (SELECT cap FROM alone))::DOUBLE AS cap,
    concat_ws(' ', t.server, t.role, 'DP' || t.dp_rank, t.replica) AS place
FROM together t LEFT JOIN stated s ON s.server = t.server
    LEFT JOIN dead d ON d.source = t.source AND d.class = t.class
    ASOF LEFT JOIN boots b ON b.server = t.server AND t.ts >= b.boot_ts
"""

LANE: Final = """
CREATE TABLE lane AS
WITH counted AS (
    SELECT coalesce(role, '') AS r, class, count(*) AS n,
        CASE class WHEN 'steps' THEN 0 WHEN 'scrape' THEN 1 WHEN 'stats' THEN 2 WHEN 'loads' THEN 3 ELSE 4 END AS rank
    FROM points
    WHERE waiting IS NOT NULL AND running IS NOT NULL
    GROUP BY ALL
),
-- A source with a fifth of the points of another says too little of the time, whatever its rank.
ranked AS (SELECT *, n < 0.2 * max(n) OVER (PARTITION BY r) AS sparse FROM counted),
best AS (
    SELECT r, arg_min(class,
        CASE WHEN n >= 3 THEN rank + CASE WHEN sparse THEN 5 ELSE 0 END ELSE 20 - n + 0.01 * rank END)
        AS class
    FROM ranked GROUP BY r
)
SELECT p.* FROM points p JOIN best b ON coalesce(p.role, '') = b.r AND p.class = b.class
"""

# The whole queue at each moment: what each place last said, added up. A log's prefill lines speak too: step lines come
# every 40 steps, and a burst may begin and end between two. Lines of an idle rank between those of a loaded
# one are no movement. A boot that a later one of the same place replaced counts no longer.
TOTALS: Final = """
CREATE TABLE totals AS
WITH told AS (
    SELECT ord, ts, waiting, place, concat_ws(' ', role, dp_rank, replica) AS seat, coalesce(server, '') AS boot,
        source, line
    FROM (
        SELECT * FROM lane
        UNION ALL
        SELECT * FROM points p WHERE class = 'prefill'
            AND EXISTS (SELECT 1 FROM lane l WHERE l.class = 'steps' AND coalesce(l.role, '') = coalesce(p.role, ''))
    )
    WHERE waiting IS NOT NULL
),
reach AS (SELECT seat, boot, place, min(ord) AS lo, max(ord) AS hi, arg_max(waiting, ord) AS left_over
    FROM told GROUP BY ALL),
gone AS (
    SELECT (SELECT min(b.lo) FROM reach b WHERE b.seat = a.seat AND b.boot <> a.boot AND b.lo > a.hi) AS ord,
        a.left_over
    FROM reach a
),
steps AS (
    SELECT ord, waiting - lag(waiting, 1, 0) OVER (PARTITION BY place ORDER BY ord) AS step FROM told
    UNION ALL
    SELECT ord, -left_over FROM gone WHERE ord IS NOT NULL
),
moved AS (SELECT ord, sum(sum(step)) OVER (ORDER BY ord) AS waiting FROM steps GROUP BY ord)
SELECT t.ord, t.ts, m.waiting, t.source, t.line FROM told t JOIN moved m USING (ord)
"""

ALONE: Final = """
SELECT (SELECT count(DISTINCT place) FROM lane) = 1
    -- SGLang names a rank only where there are several; vLLM numbers even its only engine.
    AND NOT EXISTS (SELECT 1 FROM lane WHERE dp_rank > 0
        OR (dp_rank = 0 AND NOT EXISTS (SELECT 1 FROM servers WHERE engine = 'vllm')))
    AND NOT EXISTS (SELECT 1 FROM servers WHERE dp_size > 1)
    AND NOT EXISTS (SELECT 1 FROM asks WHERE worker IS NOT NULL OR dp_rank > 0)
"""


def alone(view: View) -> bool:
    """Whether the evidence is of one rank of one server: nothing can be local then."""
    return bool(ready(view).one(ALONE)[0])


KNOWN: Final = "SELECT 1 FROM asks LIMIT 0"
# Connections that are known to have the three: asking each time costs as much as a small measure.
_MADE: Final[WeakSet[duckdb.DuckDBPyConnection]] = WeakSet()


def ready(view: View) -> View:
    """The same view with `points`, `lane`, `totals` and `asks` on its connection; made once."""
    if view.con not in _MADE:
        cursor = view.con.cursor()
        try:
            cursor.execute(KNOWN)
        except duckdb.CatalogException:
            for statement in (POINTS, LANE, TOTALS, asks_of(cursor)):
                cursor.execute(statement)
        _MADE.add(view.con)
    return view
