"""Slow by group: how much longer requests with an attribute take than all others, lengths held equal."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.make import bounds, found, lacking, rounded
from ridgeline.model.fact import Fact

# The attribute's "has it" test, one literal CASE, so that nothing is glued into SQL.
GROUPS: Final = """
WITH rows AS (
    SELECT CASE $attribute
            WHEN 'schema' THEN coalesce(schema_set, false) OR coalesce(regex_set, false)
            WHEN 'multimodal' THEN coalesce(modality, 'text') <> 'text'
            WHEN 'lora' THEN lora IS NOT NULL AND lora <> ''
            WHEN 'tools' THEN coalesce(tools_set, false)
            WHEN 'reasoning' THEN coalesce(reasoning, false)
        END AS has,
        CASE $what
            WHEN 'ttft' THEN coalesce(ttft_s, first_token_ts - received_ts)
            WHEN 'pre_queue' THEN coalesce(pre_queue_s, queued_ts - received_ts, grammar_s)
            WHEN 'before_prefill' THEN coalesce(ttft_s, first_token_ts - received_ts) - coalesce(prefill_s, 0)
            WHEN 'return' THEN return_s
        END AS seconds,
        round(log2(greatest(prompt_tokens, 1))) AS octave, source, line
    FROM requests
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
    sum(have * n_have) / nullif(sum(n_have), 0) AS have_paired, sum(rest * n_have) / nullif(sum(n_have), 0) AS rest_paired,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM known WHERE has GROUP BY source)) AS cites
FROM paired
"""


def group_ratio(view: View, attribute: str, what: str = "ttft") -> Fact:
    """Time of requests with the attribute over that of the others of the same length (octaves of prompt tokens)."""
    row = view.one(GROUPS, {**bounds(view), "attribute": attribute, "what": what})
    n, n_have, have, rest, have_paired, rest_paired, cites = row
    if n < 10:
        return lacking("times of requests with their attributes", "--log-requests --log-requests-level 1", n)
    if n_have < 3 or n - n_have < 3:
        return lacking(f"requests with and without {attribute}", "a window that holds both", n)
    slow, usual = (have_paired, rest_paired) if have_paired is not None else (have, rest)
    value = slow / max(usual, 0.001)
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
        ratio=rounded(value),
    )
