"""The likeliest layer where no cause can be named, from a server's log alone."""

from pathlib import Path

import pytest

from ridgeline.bundle.open import open_sources
from ridgeline.ladder.diagnose import diagnose
from tests.facts.test_log_ends import access, at, decode, drained, logged, prefill, timing


def steady(seconds: int = 200) -> list[str]:
    """A server that does what it is asked: a prefill, an answer and a decode line every two seconds."""
    lines = [prefill(0)]
    for i in range(2, seconds, 2):
        lines += [access(i), prefill(i, 2), timing(i, i), decode(i + 1, 3, 0, 0.1)]
    return lines


def test_an_engine_that_shows_nothing_points_outside_of_it_and_says_so(tmp_path: Path) -> None:
    out = diagnose(open_sources(logged(tmp_path, steady())))
    first = out.findings[0]
    assert (out.verdict, first.cause, first.layer, first.confidence) == ("inconclusive", "unknown", "frontend", "low")
    assert first.statement.key == "cause.unknown.outside"
    assert "client" in str(dict(first.statement.figures)["layers"])


@pytest.mark.parametrize(
    ("status", "layer"), [("400 Bad Request", "client"), ("500 Internal Server Error", "fault"), ("200 OK", "frontend")]
)
def test_how_answers_end_says_whose_trouble_it_is(tmp_path: Path, status: str, layer: str) -> None:
    lines = [*steady(), *(access(20 * i, status) for i in range(4))]
    out = diagnose(open_sources(logged(tmp_path, lines)))
    assert (out.verdict, out.findings[0].layer) == ("inconclusive", layer)


def test_clients_that_leave_leave_no_line(tmp_path: Path) -> None:
    lines = [line for i, line in enumerate(steady()) if "ReqTimeStats" not in line or i % 3 == 0]
    out = diagnose(open_sources(logged(tmp_path, lines)))
    assert (out.verdict, out.findings[0].layer) == ("inconclusive", "client")


def test_a_queue_beside_an_emptying_batch_points_to_the_queue(tmp_path: Path) -> None:
    lines = [f"{at(0)} The server is fired up and ready to roll!", *drained()]
    out = diagnose(open_sources(logged(tmp_path, lines)))
    assert (out.verdict, out.findings[0].layer) == ("inconclusive", "queue")
    assert "queue.never-fits" not in dict(out.ruled_out)


def test_a_restart_alone_points_nowhere_and_a_slow_start_to_prefill(tmp_path: Path) -> None:
    boot = [f"{at(0)} The server is fired up and ready to roll!"]
    slow = [timing(2 + i, 900 + i, 20_000.0) for i in range(10)]
    calm = diagnose(open_sources(logged(tmp_path, [*boot, *steady()])))
    cold = diagnose(open_sources(logged(tmp_path, [*boot, prefill(1), *slow, *steady()[1:]])))
    assert calm.findings[0].layer == "frontend"
    assert (cold.verdict, cold.findings[0].layer) == ("inconclusive", "prefill")
