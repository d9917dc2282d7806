"""A dump's requests as rows of a file: one set of columns for JSON lines and Parquet, inputs hashed unless kept."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ridgeline.model.errors import InputError

if TYPE_CHECKING:
    from ridgeline.signals.dump import Dump, DumpedRequest

I64, F64, STR, BOOL, IDS, NESTED = "i64", "f64", "str", "bool", "list<i64>", "json"
COLUMNS: Final[dict[str, str]] = {
    "file": STR, "number": I64, "kind": STR, "type": STR, "endpoint": STR, "rid": STR,
    "arrival_ts": F64, "end_ts": F64, "clock": STR, "finished": BOOL,
    "finish_reason": STR, "finish_message": STR, "status_code": I64,
    "stream": BOOL, "n": I64, "max_new_tokens": I64, "sampling": NESTED,
    "lora": STR, "routing_key": STR, "extra_key": STR, "cache_salt": STR, "session_id": STR,
    "priority": I64, "dp_rank_asked": I64, "room": I64, "images": I64, "videos": I64, "audios": I64,
    "prompt_tokens": I64, "prompt_chars": I64, "completion_tokens": I64, "cached_tokens": I64,
    "queue_s": F64, "ttft_s": F64, "e2e_s": F64,
    "text": STR, "input_ids": IDS, "output_text": STR, "output_ids": IDS,
    "text_hash": STR, "input_hash": STR, "output_text_hash": STR, "output_hash": STR,
}  # fmt: skip
NAMES: Final = ("rid", "lora", "routing_key", "extra_key", "cache_salt", "session_id")
COPIED: Final = (
    *("number", "type", "endpoint", "arrival_ts", "end_ts", "clock", "finished", "finish_reason", "status_code"),
    *("stream", "n", "max_new_tokens", "priority", "dp_rank_asked", "room", "prompt_tokens", "completion_tokens"),
    *("cached_tokens", "queue_s", "ttft_s", "e2e_s"),
)


def rows_of(dump: Dump, key: bytes | None) -> list[dict[str, Any]]:
    """The rows of one dump; `key` None keeps texts, ids and names as they are."""
    return [_row(dump, r, key) for r in dump.requests]


def finite(value: Any) -> Any:
    """Plain data without NaN and infinities, which JSON does not have: they become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    return [finite(item) for item in value] if isinstance(value, list | tuple) else value


def write(rows: Sequence[dict[str, Any]], out: Path) -> None:
    """Write `.jsonl` or `.parquet` by the name's end, whole or not at all. Raises InputError."""
    if out.exists() and not out.is_file():
        raise InputError(f"{out}: is no plain file; give another path")  # a device must not be replaced by a file
    temporary = out.with_name(out.name + ".part")
    try:
        if out.suffix == ".parquet":
            _parquet(rows, temporary)
        else:
            with temporary.open("w", encoding="utf-8") as f:
                f.writelines(json.dumps(row, ensure_ascii=True) + "\n" for row in rows)
        os.replace(temporary, out)  # noqa: PTH105 - replaces what was there
    except OSError as e:
        raise InputError(f"{out}: cannot be written ({e.strerror}); give another path") from e
    finally:
        temporary.unlink(missing_ok=True)


def _parquet(rows: Sequence[dict[str, Any]], path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from ridgeline.signals.rows import ARROW

    columns: dict[str, Any] = {}
    for name, kind in COLUMNS.items():
        values: Iterable[Any] = (row[name] for row in rows)
        if kind == NESTED:
            values = (None if value is None else json.dumps(value, sort_keys=True) for value in values)
        if kind in (STR, NESTED):
            values = (None if value is None else value.encode("utf-8", "replace").decode() for value in values)
        columns[name] = pa.array(list(values), ARROW[STR if kind == NESTED else kind])
    pq.write_table(pa.table(columns), path, compression="zstd")


def _row(dump: Dump, r: DumpedRequest, key: bytes | None) -> dict[str, Any]:
    from ridgeline.bundle.redact import hashed, without_names, without_prompts
    from ridgeline.signals.secrets import scrubbed

    def name(value: str | None) -> str | None:
        return value if key is None or value is None else hashed(value, key)

    row: dict[str, Any] = dict.fromkeys(COLUMNS)
    row |= {"file": dump.path, "kind": dump.kind}
    row |= {column: getattr(r, column) for column in COPIED}
    row |= {column: name(getattr(r, column)) for column in NAMES}
    row |= {f"{what}s": count for what, count in r.media.items()}
    row["prompt_chars"] = None if r.text is None else len(r.text)
    if key is None:
        row |= {"text": r.text, "output_text": r.output_text, "sampling": finite(dict(r.sampling)) or None}
        row |= {"input_ids": _list(r.input_ids), "output_ids": _list(r.output_ids), "finish_message": r.finish_message}
        return row
    row["sampling"] = finite({k: _hidden(v, key) for k, v in r.sampling.items()}) or None
    if r.finish_message is not None:
        row["finish_message"] = without_names(without_prompts(scrubbed(r.finish_message)), key)
    row |= {"text_hash": name(r.text), "output_text_hash": name(r.output_text)}
    row |= {"input_hash": _ids_hash(r.input_ids, key), "output_hash": _ids_hash(r.output_ids, key)}
    return row


def _list(ids: tuple[int, ...] | None) -> list[int] | None:
    fits = ids is not None and all(-(1 << 63) <= i < 1 << 63 for i in ids)
    return list(ids) if fits and ids is not None else None


def _ids_hash(ids: tuple[int, ...] | None, key: bytes) -> str | None:
    """A keyed hash of the whole list: equal lists are seen to be equal, and nothing else."""
    if ids is None:
        return None
    from ridgeline.bundle.redact import hashed

    return hashed(hashlib.sha256(repr(ids).encode()).hexdigest(), key)


def _hidden(value: Any, key: bytes) -> Any:
    """Sampling parameters hold text too: stop words, schemas, expressions. Figures stay."""
    from ridgeline.bundle.redact import hashed

    if isinstance(value, str):
        return hashed(value, key)
    if isinstance(value, dict):
        return {hashed(k, key): _hidden(v, key) for k, v in value.items()}
    return [_hidden(item, key) for item in value] if isinstance(value, list) else value
