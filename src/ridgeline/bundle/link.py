"""Requests beside each other: parts of one n > 1 request, the two sides of a pair, the client's view of a request.

All on `request_key`, one narrow row per request; `linked` is the same with what belongs to it from the others.
"""

from pathlib import Path
from typing import Any, Final

import duckdb

from ridgeline.bundle.keys import find_parts
from ridgeline.bundle.raw import kept

PAIR_BOUND_S: Final = 900.0  # both sides are posted at once; bootstrap and transfer may wait 300 s each
CROWD: Final = 16  # a room with more rows than this on a side says nothing (a constant, or hostile)

# One row per request; `id_<k>` is the record of the k-th origin, filled in by `key_sql`.
KEY_SQL: Final = """
    CREATE OR REPLACE TEMP TABLE request_key AS
    SELECT
        server,
        role,
        rid,
        part,
        min(id) AS first_id,
        max(n) AS n,
        {known},
        min(coalesce(received_ts, done)) AS at_ts,
        max(done) FILTER (WHERE NOT arrival) AS done_ts,
        count(*) AS statements,
        {ids}
    FROM member
    GROUP BY server, role, rid, part
"""

# Parts take the record on arrival from the whole; `whole` names it on every part and on the arrival itself.
# Columns of a key that most input says nothing of: a figure for each of a million keys is left out where it is known.
# An arrival's own id never finishes where its parts have other ids; its span is closed with the last of them.
KNOWN: Final[dict[str, tuple[str, str]]] = {
    "parent_rid": ("max(parent_rid)", "CAST(NULL AS VARCHAR)"),
    "client_rid": ("max(client_rid)", "CAST(NULL AS VARCHAR)"),
    "choice": ("max(choice)", "CAST(NULL AS BIGINT)"),
    "room": ("max(room)", "CAST(NULL AS BIGINT)"),
    "silent": ("coalesce(rid = max(parent_rid), FALSE) AND NOT bool_or(ended AND origin <> 'span')", "FALSE"),
    "several": ("bool_or(several)", "FALSE"),
    "fill": ("bool_or(fill)", "FALSE"),
}
SAID_SQL: Final = """
    SELECT
        count(parent_rid) > 0 AS parent_rid,
        count(client_rid) > 0 AS client_rid,
        count(choice) > 0 AS choice,
        count(room) > 0 AS room,
        count(parent_rid) > 0 AS silent,
        coalesce(bool_or(several), FALSE) AS several,
        coalesce(bool_or(fill), FALSE) AS fill
    FROM member
"""

PARTS_SQL: Final = """
    CREATE OR REPLACE TEMP TABLE request_key AS
    WITH wholes AS (
        SELECT *, CASE WHEN n > 1 THEN coalesce(parent_rid, CASE WHEN several THEN rid END) END AS whole
        FROM request_key
    ),
    counted AS (
        SELECT
            *,
            CASE WHEN whole IS NOT NULL AND NOT silent THEN row_number() OVER (
                PARTITION BY server, role, whole, silent, fill ORDER BY part, done_ts, first_id
            ) - 1 END AS nth,
            count(*) FILTER (WHERE NOT silent) OVER (PARTITION BY server, role, whole) AS parts,
            count(*) FILTER (WHERE NOT silent AND NOT coalesce(fill, FALSE))
                OVER (PARTITION BY server, role, whole) AS answers,
            min({received}) OVER (PARTITION BY server, role, whole) AS arrival_id
        FROM wholes
    )
    SELECT
        * EXCLUDE (nth, parts, answers, arrival_id, choice, parent_rid, {received}),
        CASE WHEN whole IS NULL THEN {received} ELSE coalesce({received}, arrival_id) END AS {received},
        CASE WHEN whole IS NULL THEN parent_rid ELSE whole END AS parent_rid,
        CASE
            WHEN whole IS NULL THEN choice
            WHEN silent OR fill OR (parts > n AND nth = 0 AND NOT coalesce(fill, FALSE) AND answers > n) THEN NULL
            WHEN answers > n THEN nth - 1
            ELSE nth
        END AS choice
    FROM counted
    -- the arrival is a row of its own only while some of its parts never spoke
    WHERE whole IS NULL OR NOT silent OR answers < n
"""

PAIRS_SQL: Final = """
    CREATE OR REPLACE TEMP TABLE pairs AS
    WITH side AS (
        SELECT first_id, role, rid, room, at_ts,
            count(*) OVER (PARTITION BY room, role) AS crowd
        FROM request_key
        WHERE role IN ('prefill', 'decode') AND room > 0
    ),
    near AS (
        SELECT p.first_id AS prefill, d.first_id AS decode, p.rid = d.rid AS same_rid
        FROM side AS p
        JOIN side AS d ON d.room = p.room
        WHERE p.role = 'prefill' AND d.role = 'decode'
            AND p.crowd <= $crowd AND d.crowd <= $crowd
            AND coalesce(abs(p.at_ts - d.at_ts) <= $bound_s, TRUE)
    ),
    told AS (
        SELECT *,
            count(*) OVER (PARTITION BY prefill) = 1 AND count(*) OVER (PARTITION BY decode) = 1 AS alone,
            count(*) FILTER (WHERE same_rid) OVER (PARTITION BY prefill) = 1
                AND count(*) FILTER (WHERE same_rid) OVER (PARTITION BY decode) = 1 AS by_rid
        FROM near
    )
    SELECT prefill, decode, alone OR (by_rid AND same_rid) AS sure FROM told
"""

NO_PAIRS_SQL: Final = "CREATE OR REPLACE TEMP TABLE pairs (prefill BIGINT, decode BIGINT, sure BOOLEAN)"
NO_CLIENTS_SQL: Final = "CREATE OR REPLACE TEMP TABLE client_link (client BIGINT, rid VARCHAR, parent_rid VARCHAR)"

# The client knows the server's id, or sent its own as x-request-id; vLLM puts an endpoint in front and an index
# behind. The nearest spelling wins.
CLIENTS_SQL: Final = """
    CREATE OR REPLACE TEMP TABLE client_link AS
    WITH mine AS (
        SELECT first_id AS client, rid AS name, 0 AS far FROM request_key WHERE role = 'client' AND rid[1] <> chr(1)
        UNION ALL
        SELECT first_id, client_rid, 1 FROM request_key WHERE role = 'client' AND client_rid IS NOT NULL
    ),
    theirs AS (
        SELECT rid AS name, rid, parent_rid, first_id, 0 AS far
        FROM request_key WHERE role IS DISTINCT FROM 'client' AND rid[1] <> chr(1)
        UNION ALL
        SELECT parent_rid, rid, parent_rid, first_id, 1
        FROM request_key WHERE role IS DISTINCT FROM 'client' AND parent_rid IS NOT NULL
        UNION ALL
        SELECT client_rid, rid, parent_rid, first_id, 1
        FROM request_key WHERE role IS DISTINCT FROM 'client' AND client_rid IS NOT NULL
        UNION ALL
        SELECT regexp_replace(rid, '^(chatcmpl|cmpl)-', ''), rid, parent_rid, first_id, 2
        FROM request_key WHERE role IS DISTINCT FROM 'client' AND regexp_matches(rid, '^(chatcmpl|cmpl)-')
        UNION ALL
        SELECT regexp_replace(rid, '-[0-9]+$', ''), rid, parent_rid, first_id, 2
        FROM request_key WHERE role IS DISTINCT FROM 'client' AND regexp_matches(rid, '^cmpl-.*-[0-9]+$')
        UNION ALL
        SELECT regexp_replace(regexp_replace(rid, '^cmpl-', ''), '-[0-9]+$', ''), rid, parent_rid, first_id, 3
        FROM request_key WHERE role IS DISTINCT FROM 'client' AND regexp_matches(rid, '^cmpl-.*-[0-9]+$')
    ),
    -- one row per spelling: an id that everybody uses must not join everybody with everybody
    nearest AS (
        SELECT
            name,
            min(far) AS far,
            min(first_id) AS first_id,
            arg_min(rid, (far, first_id)) AS rid,
            arg_min(parent_rid, (far, first_id)) AS parent_rid
        FROM theirs
        GROUP BY name
    )
    SELECT
        m.client,
        arg_min(t.rid, (m.far + t.far, t.first_id)) AS rid,
        arg_min(t.parent_rid, (m.far + t.far, t.first_id)) AS parent_rid
    FROM mine AS m
    JOIN nearest AS t USING (name)
    GROUP BY m.client
"""

# What the client adds to a server's row: its id and how it ended, where the server never says.
LINKED_SQL: Final = """
    WITH by_whole AS (
        SELECT coalesce(l.parent_rid, l.rid) AS whole, min(l.client) AS client
        FROM client_link AS l GROUP BY ALL
    ),
    unsure AS (
        SELECT prefill AS first_id FROM pairs WHERE NOT sure
        UNION SELECT decode FROM pairs WHERE NOT sure
    ),
    row AS (
        SELECT
            k.*,
            l.rid AS linked_rid,
            l.parent_rid AS linked_parent,
            w.client AS client_id,
            coalesce(p.decode, d.prefill) AS pair_id,
            k.first_id IN (SELECT first_id FROM unsure) AND coalesce(p.decode, d.prefill) IS NULL AS unpaired
        FROM request_key AS k
        LEFT JOIN client_link AS l ON l.client = k.first_id
        LEFT JOIN by_whole AS w
            ON k.role IS DISTINCT FROM 'client' AND w.whole = coalesce(k.parent_rid, k.rid)
        LEFT JOIN (SELECT prefill, decode FROM pairs WHERE sure) AS p ON p.prefill = k.first_id
        LEFT JOIN (SELECT prefill, decode FROM pairs WHERE sure) AS d ON d.decode = k.first_id
    )
    SELECT *, row_number() OVER (ORDER BY role IS NOT DISTINCT FROM 'client', at_ts NULLS LAST, first_id) AS request
    FROM row
"""

# The same where there is no client and no pair: nothing but the number. The joins would cost as much as all the rest.
ALONE_SQL: Final = """
    SELECT
        * EXCLUDE (n, silent, fill, at_ts, done_ts, statements),
        CAST(NULL AS VARCHAR) AS linked_rid,
        CAST(NULL AS VARCHAR) AS linked_parent,
        CAST(NULL AS BIGINT) AS client_id,
        CAST(NULL AS BIGINT) AS pair_id,
        FALSE AS unpaired
    FROM (SELECT *, row_number() OVER (ORDER BY at_ts NULLS LAST, first_id) AS request FROM request_key)
"""


def link(con: duckdb.DuckDBPyConnection, origins: list[str], folder: Path | None) -> None:
    """Make `linked` from `member`: one row per request, with `id_<k>` per origin, `client_id`, `pair_id`.

    `folder`: where tables as long as the requests wait (`raw.kept`).
    """
    ids = ", ".join(f"min(id) FILTER (WHERE origin = $o{k}) AS id_{k}" for k in range(len(origins)))
    names: dict[str, Any] = {f"o{k}": origin for k, origin in enumerate(origins)}
    con.execute(KEY_SQL.format(known=_known(con), ids=ids), names)
    # most input has one statement of an origin on an id, which the keys tell at once
    once = " + ".join(f"CAST(id_{k} IS NOT NULL AS INTEGER)" for k in range(len(origins)))
    if _any(con, f"SELECT 1 FROM request_key WHERE statements > {once} LIMIT 1") and find_parts(con):
        con.execute(KEY_SQL.format(known=_known(con), ids=ids), names)
    if "received" in origins and _any(con, "SELECT 1 FROM request_key WHERE parent_rid IS NOT NULL OR several LIMIT 1"):
        con.execute(PARTS_SQL.format(received=f"id_{origins.index('received')}"))
    paired = _any(con, "SELECT 1 FROM request_key WHERE room > 0 LIMIT 1")
    if paired:
        con.execute(PAIRS_SQL, {"crowd": CROWD, "bound_s": PAIR_BOUND_S})
    else:
        con.execute(NO_PAIRS_SQL)
    con.execute(CLIENTS_SQL if "client" in origins else NO_CLIENTS_SQL)
    kept(con, "linked", LINKED_SQL if paired or "client" in origins else ALONE_SQL, folder)
    con.execute("DROP TABLE temp.request_key")  # as long as the requests are many


def _known(con: duckdb.DuckDBPyConnection) -> str:
    """The select list of `KNOWN` for what `member` says."""
    said = con.execute(SAID_SQL).fetchall()[0]
    return ", ".join(
        f"{figure if there else absent} AS {name}"
        for (name, (figure, absent)), there in zip(KNOWN.items(), said, strict=True)
    )


def _any(con: duckdb.DuckDBPyConnection, sql: str) -> bool:
    return bool(con.execute(sql).fetchall())
