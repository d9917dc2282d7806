"""How a process ended: what its last lines say is told, and a line that nobody could read rules nothing out."""

from ridgeline.bundle.view import view_of
from ridgeline.facts.events import event_count
from ridgeline.facts.leak import leaked
from tests.causes.cases import events
from tests.causes.rows import event, join, sources

CRASH = "Scheduler hit an exception: Traceback (most recent call last):"


def test_a_crash_is_told_by_the_exception_behind_it() -> None:
    tables = events(
        event("traceback", first_line=90, text="KeyError: another request's"),
        event("crash", first_line=100, text=CRASH),
        event("traceback", first_line=120, text="ValueError: page 7 is not mapped"),
    )
    told = dict(event_count(view_of(tables), "crash").statement.figures)
    assert told["text"] == "Scheduler hit an exception: ValueError: page 7 is not mapped"


def test_the_engines_own_check_is_proof_of_a_leak() -> None:
    fact = leaked(view_of(events(event("pool-leak-check", text="memory leak detected! available_size=3"))))
    assert fact.value is True
    assert leaked(view_of(events(event("crash", text=CRASH)))).value is None


def test_an_error_line_nobody_read_may_be_the_last_word_of_a_process() -> None:
    unread = {"unread": [{"source": 1, "line": 12, "severity": "error", "text": "AssertionError('x')"}]}
    logged = join(events(event("ready")), {"sources": sources("log")})
    assert event_count(view_of(logged), "crash").value == 0
    assert event_count(view_of(join(logged, unread)), "crash").value is None
