"""Workload traces with block numbers for prompts, as Mooncake and others publish them: one JSON object per line.

`timestamp` (milliseconds from the trace's start; seconds where values have fractions), `input_length`, `output_length`
and `hash_ids`: the number of each block of the prompt. The block size is not in the file: it is the power of two from
16 to 4096 for which lengths and counts agree (Mooncake's own traces: 512). Numbers may be chained by prefix or not;
they are chained here either way.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from ridgeline.signals.prompt.hashes import prefix_hashes
from ridgeline.signals.rows import Reading, Rows, rows_of
from ridgeline.signals.stream import Blob
from ridgeline.signals.unread import unread_rows

SIZES: Final = (512, 4096, 2048, 1024, 256, 128, 64, 32, 16)
LARGEST: Final = 2**63 - 1
AGREE: Final = 0.98  # share of the first records that a block size must explain


class Record(msgspec.Struct):
    """One line, as far as it is read; other keys are passed over."""

    timestamp: float | int
    input_length: int
    hash_ids: list[int]
    output_length: int | None = None
    chat_id: int | str | None = None

    def usable(self) -> bool:
        """Whether the figures can be: lengths above zero, numbers that fit, no more blocks than tokens."""
        return (
            0 < self.input_length < 2**40
            and 0 < len(self.hash_ids) <= self.input_length
            and 0 <= self.timestamp < 1e15
            and all(-LARGEST <= n <= LARGEST for n in self.hash_ids)
            and (self.output_length is None or 0 <= self.output_length < 2**40)
        )


DECODER: Final = msgspec.json.Decoder(Record)


def read(blob: Blob, reading: Reading) -> Iterator[Rows]:
    """Rows of `records` and `prompts`; `unread` for lines that are no such record."""
    reading.clock = "undated"
    grain: int | None = None
    fractions: bool | None = None
    for first, chunk in blob.chunks(reading):
        found: list[tuple[int, Record]] = []
        unread: list[tuple[int, str]] = []
        lines = chunk.removesuffix(b"\n").split(b"\n")
        reading.lines += len(lines)
        for line, text in enumerate(lines, first):
            record = _decoded(text)
            if record is not None:
                found.append((line, record))
            elif text.strip():
                unread.append((line, text[:500].decode("utf-8", "replace")))
            else:
                reading.blank += 1
        reading.understood += len(found)
        if found:
            if fractions is None:
                fractions = any(r.timestamp % 1 for _, r in found)
                grain = block_size([r for _, r in found])
                reading.note(_note(reading.path, grain, fractions))
            yield from _rows(found, reading, grain, 1.0 if fractions else 1e-3)
        if unread:
            yield unread_rows(reading, unread)


def block_size(records: list[Record]) -> int | None:
    """Tokens of a block: the size for which nearly every prompt has as many blocks as its length needs (a part of a
    block counts as one, or is left out). Mooncake's 512 first, then from large to small.
    """
    lengths = np.array([r.input_length for r in records], np.int64)
    counts = np.array([len(r.hash_ids) for r in records], np.int64)
    for size in SIZES:
        fits = (counts == -(-lengths // size)).mean(), (counts == lengths // size).mean()
        if max(fits) >= AGREE:
            return size
    return None


def fits(record: Record, size: int) -> bool:
    """Whether the record has the blocks its length needs, the last one perhaps left out where it is not full."""
    return len(record.hash_ids) in (-(-record.input_length // size), record.input_length // size)


def _decoded(text: bytes) -> Record | None:
    try:
        record = DECODER.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    return record if record.usable() else None


def _note(path: str, grain: int | None, fractions: bool) -> str:
    unit = "seconds" if fractions else "milliseconds"
    if grain is None:
        return f"{path}: no block size explains its lengths and block counts; only lengths and times were taken"
    return (
        f"{path}: a trace in blocks of {grain} tokens, times in {unit} from its start; content inside a block is unseen"
    )


def _rows(found: list[tuple[int, Record]], reading: Reading, grain: int | None, second: float) -> Iterator[Rows]:
    n = len(found)
    rids: list[Any] = [
        str(r.chat_id) if r.chat_id is not None else f"trace-{reading.source}-{line}" for line, r in found
    ]
    times = [r.timestamp * second for _, r in found]
    reading.saw(min(times), max(times))
    source = pa.repeat(reading.source, n)
    numbers: list[Any] = [line for line, _ in found]
    tokens: list[Any] = [r.input_length for _, r in found]
    yield rows_of(
        "records",
        {
            "kind": pa.repeat("mooncake", n),
            "rid": rids,
            "prompt_tokens": tokens,
            "completion_tokens": [r.output_length for _, r in found],
            "received_ts": times,
            "clock": pa.repeat("undated", n),
            "source": source,
            "line": numbers,
        },
    )
    fitting = [] if grain is None else [at for at, (_, r) in enumerate(found) if fits(r, grain)]
    if grain is None or not fitting:
        return
    if len(fitting) < n:
        reading.note(f"{reading.path}: some blocks do not fit the length of their prompt; these are not used")
        found = [found[at] for at in fitting]
        rids, tokens, numbers = ([values[at] for at in fitting] for values in (rids, tokens, numbers))
        n, source = len(found), source.slice(0, len(found))
    lengths = np.array([len(r.hash_ids) for _, r in found], np.int64)
    hashes, counts = prefix_hashes(np.array([i for _, r in found for i in r.hash_ids], np.int64), lengths, 1)
    seen: list[Any] = [min(r.input_length, len(r.hash_ids) * grain) for _, r in found]
    yield rows_of(
        "prompts",
        {
            "rid": rids,
            "unit": pa.repeat("tokens", n),
            "basis": pa.repeat("hash-ids", n),
            "grain": pa.repeat(grain, n),
            "tokens": tokens,
            "seen_tokens": seen,
            "held_tokens": seen,
            "hashes": pa.ListArray.from_arrays(
                pa.array(np.concatenate(([0], np.cumsum(counts))), pa.int32()), pa.array(hashes)
            ),
            "source": source,
            "line": numbers,
        },
    )
