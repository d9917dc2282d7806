"""Read sources → every table of a view on one connection. The order of steps, and nothing else."""

from collections.abc import Sequence
from typing import Any, Final

import duckdb
import pyarrow as pa

from ridgeline.bundle import clocks
from ridgeline.bundle.boots import finish_servers, replace_table
from ridgeline.bundle.final import MADE, Finish, finish, finish_of, select_sql
from ridgeline.bundle.merge import attach_attributes, merge
from ridgeline.bundle.raw import MEMORY, columns_sql, dropped, expose, parts_sql
from ridgeline.bundle.readin import Source
from ridgeline.bundle.rids import find_aliases
from ridgeline.bundle.servers import Servers, Trace, assign
from ridgeline.bundle.spill import Spill
from ridgeline.bundle.zones import Zone, told, zones
from ridgeline.model.tables import TABLES
from ridgeline.signals.log.clock import SAID_NO_YEAR, SAID_NO_ZONE
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


# What the steps from parts to tables may hold before they go on over files; they need less however much there is.
STEPS_MEMORY: Final = "400MB"
# Temporary tables and views of the merge, dropped once `requests` stands.
WORK: Final = (
    *("said", "tie", "twice", "part", "request_key", "pairs", "client_link", "linked"),
    *("linked_here", "records_here", "wanted", "member", "request_attrs_said", "numbered"),
    *("decorated", "stage_sum", "ending", "client_said", "anchor", "origin_map"),
)


def assemble(con: duckdb.DuckDBPyConnection, spill: Spill, sources: Sequence[Source]) -> None:
    """Make every table of `model.tables.TABLES` on `con`: in memory while small, else views over the spilled parts."""
    large = spill.large
    if large:
        con.execute(f"SET memory_limit = '{STEPS_MEMORY}'")
    for table in TABLES:
        if table not in MADE:
            expose(con, spill, table)
    servers = assign(_traces(con, sources))
    for number, note in sorted(servers.notes.items()):
        sources[number - 1].reading.note(note)
    zone = _zones(con, sources, servers)
    roles = {s.reading.source: s.reading.role for s in sources}
    aliased = spill.has("records") and find_aliases(con) > 0
    how = finish_of(len(sources), servers, roles, zone, aliased)
    for table in TABLES:
        if table not in MADE and table not in ("request_attrs", "events", "servers"):
            finish(con, table, how, large)
    rows = _source_rows(sources, servers, zone)
    replace_table(con, "sources", pa.Table.from_pylist(rows, schema=schema("sources")))
    for table in ("events", "servers"):
        finish(con, table, how, large)
    _restarts(con, {s.reading.source: s.reading.kind for s in sources}, large)
    anchors = _requests(con, spill, how) if spill.has("records") else _no_requests(con, how)
    said = clocks.rows(rows, zone, anchors.values(), clocks.skews(con))
    replace_table(con, "clocks", pa.Table.from_pylist(said, schema=schema("clocks")))
    con.execute(f"SET memory_limit = '{MEMORY}'")


def _requests(con: duckdb.DuckDBPyConnection, spill: Spill, how: Finish) -> dict[str, clocks.Anchor]:
    """Make `requests` and `request_attrs`; returns the monotonic clocks found on the way."""
    ids = "t.id" if spill.large else "row_number() OVER () AS id"
    con.execute(f"CREATE OR REPLACE TEMP VIEW numbered AS {select_sql('records', how, ids)}")
    anchors = clocks.monotonic_anchors(con)

    def near(parts: Sequence[int]) -> str:
        paths = spill.parts("records")
        return select_sql("records", how, ids, parts_sql(con, "records", [paths[n] for n in parts]))

    offsets_s = {server: a.offset_s for server, a in anchors.items()}
    out = spill.folder if spill.large else None
    merge(con, offsets_s, out, near)
    con.execute(f"CREATE OR REPLACE TEMP VIEW request_attrs_said AS {select_sql('request_attrs', how)}")
    attach_attributes(con, out)
    dropped(con, WORK)
    return anchors


def _no_requests(con: duckdb.DuckDBPyConnection, how: Finish) -> dict[str, clocks.Anchor]:
    """Most logs people have name no request: their view is made without the merge."""
    con.execute(f"CREATE TABLE requests AS SELECT {columns_sql('requests', ())} WHERE FALSE")
    con.execute(f"CREATE TABLE request_attrs AS {select_sql('request_attrs', how)}")
    return {}


def _zones(con: duckdb.DuckDBPyConnection, sources: Sequence[Source], servers: Servers) -> list[Zone]:
    naive = [s.reading.source for s in sources if s.reading.clock == "naive"]
    first_ts = {s.reading.source: s.reading.from_ts for s in sources}
    found = zones(con, naive, {n: servers.of.get((n, None)) for n in naive}, first_ts)
    for z in found:
        reading = sources[z.source - 1].reading
        # What the reader had to assume is known now: one true sentence takes the place of its notes.
        assumed = (f"{reading.path}: {SAID_NO_ZONE}", f"{reading.path}: {SAID_NO_YEAR}")
        reading.notes[:] = [note for note in reading.notes if not note.startswith(assumed)]
        reading.note(f"{reading.path}: {told(z, first_ts[z.source])}")
    return found


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


def _restarts(con: duckdb.DuckDBPyConnection, kinds: dict[int, str], large: bool) -> None:
    """One row per boot in `servers`, and in `events` the restarts that only the boots show."""
    restarts = finish_servers(con, kinds)
    if not restarts.num_rows:
        return
    con.register("restart_rows", restarts)
    if large:
        con.execute("CREATE TABLE events_restarts AS SELECT * FROM restart_rows")
        con.execute('ALTER VIEW "events" RENAME TO events_read')
        con.execute('CREATE VIEW "events" AS FROM events_read UNION ALL FROM events_restarts')
    else:
        con.execute("INSERT INTO events SELECT * FROM restart_rows")
    con.unregister("restart_rows")
