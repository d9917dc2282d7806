"""Figures of a request that follow from others: outcome, TTFT, E2E, the parts of the way, and the unexplained rest.

- `pre_queue_s`: arrival at the API server → entry into the waiting queue (tokenize, dispatch, scheduler receipt).
- `return_s`: completion in the scheduler (`scheduled + forward`) → finish at the API server.
- `prefill_s`, `decode_s`: as a source names them, else between stamps: scheduled → prefill done (or first token) →
  completion in the scheduler (or, where that is unknown, finish). Stamps give no `unaccounted_s`: it would be 0 by
  construction.
- `unaccounted_s`: E2E minus every duration that a source names on the way. Null where queue or forward are unknown
  or the request was retracted (0.5.23 counts the wait after a retraction in both, SIGNALS §2.3). A negative rest
  beyond rounding is a contradiction: null, and counted as a conflict.
"""

from typing import Final

from ridgeline.model.tables import REQUEST

# Stamps of a request that was put back mix two rounds; a PD side sees its own part only.
ONCE: Final = "coalesce(retractions, 0) = 0"
WHOLE: Final = "coalesce(role, '') NOT IN ('prefill', 'decode', 'client', 'gateway')"

# Columns of `requests` that are more than the merged value.
WORKED: Final[dict[str, str]] = {
    "parent_rid": "coalesce(parent_rid, linked_parent)",
    "probe": "coalesce(probe, starts_with(rid, 'HEALTH_CHECK'), FALSE)",
    "ttft_s": "CASE WHEN ttft_s >= 0 THEN ttft_s END",
    "e2e_s": "CASE WHEN e2e_s >= 0 THEN e2e_s END",
    "tpot_s": "coalesce(tpot_s, CASE WHEN completion_tokens > 1 AND e2e_s >= ttft_s AND ttft_s >= 0"
    " THEN (e2e_s - ttft_s) / (completion_tokens - 1) END)",
    "prefill_s": f"coalesce(prefill_s, CASE WHEN {ONCE} THEN CASE"
    " WHEN role IS DISTINCT FROM 'decode' AND prefill_done_ts >= scheduled_ts THEN prefill_done_ts - scheduled_ts"
    f" WHEN {WHOLE} AND first_token_ts >= scheduled_ts THEN first_token_ts - scheduled_ts END END)",
    "decode_s": f"coalesce(decode_s, CASE WHEN {ONCE} AND {WHOLE} AND state = 'finished' THEN CASE"
    " WHEN scheduled_ts + forward_s >= coalesce(prefill_done_ts, first_token_ts)"
    " THEN scheduled_ts + forward_s - coalesce(prefill_done_ts, first_token_ts)"
    " WHEN forward_s IS NULL AND finished_ts >= first_token_ts THEN finished_ts - first_token_ts END END)",
}
COLUMNS: Final = ", ".join(f"{WORKED[n]} AS {n}" if n in WORKED else f'parts."{n}"' for n in REQUEST)
# Columns that the statement below can fill where no record says anything of them.
FILLED: Final = frozenset(
    (*WORKED, "rid", "client_rid", "state", "status_code", "abort_message", "received_ts", "e2e_s", "queued_ts")
)

# A request that arrived and never finished ended somehow if the client or an abort line of the log says so.
DERIVED_SQL: Final = f"""
    WITH merged AS (
        {{merged}}
    ),
    told AS (
        SELECT
            m.* EXCLUDE (client_rid, state, status_code, abort_message, finish_reason),
            CASE WHEN m.role = 'client' THEN coalesce(m.linked_rid, m.key_rid) ELSE m.key_rid END AS rid,
            coalesce(m.client_rid, c.client_rid) AS client_rid,
            CASE
                WHEN contains(lower(coalesce(m.abort_message, '')), 'queue is full') THEN 'rejected'
                WHEN m.finish_reason = 'abort' AND m.status_code IN (429, 503)
                    AND coalesce(m.completion_tokens, 0) = 0 AND m.scheduled_ts IS NULL THEN 'rejected'
                WHEN m.state NOT IN ('received', 'unfinished') THEN m.state
                WHEN (m.finished_ts IS NOT NULL AND m.finish_said) OR m.finish_reason IS NOT NULL THEN
                    CASE WHEN m.finish_reason = 'abort' THEN 'aborted' ELSE 'finished' END
                WHEN c.state IN ('aborted', 'rejected', 'error') THEN c.state
                WHEN e.kind IN ('abort', 'client-disconnect') THEN 'aborted'
                WHEN e.kind = 'queue-full' THEN 'rejected'
                WHEN e.kind IS NOT NULL THEN 'error'
                WHEN m.state = 'unfinished' THEN 'unfinished'
                WHEN m.arrived OR m.state = 'received' THEN
                    CASE WHEN coalesce(m.scheduled_ts, m.first_token_ts) IS NULL THEN 'received' ELSE 'unfinished' END
                -- seen by a source that writes at the end only
                WHEN m.finish_said AND (m.e2e_s IS NOT NULL OR m.forward_s IS NOT NULL) THEN 'finished'
            END AS state,
            coalesce(m.status_code, CASE WHEN m.finished_ts IS NULL THEN c.status_code END) AS status_code,
            coalesce(m.abort_message, CASE WHEN m.finished_ts IS NULL THEN coalesce(c.abort_message, e.text) END)
                AS abort_message,
            m.finish_reason
        FROM merged AS m
        LEFT JOIN (FROM client_said WHERE first_id IN (SELECT client_id FROM linked_here)) AS c
            ON c.first_id = m.client_id
        LEFT JOIN ending AS e ON e.rid = m.key_rid AND m.role IS DISTINCT FROM 'client'
    ),
    timed AS (
        SELECT
            * REPLACE (
                -- A request that never ended has no meta_info: the record of its arrival is written as it arrives.
                coalesce(received_ts, CASE WHEN arrived AND finished_ts IS NULL THEN logged_ts END) AS received_ts,
                CASE WHEN state NOT IN ('received', 'unfinished') THEN finished_ts END AS finished_ts,
                coalesce(ttft_s, first_token_ts - received_ts) AS ttft_s,
                CASE WHEN state NOT IN ('received', 'unfinished') THEN coalesce(e2e_s, finished_ts - received_ts) END
                    AS e2e_s,
                coalesce(
                    queued_ts,
                    queued_mono + mono_add_s,
                    CASE WHEN coalesce(retractions, 0) = 0 THEN scheduled_ts - queue_s END
                ) AS queued_ts
            )
        FROM told
    ),
    parts AS (
        SELECT
            *,
            queued_ts - received_ts AS pre_s,
            CASE WHEN coalesce(retractions, 0) = 0 THEN finished_ts - (scheduled_ts + forward_s) END AS back_s,
            CASE WHEN coalesce(retractions, 0) = 0 THEN
                e2e_s - queue_s - coalesce(forward_s, inference_s, prefill_s + decode_s)
                -- both happen on the way to the queue; a span may count the other parts of an n > 1 request in
                - least(
                    coalesce(tokenize_s, 0) + coalesce(dispatch_s, 0),
                    CASE WHEN queued_ts >= received_ts THEN queued_ts - received_ts END
                )
                - CASE role
                    WHEN 'prefill' THEN coalesce(bootstrap_s, 0)
                    WHEN 'decode' THEN
                        coalesce(prealloc_s, coalesce(bootstrap_s, 0) + coalesce(alloc_wait_s, 0))
                        + coalesce(transfer_s, 0)
                    ELSE 0
                END
            END AS rest_s
        FROM timed
    )
    SELECT
        request,
        {COLUMNS},
        p.request_pair AS pair,
        CASE WHEN rest_s >= -0.005 THEN greatest(rest_s, 0) END AS unaccounted_s,
        CASE WHEN back_s >= -0.005 THEN greatest(back_s, 0) END AS return_s,
        CASE WHEN pre_s >= -0.005 THEN greatest(pre_s, 0) END AS pre_queue_s,
        state IN ('received', 'unfinished') AS censored,
        conflicts
            + CAST(coalesce(rest_s < -0.005, FALSE) AS INTEGER)
            + CAST(coalesce(back_s < -0.005, FALSE) AS INTEGER)
            + CAST(coalesce(pre_s < -0.005, FALSE) AS INTEGER)
            + CAST(coalesce(e2e_s < 0, FALSE) AS INTEGER)
            + CAST(coalesce(ttft_s < 0, FALSE) AS INTEGER) AS conflicts,
        kinds,
        source,
        line
    FROM parts
    LEFT JOIN (
        SELECT first_id AS pair_first, request AS request_pair
        FROM linked
        WHERE first_id IN (SELECT pair_id FROM linked_here)
    ) AS p ON p.pair_first = parts.pair_id
    ORDER BY request
"""
