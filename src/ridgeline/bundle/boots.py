"""Server boots: what several sources say of one start of one server becomes one row of `servers`."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

import duckdb
import pyarrow as pa

from ridgeline.model.tables import TABLES
from ridgeline.signals.rows import schema

NODES_S: Final = 900.0  # the nodes of one server print their arguments within this time of each other
KNOWN_S: Final = 60.0  # a restart that a log reader saw already
# A live answer states the effective figure, the log what was asked for and what came of it, the command the wish.
BELIEF: Final = ("server-info", "log", "model-info", "loads", "exposition", "launch")
KEYS: Final = ("server", "role", "boot_ts", "source", "line")

Row = Mapping[str, Any]


def boots(rows: Sequence[Row], kinds: Mapping[int, str]) -> list[dict[str, Any]]:
    """`servers` rows, one per server and boot. What carries no boot time belongs to the server's last boot."""
    by_server: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_server[row["server"] or ""].append(row)
    out: list[dict[str, Any]] = []
    for server in sorted(by_server):
        groups = _groups(by_server[server])
        out += [_one(group, kinds) for group in groups]
    return out


def restarts(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """`restart` events for every boot of a server after its first."""
    seen: set[str | None] = set()
    events: list[dict[str, Any]] = []
    for row in rows:
        if row["boot_ts"] is None:
            continue
        if row["server"] in seen:
            text = "a new start-up of this server" + (f", version {row['version']}" if row["version"] else "")
            events.append(
                {
                    **{name: row[name] for name in ("server", "role", "source", "line")},
                    "ts": row["boot_ts"],
                    "kind": "restart",
                    "severity": "warning",
                    "count": 1,
                    "copies": 1,
                    "text": text,
                    "template": "a new start-up of this server",
                }
            )
        seen.add(row["server"])
    return events


def _groups(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows by boot. A boot begins with its launch arguments; what is printed later of pool and limits belongs to it."""
    timed = sorted((r for r in rows if r["boot_ts"] is not None), key=lambda r: (r["boot_ts"], r["source"], r["line"]))
    groups: list[list[Row]] = []
    for row in timed:
        begins = row["args_hash"] is not None and groups and any(r["args_hash"] for r in groups[-1])
        if begins:
            same_file = any(r["source"] == row["source"] and r["args_hash"] for r in groups[-1])
            begins = same_file or row["boot_ts"] - groups[-1][0]["boot_ts"] > NODES_S
        if groups and not begins:
            groups[-1].append(row)
        else:
            groups.append([row])
    rest = [r for r in rows if r["boot_ts"] is None]
    if not groups:
        return [rest] if rest else []
    groups[-1] += rest
    return groups


def _one(rows: Sequence[Row], kinds: Mapping[int, str]) -> dict[str, Any]:
    def belief(row: Row) -> tuple[int, int, int]:
        kind = kinds.get(row["source"], "")
        return (BELIEF.index(kind) if kind in BELIEF else len(BELIEF), row["source"] or 0, row["line"] or 0)

    ranked = sorted(rows, key=belief)
    merged = {n: next((r[n] for r in ranked if r[n] is not None), None) for n in TABLES["servers"] if n not in KEYS}
    first = min(rows, key=lambda r: (r["boot_ts"] is None, r["boot_ts"] or 0.0, r["source"] or 0, r["line"] or 0))
    role = next((r["role"] for r in ranked if r["role"] is not None), None)
    return {**merged, "role": role, **{n: first[n] for n in ("server", "boot_ts", "source", "line")}}


def finish_servers(con: duckdb.DuckDBPyConnection, kinds: Mapping[int, str]) -> pa.Table:
    """Replace the table `servers` by its boots; returns the restart events to add (as rows of `events`)."""
    rows = con.sql("SELECT * FROM servers ORDER BY source, line").to_arrow_table().to_pylist()
    merged = boots(rows, kinds)
    replace_table(con, "servers", pa.Table.from_pylist(merged, schema=schema("servers")))
    known = con.execute("SELECT server, ts FROM events WHERE kind = 'restart' AND ts IS NOT NULL").fetchall()
    found = [
        event
        for event in restarts(merged)
        if not any(server == event["server"] and abs(ts - event["ts"]) <= KNOWN_S for server, ts in known)
    ]
    return pa.Table.from_pylist(found, schema=schema("events"))


def replace_table(con: duckdb.DuckDBPyConnection, name: str, data: pa.Table) -> None:
    """Make `name` a table in memory with these rows, whatever it was before."""
    con.register("new_rows", data)
    kind = con.execute("SELECT table_type FROM information_schema.tables WHERE table_name = $name", {"name": name})
    for (what,) in kind.fetchall():
        con.execute(f'DROP {"VIEW" if what == "VIEW" else "TABLE"} "{name}"')
    con.execute(f'CREATE TABLE "{name}" AS SELECT * FROM new_rows')
    con.unregister("new_rows")
