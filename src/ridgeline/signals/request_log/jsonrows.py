"""Many JSON records at once → rows: all through one query; what is no single JSON object is repaired line by line."""

from typing import Final

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ridgeline.signals.lines import I64, Mask
from ridgeline.signals.request_log.project import project
from ridgeline.signals.request_log.repair import CUT_NOTE, canonical, expanded, records
from ridgeline.signals.request_log.rows import Memory, to_rows
from ridgeline.signals.rows import Reading, Rows

BATCH: Final = 8192  # rows a thread takes at a time
VALID_SQL: Final = "SELECT json_valid(body) AND ltrim(body)[1] = '{' AS valid FROM candidate_lines"


def json_rows(
    con: duckdb.DuckDBPyConnection,
    line: I64,
    body: pa.Array,
    reading: Reading,
    memory: Memory,
    narrow: bool = False,
) -> tuple[list[Rows], Mask]:
    """(rows, which of the n lines were understood) of lines that should each hold one record as JSON text.

    `body` is an Arrow string or string_view array of length n; `line` its line numbers, without repeats. `narrow`:
    no key of them needs the wide shape (`keys.narrow`).
    """
    table = pa.table({"line": line, "body": body})
    table = pa.Table.from_batches(table.to_batches(max_chunksize=BATCH), table.schema)
    narrow = narrow and not memory.splits
    try:
        projected = project(con, table, narrow)
        if narrow and not plain(projected, narrow):
            projected = project(con, table)
    except duckdb.Error:
        table = _owned(table)
        valid = _valid(con, table)
        projected = project(con, table.filter(valid))
        mended = _mended(table.filter(pc.invert(valid)), reading)
        if len(mended):
            projected = pa.concat_tables([projected, project(con, mended)]).sort_by("line")
    if plain(projected) and len(projected) == len(line):
        return to_rows(projected, reading, memory), np.ones(len(line), np.bool_)
    known = pc.and_(
        pc.is_valid(projected["event"]),
        pc.or_(
            pc.is_valid(projected["rid"]),
            pc.fill_null(pc.is_in(projected["event"], pa.array(["status", "received-openai"])), False),
        ),
    )
    # An object where the id should be: another record broke in there.
    known = pc.and_(known, pc.invert(pc.fill_null(pc.starts_with(projected["rid"], "{"), False)))
    projected = projected.filter(known)
    understood = np.isin(line, projected["line"].to_numpy())
    lists = pc.fill_null(pc.starts_with(projected["rid"], "["), False)
    if pc.any(lists).as_py():
        projected = _without_lists(con, _owned(table), projected, lists, memory)
    return to_rows(projected, reading, memory), understood


def plain(projected: pa.Table, narrow: bool = False) -> bool:
    """Whether every row is a received or finished record of one request: nothing to take apart or to look up.

    Read by the narrow shape, no row may have a text either: only the wide one reads prompts. Its events are those two.
    """
    if narrow and projected["modality"].null_count < len(projected):
        return False
    event, rid = projected["event"], projected["rid"]
    if event.null_count or rid.null_count or any(pc.any(pc.starts_with(rid, mark)).as_py() for mark in "[{"):
        return False
    return narrow or bool(pc.all(pc.is_in(event, pa.array(["received", "finished"]))).as_py() or not len(projected))


def _owned(table: pa.Table) -> pa.Table:
    """The lines as plain strings: Arrow cannot filter views."""
    return table.set_column(1, "body", table["body"].cast(pa.string()))


def _valid(con: duckdb.DuckDBPyConnection, table: pa.Table) -> pa.ChunkedArray:
    con.register("candidate_lines", table)
    try:
        return pc.fill_null(con.sql(VALID_SQL).to_arrow_table()["valid"], False)
    finally:
        con.unregister("candidate_lines")


def _mended(bad: pa.Table, reading: Reading) -> pa.Table:
    lines: list[int] = []
    bodies: list[str] = []
    cuts = False
    for line, text in zip(bad["line"].to_pylist(), bad["body"].to_pylist(), strict=True):
        found, cut = records(text)
        cuts |= cut
        for record in found:
            lines.append(line)
            bodies.append(canonical(record))
    if cuts:
        reading.note(CUT_NOTE.format(path=reading.path))
    return pa.table({"line": pa.array(lines, pa.int64()), "body": pa.array(bodies, pa.string())})


def _without_lists(
    con: duckdb.DuckDBPyConnection, table: pa.Table, projected: pa.Table, lists: pa.ChunkedArray, memory: Memory
) -> pa.Table:
    """Take records of n > 1 and batch requests apart; the rest stays as it is."""
    wanted = projected.filter(lists)["line"]
    source = table.filter(pc.is_in(table["line"], wanted))
    lines: list[int] = []
    bodies: list[str] = []
    taken: list[int] = []
    for line, text in zip(source["line"].to_pylist(), source["body"].to_pylist(), strict=True):
        for record in records(text)[0]:
            if not isinstance(record.get("rid"), list):
                continue  # a client's own rid that merely looks like a list
            made, rids, n, mono = expanded(record)
            if rids:
                memory.split(rids, n, mono)
            taken.append(line)
            lines.extend([line] * len(made))
            bodies.extend(canonical(one) for one in made)
    apart = project(con, pa.table({"line": pa.array(lines, pa.int64()), "body": pa.array(bodies, pa.string())}))
    kept = projected.filter(pc.invert(pc.is_in(projected["line"], pa.array(taken, pa.int64()))))
    return pa.concat_tables([kept, apart]).sort_by("line")
