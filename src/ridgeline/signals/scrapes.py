"""Files that hold one answer of an endpoint or many: split into answers, each with its time.

Before an answer may stand
    #### scrape ts=1796011162.139440 took=0.0293 status=200 url=http://127.0.0.1:18101/v1/loads?include=all
or a line that is nothing but a time (`date`, `date +%s`, `# 2026-11-30T04:00:00Z`). A file without either is one
answer whose time is not known (`ts` null).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from urllib.parse import SplitResult, urlsplit

from ridgeline.signals.rows import Reading, Rows, rows_of
from ridgeline.signals.stream import Blob

HEADER: Final = re.compile(
    rb"#### scrape(?:\s+ts=(?P<ts>[\d.]+))?(?:\s+took=(?P<took>[\d.]+))?(?:\s+status=(?P<status>.*?))?"
    rb"(?:\s+url=(?P<url>\S+))?\s*$"
)
TIME_LINE: Final = re.compile(
    rb"(?:[#=\-*]+\s*)?(?:(?:date|time|timestamp|ts|at)\s*[:=]?\s*)?"
    rb"(?P<time>\d{10}(?:\.\d+)?|\d{13}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?\s?(?:Z|UTC|[+-]\d\d:?\d\d)?)"
    rb"[#=\-*\s]*$",
    re.IGNORECASE,
)
MARK_STARTS: Final = frozenset(bytes((code,)) for code in b"#=-*0123456789dtDTaA")
EPOCHS: Final = (1e9, 1e10)  # 2001 to 2286: a time outside was cut or is on another clock
STATUS: Final = re.compile(r"\b([1-5]\d\d)\b")
ERROR_CHARS: Final = 500


@dataclass
class Scrape:
    """One poll: when (wall clock), how long it took, what came. `ok` is None until its answer was read."""

    line: int
    ts: float | None = None
    took_s: float | None = None
    status: int | None = None
    url: str | None = None
    error: str | None = None
    ok: bool | None = None
    size: int = 0
    failed: bool = False  # the header already says that no answer came, or one whose status is not 2xx

    @property
    def endpoint(self) -> str | None:
        """The path of the URL, without the query."""
        return _split(self.url).path if self.url else None

    @property
    def target(self) -> str | None:
        """host:port of the URL."""
        return _split(self.url).netloc or None if self.url else None

    def refuse(self, why: str) -> None:
        """Record that this poll gave nothing usable."""
        self.ok = False
        if self.error is None and why:
            self.error = why[:ERROR_CHARS]


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:  # half of an IPv6 address
        return SplitResult("", "", "", "", "")


@dataclass
class Piece:
    """Some whole lines of one answer. `last`: the answer ends here. `open_end`: its last line has no newline."""

    scrape: Scrape
    first: int  # line number of lines[0]
    lines: list[bytes]
    last: bool = True
    open_end: bool = False


@dataclass
class Document:
    """One whole answer: its text and the number of its first line."""

    scrape: Scrape
    first: int
    text: str
    open_end: bool = False


def pieces(blob: Blob, reading: Reading) -> Iterator[Piece]:
    """Answers in order, a long one in several pieces so that memory stays flat; counts `reading.lines`.

    A file that does not start with a header or a time is one answer with `ts` None, up to the first header.
    """
    scrape, begun, timed = Scrape(line=1), False, False
    for number, data in blob.chunks(reading):
        if number == 1:
            data = data.removeprefix(b"\xef\xbb\xbf")
            timed = TIME_LINE.fullmatch(data.lstrip().split(b"\n", 1)[0].rstrip()) is not None
        open_end = not data.endswith(b"\n")
        at, first = 0, number
        for start in _marks(data, timed):
            end = data.find(b"\n", start)
            end = len(data) if end < 0 else end
            before = _lines(data[at:start])
            found = scrape_of(data[start:end], first + len(before), reading)
            if found is None:
                continue
            if begun or any(line.strip() for line in before):
                scrape.size += start - at
                yield Piece(scrape, first, before)
            reading.blank += 1
            scrape, begun = found, True
            at, first = min(end + 1, len(data)), first + len(before) + 1
        rest = _lines(data[at:])
        reading.lines = first + len(rest) - 1
        if rest or begun:
            scrape.size += len(data) - at
            yield Piece(scrape, first, rest, last=False, open_end=open_end and bool(rest))
            begun = True
    if begun:
        yield Piece(scrape, reading.lines + 1, [])


def _lines(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return lines


def _marks(data: bytes, timed: bool) -> Iterator[int]:
    """Offsets of the lines that may begin an answer; bare times only count where the file starts with one."""
    if not timed:
        if data.startswith(b"####"):
            yield 0
        at = data.find(b"\n####") + 1
        while at > 0:
            yield at
            at = data.find(b"\n####", at) + 1
        return
    at = 0
    for line in data.split(b"\n"):
        if line[:1] in MARK_STARTS:
            yield at
        at += len(line) + 1


def documents(blob: Blob, reading: Reading) -> Iterator[Document]:
    """Whole answers as text (UTF-8, what is not replaced), each with its scrape."""
    held: list[bytes] = []
    first, open_end = 0, False
    for piece in pieces(blob, reading):
        if not held:
            first = piece.first
        held.extend(piece.lines)
        open_end = piece.open_end or (open_end and not piece.lines)
        if piece.last:
            body = b"\n".join(held)
            yield Document(piece.scrape, first, body.decode("utf-8", "replace"), open_end)
            held = []


def scrape_of(line: bytes, number: int, reading: Reading) -> Scrape | None:
    """The poll that a header or a bare time announces; None for any other line."""
    if len(line) > 4096:
        return None
    if line.startswith(b"####"):
        found = HEADER.match(line)
        if found is None:
            return None
        scrape = Scrape(number, epoch(_text(found["ts"])), _number(found["took"]), url=_text(found["url"]))
        _read_status(scrape, _text(found["status"]))
        return scrape
    stamped = TIME_LINE.fullmatch(line)  # never indented: a number alone inside pretty-printed JSON is none
    if stamped is None:
        return None
    return Scrape(number, wall_time(stamped["time"].decode(), reading))


def scrape_rows(reading: Reading, scrapes: Sequence[Scrape]) -> Rows:
    """Rows of `scrapes`. A poll's `line` is its header's; `samples.scrape` and `histograms.scrape` refer to it."""
    for scrape in scrapes:
        reading.saw(scrape.ts, scrape.ts)
    return rows_of(
        "scrapes",
        {
            "endpoint": [s.endpoint for s in scrapes],
            "ts": [s.ts for s in scrapes],
            "status": [s.status for s in scrapes],
            "took_s": [s.took_s for s in scrapes],
            "bytes": [s.size for s in scrapes],
            "ok": [s.ok for s in scrapes],
            "error": [s.error for s in scrapes],
            "source": [reading.source] * len(scrapes),
            "line": [s.line for s in scrapes],
        },
    )


def epoch(value: object) -> float | None:
    """Seconds since the epoch from a number or digits in s, ms, µs or ns; None for what cannot be a wall time."""
    try:
        seconds = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    for scale in (1.0, 1e3, 1e6, 1e9):
        if EPOCHS[0] <= seconds / scale < EPOCHS[1]:
            return seconds / scale
    return None


def wall_time(text: str, reading: Reading) -> float | None:
    """Seconds since the epoch of an ISO 8601 time or of digits; a time without zone is read in `reading.tz` or UTC."""
    if text.replace(".", "", 1).isdigit():
        return epoch(text)
    clean = re.sub(r"\s*(?:UTC|Z)$", "+00:00", text.strip().replace(",", "."), flags=re.IGNORECASE)
    clean = re.sub(r"\s+([+-]\d\d:?\d\d)$", r"\1", clean)
    try:
        at = datetime.fromisoformat(clean)
    except ValueError:
        return None
    if at.tzinfo is None:
        if reading.tz is None:
            reading.note("times without a zone were read as UTC; give --tz if they are local")
        at = at.replace(tzinfo=reading.tz or UTC)
    return epoch(at.timestamp())


def _read_status(scrape: Scrape, text: str | None) -> None:
    if text is None or text == "":
        return
    if text.isdigit() and len(text) == 3:
        scrape.status = int(text)
        scrape.failed = not 200 <= scrape.status < 300
        return
    # Not a bare status: the poller wrote the exception it got, which may name one (`<HTTPError 404: …>`).
    scrape.failed = True
    named = STATUS.search(text)
    scrape.status = int(named.group(1)) if named else None
    scrape.error = "no answer" if text == "0" else text[:ERROR_CHARS]


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "replace")


def _number(value: bytes | None) -> float | None:
    try:
        return None if value is None else float(value)
    except ValueError:
        return None
