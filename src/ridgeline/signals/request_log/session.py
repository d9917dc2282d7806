"""The DuckDB connection the request-log readers run their queries on: one database per process, a cursor per read."""

import os
from functools import cache

import duckdb

from ridgeline.signals.request_log.shape import SHAPE


def cursor() -> duckdb.DuckDBPyConnection:
    """A connection of its own (registered tables and variables are not shared) that costs next to nothing to open."""
    con = _database(os.getpid()).cursor()
    con.execute("SET VARIABLE shape = $shape", {"shape": SHAPE})
    return con


@cache
def _database(pid: int) -> duckdb.DuckDBPyConnection:
    """Keyed by the process: a database does not survive a fork."""
    return duckdb.connect(":memory:")
