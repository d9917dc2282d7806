"""Prompts of request-log records at level 2 and 3 (level 1 and 2 in 0.4.6) → rows of `prompts`.

Token ids where the record has them, else the text, in characters and said as such. Level 2 keeps the first and last
1,024 entries of what is longer than 2,048 (SIGNALS §3.2): only the first 1,024 are then hashed, and `seen_tokens` says
so; what lies behind the gap has no place in a prefix.
"""

from functools import reduce
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ridgeline.signals.prompt.book import Book, Prompt, prompt_rows
from ridgeline.signals.prompt.hashes import text_of_ids
from ridgeline.signals.rows import Reading, Rows

KEEP: Final = 1024
CUT_TEXT: Final = 2 * KEEP + 3
PROBE: Final = "HEALTH_CHECK"
WANTED: Final = (
    *("line", "rid", "prompt_tokens", "completion_tokens", "text", "input_ids", "output_ids"),
    *("lora", "extra_key", "cache_salt"),
)
CUT_NOTE: Final = (
    "{path}: prompts longer than 2,048 are cut in this log (level 2); only their first 1,024 were compared"
)
IDS: Final = msgspec.json.Decoder(list[int])


def rows(records: pa.Table, reading: Reading, book: Book) -> list[Rows]:
    """Rows of `prompts` for records given as columns of `WANTED` (those that are missing count as null)."""
    said = [pc.is_valid(records[name]) for name in ("text", "input_ids") if name in records.column_names]
    some = records.filter(reduce(pc.or_, said)) if said else records.slice(0, 0)
    if not len(some):
        return []
    found: list[Prompt] = []
    for record in some.select([name for name in WANTED if name in records.column_names]).to_pylist():
        rid = record.get("rid")
        if isinstance(rid, str) and rid.startswith(PROBE):
            continue
        prompt = of_ids(record) or of_text(record)
        if prompt is None or not book.wanted(prompt):
            continue
        if prompt.total is None or prompt.total > len(prompt.units):
            reading.note(CUT_NOTE.format(path=reading.path))
        found.append(prompt)
    return prompt_rows(found, reading, book)


def of_ids(record: dict[str, Any]) -> Prompt | None:
    """The prompt of a record's `input_ids` (JSON text); None where it has none that can be read."""
    said = record.get("input_ids")
    if not isinstance(said, str) or len(said) < 3:
        return None
    cut = False
    try:
        ids = IDS.decode(said)
    except (msgspec.DecodeError, RecursionError):
        head, mark, _ = said.partition('"..."')
        if not mark:
            return None
        try:
            ids = IDS.decode(head.rstrip().rstrip(",") + "]")
        except msgspec.DecodeError:
            return None
        cut = True
    try:
        units = text_of_ids(np.array(ids, np.int64))
    except OverflowError:
        return None
    if not units:
        return None
    total = record.get("prompt_tokens") if cut else len(ids)
    if cut and isinstance(total, int) and total <= len(ids):
        total = None  # a record that contradicts itself
    text = record.get("text")
    readable = _whole(text)[0] if isinstance(text, str) else None
    said_back = "" if cut else reply(record)
    return Prompt(record["line"], record.get("rid"), "tokens", units, total, namespace(record), readable, said_back)


def reply(record: dict[str, Any]) -> str:
    """The output whose KV is kept: all of it but the last token. Empty where the record does not have it whole."""
    said = record.get("output_ids")
    if not isinstance(said, str):
        return ""
    try:
        ids = IDS.decode(said)
        if len(ids) != record.get("completion_tokens"):
            return ""  # cut, or only the last piece of a stream
        return text_of_ids(np.array(ids[:-1], np.int64)) or ""
    except (msgspec.DecodeError, RecursionError, OverflowError):
        return ""


def of_text(record: dict[str, Any]) -> Prompt | None:
    """The prompt of a record's `text`; None where it has none."""
    text = record.get("text")
    if not isinstance(text, str) or not text:
        return None
    shown, total = _whole(text)
    return Prompt(record["line"], record.get("rid"), "chars", shown, total, namespace(record))


def namespace(record: dict[str, Any]) -> str:
    """What besides ids is part of the cache's key: adapter, caller's key, salt; empty where none is set."""
    parts = (("lora", "lora"), ("extra_key", "extra"), ("cache_salt", "salt"))
    return " ".join(f"{name}={record[key]}" for key, name in parts if record.get(key))


def _whole(text: str) -> tuple[str, int | None]:
    """(what is shown from the start, the whole length; None where it was cut)."""
    if len(text) == CUT_TEXT and text[KEEP : KEEP + 3] == "...":
        return text[:KEEP], None
    return text, len(text)
