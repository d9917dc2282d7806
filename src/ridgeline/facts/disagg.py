"""Prefill-decode disaggregation: queues by side, timeouts by state, transfer speed, who holds whom up (SIGNALS §9)."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.backlog import prefill_fill
from ridgeline.facts.change import change
from ridgeline.facts.events import event_count
from ridgeline.facts.link import transfer_slowed
from ridgeline.facts.make import bounds, found, lacking, restated, rounded
from ridgeline.facts.points import ready
from ridgeline.model.fact import Fact

HOW_PD: Final = "logs or /v1/loads of both the prefill and the decode server"

QUEUES: Final = """
WITH rows AS (
    SELECT ord, CASE $queue WHEN 'bootstrap' THEN bootstrap WHEN 'inflight' THEN inflight WHEN 'prealloc' THEN prealloc
                            WHEN 'transfer' THEN transfer WHEN 'retracted' THEN retracted END AS length,
        waiting, running, new_seq, usage, ts, source, line
    FROM points
    WHERE ($since::DOUBLE IS NULL OR ts IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts IS NULL
        OR ts <= $until)
),
known AS (SELECT * FROM rows WHERE length IS NOT NULL)
SELECT count(*) AS n, median(length) AS typical, max(length) AS peak, arg_min(length, ord) AS first,
    arg_max(length, ord) AS last, count(DISTINCT length) FILTER (WHERE length > 0) AS lengths,
    count(*) FILTER (WHERE length > 0 AND coalesce(running, 0) <= greatest(1, length / 8)) AS occupied,
    max(ts) - min(ts) AS span_s, median(usage) AS usage, max(waiting) AS waiting,
    median(running) AS running,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM known GROUP BY source)) AS cites
FROM known
"""


def pd_queue(view: View, queue: str) -> Fact:
    """Median length of one PD queue: bootstrap, inflight (prefill); prealloc, transfer, retracted (decode)."""
    row = ready(view).one(QUEUES, {**bounds(view), "queue": queue})
    n, typical, peak, first, last, _lengths, _occupied, span_s, usage, waiting, running, cites = row
    if not n:
        return lacking(f"the {queue} queue", HOW_PD)
    return found(
        view,
        typical,
        "requests",
        n,
        cites,
        queue=queue,
        peak=peak,
        first=first,
        last=last,
        span_s=rounded(span_s),
        usage=rounded(usage),
        waiting=waiting,
        running=rounded(running),
    )


def pd_queue_frozen(view: View, queue: str) -> Fact:
    """Whether a PD queue stood at one length above zero over twenty seconds while hardly anything ran.

    Hardly: one request, or an eighth of those that wait. What came out of the queue would run.
    """
    row = ready(view).one(QUEUES, {**bounds(view), "queue": queue})
    n, typical, _peak, _first, _last, lengths, occupied, span_s, *_rest, cites = row
    if n < 10 or span_s is None or span_s < 20:
        return lacking(f"the motion of the {queue} queue", f"ten points over twenty seconds: {HOW_PD}", n)
    value = bool(lengths == 1 and occupied >= 0.9 * n)
    return found(view, value, "", n, cites, queue=queue, length=typical, span_s=rounded(span_s))


TRAFFIC: Final = """
WITH rows AS (
    SELECT new_seq, new_tokens, bootstrap, inflight, waiting, source, line FROM batches
    WHERE kind = 'prefill' AND bootstrap IS NOT NULL
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
)
SELECT count(*) AS n, max(new_tokens / greatest(new_seq, 1)) AS largest, sum(new_seq)::BIGINT AS seqs,
    max(bootstrap) AS bootstrap, max(inflight) AS inflight, max(waiting) AS waiting,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def real_prefills(view: View) -> Fact:
    """Largest mean prompt of a prefill batch on a prefill server: one token means that only probes get through."""
    n, largest, seqs, bootstrap, inflight, waiting, cites = view.one(TRAFFIC, bounds(view))
    if not n:
        return lacking("prefill lines of the prefill server", "its server log")
    return found(
        view,
        largest,
        "tokens",
        n,
        cites,
        seqs=seqs,
        bootstrap=bootstrap,
        inflight=inflight,
        waiting=waiting,
        largest=rounded(largest),
    )


TIMEOUTS: Final = """
WITH rows AS (
    SELECT coalesce(attrs ->> 'state', '') AS state, value, room, dp_rank, ts, source, line FROM events
    WHERE kind = 'kvpoll-timeout' AND ($since::DOUBLE IS NULL OR ts IS NULL OR ts >= $since)
        AND ($until::DOUBLE IS NULL OR ts IS NULL OR ts <= $until)
),
picked AS (SELECT * FROM rows WHERE state = $state)
SELECT count(*) AS hits, count(DISTINCT room) AS rooms, max(value) AS waited, count(DISTINCT dp_rank) AS ranks,
    min(ts) AS first, (SELECT count(*) FROM events) + (SELECT count(*) FROM sources WHERE kind = 'log') AS watched,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM picked GROUP BY source)) AS cites
FROM picked
"""


def kvpoll_timeouts(view: View, state: str) -> Fact:
    """Rooms that timed out in one KVPoll state; the wait began `waited` seconds before the line."""
    hits, rooms, waited, ranks, _first, watched, cites = view.one(TIMEOUTS, {**bounds(view), "state": state})
    if not watched:
        return lacking("log lines", "the logs of both servers")
    return found(view, max(rooms, hits and 1), "rooms", hits or watched, cites, state=state, waited=waited, ranks=ranks)


FAILURES: Final = """
WITH rows AS (
    SELECT kind, room, rid, coalesce(text, '') || ' ' || coalesce(attrs, '') AS said, ts, source, line FROM events
    WHERE kind IN ('transfer-failed', 'session-failed', 'bootstrap-failed', 'handshake-failed')
        AND ($since::DOUBLE IS NULL OR ts IS NULL OR ts >= $since)
        AND ($until::DOUBLE IS NULL OR ts IS NULL OR ts <= $until)
),
meant AS (SELECT * FROM rows WHERE NOT contains(said, 'Aborted by')),
slow AS (SELECT * FROM meant WHERE contains(lower(said), 'timeout') OR contains(lower(said), 'timed out'))
-- One request's failure is printed by several ranks and parts of the engine: requests count, where lines name them.
SELECT (SELECT count(*) FROM rows) AS n,
    (SELECT coalesce(nullif(count(DISTINCT coalesce(rid, room::VARCHAR)), 0), count(*)) FROM meant) AS failed,
    coalesce(nullif(count(DISTINCT coalesce(rid, room::VARCHAR)), 0), count(*)) AS timed_out,
    (SELECT count(*) FROM events) + (SELECT count(*) FROM sources WHERE kind = 'log') AS watched,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM slow
"""


def transfer_failures(view: View, timed_out: bool = False) -> Fact:
    """Transfers and handshakes that failed, told aborts left out; with `timed_out`, only those a timeout ended."""
    n, failed, late, watched, cites = view.one(FAILURES, bounds(view))
    if not watched:
        return lacking("log lines", "the logs of both servers")
    return found(view, late if timed_out else failed, "events", n or watched, cites, failed=failed, late=late, all=n)


def stuck_transfers(view: View) -> Fact:
    """Rooms whose KV never came: timeouts in WaitingForInput or Transferring, copies given up, a frozen queue."""
    for state in ("WaitingForInput", "Transferring"):
        rooms = kvpoll_timeouts(view, state)
        if rooms.value:
            return restated(rooms, rooms.value, "rooms", "stuck.timeout", given_up=rooms.value)
    late = transfer_failures(view, timed_out=True)
    if late.value and not kvpoll_timeouts(view, "Bootstrapping").value:
        return restated(late, late.value, "transfers", "stuck.copy", given_up=late.value)
    frozen = pd_queue_frozen(view, "transfer")
    if frozen.value:
        return restated(frozen, 1, "queues", "stuck.queue")
    if rooms.value is None and frozen.value is None:
        return rooms
    return restated(rooms if rooms.value is not None else frozen, 0, "rooms", "stuck.none")


RELEASED: Final = """
WITH rows AS (
    SELECT rid, ts, value, coalesce(text, '') AS text, try_cast(attrs ->> 'lease_s' AS DOUBLE) AS lease, source, line
    FROM events
    WHERE kind = 'kv-released' AND ($since::DOUBLE IS NULL OR ts IS NULL OR ts >= $since)
        AND ($until::DOUBLE IS NULL OR ts IS NULL OR ts <= $until)
),
again AS (SELECT rid, max(ts) - min(ts) AS late_s FROM rows WHERE rid IS NOT NULL GROUP BY rid HAVING count(*) > 1)
SELECT count(*) AS hits, count(DISTINCT rid) AS requests, max(coalesce(lease, value)) AS lease_s,
    (SELECT max(late_s) FROM again) AS late_s,
    (SELECT count(*) FROM events) + (SELECT count(*) FROM sources WHERE kind = 'log') AS watched,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def kv_released_early(view: View) -> Fact:
    """Requests whose KV the sender gave up before decode had read it."""
    hits, requests, lease_s, late_s, watched, cites = view.one(RELEASED, bounds(view))
    if not watched:
        return lacking("log lines", "the logs of both servers")
    return found(
        view, max(requests, hits and 1), "requests", hits or watched, cites, lease_s=lease_s, late_s=rounded(late_s)
    )


SIDES: Final = """
WITH rows AS (
    SELECT CASE WHEN role = 'prefill' OR bootstrap IS NOT NULL THEN 'prefill'
                WHEN role = 'decode' OR prealloc IS NOT NULL THEN 'decode' END AS side,
        waiting, busy, cap, usage, prealloc, bootstrap, source, line
    FROM points
    WHERE ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
)
SELECT count(*) FILTER (WHERE side = 'prefill') AS n_prefill, count(*) FILTER (WHERE side = 'decode') AS n_decode,
    median(coalesce(waiting, 0)) FILTER (WHERE side = 'prefill') AS prefill_waiting,
    median(coalesce(prealloc, 0) + coalesce(waiting, 0)) FILTER (WHERE side = 'decode') AS decode_waiting,
    median(coalesce(usage, 0)) FILTER (WHERE side = 'decode') AS decode_usage,
    median(busy / nullif(cap, 0)) FILTER (WHERE side = 'decode') AS decode_fill,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows WHERE side IS NOT NULL GROUP BY source)) AS cites
FROM rows
"""


def sides(view: View) -> Fact:
    """Which PD side is saturated while the other has room: prefill, decode, both or neither.

    Prefill is: four wait, or its batches are full while anybody waits (what it cannot compute then waits as well in
    decode's transfer queue, whose KV has not been made yet); or more comes in, first tokens come later for it, and
    neither decode nor the link between the two is what they wait for.
    """
    n_prefill, n_decode, p_wait, d_wait, d_usage, d_fill, cites = ready(view).one(SIDES, bounds(view))
    if n_prefill < 3 or n_decode < 3:
        return lacking("both sides of the pair", HOW_PD, n_prefill + n_decode)
    fill = prefill_fill(view)
    full = fill.value is not None and fill.n >= 20 and fill.value >= 0.9
    idle = d_wait < 1 and max(d_usage or 0, d_fill or 0) < 0.5
    prefill, decode = (
        p_wait >= 4 or full or (idle and _strained(view)),
        d_wait >= 4 and max(d_usage or 0, d_fill or 0) >= 0.8,
    )
    value = "both" if prefill and decode else "prefill" if prefill else "decode" if decode else "neither"
    return found(
        view,
        value,
        "",
        n_prefill + n_decode,
        cites,
        prefill_waiting=p_wait,
        decode_waiting=d_wait,
        decode_usage=rounded(d_usage),
        decode_fill=rounded(d_fill),
    )


def _strained(view: View) -> bool:
    """Whether first tokens come later because more comes in: load alone, beside a link as fast as before."""
    more, late = change(view, "arrival_rate"), change(view, "seconds", what="ttft_s", q=0.95)
    if more.value is None or late.value is None or more.value < 1.5 or late.value < 1.5:
        return False
    link, wait = transfer_slowed(view), entry_wait_s(view)
    return (link.value is None or link.value > 0.6) and not wait.value


def decode_usage(view: View) -> Fact:
    """Median pool usage of the decode server."""
    row = ready(view).one(SIDES, bounds(view))
    if row[1] < 3 or row[4] is None:
        return lacking(
            "the decode server's pool usage", "decode lines of the decode server's log, or its /v1/loads", row[1]
        )
    return found(view, row[4], "share", row[1], row[-1], usage=rounded(row[4]))


WAITS: Final = """
WITH rows AS (
    SELECT coalesce(bootstrap_s, 0) + coalesce(alloc_wait_s, prealloc_s, 0) AS wait_s, source, line FROM asks
    WHERE role IN ('prefill', 'decode') AND coalesce(bootstrap_s, alloc_wait_s, prealloc_s) IS NOT NULL
        AND NOT coalesce(probe, false)
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
),
-- Those that waited long: with no window set, the quiet time before the incident is among the rows.
long AS (SELECT * FROM rows WHERE wait_s >= 0.5 * (SELECT quantile_cont(wait_s, 0.95) FROM rows))
SELECT (SELECT count(*) FROM rows) AS n, count(*) AS waited, quantile_cont(wait_s, 0.25) AS low,
    median(wait_s) AS typical, quantile_cont(wait_s, 0.75) AS high,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM long GROUP BY source)) AS cites
FROM long
"""


def entry_wait_s(view: View) -> Fact:
    """Median wait before the transfer (handshake, decode's KV) of the requests that waited long; 0 below half a second.

    `steady` is the quartiles' ratio: a handshake costs each request the same, a queue for KV does not (SIGNALS §9.3).
    """
    n, waited, low, typical, high, cites = ready(view).one(WAITS, bounds(view))
    if n < 20:
        return lacking("bootstrap and allocation waits of requests", "ReqTimeStats lines of both servers", n)
    value = typical if typical >= 0.5 and waited >= 10 else 0.0
    steady = low / high if high else 0.0
    told = {"hits": waited, "least": rounded(low), "most": rounded(high), "typical": rounded(typical)}
    return found(view, value, "s", n, cites, steady=rounded(steady), **told)


def handshake_stuck(view: View) -> Fact:
    """Whether the handshake itself fails: timeouts in Bootstrapping, a bootstrap server out of reach while handshakes
    fail, or a bootstrap queue past which only probes get.

    A wait that is the same for every request, whatever the load, is a slow handshake. A queue past which real prompts
    still flow is no handshake fault: decode hands out its KV slowly.
    """
    timeouts = kvpoll_timeouts(view, "Bootstrapping")
    if timeouts.value:
        return restated(timeouts, True, "", "handshake.timeout")
    mute = event_count(view, "peer-unreachable")
    if mute.value and event_count(view, "bootstrap-failed,handshake-failed").value:
        return restated(mute, True, "", "handshake.unreachable")
    wait = entry_wait_s(view)
    if wait.value and dict(wait.statement.figures)["steady"] >= 0.85:
        line = dict(pd_queue(view, "bootstrap").statement.figures)
        spent = dict(wait.statement.figures)["typical"]
        told = {"state": "Bootstrapping", "waited": spent, "first": line.get("first"), "last": line.get("last")}
        return restated(wait, True, "", "handshake.steady", **told)
    queue, real = pd_queue(view, "bootstrap"), real_prefills(view)
    if queue.value is not None and real.value is not None:
        return restated(queue, bool(queue.value >= 4 and real.value <= 2), "", "handshake.probes", largest=real.value)
    return timeouts if timeouts.value is None else restated(timeouts, False, "", "handshake.none")


def prealloc_backlog(view: View) -> Fact:
    """Whether requests pile up for decode's KV: its prealloc queue, or prefill's bootstrap queue past a real flow."""
    queue = pd_queue(view, "prealloc")
    if queue.value is not None and queue.value >= 4:
        return restated(queue, True, "", "prealloc.queue")
    wait = entry_wait_s(view)
    if wait.value is not None and wait.value >= 2 and dict(wait.statement.figures)["steady"] < 0.85:
        peak = dict(queue.statement.figures).get("peak")
        return restated(wait, True, "", "prealloc.waits", queue="prealloc", peak=peak)
    before, real = pd_queue(view, "bootstrap"), real_prefills(view)
    if before.value is not None and real.value is not None:
        waiting = dict(real.statement.figures)["waiting"] or 0
        flows = before.value >= 8 and real.value > 2 and waiting <= 0.1 * before.value
        return restated(before, bool(flows), "", "prealloc.bootstrap", largest=real.value)
    return queue if queue.value is None else restated(queue, False, "", "prealloc.queue")


def settings_clash(view: View) -> Fact:
    """Whether a setting is at fault: the two sides disagree, or KV is let go before decode's wait is over."""
    said = event_count(view, "config-mismatch")
    if said.value:
        return restated(said, True, "", "clash.said")
    early = kv_released_early(view)
    if early.value:
        told = dict(early.statement.figures)
        late, lease = told["late_s"], told["lease_s"]
        if late is None:  # given up and never asked for again: decode may have died, been slow, or its client gone
            how = "decode's log of the same requests"
            return lacking("whether decode still read what was given up", how, early.n)
        return restated(early, bool(late > (lease or 0)), "", "clash.lease")
    return said if said.value is None else restated(said, False, "", "clash.none")
