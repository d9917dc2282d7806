"""Slow by group: how much longer requests with an attribute take than all others, lengths held equal."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.make import bounds, found, lacking, restated, rounded
from ridgeline.facts.points import ready
from ridgeline.facts.queue import slack_share
from ridgeline.model.fact import Fact

# The attribute's "has it" test, one literal CASE, so that nothing is glued into SQL.
GROUPS: Final = """
WITH rows AS (
    SELECT CASE $attribute
            WHEN 'schema' THEN coalesce(schema_set, false) OR coalesce(regex_set, false)
            WHEN 'multimodal' THEN coalesce(modality, 'text') <> 'text'
            WHEN 'lora' THEN lora IS NOT NULL AND lora <> ''
            WHEN 'tools' THEN coalesce(tools_set, false)
            WHEN 'parsed' THEN coalesce(tools_set, false) OR coalesce(schema_set, false) OR coalesce(reasoning, false)
            WHEN 'reasoning' THEN coalesce(reasoning, false)
        END AS has,
        CASE $what
            WHEN 'ttft' THEN coalesce(ttft_s, first_token_ts - received_ts)
            WHEN 'pre_queue' THEN coalesce(pre_queue_s, queued_ts - received_ts, grammar_s)
            WHEN 'before_prefill' THEN coalesce(ttft_s, first_token_ts - received_ts) - coalesce(prefill_s, 0)
            WHEN 'return' THEN return_s
        END AS seconds,
        round(log2(greatest(prompt_tokens, 1))) AS octave, source, line
    FROM asks
    WHERE NOT coalesce(probe, false)
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
),
known AS (SELECT * FROM rows WHERE seconds >= 0),
cells AS (
    SELECT octave, median(seconds) FILTER (WHERE has) AS have, median(seconds) FILTER (WHERE NOT has) AS rest,
        count(*) FILTER (WHERE has) AS n_have, count(*) FILTER (WHERE NOT has) AS n_rest
    FROM known GROUP BY octave
),
paired AS (SELECT * FROM cells WHERE n_have >= 1 AND n_rest >= 1)
SELECT (SELECT count(*) FROM known) AS n, (SELECT count(*) FROM known WHERE has) AS n_have,
    (SELECT median(seconds) FROM known WHERE has) AS have, (SELECT median(seconds) FROM known WHERE NOT has) AS rest,
    sum(have * n_have) / nullif(sum(n_have), 0) AS have_paired, sum(rest * n_have) / nullif(sum(n_have),
        0) AS rest_paired,
    -- Of the requests that take three times the usual, how many have the attribute: a class must account for them.
    (SELECT count(*) FILTER (WHERE has) / nullif(count(*), 0)::DOUBLE FROM known
     WHERE seconds >= 3 * (SELECT greatest(median(seconds), 0.02) FROM known WHERE NOT has)) AS coverage,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM known WHERE has GROUP BY source)) AS cites
FROM paired
"""

COVERED: Final = 0.4
FLOOR_S: Final = {"return": 0.05}  # the usual time counts as at least so much: parts of a way back are estimates
PARSERS_TOLD: Final = """
SELECT count(*) FILTER (WHERE schema_set IS NOT NULL OR tools_set IS NOT NULL) FROM asks
WHERE NOT coalesce(probe, false)
    AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
"""


def group_ratio(view: View, attribute: str, what: str = "ttft") -> Fact:
    """Time of requests with the attribute over that of the others of the same length (octaves of prompt tokens)."""
    row = view.one(GROUPS, {**bounds(view), "attribute": attribute, "what": what})
    n, n_have, have, rest, have_paired, rest_paired, coverage, cites = row
    if n < 10:
        return lacking("times of requests with their attributes", "--log-requests --log-requests-level 1", n)
    if n_have < 3 and attribute == "parsed" and view.one(PARSERS_TOLD, bounds(view))[0] >= 0.5 * n:
        return found(view, 1.0, "ratio", n, (), key="group_ratio.nobody", attribute=attribute)
    if n_have < 3 or n - n_have < 3:
        return lacking(f"requests with and without {attribute}", "a window that holds both", n)
    slow, usual = (have_paired, rest_paired) if have_paired is not None else (have, rest)
    value = slow / max(usual, FLOOR_S.get(what, 0.001))
    if what == "return" and (coverage or 0.0) < COVERED:
        value = min(value, 1.0)  # most answers that come back late are of others
    return found(
        view,
        value,
        "ratio",
        n,
        cites,
        attribute=attribute,
        what=what,
        with_s=rounded(slow),
        without_s=rounded(usual),
        members=n_have,
        coverage=rounded(coverage),
        ratio=rounded(value),
    )


PARSED: Final = """
WITH rows AS (
    SELECT coalesce(tools_set, false) OR coalesce(schema_set, false) OR coalesce(reasoning, false) AS parsed, source,
        line
    FROM asks
    WHERE return_s IS NOT NULL AND NOT coalesce(probe, false)
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
)
SELECT count(*) AS n, count(*) FILTER (WHERE NOT parsed) AS plain,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows WHERE NOT parsed GROUP BY source)) AS cites
FROM rows
"""


def plain_answers(view: View) -> Fact:
    """Answers, with a known way back, that no parser is known to have touched; missing where every one is parsed."""
    n, plain, cites = view.one(PARSED, bounds(view))
    if plain < 3:
        return lacking("answers without tools, schema or reasoning", "a window that holds both", n)
    return found(view, plain, "answers", n, cites)


ADAPTERS: Final = """
WITH keys AS (SELECT replace(key, '-', '_') AS key, value, source, line FROM config)
SELECT (SELECT count(*) FROM keys) AS known, count(*) FILTER (WHERE key = 'enable_lora') AS enabled,
    max(try_cast(value AS BIGINT)) FILTER (WHERE key IN ('max_loras', 'max_loras_per_batch')) AS most,
    max(CASE WHEN key = 'enable_lora' THEN source END) AS source,
        min(CASE WHEN key = 'enable_lora' THEN line END) AS line,
    (SELECT count(*) FROM batches WHERE kind = 'stats') AS stats
FROM keys WHERE key <> 'enable_lora' OR lower(coalesce(value, '')) IN ('true', '1', '')
"""

QUEUED: Final = """
SELECT count(*) AS n, median(busy) AS busy, median(waiting) AS waiting, median(usage) AS usage,
    list(DISTINCT {'source': source, 'a': line, 'b': line}) AS cites
FROM lane WHERE waiting > 0 AND busy IS NOT NULL
    AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
"""
IN_USE: Final = """
SELECT count(DISTINCT lora) FILTER (WHERE lora <> ''),
    (SELECT count(*) FROM asks WHERE lora <> '' OR params_logged)
FROM asks
WHERE true
    AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
"""
VLLM_MAX_LORAS: Final = 1  # vLLM's default of --max-loras
SGLANG_MAX_LORAS: Final = 8  # SGLang's default of --max-loras-per-batch


def adapters_limit(view: View) -> Fact:
    """Whether no more requests run than adapters fit in one batch, while others wait and the pool is empty."""
    known, enabled, most, source, line, stats = view.one(ADAPTERS)
    if not known:
        return lacking("the launch arguments", "the launch command, the start-up line or /server_info")
    if not enabled:
        return found(view, False, "", known, (), key="adapters.off")
    n, busy, waiting, usage, cites = ready(view).one(QUEUED, bounds(view))
    if not n:
        return lacking("load points with a queue", "batch or stats lines of the log", n)
    limit = most or (VLLM_MAX_LORAS if stats else SGLANG_MAX_LORAS)
    adapters, attributed = view.one(IN_USE, bounds(view))
    if busy > limit and waiting >= 2 and not attributed:
        return lacking("the adapter of each request", "--log-requests --log-requests-level 1", n)
    # Requests of one adapter run together: more than the limit may run while others wait for theirs.
    crowded = adapters > limit and (slack_share(view, 0.5).value or 0.0) >= 0.5
    value = bool((busy <= limit or crowded) and waiting >= 2 and (usage or 0.0) < 0.5)
    spans = [*(cites or ()), {"source": source, "a": line, "b": line}]
    return found(
        view,
        value,
        "",
        n,
        spans,
        key="adapters.limit",
        limit=limit,
        stated="stated" if most else "the default",
        busy=busy,
        waiting=waiting,
        usage=rounded(usage),
        adapters=adapters,
    )


def adapter_wait(view: View) -> Fact:
    """Whether requests wait for adapters: the limit of a batch, or adapter requests slow before prefill only."""
    limit = adapters_limit(view)
    if limit.value:
        return limit
    slow = group_ratio(view, "lora", "before_prefill")
    if slow.value is None:
        return slow if limit.value is None else limit
    return restated(slow, bool(slow.value >= 3), "", "group_ratio")


# Scrapes and answers of /v1/loads need not agree that such a queue stands: those that count more in it are believed.
GRAMMAR: Final = """
WITH rows AS (
    SELECT class, grammar, waiting, source FROM points
    WHERE grammar IS NOT NULL AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
),
most AS (SELECT class FROM rows GROUP BY class ORDER BY avg(grammar) DESC, class LIMIT 1)
SELECT count(*) AS n, median(grammar) AS queue, max(grammar) AS peak, median(waiting) AS waiting,
    list(DISTINCT source) AS sources
FROM rows WHERE class = (SELECT class FROM most)
"""


def grammar_wait(view: View) -> Fact:
    """Whether requests wait for their grammar: slow before prefill only, or a grammar queue stands."""
    slow = group_ratio(view, "schema", "before_prefill")
    if slow.value is not None and slow.value >= 3:
        # Where most of the held ones have no schema, something else holds them, schema or not.
        return restated(slow, (dict(slow.statement.figures)["coverage"] or 0.0) >= COVERED, "", "group_ratio")
    n, queue, peak, waiting, sources = ready(view).one(GRAMMAR, bounds(view))
    if n >= 3:
        spans = [{"source": s, "a": None, "b": None} for s in sorted(sources or ())]
        value = bool(queue >= 2 and queue >= (waiting or 0))
        return found(view, value, "", n, spans, key="grammar.queue", queue=queue, peak=peak, waiting=waiting)
    if slow.value is not None:
        return restated(slow, False, "", "group_ratio")
    return slow
