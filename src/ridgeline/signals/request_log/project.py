"""The SQL that turns records, read as a shape of `shape.py`, into columns: one row per record.

`request_log_records` is a view over lines in memory or over a file; both give the same columns, so that one statement
serves both. Columns that `records` does not have are read on by `rows.py`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa

from ridgeline.signals.request_log.shape import NARROW, WIDE, columns, structure

SCAN_ROWS: Final = 100_000
SCAN_ROWS_WIDE: Final = 8_192  # these may hold whole prompts

LINES_SQL: Final = """
CREATE OR REPLACE TEMP VIEW request_log_records AS
SELECT line, record.*
FROM (SELECT line, from_json(body, getvariable('structure')) AS record FROM request_log_lines)
"""

FILE_SQL: Final = """
CREATE OR REPLACE TEMP VIEW request_log_records AS
SELECT CAST(NULL AS BIGINT) AS line, *
FROM read_json(getvariable('path'), format = 'newline_delimited', columns = getvariable('columns'))
"""

# A string of 2,051 characters (1,024 + "..." + 1,024) is level 2's truncation: its true length is unknown.
# Stamps of 0.0 mean "not reached" (SIGNALS §2.2).
WIDE_SQL: Final = """
WITH parts AS (
    SELECT
        line,
        event,
        (obj.sampling_params IS NOT NULL OR event = 'request.received.openai') AS seen,
        coalesce(
            obj.sampling_params.json_schema, obj.sampling_params.regex, obj.sampling_params.ebnf,
            obj.sampling_params.structural_tag, obj.regex, obj.ebnf,
            CASE WHEN json_extract_string(obj.response_format, '$.type') <> 'text'
                THEN CAST(obj.response_format AS VARCHAR) END
        ) AS schema_text,
        epoch(try_cast("timestamp" AS TIMESTAMP)) AS logged_ts,
        rid AS top_rid,
        headers,
        obj,
        obj.sampling_params AS sampling,
        out.meta_info AS meta,
        out.output_ids AS output_ids,
        "rank" AS status_rank,
        running_rids,
        queued_rids
    FROM request_log_records
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
        -- the data itself is never logged; what kinds it was of is
        WHEN json_array_length(obj.modalities) > 0 THEN json_extract_string(obj.modalities, '$[0]')
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
    queued_rids,
    -- read by prompts.py
    obj.text AS "text",
    obj.input_ids AS input_ids,
    obj.cache_salt AS cache_salt,
    output_ids
FROM parts
"""

# The same columns where the records have no other keys; what is not here is null in WIDE_SQL too. A record of another
# event, or one that names its request elsewhere, has a null there: the wide shape reads it.
NARROW_SQL: Final = """
WITH parts AS (
    SELECT
        line,
        event,
        epoch(try_cast("timestamp" AS TIMESTAMP)) AS logged_ts,
        rid,
        obj,
        out.meta_info AS meta
    FROM request_log_records
)
SELECT
    line,
    CASE event
        WHEN 'request.received' THEN 'received'
        WHEN 'request.finished' THEN 'finished'
    END AS event,
    rid,
    starts_with(rid, 'HEALTH_CHECK') AS probe,
    obj.stream AS stream,
    meta.prompt_tokens AS prompt_tokens,
    nullif(length(obj.text), 2051) AS prompt_chars,
    FALSE AS params_logged,
    CASE
        WHEN json_array_length(obj.modalities) > 0 THEN json_extract_string(obj.modalities, '$[0]')
        WHEN obj.text IS NOT NULL THEN 'text'
    END AS modality,
    obj.routed_dp_rank AS dp_rank_asked,
    meta.dp_rank AS dp_rank,
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
    meta.cached_tokens AS cached_tokens,
    coalesce(meta.num_retractions, meta.total_retractions) AS retractions,
    logged_ts,
    meta.queue_time AS queue_s,
    meta.first_token_latency AS ttft_s,
    meta.e2e_latency AS e2e_s,
    obj.disagg_prefill_dp_rank AS disagg_prefill_dp_rank,
    meta.finish_reason.err_type AS err_type,
    meta.finish_reason.length AS finish_length
FROM parts
"""


def project(con: duckdb.DuckDBPyConnection, lines: pa.Table, narrow: bool = False) -> pa.Table:
    """`lines` (line: int64, body: string with one JSON record each) → one row per line, in the order of `lines`.

    `narrow`: the caller knows that no key outside `shape.NARROW` is there. Raises duckdb.Error where a body is no JSON.
    """
    con.execute("SET VARIABLE structure = $shape", {"shape": structure(NARROW if narrow else WIDE)})
    con.register("request_log_lines", lines)
    try:
        con.execute(LINES_SQL)
        return con.sql(NARROW_SQL if narrow else WIDE_SQL).to_arrow_table()
    finally:
        con.unregister("request_log_lines")


def scan(con: duckdb.DuckDBPyConnection, path: Path, narrow: bool) -> Iterator[pa.Table]:
    """The same of a file of bare JSON lines, in file order, a batch at a time; `line` is null.

    Raises duckdb.Error, perhaps after some batches, where a line is no JSON.
    """
    shape = NARROW if narrow else WIDE
    con.execute("SET VARIABLE path = $path", {"path": str(path)})
    con.execute("SET VARIABLE columns = $columns", {"columns": columns(shape)})
    con.execute(FILE_SQL)
    for batch in con.sql(NARROW_SQL if narrow else WIDE_SQL).to_arrow_reader(SCAN_ROWS if narrow else SCAN_ROWS_WIDE):
        yield pa.Table.from_batches([batch])
