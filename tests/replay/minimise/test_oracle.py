"""How often a set is tried before it passes, and what a killed run leaves."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ridgeline.model.errors import InputError
from ridgeline.replay.minimise.journal import FILE, Journal
from ridgeline.replay.minimise.oracle import Oracle, OutOfTries
from ridgeline.replay.minimise.predicate import predicate_of
from ridgeline.replay.minimise.search import fewest_requests
from ridgeline.replay.minimise.trial import Try
from ridgeline.replay.shot import Outcome, Shot

OPEN: list[Journal] = []
SHOTS = [Shot(float(i), f"r{i}", text=f"p{i}") for i in range(200)]


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Whatever journals a test opened are closed behind it."""
    yield
    while OPEN:
        OPEN.pop().close()


def opened(folder: Path, task: str = "task") -> Journal:
    OPEN.append(Journal(folder, task))
    return OPEN[-1]


def oracle(tmp_path: Path, rate: float, seed: int = 0, budget: int = 600, need: str = "r77") -> Oracle:
    rng = random.Random(seed)

    def attempt(shots: Sequence[Shot], fresh: bool) -> Try:
        hit = any(s.rid == need for s in shots) and rng.random() < rate
        return Try(hit, (), "", 0.0)

    return Oracle(attempt, opened(tmp_path), budget, 20, lambda _: None)


def test_a_fault_that_always_comes_is_asked_about_once(tmp_path: Path) -> None:
    one = oracle(tmp_path, 1.0)
    assert one.fails(SHOTS, "all") is not None and one.fails(SHOTS[:10], "few") is None
    assert one.spent == 2 and one.enough() == 1


def test_a_flaky_fault_is_asked_about_as_often_as_its_rate_wants(tmp_path: Path) -> None:
    one = oracle(tmp_path, 0.3, seed=5)
    while one.fails(SHOTS, "all") is None:
        one.once(SHOTS, "all")
    one.confirm(SHOTS, "again", 3, 40)
    assert one.rate() is not None and 8 <= one.enough() <= 20
    spent = one.spent
    assert one.fails(SHOTS[:10], "few") is None and one.spent - spent == one.enough()


def test_a_flaky_request_is_found_nearly_always(tmp_path: Path) -> None:
    right = 0
    for seed in range(10):
        one = oracle(tmp_path / str(seed), 0.3, seed=seed)
        first = None
        while first is None:
            done = one.once(SHOTS, "all")
            first = done if done.failed else None
        found = fewest_requests(one, SHOTS, first)
        assert any(s.rid == "r77" for s in found), "what is left was seen to fail"
        right += len(found) == 1
        assert one.spent <= 600
    assert right >= 9


def test_a_former_run_is_not_asked_again(tmp_path: Path) -> None:
    first = oracle(tmp_path, 1.0)
    before = [first.fails(SHOTS[:n], "some") is not None for n in (50, 100, 200)]
    first.journal.close()

    def never(shots: Sequence[Shot], fresh: bool) -> Try:
        raise AssertionError("asked again")

    again = Oracle(never, opened(tmp_path), 600, 20, lambda _: None)
    assert [again.fails(SHOTS[:n], "some") is not None for n in (50, 100, 200)] == before
    assert again.journal.resumed == 3


def test_a_line_cut_by_a_kill_is_left_out(tmp_path: Path) -> None:
    one = oracle(tmp_path, 1.0)
    one.fails(SHOTS, "all")
    one.fails(SHOTS[:3], "few")
    one.journal.close()
    path = tmp_path / FILE
    path.write_bytes(path.read_bytes()[:-20])
    again = opened(tmp_path)
    assert again.cut and again.resumed == 1
    again.close()
    assert path.read_bytes().endswith(b"}\n")


def test_a_folder_serves_one_task_at_a_time(tmp_path: Path) -> None:
    one = oracle(tmp_path, 1.0)
    with pytest.raises(InputError, match="at work"):
        Journal(tmp_path, "task")
    one.journal.close()
    with pytest.raises(InputError, match="another dump"):
        Journal(tmp_path, "other")
    (tmp_path / FILE).write_bytes(b"{}\n")
    with pytest.raises(InputError, match="damaged"):
        Journal(tmp_path, "task")


def test_the_budget_ends_it(tmp_path: Path) -> None:
    one = oracle(tmp_path, 1.0, budget=3)
    with pytest.raises(OutOfTries):
        for n in range(1, 9):
            one.fails(SHOTS[:n], "some")
    assert one.spent == 3


@pytest.mark.parametrize(("text", "outcome", "matches"), [
    ("status:500", Outcome(status=500, failure="http"), True),
    ("status:5xx", Outcome(status=503, failure="http"), True),
    ("status:5xx", Outcome(status=404, failure="http"), False),
    ("finish:length", Outcome(status=200, finish_reason="length"), True),
    ("error", Outcome(failure="disconnect"), True),
    ("error", Outcome(status=200, finish_reason="stop"), False),
    ("error:http-500", Outcome(status=500, failure="http"), True),
    ("error", Outcome(failure="cancelled"), False),
    ("output:/a+b/", Outcome(text="xaab"), True),
    ("output:/a+b/", Outcome(text=None), False),
    ("ttft>2s", Outcome(ttft_s=2.5), True),
    ("ttft>2s", Outcome(ttft_s=1.5), False),
    ("ttft>500ms", Outcome(failure="timeout", e2e_s=3.0), True),
    ("e2e>2s", Outcome(finish_reason="stop", e2e_s=2.1), True),
    ("itl>1s", Outcome(gaps_s=(0.1, 1.2)), True),
    ("itl>1s", Outcome(), False),
])  # fmt: skip
def test_predicates(text: str, outcome: Outcome, matches: bool) -> None:
    predicate = predicate_of(text)
    assert predicate.matches(outcome) is matches
    assert predicate.judge([outcome], False, None) is matches


@pytest.mark.parametrize(
    "text", ["", "status:", "status:9", "finish:", "output:x", "output:/(/", "ttft>", "wat", "cmd:"]
)
def test_what_is_no_predicate(text: str) -> None:
    with pytest.raises(InputError, match="--fails"):
        predicate_of(text)


def test_a_command_decides(tmp_path: Path) -> None:
    rows = tmp_path / "rows"
    rows.write_text("needle\n")
    assert predicate_of("cmd:grep -q needle").judge([], False, rows)
    assert not predicate_of("cmd:grep -q hay").judge([], False, rows)
    with pytest.raises(InputError, match="cannot run it"):
        predicate_of("cmd:no-such-command-here").judge([], False, rows)
