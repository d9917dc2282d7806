"""Why a queue stands: too much coming in, giants in the way, classes left behind, refusals, a device left idle."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.change import change
from ridgeline.facts.make import bounds, found, lacking, restated, rounded
from ridgeline.facts.points import ready
from ridgeline.facts.prefill import giant_prefill, waits_behind_giants
from ridgeline.facts.queue import (
    at_cap_share,
    pool_full,
    queue_motion,
    queue_pressure,
    slack_share,
    waiting_share,
)
from ridgeline.facts.requests import reserve_ratio, seconds, slice_share
from ridgeline.model.fact import Fact

SELDOM: Final = 0.1  # share of the time with a queue: a server that is asked for too much has one nearly always
OUTSIDE: Final = 0.4  # of the slower requests' whole time
RUSH_S: Final = 120.0  # what came and went within two minutes is a burst

BACKLOG: Final = """
WITH rows AS (
    SELECT new_tokens, pending_tokens, input_tps, waiting, new_seq, source, line FROM batches
    WHERE kind = 'prefill' AND waiting > 0 AND input_tps > 0 AND new_tokens > 0
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
)
SELECT count(*) AS n,
    median(coalesce(pending_tokens, waiting * new_tokens / greatest(new_seq, 1)) / input_tps) AS backlog_s,
    median(pending_tokens) AS pending, median(input_tps) AS tps, count(pending_tokens) AS stated,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def backlog_s(view: View) -> Fact:
    """Seconds of prefill work that wait: pending tokens over input throughput, where prefill lines state both."""
    n, seconds, pending, tps, stated, cites = ready(view).one(BACKLOG, bounds(view))
    if not n:
        return lacking("prefill lines with a queue and input throughput", "the server log of 0.5.9 or later")
    return found(
        view, seconds, "s", n, cites, pending=pending, tps=rounded(tps, 4), seconds=rounded(seconds), stated=stated
    )


def queued(view: View) -> Fact:
    """Whether waiting is a state that users feel: one waits for every five that hold a slot, or starts are mostly wait.

    The second form: one start in ten waits a second or more, at least half of the slower starts' TTFT is queue_time,
    and a queue was seen (where load points exist). Few wait at once where requests hold their slots for long, and yet
    each of them may wait for seconds. The third: prefill batches are full and half of the time somebody waits for the
    next one; a twentieth of the time is enough where arrivals rose. The last: more arrives and starts are late for it.
    """
    pressure = queue_pressure(view)
    told = dict(pressure.statement.figures)
    if pressure.value is not None and pressure.value >= 0.2:
        return restated(pressure, True, "", "queue_pressure")
    beside = {"waiting": told.get("waiting"), "busy": told.get("busy")}
    wait, share, stood = seconds(view, "queue_s", 0.9), slice_share(view, "queue"), waiting_share(view)
    if wait.value is not None and share.value is not None:
        felt = wait.value >= 1 and share.value >= 0.5 and (stood.value is None or stood.value > 0)
        if felt:
            return restated(wait, True, "", "queued.felt", share=share.value, **beside)
    fill = prefill_fill(view)
    grown = change(view, "arrival_rate").value
    least = 0.05 if grown is not None and grown >= 1.3 else 0.5
    if fill.value is not None and fill.value >= 0.8 and stood.value is not None and stood.value >= least:
        return restated(fill, True, "", "queued.chunks", share=stood.value, **beside)
    if (more := pressed(view)) is not None:
        return restated(more, True, "", "overload.arrivals", **beside)
    return pressure if pressure.value is None else restated(pressure, False, "", pressure.statement.key)


def pressed(view: View) -> Fact | None:
    """Arrivals up by a third with starts half again as late, for longer than a rush; None where it is not so.

    Engines that admit at once (vLLM below its limits) show no queue: what comes in shares the steps instead.
    """
    grown, late = change(view, "arrival_rate"), change(view, "seconds", what="ttft_s", q=0.95)
    if grown.value is None or grown.value < 1.3 or late.value is None or late.n < 20 or late.value < 1.5:
        return None
    window = view.incident
    return grown if window is not None and window.to_ts - window.from_ts > RUSH_S else None


def burst_felt(view: View) -> Fact:
    """Whether a queue that came and went was more than a blip: a twentieth of the time, or waits of two seconds.

    Who came in the rush itself feels it where the typical one of them starts half a second late, three times as late
    as the others. More than 60 % of the time is no burst. Where most of the slower requests' time was spent outside of
    the scheduler, who holds them there and lets them go together makes the queue.
    """
    stood, wait, outside = waiting_share(view), seconds(view, "queue_s", 0.99), slice_share(view, "unaccounted")
    if outside.value is not None and outside.value >= OUTSIDE:
        return restated(outside, False, "", "slice_share")
    if stood.value is None or stood.value > 0.6:
        return stood if stood.value is None else restated(stood, False, "", "waiting_share")
    rush = rush_felt(view)
    if rush.value:
        return restated(rush, True, "", "rush_felt")
    if stood.value >= 0.05 or not stood.value:
        return restated(stood, bool(stood.value), "", "waiting_share")
    return wait if wait.value is None else restated(wait, bool(wait.value >= 2), "", "burst.waits")


SPIKE: Final = """
WITH rows AS (
    SELECT received_ts AS ts, source, line FROM asks
    WHERE received_ts IS NOT NULL AND NOT coalesce(probe, false)
        AND ($since::DOUBLE IS NULL OR received_ts >= $since - 120)
        AND ($until::DOUBLE IS NULL OR received_ts <= $until)
),
tens AS (SELECT floor(ts / 10) AS ten, count(*) AS n FROM rows GROUP BY ten)
SELECT (SELECT count(*) FROM rows) AS n, count(*) AS tens, max(n) AS most, median(n) AS usual,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM tens
"""


def arrival_spike(view: View) -> Fact:
    """Whether some ten seconds brought twice the usual arrivals and ten more; the two minutes before count too."""
    n, tens, most, usual, cites = view.one(SPIKE, bounds(view))
    if n < 20 or tens < 6:
        return lacking("arrival times of requests", "--log-requests (level 0 is enough), or a client file", n)
    return found(view, bool(most >= 2 * usual and most >= usual + 10), "", n, cites, most=most, usual=rounded(usual))


RUSH: Final = """
WITH rows AS (
    SELECT received_ts AS ts, coalesce(ttft_s, first_token_ts - received_ts) AS ttft_s, source, line FROM asks
    WHERE received_ts IS NOT NULL AND NOT coalesce(probe, false)
        AND ($since::DOUBLE IS NULL OR received_ts >= $since - 120)
        AND ($until::DOUBLE IS NULL OR received_ts <= $until)
),
tens AS (SELECT floor(ts / 10) AS ten, count(*) AS n FROM rows GROUP BY ten),
told AS (
    SELECT r.*, t.n >= 2 * (SELECT median(n) FROM tens) AND t.n >= (SELECT median(n) FROM tens) + 10 AS rush
    FROM rows r JOIN tens t ON t.ten = floor(r.ts / 10) WHERE r.ttft_s IS NOT NULL
)
SELECT count(*) AS n, count(*) FILTER (WHERE rush) AS many, median(ttft_s) FILTER (WHERE rush) AS rushed,
    median(ttft_s) FILTER (WHERE NOT rush) AS usual,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM told WHERE rush GROUP BY source)) AS cites
FROM told
"""


def rush_felt(view: View) -> Fact:
    """Whether those who came in some crowded ten seconds started late: half a second, three times the others' time."""
    n, many, rushed, usual, cites = view.one(RUSH, bounds(view))
    if n < 20 or usual is None:
        return lacking(
            "arrival times and TTFT of requests", "--log-requests with --enable-metrics, or a client file", n
        )
    value = bool(many >= 10 and rushed >= 0.5 and rushed >= 3 * usual)
    return found(view, value, "", n, cites, many=many, rushed=rounded(rushed), usual=rounded(usual))


LEFT_BEHIND: Final = """
WITH rows AS (
    SELECT coalesce(priority, 0) AS priority, queue_s, prompt_tokens, source, line FROM asks
    WHERE queue_s IS NOT NULL AND NOT coalesce(probe, false)
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
),
classes AS (
    -- Where the slots are short only at times, the median waits for nobody: then the slower tenth is compared.
    SELECT priority, count(*) AS n, quantile_cont(queue_s, $q) AS queue_s, median(prompt_tokens) AS prompt FROM rows
    GROUP BY priority HAVING count(*) >= $least
)
SELECT count(*) AS classes, sum(n)::BIGINT AS n, max(queue_s) AS slowest, min(queue_s) AS fastest,
    arg_max(priority, queue_s) AS slow_class, arg_min(priority, queue_s) AS fast_class,
    arg_max(prompt, queue_s) / nullif(arg_min(prompt, queue_s), 0) AS length_ratio,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM classes
"""


def priority_gap(view: View) -> Fact:
    """How many times longer the slowest priority class waits than the fastest, both of similar prompts.

    By medians, or by the slower tenth of each where that tenth of the slow class waits a second or more.
    """
    typical = view.one(LEFT_BEHIND, {**bounds(view), "q": 0.5, "least": 5})
    tails = view.one(LEFT_BEHIND, {**bounds(view), "q": 0.9, "least": 30})
    worse = tails[0] >= 2 and tails[2] >= 1 and tails[2] / max(tails[3], 0.01) > typical[2] / max(typical[3], 0.01)
    classes, n, slow, fast, slow_class, fast_class, lengths, cites = tails if worse else typical
    if classes < 2:
        return lacking(
            "requests of two priorities with queue_time", "--enable-priority-scheduling and --enable-metrics"
        )
    ratio = slow / max(fast, 0.01)
    value = ratio if lengths is None or 0.5 <= lengths <= 2 else 1.0
    return found(
        view,
        value,
        "ratio",
        n,
        cites,
        slow_s=rounded(slow),
        fast_s=rounded(fast),
        slow_class=slow_class,
        fast_class=fast_class,
        ratio=rounded(value),
    )


def overload(view: View) -> Fact:
    """Whether more comes in than is served: arrivals up by a third, or seconds of work pending that do not drain.

    Neither form holds where the pool or a running limit explains the queue (DESIGN §1, A1b): what comes in could
    then be served with more of that. The second form needs no baseline.
    """
    full, capped = pool_full(view), at_cap_share(view)
    if (capped.value or 0.0) >= 0.7:
        return restated(capped, False, "", "at_cap_share")
    if full.value is True:
        return restated(full, False, "", "usage_when_queued")
    stood = waiting_share(view)
    if (more := pressed(view)) is not None:
        return restated(more, True, "", "overload.arrivals")
    if stood.value is not None and stood.value < SELDOM:
        # Where more comes in than is served, somebody waits nearly always.
        return restated(stood, False, "", "waiting_share")
    grown, work, motion = change(view, "arrival_rate"), backlog_s(view), queue_motion(view)
    if grown.value is not None and grown.value >= 1.3:
        # A short rush that empties again is a burst; a queue that ends with the incident itself was load.
        window = view.incident
        rush = motion.value == "drained" and window is not None and window.to_ts - window.from_ts <= RUSH_S
        return restated(grown, not rush, "", "overload.arrivals")
    if work.value is None or motion.value is None:
        return restated(grown, False, "", "overload.arrivals") if grown.value is not None else work
    giants = behind_giants(view).value is True
    value = work.value >= 5 and motion.value in ("flat", "growing") and not (giants or grown.value is not None)
    return restated(work, bool(value), "", "overload.backlog", motion=motion.value)


def behind_giants(view: View) -> Fact:
    """Whether others wait for giant prompts: chunk after chunk of one request, or waits that overlap their prefill."""
    waits, chunks = waits_behind_giants(view), giant_prefill(view)
    if waits.value is not None:
        return restated(waits, bool(waits.value >= 0.5), "", "giants.waits")
    if chunks.value is None:
        return chunks
    share = dict(chunks.statement.figures).get("share") or 0.0
    return restated(chunks, bool(chunks.value >= 16384 and share >= 0.5), "", "giants.chunks", tokens=chunks.value)


REFUSED: Final = """
WITH rows AS (
    SELECT 'event' AS what, source, line FROM events WHERE kind = 'queue-full'
        AND ($since::DOUBLE IS NULL OR ts IS NULL OR ts >= $since)
        AND ($until::DOUBLE IS NULL OR ts IS NULL OR ts <= $until)
    UNION ALL
    SELECT 'request', source, line FROM asks
    WHERE (state = 'rejected' OR contains(coalesce(abort_message, ''), 'queue is full')) AND NOT coalesce(probe, false)
        AND ($since::DOUBLE IS NULL OR received_ts IS NULL OR received_ts >= $since)
        AND ($until::DOUBLE IS NULL OR received_ts IS NULL OR received_ts <= $until)
)
SELECT greatest(count(*) FILTER (WHERE what = 'event'), count(*) FILTER (WHERE what = 'request')) AS hits,
    (SELECT count(*) FROM asks WHERE NOT coalesce(probe, false)) AS requests,
    (SELECT count(*) FROM events) + (SELECT count(*) FROM sources WHERE kind = 'log') AS watched,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def refused(view: View) -> Fact:
    """Requests refused because the queue limit was reached (often HTTP 200 with an error in the stream)."""
    hits, requests, watched, cites = view.one(REFUSED, bounds(view))
    if not watched and not requests:
        return lacking("refusals", "the server log, the request log or a client file")
    return found(view, hits, "requests", max(hits, requests, watched), cites, requests=requests)


OCCUPANCY: Final = """
WITH rows AS (
    SELECT occupancy, source, line FROM batches
    WHERE kind = 'decode' AND occupancy IS NOT NULL AND NOT isnan(occupancy) AND running > 0
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
    UNION ALL
    SELECT m.value, m.source, m.line FROM samples m JOIN series s USING (series)
    WHERE s.name = 'fwd_occupancy' AND NOT isnan(m.value) AND m.value > 0
        AND ($since::DOUBLE IS NULL OR m.ts >= $since) AND ($until::DOUBLE IS NULL OR m.ts <= $until)
)
SELECT count(*) AS n, median(occupancy) / 100 AS value,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def device_busy(view: View) -> Fact:
    """Median share of wall time in which the device ran a forward pass while requests were running."""
    n, value, cites = view.one(OCCUPANCY, bounds(view))
    if n < 3:
        return lacking("device occupancy", "SGLANG_ENABLE_METRICS_DEVICE_TIMER=1 (0.5.23)", n)
    return found(view, value, "share", n, cites, busy=rounded(value))


FREE: Final = """
WITH slack AS (
    SELECT busy, usage FROM lane
    WHERE waiting > 0 AND busy IS NOT NULL AND usage < 0.9 AND busy < coalesce(cap, 1e9)
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
),
limits AS (SELECT max(context_len) AS context FROM servers WHERE context_len > 0),
asked AS (
    SELECT least(coalesce(max_new_tokens, (SELECT context FROM limits) - prompt_tokens), 4096) AS asked,
        prompt_tokens - coalesce(cached_tokens, 0) AS fresh, source, line
    FROM asks
    WHERE prompt_tokens > 0 AND (max_new_tokens IS NOT NULL OR params_logged) AND NOT coalesce(probe, false)
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
),
pool AS (
    SELECT min(pool) AS pool FROM (
        SELECT pool_tokens AS pool FROM servers WHERE pool_tokens > 0
        UNION ALL SELECT pool_tokens FROM loads WHERE pool_tokens > 0)
)
SELECT (SELECT count(*) FROM slack) AS n, count(*) AS requests, quantile_cont(asked + fresh, 0.95) AS head,
    avg(asked) AS mean_asked, (SELECT median(busy) FROM slack) AS busy,
    (SELECT pool * (1 - (SELECT median(usage) FROM slack)) FROM pool) AS free,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM asked GROUP BY source)) AS cites
FROM asked WHERE asked IS NOT NULL
"""


def reserve_pressure(view: View) -> Fact:
    """What the head of the queue and the running ones reserve for outputs, over what is free while neither is full.

    SIGNALS §14.3: a candidate needs its uncached prompt and its whole reserve; running requests keep a share of
    what is left of theirs, taken here as half of half.
    """
    n, requests, head, mean_asked, busy, free, cites = view.one(FREE, bounds(view))
    if n < 3 or requests < 10 or not free:
        return lacking("max_new_tokens of requests and the pool's size", "--log-requests --log-requests-level 1", n)
    needed = head + 0.25 * busy * mean_asked
    return found(view, needed / free, "ratio", n, cites, needed=rounded(needed), free=rounded(free), head=rounded(head))


BUDGET: Final = """
WITH rows AS (
    SELECT new_tokens, waiting, source, line FROM batches
    WHERE kind = 'prefill' AND waiting > 0 AND new_tokens IS NOT NULL
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
),
chunk AS (SELECT min(least(chunked_prefill_size, max_prefill_tokens)) AS chunk FROM servers
    WHERE chunked_prefill_size > 0)
SELECT count(*) AS n, median(new_tokens) AS typical, coalesce((SELECT chunk FROM chunk), max(new_tokens)) AS budget,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def prefill_fill(view: View) -> Fact:
    """Median size of a prefill batch over its budget while requests wait: near 1 means prefill itself is the limit."""
    n, typical, budget, cites = view.one(BUDGET, bounds(view))
    if n < 3 or not budget:
        return lacking("prefill lines with a queue", "the server log", n)
    return found(view, typical / budget, "share", n, cites, typical=typical, budget=budget)


def over_reserved(view: View) -> Fact:
    """Whether reserves hold requests back: far above real outputs, and of the size of the free tokens they wait beside.

    Clients ask for several times what they get nearly everywhere; that alone holds nobody back in a large pool.
    """
    ratio, pressure, fill = reserve_ratio(view), reserve_pressure(view), prefill_fill(view)
    if fill.value is not None and fill.value >= 0.7:
        return restated(fill, False, "", "reserve.prefill-bound")
    if pressure.value is not None:
        least = 0.5 if ratio.value is not None and ratio.value >= 1.5 else 0.8
        told = {name: figure for name, figure in ratio.statement.figures if name in ("asked", "got")}
        if pressure.value < 1:  # typical figures that would fit prove nothing to a reader
            told |= {"needed": None, "free": None}
        return restated(pressure, bool(pressure.value >= least), "", "reserve_pressure", **told)
    return ratio if ratio.value is None else restated(ratio, bool(ratio.value >= 1.5), "", "reserve_ratio")


def reservation_regime(view: View) -> Fact:
    """Whether the queue stands beside a batch and a pool that both have room, because of reserves."""
    slack, reserved = slack_share(view), over_reserved(view)
    if slack.value is None:
        return slack
    full = pool_full(view)
    if full.value is True:
        return restated(full, False, "", "usage_when_queued")
    if slack.value < 0.5:
        return restated(slack, False, "", "slack_share")
    return reserved
