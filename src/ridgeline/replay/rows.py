"""Outcomes as the client's own JSON lines: the plain format with times that our ingest reads (`signals.client.plain`).

No prompt and no output is written.
"""

from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final

from ridgeline.replay.body import Manner, json_of, path_of, sent_rid, streams
from ridgeline.replay.shot import Outcome, Shot

FILE: Final = "replay.jsonl"
GAPS_KEPT: Final = 4096
EVERY: Final = 64


def row_of(shot: Shot, outcome: Outcome, manner: Manner) -> dict[str, Any]:
    """One request: planned and real times (epoch seconds), the stream's gaps, how it ended."""
    rid = sent_rid(shot, manner)
    limit = (shot.sampling or {}).get("max_new_tokens")
    row: dict[str, Any] = {
        "client_rid": rid,
        "server_ids": [outcome.server_id or rid],
        "recorded_rid": shot.rid,
        "endpoint": path_of(shot, manner),
        "stream": streams(shot, manner),
        "planned_ts": outcome.planned_ts,
        "send_ts": outcome.sent_ts,
        "first_chunk_ts": outcome.first_ts,
        "last_chunk_ts": outcome.last_ts,
        "end_ts": outcome.end_ts,
        "status": outcome.status,
        "finish_reason": outcome.finish_reason,
        "prompt_tokens": outcome.prompt_tokens,
        "completion_tokens": outcome.completion_tokens,
        "cached_tokens": outcome.cached_tokens,
        "max_tokens": limit if isinstance(limit, int) else None,
        "chunks": outcome.chunks,
        "itl_s": [round(gap, 6) for gap in outcome.gaps_s[:GAPS_KEPT]],
        "max_gap_s": round(max(outcome.gaps_s), 6) if outcome.gaps_s else None,
        "greedy": shot.greedy,
    }
    if outcome.failure is not None:
        row["error"] = f"{outcome.error_class}: {outcome.message}" if outcome.message else outcome.error_class
        row["error_class"] = outcome.error_class
    if outcome.failure == "cancelled":
        row["client_aborted"] = True
    return row


class RowFile:
    """Rows appended while the run goes on, handed to the system every few rows: a killed run keeps them."""

    def __init__(self, path: Path, manner: Manner) -> None:
        self.path, self.manner = path, manner
        self.file: IO[bytes] = path.open("wb")
        self.rows = 0

    def add(self, shot: Shot, outcome: Outcome) -> None:
        """Append one row."""
        self.file.write(json_of(row_of(shot, outcome, self.manner)) + b"\n")
        self.rows += 1
        if self.rows % EVERY == 0:
            self.file.flush()

    def __enter__(self) -> "RowFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.file.close()
