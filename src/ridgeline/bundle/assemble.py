"""Read sources → every table of a view on one connection. The order of steps, and nothing else."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from ridgeline.bundle import clocks
from ridgeline.bundle.boots import finish_servers, replace_table
from ridgeline.bundle.final import MADE, NAIVE, finish, prepare, store
from ridgeline.bundle.merge import ATTRS_SQL, merge
from ridgeline.bundle.raw import expose, parquet
from ridgeline.bundle.readin import Source
from ridgeline.bundle.rids import find_aliases
from ridgeline.bundle.servers import Servers, Trace, assign
from ridgeline.bundle.spill import Spill
from ridgeline.bundle.zones import Zone, zones
from ridgeline.model.tables import TABLES
from ridgeline.signals.rows import schema

# Which ranks wrote batch lines in a source, and which roles its rows name.
RANKS_SQL: Final = """
    SELECT source, list(DISTINCT concat_ws('/', coalesce(dp_rank, -1), coalesce(tp_rank, -1), coalesce(pp_rank, -1)))
    FROM raw_batches GROUP BY source
"""
ROLES_SQL: Final = """
    SELECT source, list(DISTINCT role)
    FROM (
        SELECT source, role FROM raw_batches WHERE role IS NOT NULL
        UNION ALL SELECT source, role FROM raw_records WHERE role IS NOT NULL
        UNION ALL SELECT source, role FROM raw_servers WHERE role IS NOT NULL
    )
    GROUP BY source
"""


# Temporary tables of the merge, dropped once `requests` stands.
WORK: Final = (
    *("said", "tie", "twice", "part", "member", "request_key", "pairs", "client_link", "linked", "merged"),
    *("ids", "stage_sum", "ending", "attrs_done"),
)


def assemble(con: duckdb.DuckDBPyConnection, spill: Spill, sources: Sequence[Source]) -> None:
    """Make every table of `model.tables.TABLES` on `con`: in memory while small, else as Parquet below the spill."""
    out: Path | None = spill.folder / "tables" if spill.large else None
    if out is not None:
        out.mkdir(exist_ok=True)
    for table in TABLES:
        if table not in MADE:
            expose(con, spill, table)
    servers = assign(_traces(con, sources))
    for number, note in sorted(servers.notes.items()):
        sources[number - 1].reading.note(note)
    naive = [s.reading.source for s in sources if s.reading.clock == "naive"]
    first_ts = {s.reading.source: s.reading.from_ts for s in sources}
    zone = zones(con, naive, {n: servers.of.get((n, None)) for n in naive}, first_ts)
    for z in zone:
        if z.add_s:
            reading = sources[z.source - 1].reading
            reading.note(f"{reading.path}: times were moved by {clocks.span(z.add_s)}: {z.basis} ({z.anchors})")
    prepare(con, len(sources), servers, {s.reading.source: s.reading.role for s in sources}, zone)
    aliased = find_aliases(con) > 0
    shifted = any(z.add_s for z in zone)
    for table in TABLES:
        if table not in MADE and table not in ("request_attrs", "events"):
            finish(con, table, shifted and table in NAIVE, aliased, out)
            if table not in ("records", "stages"):
                spill.drop(table)
    rows = _source_rows(sources, servers, zone)
    replace_table(con, "sources", pa.Table.from_pylist(rows, schema=schema("sources")))
    _events(con, shifted, aliased, {s.reading.source: s.reading.kind for s in sources}, out)
    finish(con, "request_attrs", False, aliased, None)
    _number(con, out)
    anchors = clocks.monotonic_anchors(con)
    merge(con, {server: a.offset_s for server, a in anchors.items()})
    con.execute(f"CREATE OR REPLACE TEMP TABLE attrs_done AS {ATTRS_SQL}")
    con.execute("CREATE OR REPLACE TABLE request_attrs AS SELECT * EXCLUDE (place) FROM attrs_done ORDER BY place")
    said = clocks.rows(rows, zone, anchors.values(), clocks.skews(con))
    replace_table(con, "clocks", pa.Table.from_pylist(said, schema=schema("clocks")))
    for name in WORK:
        con.execute(f"DROP TABLE IF EXISTS temp.{name}")


def _traces(con: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> list[Trace]:
    ranks = {source: frozenset(names) for source, names in con.execute(RANKS_SQL).fetchall()}
    roles = {source: frozenset(names) for source, names in con.execute(ROLES_SQL).fetchall()}
    traces: list[Trace] = []
    for s in sources:
        r = s.reading
        said = roles.get(r.source, frozenset())
        # A reader that names no role for the whole may still name one on every row.
        role = r.role or (next(iter(said)) if len(said) == 1 else None)
        name = s.label.name if s.label else None
        at = ranks.get(r.source, frozenset())
        traces.append(Trace(r.source, r.path, r.kind, role, name, said, at, r.from_ts, r.to_ts))
    return traces


def _source_rows(sources: Sequence[Source], servers: Servers, zone: Sequence[Zone]) -> list[dict[str, Any]]:
    add = {z.source: z.add_s for z in zone}
    rows: list[dict[str, Any]] = []
    for s in sources:
        r = s.reading
        moved = add.get(r.source, 0.0)
        server = servers.of.get((r.source, None))
        rows.append(
            {
                "source": r.source,
                "path": r.path,
                "kind": r.kind,
                "version": r.version,
                "confidence": r.confidence,
                "server": server,
                "role": r.role or (servers.roles.get(server) if server else None),
                "bytes": s.size,
                "sha256": s.sha256,
                "lines": r.lines,
                "blank": r.blank,
                "rows": r.understood,
                "unparsed": r.unparsed,
                "unparsed_errors": r.unparsed_errors,
                "from_ts": None if r.from_ts is None else r.from_ts + moved,
                "to_ts": None if r.to_ts is None else r.to_ts + moved,
                "clock": r.clock,
                "notes": list(r.notes),
            }
        )
    return rows


def _events(
    con: duckdb.DuckDBPyConnection, shifted: bool, aliased: bool, kinds: dict[int, str], out: Path | None
) -> None:
    """Events, with the restarts that only the boots of a server show."""
    finish(con, "events", shifted, aliased, None)
    restarts = finish_servers(con, kinds)
    if restarts.num_rows:
        con.register("restart_rows", restarts)
        con.execute("INSERT INTO events SELECT * FROM restart_rows")
        con.unregister("restart_rows")
    if out is not None:
        store_table(con, "events", out)


def store_table(con: duckdb.DuckDBPyConnection, table: str, out: Path) -> None:
    """Move a table from memory to `out/<table>.parquet`."""
    con.execute(f'ALTER TABLE "{table}" RENAME TO "{table}_held"')
    store(con, table, f'SELECT * FROM "{table}_held"', out)
    con.execute(f'DROP TABLE "{table}_held"')


def _number(con: duckdb.DuckDBPyConnection, out: Path | None) -> None:
    """The view `numbered`: `records` with an `id` in reading order."""
    numbered = "SELECT rowid AS id, * FROM records"
    if out is not None:
        source = parquet([out / "records.parquet"], row_numbers=True)
        numbered = f"SELECT file_row_number AS id, * EXCLUDE (file_row_number) FROM {source}"
    con.execute(f"CREATE OR REPLACE TEMP VIEW numbered AS {numbered}")
