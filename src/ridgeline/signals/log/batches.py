"""Prefill and Decode batch lines → rows of `batches`. Every release's layout is read by key, never by position.

A number counts only when something stands behind it, or when the line is whole and its layout ends there: the digits
of a cut line are not a figure. `usage` of a hybrid pool is the fullest of its pools, as SGLang's gauge has it.
"""

import json
from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ridgeline.model.tables import TABLES
from ridgeline.signals.lines import F64, I64, LogLines, Mask, Parsed, ranks, stamps
from ridgeline.signals.log.batch_shape import USAGES, Item, Plan, plan
from ridgeline.signals.log.copies import folded
from ridgeline.signals.log.shapes import Shapes, groups, shapes_of
from ridgeline.signals.log.version import narrow
from ridgeline.signals.rows import Reading, Rows, rows_of

HEADS: Final = ("Prefill batch", "Decode batch", "new fill batch. #seq: ", "#running-req: ")
LINE_BYTES: Final = 4096  # no release prints so much; what does is some other thing
# Two ranks of one batch print the same of these; throughput is measured by each rank itself.
SAME: Final = (
    "new_seq", "new_tokens", "cached_tokens", "pending_tokens", "running", "waiting", "usage", "tokens", "swa_tokens",
    "mamba_slots", "bootstrap", "inflight", "prealloc", "transfer", "retracted",
)  # fmt: skip


def parse(lines: LogLines, reading: Reading) -> Parsed:
    """Batch lines of every known release; lines of an unknown one by key, with `shape` = by-key."""
    maybe = np.zeros(len(lines), np.bool_)
    for head in HEADS:
        maybe |= np.asarray(pc.starts_with(lines.body, head))
    maybe &= np.asarray(pc.binary_length(lines.body)) <= LINE_BYTES
    if not maybe.any():
        return Parsed([], maybe)
    picked = lines if maybe.all() else lines.pick(maybe)
    shapes = shapes_of(picked.body)
    plans = [plan(text) for text in shapes.texts]
    table = _Table(len(picked))
    for of_shape, rows in zip(plans, groups(shapes.codes, len(plans)), strict=True):
        if of_shape is not None and of_shape.items:
            _fill(table, of_shape, shapes, rows, picked.ended)
    known = np.array([p is not None and bool(p.items) for p in plans])[shapes.codes]
    understood = maybe.copy()
    understood[maybe] = known
    if not known.any():
        return Parsed([], understood)
    _roles(plans, shapes, reading)
    words = {
        "kind": _word([p.kind if p else None for p in plans], shapes),
        "role": _word([p.role if p else None for p in plans], shapes),
        "shape": _word([p.shape if p else None for p in plans], shapes),
    }
    return Parsed([_rows(table, words, picked, known, reading)], understood)


def _word(of_shape: Sequence[str | None], shapes: Shapes) -> pa.Array:
    return pa.array(of_shape, pa.string()).take(pa.array(shapes.codes))


class _Table:
    """The columns of `batches` while they are filled; numbers are doubles with NaN for null."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.numbers: dict[str, F64] = {}
        self.graph = np.full(n, -1, np.int8)
        self.extra: dict[int, dict[str, float | bool | None]] = {}

    def column(self, name: str) -> F64:
        if name not in self.numbers:
            self.numbers[name] = np.full(self.n, np.nan)
        return self.numbers[name]


def _fill(table: _Table, of_shape: Plan, shapes: Shapes, rows: I64, ended: Mask) -> None:
    if of_shape.iteration is not None:
        table.column("iter")[rows] = shapes.integers(rows, of_shape.iteration)
    for item in of_shape.items:
        if item.form == "constant":
            _constant(table, item, rows)
            continue
        value = shapes.integers(rows, item.slot) if item.form == "integer" else shapes.decimals(rows, item.slot)
        if item.open:
            value = np.where(_trusted(item, shapes, rows, ended), value, np.nan)
        value = value * (item.sign * item.scale)
        if item.column:
            table.column(item.column)[rows] = value
        else:
            for row, number in zip(rows.tolist(), value.tolist(), strict=True):
                if number == number:
                    table.extra.setdefault(row, {})[item.key] = number


def _constant(table: _Table, item: Item, rows: I64) -> None:
    if item.column == "graph" and item.constant is not None:
        table.graph[rows] = int(item.constant)
    elif item.column is None:
        for row in rows.tolist():
            table.extra.setdefault(row, {})[item.key] = item.constant


def _trusted(item: Item, shapes: Shapes, rows: I64, ended: Mask) -> Mask:
    """Where the last value of a line is all there: SGLang prints two decimals, and layouts end in known integers."""
    if item.form == "decimal":
        exact: Mask = shapes.digits(rows, item.slot + 1) == 2
        return exact
    return ended[rows] & item.whole


def _roles(plans: list[Plan | None], shapes: Shapes, reading: Reading) -> None:
    count = np.bincount(shapes.codes, minlength=len(plans))
    odd = 0
    for p, n in zip(plans, count.tolist(), strict=True):
        if p is None or not p.items:
            continue
        if p.unknown:
            reading.confidence = "low"
            reading.note(f"{reading.path}: some batch lines have keys of no known release; they were read by key")
        odd += n if p.shape == "by-key" else 0
        narrow(reading, p.versions)
        if p.role in ("prefill", "decode"):
            if reading.role in ("prefill", "decode") and reading.role != p.role:
                reading.note(f"{reading.path}: batch lines of a prefill and of a decode server in one file")
            reading.role = p.role
        elif p.role and reading.role is None:
            reading.role = p.role
    if odd * 2 > int(count.sum()):
        reading.confidence = "low"


def _rows(table: _Table, words: dict[str, pa.Array], lines: LogLines, known: Mask, reading: Reading) -> Rows:
    hybrid = [table.numbers[name] for name in USAGES[1:] if name in table.numbers]
    if hybrid:
        usage = table.column("usage")
        fullest = np.fmax.reduce(hybrid)
        usage[:] = np.where(np.isnan(usage), fullest, usage)
    same = [table.numbers[name] for name in SAME if name in table.numbers]
    kinds = words["kind"].dictionary_encode().indices.fill_null(-1)
    first, copies = folded([lines.ts, lines.dp_rank, np.asarray(kinds), *same], lines.tp_rank, lines.pp_rank)
    keep = known & first
    if table.extra:
        extra: list[str | None] = [None] * table.n
        for row, more in table.extra.items():
            extra[row] = json.dumps(more, sort_keys=True)
        words = words | {"extra": pa.array(extra, pa.string())}
    mask = pa.array(keep)
    columns: dict[str, pa.Array] = {
        "source": pa.array(np.full(int(keep.sum()), reading.source)),
        "line": pa.array(lines.line[keep]),
        "ts": stamps(lines.ts[keep]),
        "dp_rank": ranks(lines.dp_rank[keep]),
        "tp_rank": ranks(lines.tp_rank[keep]),
        "pp_rank": ranks(lines.pp_rank[keep]),
        "copies": pa.array(copies[keep]),
        "graph": pa.array(table.graph[keep] == 1, mask=table.graph[keep] < 0),
    }
    whole = bool(keep.all())
    for name, column in words.items():
        columns[name] = column if whole else column.filter(mask)
    for name, values in table.numbers.items():
        kept = values if whole else values[keep]
        column = pa.array(kept, mask=np.isnan(kept))
        columns[name] = column.cast(pa.int64()) if TABLES["batches"][name] == "i64" else column
    return rows_of("batches", columns)
