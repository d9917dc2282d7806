"""One request under several spellings of its id: which one counts.

Engines decorate ids on the way: SGLang's tokenizer workers put `<n>_` in front, health checks carry `HEALTH_CHECK_`
that spans drop, vLLM appends `-<8 hex>` to the id inside the engine. A decorated id is taken for the plain one only
where the plain one was seen too and exactly one decorated id fits: ids are set by clients, so the form alone proves
nothing.
"""

from typing import Final

import duckdb

ID_SQL: Final = """
    CREATE OR REPLACE TEMP VIEW every_id AS
    SELECT rid FROM raw_records
    UNION ALL SELECT rid FROM raw_stages
    UNION ALL SELECT rid FROM raw_events
    UNION ALL SELECT rid FROM raw_spans
    UNION ALL SELECT rid FROM raw_request_attrs
    UNION ALL SELECT rid FROM raw_prompts
"""

# `bare` is the spelling without decoration. Most ids have none: only those that have are held beside each other.
DECORATED_SQL: Final = """
    CREATE OR REPLACE TEMP TABLE decorated AS
    SELECT DISTINCT
        rid,
        CASE
            WHEN starts_with(rid, 'HEALTH_CHECK_') THEN substr(rid, 14)
            WHEN regexp_matches(rid, '^[0-9]+_.') THEN regexp_replace(rid, '^[0-9]+_', '')
            ELSE regexp_replace(rid, '-[0-9a-f]{8}$', '')
        END AS bare,
        starts_with(rid, 'HEALTH_CHECK_') AS keep
    FROM every_id
    WHERE starts_with(rid, 'HEALTH_CHECK_')
        OR regexp_matches(rid, '^[0-9]+_.')
        OR regexp_matches(rid, '^(chatcmpl|cmpl|embd|score|rerank|pool)-.*-[0-9a-f]{8}$')
"""

# `known` is the spelling that counts (health checks keep their prefix).
ALIAS_SQL: Final = """
    CREATE OR REPLACE TABLE alias AS
    WITH plain AS (
        SELECT DISTINCT rid FROM every_id WHERE rid IN (SELECT bare FROM decorated)
    ),
    single AS (
        SELECT any_value(rid) AS rid, bare, bool_or(keep) AS keep
        FROM decorated
        WHERE bare IN (SELECT rid FROM plain)
        GROUP BY bare
        HAVING count(*) = 1
    )
    SELECT CASE WHEN keep THEN bare ELSE rid END AS rid, CASE WHEN keep THEN rid ELSE bare END AS known
    FROM single
    ORDER BY 1
"""


def find_aliases(con: duckdb.DuckDBPyConnection) -> int:
    """Make the table `alias` (rid → known) from the `raw_*` views; returns how many spellings it maps."""
    for sql in (ID_SQL, DECORATED_SQL, ALIAS_SQL, "DROP VIEW temp.every_id"):
        con.execute(sql)
    return int(con.execute("SELECT count(*) FROM alias").fetchall()[0][0])
