"""Two prompts side by side at their first difference, read again from their sources (only when text may be shown)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from ridgeline.signals.prompt import files
from ridgeline.signals.prompt.differ import CHARS, TOKENS, difference
from ridgeline.signals.prompt.hashes import units_of
from ridgeline.signals.request_log import prompts
from ridgeline.signals.request_log.text import text_record
from ridgeline.signals.rows import Reading
from ridgeline.signals.stream import Blob

PREFIX: Final = re.compile(r"^(?:\[[^\]]{0,80}\]\s*)+")
AROUND: Final = 40
MARK: Final = "^"


@dataclass(frozen=True)
class Aligned:
    """Two stretches that begin alike; they part after `at` characters of each."""

    a: str
    b: str
    at: int

    def lines(self, name_a: str, name_b: str) -> list[str]:
        """Both under each other, and a mark below where they part."""
        width = max(len(name_a), len(name_b))
        return [f"{name_a:<{width}}  {self.a}", f"{name_b:<{width}}  {self.b}", " " * (width + 2 + self.at) + MARK]


def of_shapes(a: str, b: str) -> Aligned:
    """Two stretches without content, aligned. Values of one shape part nowhere: the mark is then behind both."""
    at = 0
    while at < min(len(a), len(b)) and a[at] == b[at]:
        at += 1
    return Aligned(_flat(a), _flat(b), at)


def of_text(a: str, b: str, unit: str) -> Aligned:
    """Two prompts around their first difference; `unit` tokens: ids, shown as numbers."""
    found = difference(a, b, TOKENS if unit == "tokens" else CHARS, unit == "chars")
    reach = 8 if unit == "tokens" else AROUND
    low = max(0, found.common - reach)
    head = a[low : found.common]
    tail_a, tail_b = (
        a[found.common : found.end_a + reach][: 3 * reach],
        b[found.common : found.end_b + reach][: 3 * reach],
    )
    if unit == "tokens":
        heads, tails_a, tails_b = (" ".join(str(n) for n in units_of(t).tolist()) for t in (head, tail_a, tail_b))
        start = f"{heads} " if heads else ""
        return Aligned(start + tails_a, start + tails_b, len(start))
    return Aligned(_flat(head + tail_a), _flat(head + tail_b), len(_flat(head)))


def texts(blob: Blob, kind: str, wanted: Sequence[int], unit: str) -> dict[int, str]:
    """Line → the prompt that stands there (ids as characters), for the lines of one source that hold one."""
    numbers = sorted(set(wanted))
    if kind == "prompts":
        lines = blob.whole(Reading(0, blob.shown)).decode("utf-8", "replace").removesuffix("\n").split("\n")
        return {line: text for line, text in files.split(lines)[0] if line in numbers}
    out: dict[int, str] = {}
    for first, data in blob.chunks(Reading(0, blob.shown)):
        if first > numbers[-1]:
            break
        lines = data.decode("utf-8", "replace").split("\n")
        for number in numbers:
            if first <= number < first + len(lines):
                found = of_line(lines[number - first], unit)
                if found:
                    out[number] = found
    return out


def of_line(line: str, unit: str) -> str | None:
    """The prompt of one line of a request log, exporter file or server log; None where it holds none."""
    body = PREFIX.sub("", line.strip())
    try:
        record: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        said = text_record(body)
        record = said.record if said else None
    if not isinstance(record, dict):
        return None
    obj = record.get("obj")
    if isinstance(record.get("request_parameters"), str):
        try:
            obj = msgspec.json.decode(record["request_parameters"])
        except (msgspec.DecodeError, RecursionError):
            return None
    if not isinstance(obj, dict):
        return None
    ids = obj.get("input_ids")
    row = {
        "line": 0,
        "text": obj.get("text"),
        "input_ids": msgspec.json.encode(ids).decode() if isinstance(ids, list) else None,
    }
    prompt = prompts.of_ids(row) if unit == "tokens" else prompts.of_text(row)
    if prompt is None:
        return None
    return prompt.units


def _flat(text: str) -> str:
    return re.sub(r"\s", " ", text)
