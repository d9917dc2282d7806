"""What a server's log says of how requests end: access and timing lines, the last batch lines; and of a boot."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from ridgeline.bundle.open import open_sources
from ridgeline.facts.client import told_aborts
from ridgeline.facts.head import unfittable
from ridgeline.facts.log_ends import admission_stops, answered_share, boot_pace, unended_share
from ridgeline.facts.points import ready
from ridgeline.facts.requests import outcome_share

START = datetime(2026, 11, 30, 3, 40, 0, tzinfo=UTC).timestamp()


def at(second: float) -> str:
    """The prefix of a line so many seconds after the start."""
    return f"[{datetime.fromtimestamp(START + second, UTC):%Y-%m-%d %H:%M:%S} TP0]"


def access(second: float, status: str = "200 OK") -> str:
    return f'{at(second)[:-5]}] INFO:     10.0.0.7:50000 - "POST /v1/completions HTTP/1.1" {status}'


def timing(second: float, rid: int, forward_ms: float = 500.0, output: int = 42) -> str:
    entry = START + second
    return (
        f"{at(second + forward_ms / 1000)} ReqTimeStats(rid={rid:032x}, input_len=512, cached_input_len=0, "
        f"output_len={output}, attempts=0, type=unified): queue_duration=1.00ms, forward_duration={forward_ms:.2f}ms, "
        f"entry_time={entry:.3f}"
    )


def prefill(second: float, running: int = 0, waiting: int = 0) -> str:
    return (
        f"{at(second)} Prefill batch, #new-seq: 1, #new-token: 512, #cached-token: 0, token usage: 0.10, "
        f"#running-req: {running}, #queue-req: {waiting}, #pending-token: 0, cuda graph: False, "
        "input throughput (token/s): 900.00"
    )


def decode(second: float, running: int, waiting: int, usage: float) -> str:
    return (
        f"{at(second)} Decode batch, #running-req: {running}, #token: 900, token usage: {usage:.2f}, cuda graph: True, "
        f"gen throughput (token/s): {40 * running:.2f}, #queue-req: {waiting}"
    )


def logged(folder: Path, lines: list[str]) -> list[str]:
    path = folder / "server.log"
    path.write_text("".join(f"{line}\n" for line in lines))
    return [str(path)]


@pytest.mark.parametrize(
    ("status", "what", "share"),
    [
        ("400 Bad Request", "invalid", 0.2),
        ("500 Internal Server Error", "error", 0.2),
        ("429 Too Many", "invalid", 0.0),
    ],
)
def test_access_lines_tell_what_was_refused_and_what_failed(
    tmp_path: Path, status: str, what: str, share: float
) -> None:
    lines = [prefill(0), *(access(i, status if i % 5 == 0 else "200 OK") for i in range(40))]
    view = ready(open_sources(logged(tmp_path, lines)))
    assert answered_share(view, what).value == pytest.approx(share)


def test_where_no_record_has_a_status_access_lines_give_the_outcome(tmp_path: Path) -> None:
    lines = [prefill(0)]
    for i in range(40):
        refused = i % 5 == 0
        lines.append(access(i, "400 Bad Request" if refused else "200 OK"))
        lines += [] if refused else [timing(i, i)]
    view = ready(open_sources(logged(tmp_path, lines)))
    assert outcome_share(view, "invalid").value == pytest.approx(0.2)
    assert outcome_share(view, "error").value == 0


def test_few_access_lines_say_nothing(tmp_path: Path) -> None:
    view = open_sources(logged(tmp_path, [prefill(0), *(access(i, "400 Bad Request") for i in range(19))]))
    assert answered_share(view, "invalid").value is None


@pytest.mark.parametrize(("every", "share"), [(4, 0.25), (1000, 1 / 40)])
def test_answers_begun_without_a_line_of_their_end_are_counted(tmp_path: Path, every: int, share: float) -> None:
    lines = [prefill(0)]
    for i in range(40):
        lines.append(access(i))
        lines += [] if i % every == 0 else [timing(i, i)]
    lines.append(decode(60, 0, 0, 0.0))
    view = ready(open_sources(logged(tmp_path, lines)))
    assert unended_share(view).value == pytest.approx(share)
    # Timing lines tell of no end but a good one: without a line of an abort, none is proven absent.
    assert told_aborts(view).value is None


def test_what_still_runs_at_the_end_is_no_answer_without_an_end(tmp_path: Path) -> None:
    lines = [prefill(0)]
    for i in range(40):
        lines.append(access(i))
        lines += [timing(i, i)] if i < 30 else []
    view = open_sources(logged(tmp_path, [*lines, decode(41, 10, 0, 0.2)]))
    assert unended_share(view).value == 0


def test_a_log_without_timing_lines_says_nothing_of_ends(tmp_path: Path) -> None:
    view = open_sources(logged(tmp_path, [prefill(0), *(access(i) for i in range(40))]))
    assert unended_share(view).value is None


def drained(*, usage: float = 0.05, running: tuple[int, ...] = (8, 6, 3, 1)) -> list[str]:
    lines = [line for i in range(20) for line in (prefill(i, 8), decode(i + 0.5, 8, 0, 0.2))]
    return [*lines, *(decode(21 + i, now, i + 1, usage) for i, now in enumerate(running))]


def test_a_queue_that_grows_beside_an_emptying_batch_is_seen(tmp_path: Path) -> None:
    view = ready(open_sources(logged(tmp_path, drained())))
    assert admission_stops(view).value is True
    assert unfittable(view).value is None  # nobody is admitted: why, the log does not say


@pytest.mark.parametrize(
    "lines",
    [
        drained(usage=0.9),  # a full pool admits nobody by right
        drained(running=(8, 8, 8, 8)),  # the batch stays: a hang, or nothing
        drained()[:-2],  # too few lines
        [*drained(), prefill(40, 1)],  # somebody was admitted after all
    ],
)
def test_other_ends_of_a_log_are_none(tmp_path: Path, lines: list[str]) -> None:
    view = ready(open_sources(logged(tmp_path, lines)))
    assert admission_stops(view).value is False
    assert unfittable(view).value is False


@pytest.mark.parametrize(("first_ms", "times"), [(5000.0, 10.0), (500.0, 1.0)])
def test_the_first_requests_after_a_boot_are_held_against_later_ones(
    tmp_path: Path, first_ms: float, times: float
) -> None:
    lines = [f"{at(0)} The server is fired up and ready to roll!", prefill(1)]
    lines += [timing(2 + 6 * i, i, first_ms if i < 10 else 500.0) for i in range(40)]
    view = ready(open_sources(logged(tmp_path, lines)))
    assert boot_pace(view).value == pytest.approx(times)


def test_too_short_after_a_boot_to_tell(tmp_path: Path) -> None:
    lines = [f"{at(0)} The server is fired up and ready to roll!", prefill(1), *(timing(2 + i, i) for i in range(40))]
    assert boot_pace(open_sources(logged(tmp_path, lines))).value is None
