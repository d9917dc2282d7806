"""The steady clock and its back-off, on made-up time."""

from hypothesis import given
from hypothesis import strategies as st

from ridgeline.live.pace import SLOWEST_S, Pace


def test_ticks_do_not_drift_with_the_answers() -> None:
    pace = Pace(1.0, 100.0)
    for k in range(1, 50):
        assert pace.advance(pace.next + 0.05, 0.05) is None
        assert abs(pace.next - (100.0 + k)) < 1e-9


def test_a_slow_endpoint_is_asked_less_and_a_quick_one_again() -> None:
    pace = Pace(1.0, 0.0)
    said = [pace.advance(pace.next + 0.3, 0.3) for _ in range(3)]
    assert pace.now_s == 2.0 and said[2] is not None and "every 2 s now" in said[2]
    said = [pace.advance(pace.next + 0.01, 0.01) for _ in range(3)]
    assert pace.now_s == 1.0 and said[2] is not None and "again" in said[2]


def test_one_slow_answer_may_be_our_own_fault() -> None:
    pace = Pace(1.0, 0.0)
    for took in (0.3, 0.01, 0.3, 0.01):
        pace.advance(pace.next + took, took)
    assert pace.now_s == 1.0


@given(st.lists(st.floats(0, 30), max_size=60), st.sampled_from([0.5, 1.0, 5.0, 30.0]))
def test_the_next_tick_is_never_in_the_past(answers: list[float], every: float) -> None:
    pace = Pace(every, 0.0)
    now = 0.0
    for took in answers:
        now = max(now, pace.next) + took
        pace.advance(now, took)
        assert pace.next >= now - 1e-9
        assert every <= pace.now_s <= max(SLOWEST_S, every)
