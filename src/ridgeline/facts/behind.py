"""What stands behind a figure: the statements its measure ran, and some of the rows that it cites."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

import pyarrow as pa

from ridgeline.bundle.cite import parse
from ridgeline.bundle.view import View
from ridgeline.facts import ask
from ridgeline.model.fact import Fact
from ridgeline.model.tables import TABLES

MOST: Final = 50
# Columns shown of each table, the telling ones first; those without a value in any row are left out.
SHOWN: Final[dict[str, tuple[str, ...]]] = {
    "batches": (
        "ts", "server", "dp_rank", "kind", "running", "waiting", "usage", "new_seq", "new_tokens", "cached_tokens",
        "gen_tps", "bootstrap", "inflight", "prealloc", "transfer", "retracted", "accept_length", "graph",
    ),
    "requests": (
        "received_ts", "rid", "role", "dp_rank", "dp_rank_asked", "routing_key", "prompt_tokens", "completion_tokens",
        "cached_tokens", "max_new_tokens", "queue_s", "ttft_s", "prefill_s", "decode_s", "e2e_s", "transfer_s",
        "finish_reason", "state", "status_code",
    ),
    "loads": (
        "ts", "snapshot_ts", "server", "dp_rank", "running", "waiting", "usage", "max_running", "bootstrap", "inflight",
        "prealloc", "transfer",
    ),
    "samples": ("ts", "name", "dp_rank", "value"),
    "histograms": ("ts", "name", "dp_rank", "count", "sum"),
    "events": ("ts", "kind", "severity", "server", "dp_rank", "rid", "count", "value", "text"),
    "stages": ("start_ts", "rid", "role", "dp_rank", "stage", "duration_s", "basis"),
    "prompts": ("rid", "namespace", "unit", "tokens", "common_tokens", "drift", "shape"),
    "config": ("server", "key", "value", "origin"),
    "servers": ("server", "role", "engine", "version", "boot_ts", "dp_size", "page_size", "pool_tokens", "max_running"),
    "request_attrs": ("rid", "name", "value", "number"),
    "scrapes": ("ts", "endpoint", "status", "took_s", "ok", "error"),
    "unread": ("severity", "text"),
}  # fmt: skip
# What the tables of `facts.points` are made of.
MADE_OF: Final = {
    "lane": ("batches", "loads", "samples"), "points": ("batches", "loads", "samples"),
    "totals": ("batches", "loads", "samples"), "asks": ("requests",),
}  # fmt: skip

NUMBERS: Final = """
WITH picked AS (
    SELECT DISTINCT line FROM query_table($table) WHERE source = $source AND line BETWEEN $first AND $last
),
ranked AS (SELECT line, row_number() OVER (ORDER BY line) - 1 AS k, count(*) OVER () AS n FROM picked)
SELECT line, n FROM ranked WHERE n <= $most OR floor(k * $most / n) > floor((k - 1) * $most / n) OR k = 0
ORDER BY line
LIMIT $most
"""
ROWS: Final = """
SELECT t.* FROM query_table($table) AS t
WHERE t.source = $source AND t.line BETWEEN $first AND $last AND list_contains($lines, t.line)
ORDER BY t.line
LIMIT $most
"""
OF_SERIES: Final = """
SELECT t.*, coalesce(s.stage, s.name) AS name, s.dp_rank
FROM query_table($table) AS t LEFT JOIN series AS s ON s.series = t.series
WHERE t.source = $source AND t.line BETWEEN $first AND $last AND list_contains($lines, t.line)
ORDER BY t.line, name, s.dp_rank
LIMIT $most
"""
WORD: Final = re.compile(r"[a-z_]+")
EVERY: Final = 2**53  # behind the last line of any source


@dataclass(frozen=True)
class Rows:
    """Some rows of one table: `cite` is where each stands; `n` is how many lines the figure cites there."""

    table: str
    n: int
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    cites: tuple[str, ...]


@dataclass(frozen=True)
class Behind:
    """The statements (SQL, parameters) in the order they were asked, and rows of the tables they read."""

    queries: tuple[tuple[str, tuple[tuple[str, Any], ...]], ...]
    rows: tuple[Rows, ...]


@dataclass(frozen=True)
class Recording(View):
    """A view that remembers answers and writes down what is asked of it."""

    log: list[tuple[str, tuple[tuple[str, Any], ...]]] = field(default_factory=list)
    answers: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)

    def query(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Rows of one statement; asked twice, it is run once."""
        given = tuple(sorted((parameters or {}).items()))
        self.log.append((sql, given))
        key = repr((sql, given))
        if key not in self.answers:
            self.answers[key] = super().query(sql, parameters)
        return self.answers[key]

    def arrow(self, sql: str, parameters: Mapping[str, Any] | None = None) -> pa.Table:
        """The result of one statement, written down too."""
        self.log.append((sql, tuple(sorted((parameters or {}).items()))))
        return super().arrow(sql, parameters)


def recording(view: View) -> Recording:
    """The same view, writing down."""
    return Recording(**{part.name: getattr(view, part.name) for part in fields(View)})


def behind(view: Recording, fact: Fact, most: int = MOST) -> Behind:
    """Ask the measure again and keep its statements; then up to `most` rows, spread evenly over what it cites."""
    view.log.clear()
    ask(view, fact.measure, fact.args)
    asked = tuple(dict.fromkeys((sql, repr(given)) for sql, given in view.log))
    given_of = {(sql, repr(given)): given for sql, given in view.log}
    queries = tuple((sql, given_of[sql, key]) for sql, key in asked if not _of_kit(sql))
    tables = _tables(sql for sql, _ in queries)
    return Behind(queries, _rows(view, fact.sources, tables, most))


def _of_kit(sql: str) -> bool:
    """Statements that ask nothing of the evidence: whether a table is there."""
    return "LIMIT 0" in sql


def _tables(statements: Any) -> tuple[str, ...]:
    words = [w for sql in statements for w in WORD.findall(sql)]
    real = [t for w in dict.fromkeys(words) for t in MADE_OF.get(w, (w,)) if t in SHOWN]
    return tuple(dict.fromkeys(real))


def _rows(view: View, citations: Sequence[str], tables: Sequence[str], most: int) -> tuple[Rows, ...]:
    number_of = {path: source for source, path in view.names.items()}
    out: list[Rows] = []
    for table in tables:
        found: list[tuple[dict[str, Any], str]] = []
        total = 0
        for citation in citations:
            name, first, last = parse(citation)
            source = number_of.get(name, number_of.get(citation))
            if source is None or len(found) >= most:
                continue
            where = {"table": table, "source": source, "first": first or 0, "last": EVERY if last is None else last}
            lines = view.query(NUMBERS, {**where, "most": most - len(found)})
            if not lines:
                continue
            total += lines[0][1]
            sql = OF_SERIES if "series" in TABLES[table] else ROWS
            wanted = {**where, "lines": [line for line, _ in lines], "most": most - len(found)}
            found += [(row, f"{name}:{row['line']}") for row in view.arrow(sql, wanted).to_pylist()]
        if found:
            columns = tuple(c for c in SHOWN[table] if any(row.get(c) is not None for row, _ in found))
            cells = tuple(tuple(row[c] for c in columns) for row, _ in found)
            out.append(Rows(table, max(total, len(found)), columns, cells, tuple(c for _, c in found)))
    return tuple(out)
