"""The DuckDB connection the request-log readers run their queries on: one database per process, a cursor per read."""

import os
from functools import cache

import duckdb


def cursor() -> duckdb.DuckDBPyConnection:
    """A connection of its own (its tables, views and variables are not shared) that costs next to nothing to open."""
    return _database(os.getpid()).cursor()


@cache
def _database(pid: int) -> duckdb.DuckDBPyConnection:
    """Keyed by the process: a database does not survive a fork."""
    return duckdb.connect(":memory:")
