"""The client's own record of a request, one JSON object per line."""

import json
from collections.abc import Sequence
from typing import Any

from ridgeline.lab.emit.model import Request


def client_line(
    r: Request,
    planned_ts: float,
    send_ts: float,
    first_ts: float | None,
    end_ts: float,
    gaps_ms: Sequence[float],
    error: str | None,
) -> str:
    """What the client measured: when it meant to send, sent, saw the first piece, and the end."""
    done = r.state == "finished" and error is None
    usage: dict[str, Any] | None = None
    if done:
        usage = {"prompt_tokens": r.prompt_tokens, "total_tokens": r.prompt_tokens + r.completion_tokens,
                 "completion_tokens": r.completion_tokens,
                 "prompt_tokens_details": {"cached_tokens": r.cached_tokens}}  # fmt: skip
    record: dict[str, Any] = {
        "client_rid": r.rid,
        "endpoint": r.endpoint,
        "stream": r.stream,
        "max_tokens": r.max_new_tokens,
        "n": 1,
        "planned_ts": planned_ts,
        "send_ts": send_ts,
        "status": r.status,
        "end_ts": end_ts,
        "first_chunk_ts": first_ts if r.stream else None,
        "last_chunk_ts": end_ts if r.stream and done else None,
        "chunks": len(gaps_ms) + 1 if r.stream and done else 0,
        "server_ids": [r.rid],
        "usage": usage,
        "finish_reason": r.finish if done else None,
        "itl_ms": [round(g, 2) for g in gaps_ms],
    }
    if r.state == "cancelled":
        record["client_aborted"] = True
    if error is not None:
        record["error"] = error
    return json.dumps(record)
