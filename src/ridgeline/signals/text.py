"""Free text that is no log: tables and lines of figures that a benchmark printed; the rest is kept unread.

Three shapes are read, from what benchmark scripts print (SGLang's multi-turn and serving benchmarks, vLLM's):
`Round 3: Average TTFT = 3.37s, Cache Hit Rate = 0.75`, `Mean TTFT (ms):   2210.44`, and Markdown tables with a head.
Each figure becomes a sample of a series `bench:<name>`; the order of the lines stands in for time. Durations are
brought to seconds, percentages to shares.

Of a pod's description (kubectl) one thing is read: that a container was killed for memory.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from ridgeline.signals.benchline import Figure, figures_of, is_rule, table_row
from ridgeline.signals.rows import Reading, Rows, rows_of
from ridgeline.signals.stream import Blob
from ridgeline.signals.unread import unread_rows

# `Reason: OOMKilled` of a description, `reason: OOMKilled` of YAML, `"reason": "OOMKilled",` of JSON.
KILLED: Final = re.compile(r"^\s*\"?[Rr]eason\"?:\s+\"?OOMKilled\"?,?\s*$")
FENCE: Final = re.compile(r"^\s*(?:```|~~~|<!--|#+ |>\s*$)")


def read(blob: Blob, reading: Reading) -> Iterator[Rows]:
    """Rows of `series` and `samples` for figures, `unread` for every other line that is not blank."""
    table, killed = _Figures(reading), list[tuple[int, str]]()
    for first, chunk in blob.chunks(reading):
        unread: list[tuple[int, str]] = []
        lines = chunk.decode("utf-8", "replace").removesuffix("\n").split("\n")
        reading.lines += len(lines)
        for number, line in enumerate(lines, first):
            text = line.rstrip("\r")
            if not text.strip() or FENCE.match(text):
                reading.blank += 1
                table.head = []
            elif table.take(number, text):
                reading.understood += 1
            elif KILLED.match(text):
                reading.understood += 1
                killed.append((number, text.strip()))
            else:
                unread.append((number, text))
        if unread:
            yield unread_rows(reading, unread)
    yield from table.rows()
    if killed:
        said = {"line": [number for number, _ in killed], "text": [text for _, text in killed]}
        same = {"kind": "host-oom", "severity": "fatal", "source": reading.source}
        yield rows_of("events", {**said, **{name: [value] * len(killed) for name, value in same.items()}})
    if reading.unparsed:
        reading.note(f"{reading.path}: free text; {reading.unparsed} lines are kept as they are")


class _Figures:
    """The series and samples of one text, and the head of the Markdown table the lines are in."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.head: list[str] = []
        self.series: dict[tuple[str, str], int] = {}
        self.samples: list[tuple[int, float, int, int]] = []

    def take(self, line: int, text: str) -> bool:
        """Keep the figures of one line; False where it is no such line."""
        if "|" in text:
            if is_rule(text):
                return bool(self.head)
            found, self.head = table_row(text, self.head)
        else:
            self.head = []
            found = figures_of(text)
        for figure in found or ():
            self._add(line, figure)
        return found is not None

    def _add(self, line: int, figure: Figure) -> None:
        labels = json.dumps(dict(figure.labels), sort_keys=True)
        number = self.series.setdefault((figure.name, labels), len(self.series) + 1)
        self.samples.append((number, figure.value, line, figure.step if figure.step is not None else line))

    def rows(self) -> Iterator[Rows]:
        """Everything kept."""
        if not self.samples:
            return
        source = self.reading.source
        names: list[dict[str, Any]] = [
            {"series": number, "name": f"bench:{name}", "raw": name, "labels": labels}
            for (name, labels), number in self.series.items()
        ]
        columns = {key: [row[key] for row in names] for key in names[0]}
        yield rows_of("series", {**columns, "kind": ["gauge"] * len(names), "source": [source] * len(names)})
        numbers, values, lines, steps = zip(*self.samples, strict=True)
        yield rows_of(
            "samples",
            {"series": numbers, "value": values, "scrape": steps, "source": [source] * len(numbers), "line": lines},
        )
