"""The shapes of a bundle's tables: column name → type, one literal per table.

Types: ``i64``, ``f64``, ``str``, ``bool``, ``list<f64>``, ``list<str>``, ``list<i64>``. Every column may be
null; null means "the source did not say". Times (`*_ts`) are wall-clock seconds since the epoch, UTC; a time on
another clock stays in a `*_mono` column until an anchor is known. `*_s` are seconds, `*_tokens` tokens.

`source` is the number of the file in `sources` and `line` the 1-based line (or record) number in it: every row can be
found again. `server` is the label of one server (one boot of one role); readers leave it null, ingest fills it.
"""

from typing import Final

PROVENANCE: Final = {"source": "i64", "line": "i64"}

# Columns of one request as one source saw it; `requests` has the same ones, merged.
REQUEST: Final[dict[str, str]] = {
    # identity
    "rid": "str",  # the server's request id (keyed hash in a stored bundle)
    "client_rid": "str",  # the id the client knows, where it differs
    "parent_rid": "str",  # of a part of an n > 1 or batch request
    "choice": "i64",
    "room": "i64",  # bootstrap_room
    "trace_id": "str",
    "server": "str",
    "role": "str",  # unified | prefill | decode | gateway | client
    "probe": "bool",  # health check or warm-up
    # shape: what was asked
    "endpoint": "str",
    "stream": "bool",
    "n": "i64",
    "prompt_tokens": "i64",
    "prompt_chars": "i64",
    "max_new_tokens": "i64",
    "params_logged": "bool",  # sampling parameters were visible: a null max_new_tokens then means "none set"
    "ignore_eos": "bool",
    "temperature": "f64",
    "stop_set": "bool",
    "regex_set": "bool",
    "schema_set": "bool",  # structured output of any kind
    "schema_hash": "str",
    "tools_set": "bool",
    "logprobs": "bool",
    "reasoning": "bool",
    "modality": "str",  # text | image | audio | video
    "lora": "str",
    "routing_key": "str",
    "extra_key": "str",
    "session_id": "str",
    "priority": "i64",
    "user": "str",
    "client": "str",
    # placement
    "dp_rank_asked": "i64",
    "dp_rank": "i64",
    "worker": "str",
    # outcome
    "state": "str",  # finished | aborted | rejected | error | unfinished | received
    "finish_reason": "str",  # stop | length | abort | error | …
    "abort_message": "str",
    "status_code": "i64",
    "completion_tokens": "i64",
    "reasoning_tokens": "i64",
    "cached_tokens": "i64",
    "cached_device_tokens": "i64",
    "cached_host_tokens": "i64",
    "cached_storage_tokens": "i64",
    "retractions": "i64",
    "attempts": "i64",
    "spec_accept_length": "f64",
    # stamps, wall clock
    "received_ts": "f64",
    "received_mono": "f64",  # host's monotonic clock; one value ties the parts of an n > 1 request together
    "queued_mono": "f64",  # entry into the waiting queue on the host's monotonic clock (0.5.3 to 0.5.9)
    "dispatched_ts": "f64",  # api_server_dispatch_finish / sent to the scheduler
    "queued_ts": "f64",  # wait_queue_entry
    "scheduled_ts": "f64",  # forward_entry
    "prefill_done_ts": "f64",
    "first_token_ts": "f64",
    "last_token_ts": "f64",
    "finished_ts": "f64",
    "response_sent_ts": "f64",  # first chunk when streaming
    "logged_ts": "f64",  # when the record was written: a bound, not a stamp of the request
    # durations as the source states them
    "queue_s": "f64",
    "ttft_s": "f64",
    "prefill_s": "f64",
    "decode_s": "f64",
    "tpot_s": "f64",
    "e2e_s": "f64",
    "forward_s": "f64",
    "inference_s": "f64",
    "bootstrap_s": "f64",
    "alloc_wait_s": "f64",
    "prealloc_s": "f64",
    "transfer_s": "f64",
    "transfer_gb_s": "f64",
    "transfer_mb": "f64",
    "tokenize_s": "f64",
    "dispatch_s": "f64",
    "grammar_s": "f64",
    "storage_wait_s": "f64",
    "itl_max_s": "f64",  # longest gap between two chunks of the stream
    "itl_p50_s": "f64",
    "chunks": "i64",
    "clock": "str",  # wall | monotonic:<host or pid> | naive
}

TABLES: Final[dict[str, dict[str, str]]] = {
    "sources": {
        "source": "i64",
        "path": "str",
        "kind": "str",
        "version": "str",
        "confidence": "str",
        "server": "str",
        "role": "str",
        "bytes": "i64",
        "sha256": "str",
        "lines": "i64",
        "blank": "i64",
        "rows": "i64",
        "unparsed": "i64",
        "unparsed_errors": "i64",
        "from_ts": "f64",
        "to_ts": "f64",
        "clock": "str",
        "notes": "list<str>",
    },
    "unread": {**PROVENANCE, "text": "str", "severity": "str", "template": "str"},
    "servers": {
        "server": "str",
        "role": "str",
        "engine": "str",
        "version": "str",
        "boot_ts": "f64",
        "model": "str",
        "args_hash": "str",
        "dp_size": "i64",
        "tp_size": "i64",
        "pp_size": "i64",
        "page_size": "i64",
        "pool_tokens": "i64",
        "max_running": "i64",
        "max_prefill_tokens": "i64",
        "chunked_prefill_size": "i64",
        "context_len": "i64",
        **PROVENANCE,
    },
    "config": {
        "server": "str",
        "key": "str",
        "value": "str",
        "origin": "str",
        "dp_rank": "i64",
        "ts": "f64",
        **PROVENANCE,
    },
    "clocks": {"clock": "str", "source": "i64", "offset_s": "f64", "error_s": "f64", "basis": "str"},
    "scrapes": {
        "server": "str",
        "endpoint": "str",
        "ts": "f64",
        "status": "i64",
        "took_s": "f64",
        "bytes": "i64",
        "ok": "bool",
        "error": "str",
        **PROVENANCE,
    },
    "records": {**PROVENANCE, "kind": "str", "event": "str", **REQUEST},
    "requests": {
        "request": "i64",
        **REQUEST,
        "pair": "i64",  # request number of the other side of a disaggregated pair (same room)
        "unaccounted_s": "f64",
        "return_s": "f64",
        "pre_queue_s": "f64",
        "censored": "bool",  # unfinished at the end of the evidence
        "conflicts": "i64",
        "kinds": "list<str>",
        **PROVENANCE,
    },
    "request_attrs": {
        "request": "i64",
        "rid": "str",
        "name": "str",
        "value": "str",
        "number": "f64",
        **PROVENANCE,
    },
    "stages": {
        "rid": "str",
        "room": "i64",
        "server": "str",
        "role": "str",
        "dp_rank": "i64",
        "stage": "str",
        "start_ts": "f64",
        "end_ts": "f64",
        "duration_s": "f64",
        "basis": "str",  # pair | tick | duration-only
        "within": "str",
        "probe": "bool",
        "clock": "str",
        **PROVENANCE,
    },
    "batches": {
        "server": "str",
        "role": "str",
        "kind": "str",  # prefill | decode | stats | fpm
        "ts": "f64",
        "dp_rank": "i64",
        "tp_rank": "i64",
        "pp_rank": "i64",
        "copies": "i64",
        "iter": "i64",
        "new_seq": "i64",
        "new_tokens": "i64",
        "cached_tokens": "i64",
        "replay_tokens": "i64",
        "pending_tokens": "i64",
        "running": "i64",
        "waiting": "i64",
        "usage": "f64",
        "full_usage": "f64",
        "swa_usage": "f64",
        "mamba_usage": "f64",
        "tokens": "i64",
        "swa_tokens": "i64",
        "mamba_slots": "i64",
        "bootstrap": "i64",
        "inflight": "i64",
        "optimistic": "i64",
        "prealloc": "i64",
        "transfer": "i64",
        "retracted": "i64",
        "host_receive": "i64",
        "prealloc_usage": "f64",
        "graph": "bool",
        "gen_tps": "f64",
        "input_tps": "f64",
        "hit_rate": "f64",
        "external_hit_rate": "f64",
        "accept_length": "f64",
        "accept_rate": "f64",
        "deferred": "i64",
        "preemptions": "i64",
        "occupancy": "f64",
        "wall_s": "f64",
        "context_tokens": "i64",
        "shape": "str",  # which version's line shape it was, or "by-key"
        "extra": "str",  # JSON of keys no column holds
        **PROVENANCE,
    },
    "series": {
        "series": "i64",
        "server": "str",
        "name": "str",  # canonical, without prefix and _total
        "raw": "str",
        "kind": "str",
        "labels": "str",  # JSON, keys sorted
        "dp_rank": "i64",
        "role": "str",
        "stage": "str",
        "source": "i64",
    },
    "samples": {"series": "i64", "ts": "f64", "value": "f64", "scrape": "i64", **PROVENANCE},
    "histograms": {
        "series": "i64",
        "ts": "f64",
        "le": "list<f64>",
        "cumulative": "list<f64>",
        "sum": "f64",
        "count": "f64",
        "scrape": "i64",
        **PROVENANCE,
    },
    "loads": {
        "server": "str",
        "role": "str",
        "ts": "f64",
        "snapshot_ts": "f64",
        "dp_rank": "i64",
        "version": "str",
        "running": "i64",
        "waiting": "i64",
        "waiting_uncached_tokens": "i64",
        "used_tokens": "i64",
        "total_tokens": "i64",
        "pool_tokens": "i64",
        "max_running": "i64",
        "usage": "f64",
        "gen_tps": "f64",
        "hit_rate": "f64",
        "utilization": "f64",
        "bootstrap": "i64",
        "inflight": "i64",
        "prealloc": "i64",
        "transfer": "i64",
        "decode_retracted": "i64",
        "queue_waiting": "i64",
        "queue_grammar": "i64",
        "queue_paused": "i64",
        "queue_retracted": "i64",
        "prealloc_ready": "i64",
        "accept_length": "f64",
        "lora_used": "i64",
        "lora_total": "i64",
        "transfer_gb_s": "f64",
        "transfer_ms": "f64",
        "extra": "str",
        **PROVENANCE,
    },
    "events": {
        "server": "str",
        "role": "str",
        "ts": "f64",
        "kind": "str",  # words/events.py lists the kinds
        "severity": "str",  # info | warning | error | fatal
        "dp_rank": "i64",
        "tp_rank": "i64",
        "pp_rank": "i64",
        "copies": "i64",
        "rid": "str",
        "room": "i64",
        "peer": "str",
        "count": "i64",
        "value": "f64",
        "text": "str",
        "template": "str",
        "attrs": "str",  # JSON
        **PROVENANCE,
    },
    "prompts": {
        "rid": "str",
        "server": "str",
        "namespace": "str",  # adapter, extra key and salt; "" where there are none
        "unit": "str",  # tokens | chars: what `grain`, `tokens` and every other length here counts
        "basis": "str",  # ids | text | hash-ids (a trace's own block numbers, good within that trace only)
        "grain": "i64",
        "tokens": "i64",  # the whole prompt; null: the source cut it and does not say how long it was
        "seen_tokens": "i64",  # from the start, as far as the source shows it
        "held_tokens": "i64",  # seen, and behind a whole prompt the output that its KV goes on with
        "hashes": "list<i64>",  # number k is of the first min((k + 1) x grain, held) units
        "common_tokens": "i64",  # exact common prefix with the earlier prompt it resembles most
        "neighbour": "str",
        "neighbour_line": "i64",
        "drift": "str",  # what differs where the two come together again (clock or date, uuid, counter, ...)
        "drift_tokens": "i64",  # what is equal again behind such differences
        "shape": "str",  # the place of the difference without its content: letters x, digits 9
        "neighbour_shape": "str",
        **PROVENANCE,
    },
    "spans": {
        "trace_id": "str",
        "span_id": "str",
        "parent_id": "str",
        "name": "str",
        "level": "str",
        "service": "str",
        "start_ts": "f64",
        "end_ts": "f64",
        "rid": "str",
        "room": "i64",
        "status": "str",
        "links": "list<str>",
        "attrs": "str",
        **PROVENANCE,
    },
}
