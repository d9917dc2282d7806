"""Lines that nobody understood: what is kept of them, and what millions of equal ones cost."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.signals.lines import LogLines, Parsed
from ridgeline.signals.log import reader
from ridgeline.signals.log.clock import Clock
from ridgeline.signals.log.frame import frame
from ridgeline.signals.log.unread import ERROR_LIKE, template, unread_rows
from ridgeline.signals.rows import Reading
from tests.signals.reading import tables_of

WORD = st.sampled_from(
    ["frob", "error", "oom2", "2oom", "x", "7", "Größe", "'quoted 1'", "timed out", "-", "=", "12.5"]
)


@given(st.lists(st.lists(WORD, min_size=1, max_size=6).map(" ".join), min_size=1, max_size=20))
@settings(max_examples=100, deadline=None)
def test_lines_looked_at_once_per_shape_say_what_each_would_say_alone(texts: list[str]) -> None:
    reading = Reading(1, "x.log")
    lines, _ = frame("".join(f"[2026-11-30 03:40:00] {text}\n" for text in texts).encode(), 1, Clock(reading))
    rows, errors = unread_rows(lines, reading)
    looks = ["error" if ERROR_LIKE.search(text) else None for text in texts]
    assert rows.data["severity"].to_pylist() == looks
    assert rows.data["template"].to_pylist() == [template(text) for text in texts]
    assert rows.data["text"].to_pylist() == texts
    assert errors == sum(look is not None for look in looks)


@pytest.fixture
def short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "RUN_LINES", 5000)


@pytest.mark.usefixtures("short_runs")
@pytest.mark.parametrize("text", ["frobnicate the quux", "connection to the store refused"])
def test_every_copy_of_a_line_repeated_without_end_is_counted(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    first, *others = reader.PARSERS

    def counting(lines: LogLines, reading: Reading) -> Parsed:
        asked.append(len(lines))
        return first(lines, reading)

    monkeypatch.setattr(reader, "PARSERS", (counting, *others))
    known = "Decode batch, #running-req: 1, #token: 9, token usage: 0.01, cuda graph: True, "
    known += "gen throughput (token/s): 1.00, #queue-req: 0"
    log = f"[2026-11-30 03:40:00] {text}\n" * 20_000 + f"[2026-11-30 03:40:01 TP0] {known}\n"
    log += f"[2026-11-30 03:40:02] {text}\n"
    reading, tables = tables_of(log)
    assert (reading.understood, reading.unparsed, len(tables["batches"])) == (1, 20_001, 1)
    assert reading.unparsed_errors == (20_001 if "refused" in text else 0)
    assert [row["line"] for row in tables["unread"]] == [*range(1, 20_001), 20_002]
    assert sum(asked) <= 5000  # the parsers see the first run only


@pytest.mark.usefixtures("short_runs")
def test_a_text_seen_without_meaning_is_still_asked_about_inside_a_trace() -> None:
    # Outside a trace nobody knows what the name of an error says; inside one it is its end.
    many = "[2026-11-30 03:40:00] StrangeError: no luck\n" * 12_000
    trace = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\nStrangeError: no luck\n'
    _, tables = tables_of(many + trace)
    (event,) = [row for row in tables["events"] if row["kind"] == "traceback"]
    assert event["text"] == "StrangeError: no luck"
