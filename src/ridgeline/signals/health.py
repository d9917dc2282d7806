"""Health answers → `events` (health-ok, health-fail) and `scrapes`: `health.txt`, wrapped answers, polls of /health.

SIGNALS §7.3: 200 only means that some message came back; 503 also while starting or shutting down. An empty body with
status 200 is what SGLang answers when well.
"""

from collections.abc import Iterator
from typing import Any, Final

from ridgeline.signals.answers import Answers
from ridgeline.signals.incident_bundle import endpoint_in
from ridgeline.signals.log.unread import template
from ridgeline.signals.rows import Reading, Rows, rows_of
from ridgeline.signals.scrapes import Scrape
from ridgeline.signals.stream import Blob

WELL: Final = frozenset({"", "ok", "healthy", "pong", "alive", "ready", "up", "true"})


def read(blob: Blob, reading: Reading) -> Iterator[Rows]:
    """Rows of `events`, `scrapes` and `unread`."""
    answers = Answers(blob, reading)
    for answer in answers:
        said = answer.value
        if isinstance(said, dict):
            said = said.get("status", said.get("health"))
        if answer.text is not None:
            said = answer.text
        well = _well(said)
        if well is None:
            answers.refuse(answer, "not a health answer")
            continue
        answers.took(answer)
        if not well:
            answer.scrape.refuse(str(said).strip())
    for scrape in answers.scrapes:
        if scrape.status is not None and 200 <= scrape.status < 300 and scrape.error == "an empty answer":
            scrape.ok, scrape.error = True, None
            reading.understood += 1
    endpoint = endpoint_in(blob.path)
    if endpoint is not None and not answers.scrapes:
        # In an incident bundle a health answer that failed is another file: an empty body is a good answer.
        answers.scrapes.append(Scrape(line=1, url=endpoint, ok=True))
        reading.understood += 1
    for scrape in answers.scrapes:
        scrape.url = scrape.url or endpoint
    if answers.scrapes:
        yield health_events(reading, answers.scrapes)
    yield from answers.rows()


def health_events(reading: Reading, scrapes: list[Scrape]) -> Rows:
    """One event per poll: what it said and how long it took (`value`, seconds)."""
    texts = [_text(scrape) for scrape in scrapes]
    return rows_of(
        "events",
        {
            "ts": [scrape.ts for scrape in scrapes],
            "kind": ["health-ok" if scrape.ok else "health-fail" for scrape in scrapes],
            "severity": ["info" if scrape.ok else "error" for scrape in scrapes],
            "count": [1] * len(scrapes),
            "copies": [1] * len(scrapes),
            "value": [scrape.took_s for scrape in scrapes],
            "text": texts,
            "template": [template(text) for text in texts],
            "source": [reading.source] * len(scrapes),
            "line": [scrape.line for scrape in scrapes],
        },
    )


def _text(scrape: Scrape) -> str:
    said = "passed" if scrape.ok else scrape.error or "failed"
    status = "" if scrape.status is None else f" (status {scrape.status})"
    return f"{scrape.endpoint or 'health'}{status}: {said}"


def _well(said: Any) -> bool | None:
    """True, False, or None where this says nothing of health."""
    if isinstance(said, bool):
        return said
    if isinstance(said, int):
        return 200 <= said < 300
    if not isinstance(said, str) or len(said) > 200:
        return None
    return said.strip().strip('"').lower() in WELL
