"""A2: what lies before execution is called queue only for the share that queue_time covers."""

from __future__ import annotations

from typing import Any

from ridgeline.bundle.view import view_of
from ridgeline.ladder.diagnose import diagnose
from ridgeline.model.diagnosis import Diagnosis
from tests.causes.rows import decode, join, requests


def seen(**values: Any) -> tuple[Diagnosis, dict[str, Any]]:
    """TTFT of 2.8 s, 2.3 s of it between the end of tokenizing and the start of prefill."""
    rows = requests(40, ttft_s=2.8, e2e_s=4.0, prefill_s=0.4, decode_s=1.1, tokenize_s=0.1, **values)
    d = diagnose(view_of(join({"batches": decode(12), "requests": rows})), "slow")
    return d, dict(next(a for a in d.ladder if a.rung == "A2").answer.figures)


def test_before_execution_is_queue_where_queue_time_covers_it() -> None:
    _, told = seen(queue_s=2.2, pre_queue_s=0.1)
    assert told["largest"] == "queue"
    assert round(told["queue"], 2) == 0.79


def test_before_execution_is_not_queue_beyond_what_queue_time_covers() -> None:
    d, told = seen(queue_s=0.1, pre_queue_s=2.3)
    assert told["largest"] == "pre_queue"
    assert round(told["queue"], 2) == 0.04
    assert round(told["pre_queue"], 2) == 0.82
    assert not [f.cause for f in d.findings if f.layer == "queue"]


def test_without_queue_time_nothing_is_called_queue() -> None:
    d, told = seen(queue_s=None, pre_queue_s=None, unaccounted_s=2.3)
    assert told["queue"] is None
    assert round(told["pre_queue"], 2) == 0.04  # tokenizing, and no more
    assert told["largest"] == "unaccounted"
    assert not [f.cause for f in d.findings if f.layer == "queue"]
