"""Locked KV that nobody can own: what the pool holds beyond all that the requests in flight could hold."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.change import change
from ridgeline.facts.events import event_count
from ridgeline.facts.make import bounds, found, lacking, restated, rounded
from ridgeline.facts.memory import idle_usage, pool_tokens
from ridgeline.facts.outputs import ENDED, ended_share
from ridgeline.facts.points import ready
from ridgeline.model.fact import Fact

SAMPLED: Final = 60  # decode lines looked at, the last of the window: a leak is largest at its end
TWICE: Final = 2.0  # times what a running request held before
GREW: Final = 1.25  # prompts and answers at most so much longer than before
TOLD: Final = 0.5  # share of them at which the requests seen in flight must cover all that run

# Upper bound: prompt and the whole output of everyone who was admitted and not yet finished. Shared prefixes and
# outputs not yet produced only make it larger. Who still waits holds nothing.
UNOWNED: Final = """
WITH lines AS (
    SELECT ts, tokens, running, source, line FROM batches
    WHERE kind = 'decode' AND tokens > 0 AND ts IS NOT NULL
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
),
last AS (SELECT * FROM lines ORDER BY ts DESC, line DESC LIMIT $sampled),
held AS (
    SELECT l.ts, l.tokens, l.running, count(a.received_ts) AS seen, l.source, l.line,
        sum(a.prompt_tokens + coalesce(a.completion_tokens, a.max_new_tokens)) AS could,
        count(*) FILTER (WHERE a.received_ts IS NOT NULL
            AND (a.prompt_tokens IS NULL OR coalesce(a.completion_tokens, a.max_new_tokens) IS NULL)) AS unknown
    FROM last l LEFT JOIN asks a ON coalesce(a.scheduled_ts, CASE WHEN a.finished_ts IS NOT NULL THEN a.received_ts END)
        <= l.ts + 1 AND (a.finished_ts IS NULL OR a.finished_ts >= l.ts - 2) AND NOT coalesce(a.probe, false)
    GROUP BY ALL
)
SELECT count(*) AS n, count(*) FILTER (WHERE seen >= running AND unknown = 0) AS told,
    median(greatest(tokens - could, 0)) FILTER (WHERE seen >= running AND unknown = 0) AS unowned,
    median(tokens) AS tokens, median(could) FILTER (WHERE seen >= running AND unknown = 0) AS could,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM held GROUP BY source)) AS cites
FROM held
"""
PLACES: Final = "SELECT count(DISTINCT place) FROM points WHERE class = 'steps'"
# A decode side of a pair holds KV of requests that are still on their way to it: they hold, and do not run.
PAIRED: Final = "SELECT count(*) FROM points WHERE role = 'decode'"


def unowned_share(view: View) -> Fact:
    """Share of the pool that is locked beyond prompt and whole output of every request in flight (median).

    Needs each request of one rank and its lengths; where more run than are seen it cannot tell.
    """
    pool, places = pool_tokens(view), ready(view).one(PLACES)[0]
    if not pool.value or places != 1 or ready(view).one(PAIRED)[0]:
        return lacking("the pool's size and decode lines of one rank", "the server log with its start-up line")
    n, told, unowned, tokens, could, cites = view.one(UNOWNED, {**bounds(view), "sampled": SAMPLED})
    if n < 10 or told < TOLD * n or unowned is None:
        return lacking("every request in flight with its lengths", "--log-requests --log-requests-level 1", n)
    return found(
        view, unowned / pool.value, "share", n, cites, tokens=rounded(tokens), could=rounded(could), pool=pool.value
    )


CHECKED: Final = """
SELECT try_cast(attrs ->> 'missing' AS BIGINT) AS missing, try_cast(attrs ->> 'total' AS BIGINT) AS total FROM events
WHERE kind = 'pool-leak-check' AND ($since::DOUBLE IS NULL OR ts IS NULL OR ts >= $since)
    AND ($until::DOUBLE IS NULL OR ts IS NULL OR ts <= $until) AND attrs ->> 'missing' IS NOT NULL
ORDER BY source, line LIMIT 1
"""


def _checked(view: View) -> dict[str, int | None]:
    """What the engine's idle check counts: tokens missing, or beyond the pool (`surplus`), and the pool's size."""
    seen = view.query(CHECKED, bounds(view))
    missing, total = seen[0] if seen else (None, None)
    gone, extra = (None, None) if not missing else (missing, None) if missing > 0 else (None, -missing)
    return {"missing": gone, "surplus": extra, "total": total if missing else None}


def leaked(view: View) -> Fact:
    """Whether KV stays locked that no request holds: by the engine's own check, at idle, or beyond all that those in
    flight could hold.

    Where neither is seen: each running request seems to hold twice what it did, though prompts and answers are as long
    as before.
    """
    check, idle, unowned = event_count(view, "pool-leak-check"), idle_usage(view), unowned_share(view)
    if check.value:
        return restated(check, True, "", "leak.check", **_checked(view))
    if idle.value is not None and idle.value >= 0.1:
        return restated(idle, True, "", "idle_usage")
    if unowned.value is not None and unowned.value >= 0.1:
        return restated(unowned, True, "", "unowned_share")
    if idle.value is not None:
        return restated(idle, False, "", "idle_usage")
    seen = dict(unowned.statement.figures)
    # Requests that could fill the pool themselves leave nothing to be beyond them.
    blind = unowned.value is None or (seen["could"] or 0) >= seen["pool"]
    if blind and ready(view).one(PAIRED)[0]:
        return idle
    if blind and (each := change(view, "tokens_per_running")).value is not None:
        prompts, answers = change(view, "prompt_tokens"), change(view, "output_tokens")
        same = prompts.value is not None and max(prompts.value, answers.value or 1.0) <= GREW
        if each.value >= TWICE and same:
            if (ended := ended_share(view)) is None or ended < ENDED:
                return lacking("the outputs still being written", "--log-requests --log-requests-level 1", each.n)
            return restated(each, True, "", "leak.each")
    return idle if blind or unowned.value >= 0.02 else restated(unowned, False, "", "unowned_share")
