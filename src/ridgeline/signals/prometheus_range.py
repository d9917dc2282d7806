"""Prometheus `query_range` and `query` answers (matrix, vector; one or several) → `series`, `samples`, `histograms`.

Shape: https://prometheus.io/docs/prometheus/latest/querying/api/ . Series of `_bucket`, `_sum` and `_count` are put
together into histograms, one per step. A result without a metric name is an expression: it is kept under its query,
if the file says it (`query` beside `data`), else under `(expression)`; no rung reads such a series as a metric.
`line` is the line of the answer; NaN is null.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from ridgeline.signals.answers import Answer, Answers
from ridgeline.signals.exposition.assemble import Pending
from ridgeline.signals.exposition.book import SERIES_LIMIT, Book, TooManySeries
from ridgeline.signals.rows import Reading, Rows
from ridgeline.signals.scrapes import epoch
from ridgeline.signals.stream import Blob

EXPRESSION: Final = "(expression)"
FLUSH_SAMPLES: Final = 1_000_000
Results = list[tuple[str, Any]]


def read(blob: Blob, reading: Reading) -> Iterator[Rows]:
    """Rows of `samples`, `histograms`, `series`, `scrapes` and `unread`; a result that is none is counted."""
    answers = Answers(blob, reading)
    book, pending = Book(), Pending()
    beyond = 0
    for answer in answers:
        results = list(_results(answer))
        if not results:
            answers.refuse(answer, _why(answer.value))
            continue
        answer.scrape.ok = True
        for query, result in results:
            try:
                taken = _take(result, query, answer, book, pending)
            except TooManySeries:
                beyond += 1
                continue
            if taken is None:
                answers.unread.append((answer.line, str(result)[:500]))
            else:
                reading.understood += 1
                reading.saw(*taken)
        # Between answers only: the buckets of one histogram are series of one answer.
        if pending.count >= FLUSH_SAMPLES:
            yield from pending.take(book.arrays(), reading)
    yield from pending.take(book.arrays(), reading)
    if beyond:
        reading.unparsed += beyond
        reading.note(
            f"{reading.path}: more than {SERIES_LIMIT} series; {beyond} further ones were not kept: query fewer"
        )
    if book.series:
        yield book.series_rows(reading)
    roles = book.roles()
    reading.role = roles.pop() if len(roles) == 1 else reading.role
    yield from answers.rows()


def _results(answer: Answer) -> Iterator[tuple[str, Any]]:
    """(query, result) of an answer, of a list of answers, or of `{name: answer}`."""
    value = answer.value
    several = value if isinstance(value, list) else [value]
    if isinstance(value, dict) and "data" not in value and "resultType" not in value:
        several = [{"query": name, **item} for name, item in value.items() if isinstance(item, dict)]
    for one in several:
        if not isinstance(one, dict):
            continue
        data = one.get("data", one)
        if isinstance(data, dict) and isinstance(data.get("result"), list):
            query = one.get("query", EXPRESSION)
            yield from ((query if isinstance(query, str) else EXPRESSION, result) for result in data["result"])


def _take(result: Any, query: str, answer: Answer, book: Book, pending: Pending) -> tuple[float, float] | None:
    """Add one series; its span of time, or None where it is no series."""
    if not isinstance(result, dict) or not isinstance(result.get("metric"), dict):
        return None
    points = result["values"] if isinstance(result.get("values"), list) else [result.get("value")]
    pairs = [pair for point in points if (pair := _point(point)) is not None]
    if not pairs or len(pairs) < len(points):
        return None
    name, labels = _named(result["metric"], query)
    slot = book.slot_of(None, name, labels)
    ts, values = (np.array(column, dtype=np.float64) for column in zip(*pairs, strict=True))
    n = len(pairs)
    pending.add(np.full(n, slot), values, np.full(n, answer.line), ts, answer.scrape.line)
    return float(ts.min()), float(ts.max())


def _named(metric: Mapping[str, Any], query: str) -> tuple[str, dict[str, str]]:
    labels = {str(key): str(value) for key, value in metric.items() if key != "__name__"}
    return str(metric.get("__name__") or query), labels


def _point(point: Any) -> tuple[float, float] | None:
    if not isinstance(point, list) or len(point) != 2:
        return None
    ts = epoch(point[0])
    try:
        value = float(point[1]) if isinstance(point[1], str | int | float) else None
    except (ValueError, OverflowError):
        value = None
    return None if ts is None or value is None else (ts, value)


def _why(value: Any) -> str:
    if isinstance(value, dict) and value.get("status") == "error":
        return f"Prometheus answered: {value.get('error')}"
    return "no series in the answer"
