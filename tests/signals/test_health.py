"""Health answers."""

import json
from pathlib import Path

import pytest

from tests.signals.reading import tables_of

HEADER = "#### scrape ts={}.000000 took=0.5000 status={} url=http://127.0.0.1:30000/health\n"


def test_polls() -> None:
    text = (
        HEADER.format(1796011162, 200)
        + "\n"
        + HEADER.format(1796011163, 503)
        + "\n"
        + HEADER.format(1796011164, 0)
        + "URLError: refused\n"
    )
    reading, tables = tables_of(text)
    assert [(e["kind"], e["ts"], e["severity"], e["value"]) for e in tables["events"]] == [
        ("health-ok", 1796011162.0, "info", 0.5),
        ("health-fail", 1796011163.0, "error", 0.5),
        ("health-fail", 1796011164.0, "error", 0.5),
    ]
    assert [s["ok"] for s in tables["scrapes"]] == [True, False, False]
    assert "refused" in tables["events"][2]["text"]
    assert (reading.kind, reading.understood, reading.unparsed) == ("health", 3, 0)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("OK\n", "health-ok"),
        ('{"status": "ok"}', "health-ok"),
        ('{"status": "unhealthy"}', "health-fail"),
        (json.dumps({"ok": True, "status": 200, "path": "/health_generate", "text": ""}), "health-ok"),
        (json.dumps({"ok": False, "status": 503, "path": "/health", "error": ""}, indent=2), "health-fail"),
        (
            json.dumps({"ok": False, "status": -1, "path": "/health_generate", "error": "TimeoutError: timed out"}),
            "health-fail",
        ),
    ],
)
def test_single_answers(text: str, kind: str) -> None:
    reading, tables = tables_of(text)
    assert reading.kind == "health"
    assert [event["kind"] for event in tables["events"]] == [kind]
    assert (reading.understood, reading.unparsed) == (1, 0)


def test_a_page_of_something_else_is_not_a_good_answer(tmp_path: Path) -> None:
    reading, tables = tables_of(HEADER.format(1796011162, 200) + "<html>" + "x" * 300 + "</html>\n")
    assert [event["kind"] for event in tables["events"]] == ["health-fail"]
    assert reading.unparsed == 1
