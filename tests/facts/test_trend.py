"""Late against early where no moment parts the evidence, and now against then where one does."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from ridgeline.bundle.open import open_sources
from ridgeline.facts.points import ready
from ridgeline.facts.trend import trend
from ridgeline.model.diagnosis import Window

START = datetime(2026, 11, 30, 3, 40, 0, tzinfo=UTC).timestamp()


def lines(seconds: int) -> str:
    """A batch of four whose step takes 20 ms in the first half and 40 ms in the second."""
    out = []
    for i in range(0, seconds, 2):
        tps = 200.0 if i < seconds / 2 else 100.0
        stamp = datetime.fromtimestamp(START + i, UTC)
        out.append(
            f"[{stamp:%Y-%m-%d %H:%M:%S} TP0] Decode batch, #running-req: 4, #token: 2000, token usage: 0.10, "
            f"cuda graph: True, gen throughput (token/s): {tps:.2f}, #queue-req: 0\n"
        )
    return "".join(out)


@pytest.mark.parametrize("of", ["step_s", "step_excess"])
def test_the_last_third_is_held_against_the_first(tmp_path: Path, of: str) -> None:
    log = tmp_path / "server.log"
    log.write_text(lines(120))
    view = ready(open_sources([str(log)]))
    fact = trend(view, of)
    assert fact.value == pytest.approx(2.0, rel=0.01)
    assert view.incident is None


def test_windows_that_are_set_stand(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(lines(120))
    view = ready(open_sources([str(log)]))
    early = view.window(Window(START + 30, START + 58), Window(START, START + 28))
    assert trend(early, "step_s").value == pytest.approx(1.0)


def test_less_than_a_minute_has_no_early_and_late(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(lines(50))
    assert trend(ready(open_sources([str(log)])), "step_s").value is None
