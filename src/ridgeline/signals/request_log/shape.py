"""What of a request-log record is read, as one typed shape, and the one SQL that turns it into columns.

Every form of the record (bare JSON, prefixed JSON, exporter line, Python repr, a cut line's complete part) is first
brought to the JSON form of SGLang 0.5.9 and later, `{timestamp, event, rid, obj{…}, headers, out{meta_info{…}}}`, and
then read here; so a key is mapped to a column in one place. Names differ by version (`total_retractions` in 0.5.6 and
0.5.9, `num_retractions` in 0.5.23, …; SIGNALS §3.6): both are read, the newer one wins.

A value of another type than declared (a list where a batch request has one) is null, never a guess.
"""

import json
from typing import Final

import duckdb
import pyarrow as pa

_SAMPLING: Final = {
    "max_new_tokens": "BIGINT",
    "n": "BIGINT",
    "temperature": "DOUBLE",
    "ignore_eos": "BOOLEAN",
    "stop": "JSON",
    "stop_token_ids": "JSON",
    "stop_regex": "JSON",
    "regex": "VARCHAR",
    "json_schema": "VARCHAR",
    "ebnf": "VARCHAR",
    "structural_tag": "VARCHAR",
}
_OBJ: Final = {
    "rid": "VARCHAR",
    "text": "VARCHAR",
    "input_ids": "JSON",
    "image_data": "JSON",
    "video_data": "JSON",
    "audio_data": "JSON",
    "sampling_params": _SAMPLING,
    "stream": "BOOLEAN",
    "return_logprob": "BOOLEAN",
    "require_reasoning": "BOOLEAN",
    "lora_path": "VARCHAR",
    "lora_id": "VARCHAR",
    "bootstrap_host": "VARCHAR",
    "bootstrap_room": "BIGINT",
    "routed_dp_rank": "BIGINT",
    "data_parallel_rank": "BIGINT",
    "disagg_prefill_dp_rank": "BIGINT",
    "routing_key": "VARCHAR",
    "extra_key": "VARCHAR",
    "session_id": "VARCHAR",
    "session_params": {"id": "VARCHAR"},
    "priority": "BIGINT",
    "custom_labels": "JSON",
    "received_time": "DOUBLE",
    "received_time_perf": "DOUBLE",
    # only in the raw OpenAI payload of `request.received.openai`
    "messages": "JSON",
    "prompt": "JSON",
    "max_tokens": "BIGINT",
    "max_completion_tokens": "BIGINT",
    "n": "BIGINT",
    "temperature": "DOUBLE",
    "ignore_eos": "BOOLEAN",
    "stop": "JSON",
    "regex": "VARCHAR",
    "ebnf": "VARCHAR",
    "tools": "JSON",
    "response_format": "JSON",
    "logprobs": "BOOLEAN",
    "user": "VARCHAR",
    "model": "VARCHAR",
}
META: Final = {
    "id": "VARCHAR",
    "finish_reason": {
        "type": "VARCHAR",
        "length": "BIGINT",
        "message": "VARCHAR",
        "status_code": "BIGINT",
        "err_type": "VARCHAR",
    },
    "prompt_tokens": "BIGINT",
    "completion_tokens": "BIGINT",
    "cached_tokens": "BIGINT",
    "reasoning_tokens": "BIGINT",
    "cached_tokens_details": {"device": "BIGINT", "host": "BIGINT", "storage": "BIGINT"},
    "num_retractions": "BIGINT",
    "total_retractions": "BIGINT",
    "dp_rank": "BIGINT",
    "spec_accept_length": "DOUBLE",
    "weight_version": "VARCHAR",
    "e2e_latency": "DOUBLE",
    "queue_time": "DOUBLE",
    "first_token_latency": "DOUBLE",
    "inference_time": "DOUBLE",
    "decode_throughput": "DOUBLE",
    "storage_prefetch_wait": "DOUBLE",
    "storage_staging_wait": "DOUBLE",
    "request_received_ts": "DOUBLE",
    "api_server_dispatch_finish_ts": "DOUBLE",
    "request_sent_to_scheduler_ts": "DOUBLE",
    "forward_entry_time": "DOUBLE",
    "prefill_finished_time": "DOUBLE",
    "prefill_finished_ts": "DOUBLE",
    "request_finished_ts": "DOUBLE",
    "decode_finished_ts": "DOUBLE",
    "response_sent_to_client_ts": "DOUBLE",
}
SHAPE: Final = json.dumps(
    {
        "timestamp": "VARCHAR",
        "event": "VARCHAR",
        "rid": "VARCHAR",
        "obj": _OBJ,
        "headers": "JSON",
        "out": {"meta_info": META},
        "rank": "BIGINT",
        "running_rids": ["VARCHAR"],
        "queued_rids": ["VARCHAR"],
    }
)

KEPT: Final = frozenset(_OBJ) | frozenset(META)

# A string of 2,051 characters (1,024 + "..." + 1,024) is level 2's truncation: its true length is unknown.
# Stamps of 0.0 mean "not reached" (SIGNALS §2.2).
PROJECT_SQL: Final = """
WITH parsed AS (
    SELECT line, from_json(body, getvariable('shape')) AS j FROM request_log_lines
),
parts AS (
    SELECT
        line,
        j.event AS event,
        (j.obj.sampling_params IS NOT NULL OR j.event = 'request.received.openai') AS seen,
        coalesce(
            j.obj.sampling_params.json_schema, j.obj.sampling_params.regex, j.obj.sampling_params.ebnf,
            j.obj.sampling_params.structural_tag, j.obj.regex, j.obj.ebnf,
            CASE WHEN json_extract_string(j.obj.response_format, '$.type') <> 'text'
                THEN CAST(j.obj.response_format AS VARCHAR) END
        ) AS schema_text,
        epoch(try_cast(j.timestamp AS TIMESTAMP)) AS logged_ts,
        j.rid AS top_rid,
        j.headers AS headers,
        j.obj AS obj,
        j.obj.sampling_params AS sampling,
        j.out.meta_info AS meta,
        j.rank AS status_rank,
        j.running_rids AS running_rids,
        j.queued_rids AS queued_rids
    FROM parsed
)
SELECT
    line,
    CASE event
        WHEN 'request.received' THEN 'received'
        WHEN 'request.received.openai' THEN 'received-openai'
        WHEN 'request.finished' THEN 'finished'
        WHEN 'scheduler.status' THEN 'status'
    END AS event,
    coalesce(top_rid, obj.rid, meta.id) AS rid,
    starts_with(coalesce(top_rid, obj.rid, meta.id), 'HEALTH_CHECK') AS probe,
    CASE WHEN NOT starts_with(coalesce(top_rid, obj.rid, meta.id), 'HEALTH_CHECK') THEN obj.bootstrap_room END AS room,
    CASE
        WHEN obj.messages IS NOT NULL THEN '/v1/chat/completions'
        WHEN obj.prompt IS NOT NULL AND event = 'request.received.openai' THEN '/v1/completions'
    END AS endpoint,
    obj.stream AS stream,
    coalesce(sampling.n, obj.n) AS n,
    coalesce(
        meta.prompt_tokens,
        CAST(CASE WHEN NOT contains(obj.input_ids, '"') THEN nullif(json_array_length(obj.input_ids), 0) END AS BIGINT)
    ) AS prompt_tokens,
    nullif(length(obj.text), 2051) AS prompt_chars,
    coalesce(sampling.max_new_tokens, obj.max_completion_tokens, obj.max_tokens) AS max_new_tokens,
    seen AS params_logged,
    coalesce(sampling.ignore_eos, obj.ignore_eos) AS ignore_eos,
    coalesce(sampling.temperature, obj.temperature) AS temperature,
    CASE WHEN seen THEN
        coalesce(
            nullif(sampling.stop, '[]'), nullif(sampling.stop_token_ids, '[]'),
            nullif(sampling.stop_regex, '[]'), nullif(obj.stop, '[]')
        ) IS NOT NULL
    END AS stop_set,
    CASE WHEN seen THEN coalesce(sampling.regex, obj.regex) IS NOT NULL END AS regex_set,
    CASE WHEN seen THEN schema_text IS NOT NULL END AS schema_set,
    left(md5(schema_text), 16) AS schema_hash,
    CASE WHEN event = 'request.received.openai' THEN coalesce(json_array_length(obj.tools), 0) > 0 END AS tools_set,
    coalesce(obj.return_logprob, obj.logprobs) AS logprobs,
    obj.require_reasoning AS reasoning,
    CASE
        WHEN obj.video_data IS NOT NULL THEN 'video'
        WHEN obj.image_data IS NOT NULL THEN 'image'
        WHEN obj.audio_data IS NOT NULL THEN 'audio'
        WHEN obj.text IS NOT NULL OR obj.input_ids IS NOT NULL THEN 'text'
    END AS modality,
    coalesce(obj.lora_path, obj.lora_id) AS lora,
    coalesce(obj.routing_key, json_extract_string(headers, '$."x-smg-routing-key"')) AS routing_key,
    obj.extra_key AS extra_key,
    coalesce(obj.session_id, obj.session_params.id) AS session_id,
    obj.priority AS priority,
    obj.user AS "user",
    coalesce(obj.routed_dp_rank, obj.data_parallel_rank) AS dp_rank_asked,
    meta.dp_rank AS dp_rank,
    -- SGLang answers a full queue with 503 as well as a timeout: only the message tells them apart
    CASE
        WHEN event = 'request.received' THEN 'received'
        WHEN event <> 'request.finished' OR meta.finish_reason.type IS NULL THEN NULL
        WHEN meta.finish_reason.type <> 'abort' THEN 'finished'
        WHEN contains(lower(meta.finish_reason.message), 'queue is full') THEN 'rejected'
        WHEN meta.finish_reason.status_code BETWEEN 400 AND 499 THEN 'rejected'
        WHEN meta.finish_reason.status_code BETWEEN 500 AND 502 THEN 'error'
        ELSE 'aborted'
    END AS state,
    meta.finish_reason.type AS finish_reason,
    meta.finish_reason.message AS abort_message,
    meta.finish_reason.status_code AS status_code,
    meta.completion_tokens AS completion_tokens,
    meta.reasoning_tokens AS reasoning_tokens,
    meta.cached_tokens AS cached_tokens,
    meta.cached_tokens_details.device AS cached_device_tokens,
    meta.cached_tokens_details.host AS cached_host_tokens,
    meta.cached_tokens_details.storage AS cached_storage_tokens,
    coalesce(meta.num_retractions, meta.total_retractions) AS retractions,
    meta.spec_accept_length AS spec_accept_length,
    nullif(meta.request_received_ts, 0) AS received_ts,
    nullif(coalesce(meta.api_server_dispatch_finish_ts, meta.request_sent_to_scheduler_ts), 0) AS dispatched_ts,
    nullif(meta.forward_entry_time, 0) AS scheduled_ts,
    nullif(coalesce(meta.prefill_finished_time, meta.prefill_finished_ts), 0) AS prefill_done_ts,
    nullif(meta.request_received_ts, 0) + meta.first_token_latency AS first_token_ts,
    nullif(coalesce(meta.request_finished_ts, meta.decode_finished_ts), 0) AS finished_ts,
    nullif(meta.response_sent_to_client_ts, 0) AS response_sent_ts,
    logged_ts,
    -- monotonic in 0.5.23 and wall in 0.5.9, whose monotonic twin is another key
    CASE WHEN obj.received_time < 1e9 THEN nullif(obj.received_time, 0) ELSE obj.received_time_perf END
        AS received_mono,
    meta.queue_time AS queue_s,
    meta.first_token_latency AS ttft_s,
    -- 0.5.23 divides by N - 1 tokens, 0.5.9 and before by N (SIGNALS §3.6)
    CASE
        WHEN meta.decode_throughput > 0 AND meta.completion_tokens > 1 THEN
            CASE WHEN meta.request_finished_ts IS NOT NULL THEN 1 / meta.decode_throughput
                ELSE meta.completion_tokens / meta.decode_throughput / (meta.completion_tokens - 1) END
    END AS tpot_s,
    meta.e2e_latency AS e2e_s,
    meta.inference_time AS inference_s,
    coalesce(meta.storage_prefetch_wait + meta.storage_staging_wait,
        meta.storage_prefetch_wait, meta.storage_staging_wait) AS storage_wait_s,
    -- below: not columns of `records`, read on by rows.py
    headers,
    obj.custom_labels AS custom_labels,
    CASE WHEN obj.bootstrap_room IS NOT NULL THEN obj.bootstrap_host END AS bootstrap_host,
    obj.disagg_prefill_dp_rank AS disagg_prefill_dp_rank,
    meta.finish_reason.err_type AS err_type,
    meta.finish_reason.length AS finish_length,
    nullif(meta.weight_version, 'default') AS weight_version,
    obj.model AS model,
    status_rank,
    running_rids,
    queued_rids
FROM parts
"""


def project(con: duckdb.DuckDBPyConnection, lines: pa.Table) -> pa.Table:
    """`lines` (line: int64, body: string with one JSON record each) → one row per line in PROJECT_SQL's columns.

    Row order is that of `lines`. Raises duckdb.Error where a body is no JSON at all. `con` is a
    `session.cursor()`, which holds the shape in a variable.
    """
    con.register("request_log_lines", lines)
    try:
        return con.sql(PROJECT_SQL).to_arrow_table()
    finally:
        con.unregister("request_log_lines")
