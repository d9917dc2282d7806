"""Silences between batch lines: a scheduler that halts, or lines that somebody cut out of a log."""

import pytest

from ridgeline.bundle.view import view_of
from ridgeline.facts.streams import halts
from tests.causes.rows import decode


@pytest.mark.parametrize(("behind_the_gap_tps", "silences"), [(320 / 60, 4), (160.0, 0)])
def test_a_silence_is_one_only_where_the_throughput_behind_it_says_so(behind_the_gap_tps: float, silences: int) -> None:
    # Eight requests, forty steps a line: 320 tokens every two seconds, and four gaps of a minute.
    lines = decode(60, every=2.0, running=8, gen_tps=160.0, waiting=0)
    for i, line in enumerate(lines):
        line["ts"] += 58.0 * (i // 12)
        if i and i % 12 == 0:
            line["gen_tps"] = behind_the_gap_tps
    assert halts(view_of({"batches": lines})).value == silences


def test_stamps_of_whole_seconds_hide_a_silence_of_two_and_show_one_of_four() -> None:
    def seen(pause: float) -> object:
        lines = decode(120, every=1.0, running=8, gen_tps=320.0, waiting=0)
        late = 0.0
        for i, line in enumerate(lines):
            late += pause if i and i % 20 == 0 else 0.0
            line["ts"] = float(int(line["ts"] + late))
            line["gen_tps"] = 320.0 / (1 + pause) if i and i % 20 == 0 else 320.0
        return halts(view_of({"batches": lines})).value

    assert [seen(0.0), seen(1.0), seen(3.0)] == [0, 0, 5]
