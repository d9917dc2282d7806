"""The lines that make a figure: the rows a measure cites, one by one, the one that holds its maximum first.

A measure cites the span of the rows it counted (`min(line)`, `max(line)` of a named part of its statement). The same
statement with that part's rows instead of their span names each of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ridgeline.bundle.cite import parse
from ridgeline.facts import ask
from ridgeline.facts.behind import Recording
from ridgeline.model.fact import Fact

CITED: Final = re.compile(r"min\(line\) AS a, max\(line\) AS b\s+FROM (\w+)")
MAXIMUM: Final = re.compile(r"(?<![\w(])max\((?!line\b|ts\b|cap\b|ord\b)(\w+)\)|arg_max\(\w+, (?!ord\b|ts\b)(\w+)\)")
NAMED: Final = re.compile(r"\$(\w+)")
TOKEN: Final = re.compile(r"'(?:[^']|'')*'|--[^\n]*|[()]|\bSELECT\b")
COLUMNS: Final = "{head}\nSELECT * FROM {part} LIMIT 0"  # on a line of its own: the head may end in a comment
# {head}: the measure's own named parts; {part}: the one it cites; {by}: the column whose maximum it names.
LINES: Final = """
{head}
SELECT source, line, count(*) OVER () AS n, (max(height) OVER ()) IS DISTINCT FROM (min(height) OVER ()) AS differ
FROM (SELECT source, line, max({by}) AS height FROM {part} WHERE source IS NOT NULL AND line IS NOT NULL GROUP BY ALL)
ORDER BY height DESC NULLS LAST, source, line
LIMIT {most}
"""


@dataclass(frozen=True)
class Deciding:
    """(source number, line) of the first rows, how many there are, and the column whose maximum comes first."""

    lines: tuple[tuple[int, int], ...]
    n: int
    by: str | None


def deciding(view: Recording, fact: Fact, most: int) -> Deciding | None:
    """The rows behind a fact's citation; None where its measure names none of them one by one."""
    if not fact.sources:
        return None
    spans = [parse(citation) for citation in fact.sources]
    view.log.clear()
    ask(view, fact.measure, fact.args)
    for sql, given in reversed(view.log):
        head, tail = _apart(sql)
        cited = CITED.search(tail)
        if not cited or not head:
            continue
        wanted = {name: value for name, value in given if name in NAMED.findall(head)}
        columns = view.arrow(COLUMNS.format(head=head, part=cited[1]), wanted).column_names
        if not {"source", "line"} <= set(columns):
            continue
        named = [a or b for a, b in MAXIMUM.findall(tail)]
        by = next((name for name in named if name in columns), None)
        # Without a maximum every row counts alike: the order of the lines, from the first.
        rows = view.query(LINES.format(head=head, part=cited[1], by=by or "-line", most=int(most)), wanted)
        if rows and all(_within(view.names.get(source), line, spans) for source, line, *_ in rows):
            lines = tuple((source, line) for source, line, *_ in rows)
            return Deciding(lines, rows[0][2], by if rows[0][3] else None)
    return None


def _within(name: str | None, line: int, spans: Sequence[tuple[str, int | None, int | None]]) -> bool:
    """Whether a line is among those that the fact cites: another of its statements may count other rows."""
    return any(name == path and a is not None and b is not None and a <= line <= b for path, a, b in spans)


def _apart(sql: str) -> tuple[str, str]:
    """(the named parts of a statement, its own SELECT)."""
    depth, at = 0, 0
    for token in TOKEN.finditer(sql):
        if token[0] == "(":
            depth += 1
        elif token[0] == ")":
            depth -= 1
        elif token[0] == "SELECT" and depth == 0:
            at = token.start()
            break
    return sql[:at].strip(), sql[at:]
