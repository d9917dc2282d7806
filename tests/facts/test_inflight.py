"""KV that piles up behind the computing is no lack of prefill servers."""

import pytest

from ridgeline.bundle.view import view_of
from ridgeline.facts.inflight import inflight_piles
from ridgeline.ladder.diagnose import diagnose
from tests.causes.rows import decode, join, prefill


@pytest.mark.parametrize(("lengths", "piles"), [(range(4, 84, 2), True), ([6, 4, 5, 7] * 10, False)])
def test_a_queue_that_grows_and_grows(lengths: list[int], piles: bool) -> None:
    lines = prefill(40, running=0, waiting=4, role="prefill", inflight=list(lengths))
    view = view_of({"batches": lines})
    assert inflight_piles(view).value is piles


def test_a_link_that_falls_behind_is_no_matter_of_ratio() -> None:
    sent = prefill(40, running=0, waiting=5, new_tokens=8192, role="prefill", inflight=list(range(4, 84, 2)))
    taken = decode(40, running=12, waiting=0, usage=0.3, role="decode", transfer=list(range(8, 88, 2)))
    out = diagnose(view_of(join({"batches": sent}, {"batches": [{**row, "source": 2} for row in taken]})), "slow")
    assert "disagg.ratio" in dict(out.ruled_out)
    assert [f.cause for f in out.findings] == ["unknown"]
