"""One line of a benchmark's printed result → figures in base units."""

import re
from typing import Final, NamedTuple

WORDS: Final = re.compile(
    r"ttft|tpot|\bitl\b|latency|throughput|hit rate|tokens?|requests?|duration|concurrency|clients?|qps|"
    r"time to first|accept|goodput|\be2e",
    re.IGNORECASE,
)
STEP: Final = re.compile(
    r"^\s*(?P<word>Round|Turn|Step|Iteration|Batch|Run|Concurrency|QPS)\s*[#:=]?\s*(?P<n>\d{1,9})\s*[:,|-]\s*"
)
PAIR: Final = re.compile(
    r"(?P<name>[A-Za-z][\w /#%-]{1,60}?)\s*[=:]\s*(?P<value>-?\d[\d,]{0,20}(?:\.\d{1,18})?(?:[eE][-+]?\d{1,3})?)"
    r"\s*(?P<unit>%|ms|us|s\b|sec\b|seconds\b|tok/s|tokens/s|req/s)?(?=[\s,;)]|$)"
)
COUNT: Final = re.compile(r"(?P<value>\d{1,12}) (?P<name>requests|clients|users|workers|errors|failed|prompts)\b")
LABELLED: Final = re.compile(
    r"^\s*(?P<name>[A-Za-z][\w /#.%-]{1,60}?)\s*(?:\((?P<unit>[^)]{1,20})\))?\s*:\s+"
    r"(?P<value>-?\d[\d,]{0,20}(?:\.\d{1,18})?)\s*$"
)
NUMBER: Final = re.compile(r"^\**(-?\d[\d,]{0,20}(?:\.\d{1,18})?)\s*(%|ms|us|s|x)?\**$")
RULE: Final = re.compile(r"^\s*\|?[\s:|+-]*-[\s:|+-]*\|?\s*$")
SCALES: Final = {"ms": 1e-3, "us": 1e-6, "%": 0.01}


class Figure(NamedTuple):
    """One figure: name in lower case with underscores, value in base units, the round it belongs to."""

    name: str
    value: float
    labels: tuple[tuple[str, str], ...] = ()
    step: int | None = None


def figures_of(text: str) -> list[Figure] | None:
    """The figures of a plain line; None where it is prose."""
    line = text[:2000]
    if not WORDS.search(line):
        return None
    labelled = LABELLED.match(line)
    if labelled:
        return [_figure(labelled["name"], labelled["value"], labelled["unit"], None)]
    step = STEP.match(line)
    if step is None:
        return None
    number = int(step["n"])
    rest = line[step.end() :]
    found = [_figure(pair["name"], pair["value"], pair["unit"], number) for pair in PAIR.finditer(rest)]
    if not found:
        return None
    found += [_figure(count["name"], count["value"], None, number) for count in COUNT.finditer(rest)]
    return found


def table_row(text: str, head: list[str]) -> tuple[list[Figure] | None, list[str]]:
    """(figures of a Markdown table row, the table's head); a first row of words is the head itself."""
    cells = [cell.strip() for cell in text[:4000].strip().strip("|").split("|")]
    if not head:
        named = len(cells) >= 2 and bool(WORDS.search(text[:4000])) and not any(NUMBER.match(cell) for cell in cells)
        return ([], cells) if named else (None, [])
    if len(cells) != len(head):
        return None, []
    numbers = [NUMBER.match(cell) for cell in cells]
    labels = tuple((_name(head[i])[0], cells[i]) for i, found in enumerate(numbers) if found is None and cells[i])
    figures = []
    for title, found in zip(head, numbers, strict=True):
        if found is not None:
            name, unit = _name(title)
            figures.append(_figure(name, found[1], found[2] or unit, None)._replace(labels=labels))
    return (figures, head) if figures else (None, [])


def is_rule(text: str) -> bool:
    """The line between a Markdown table's head and its rows."""
    return bool(RULE.match(text[:4000]))


def _name(title: str) -> tuple[str, str | None]:
    """(name, unit) of a column's title such as `Mean TTFT (ms)`."""
    found = re.match(r"^(.*?)\s*[(\[](ms|us|s|%)[)\]]\s*$", title.strip("* "))
    return (found[1], found[2]) if found else (title.strip("* "), None)


def _figure(name: str, value: str, unit: str | None, step: int | None) -> Figure:
    number = float(value.replace(",", ""))
    word = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    return Figure(word, round(number * SCALES.get(unit or "", 1.0), 12), (), step)
