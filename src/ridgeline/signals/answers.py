"""JSON answers of endpoints: raw, many behind headers, one per line, or wrapped as `{ok, status, path, json | error}`.

The wrapper is what SGLang's incident bundle writes; `json` holds the answer, `text` one that was not JSON, `error` the
reason why there is none.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from ridgeline.signals.rows import Reading, Rows
from ridgeline.signals.scrapes import Document, Scrape, documents, scrape_rows
from ridgeline.signals.stream import Blob
from ridgeline.signals.unread import unread_rows

WRAPPER: Final = frozenset({"ok", "status"})
DECODER: Final = json.JSONDecoder()
I64_LIMIT: Final = 2**63


@dataclass(frozen=True)
class Answer:
    """One answer. `value` is the decoded JSON; None with `text` set where the answer is not JSON."""

    scrape: Scrape
    line: int
    value: Any
    text: str | None = None


@dataclass
class Answers:
    """The answers of one source, and what has to be said of the polls and of text that is no answer."""

    blob: Blob
    reading: Reading
    scrapes: list[Scrape] = field(default_factory=list)
    unread: list[tuple[int, str]] = field(default_factory=list)

    def __iter__(self) -> Iterator[Answer]:
        """Answers in order. An error is not an answer: it is kept with its poll."""
        for document in documents(self.blob, self.reading):
            self.scrapes.append(document.scrape)
            body = document.text.strip()
            if document.scrape.failed:
                _refuse_poll(document.scrape, body)
                self.reading.understood += 1
                continue
            if not body:
                document.scrape.refuse("an empty answer")
                continue
            yield from self._decoded(document)

    def took(self, answer: Answer) -> None:
        """Count an answer that was understood."""
        self.reading.understood += 1
        answer.scrape.ok = True

    def refuse(self, answer: Answer, why: str) -> None:
        """Count an answer of another shape than the reader's."""
        text = answer.text if answer.text is not None else json.dumps(answer.value)
        answer.scrape.refuse(why)
        self.unread.append((answer.line, text))

    def rows(self) -> Iterator[Rows]:
        """Rows of `scrapes` and `unread` since the last time; to be asked after an answer was taken or refused."""
        scrapes, self.scrapes = self.scrapes, []
        unread, self.unread = self.unread, []
        if scrapes:
            yield scrape_rows(self.reading, scrapes)
        if unread:
            yield unread_rows(self.reading, unread)

    def _decoded(self, document: Document) -> Iterator[Answer]:
        text, at = document.text, 0
        if text.lstrip()[:1] not in ("{", "["):
            yield Answer(document.scrape, document.first, None, text)
            return
        for at, end, value in decoded(text):
            line = document.first + text.count("\n", 0, at)
            if value is None:
                rest = text[at:end]
                if rest.strip():
                    self.unread.append((line, rest.strip()))
                    document.scrape.refuse("cut or not JSON")
                continue
            answer = self._unwrapped(document.scrape, line, value)
            if answer is not None:
                yield answer

    def _unwrapped(self, scrape: Scrape, line: int, value: Any) -> Answer | None:
        if not (isinstance(value, dict) and value.keys() >= WRAPPER and value.keys() & {"json", "text", "error"}):
            return Answer(scrape, line, value)
        status = whole(value.get("status"))
        scrape.status = status if status is not None and 100 <= status < 600 else None
        if isinstance(value.get("path"), str) and scrape.url is None:
            scrape.url = value["path"]
        if not value["ok"] or "error" in value:
            _refuse_poll(scrape, str(value.get("error") or value.get("text") or ""))
            self.reading.understood += 1
            return None
        if "json" in value:
            return Answer(scrape, line, value["json"])
        return Answer(scrape, line, None, str(value["text"]))


def decoded(text: str) -> Iterator[tuple[int, int, Any]]:
    """(from, to, value) of each JSON object or array in a text; value None for what lies between and is none."""
    at = 0
    while at < len(text):
        start = min((i for i in (text.find("{", at), text.find("[", at)) if i >= 0), default=len(text))
        if text[at:start].strip():
            yield at, start, None
        if start == len(text):
            return
        try:
            value, end = DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            # Not JSON from here: go on behind the end of the line.
            newline = text.find("\n", start)
            end = len(text) if newline < 0 else newline
            value = None
        yield start, end, value
        at = end


def whole(value: Any) -> int | None:
    """An integer that fits a column; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < I64_LIMIT * 2:
        return None
    number = int(value)
    return number if number == value and -I64_LIMIT <= number < I64_LIMIT else None


def real(value: Any) -> float | None:
    """A finite number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _refuse_poll(scrape: Scrape, body: str) -> None:
    if body and scrape.error in (None, "no answer"):
        scrape.error = None
        scrape.refuse(body)
    scrape.refuse(f"status {scrape.status}")
