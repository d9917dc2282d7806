"""The fit of decode steps takes prefill apart, whatever the two cost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.bundle.view import View, view_of
from ridgeline.facts.decode import step_excess
from ridgeline.facts.prefill import prefill_excess
from ridgeline.facts.steps import steps
from ridgeline.model.diagnosis import Window

T0 = 1_800_000_000.0
BATCHES = (4, 9, 6, 12, 3, 7, 10, 5)
PROMPTS = (0, 1, 0, 2, 1, 0, 3)


def lines(base: float, each: float, token: float, start: float, first: int) -> list[dict[str, Any]]:
    """Forty reports, forty steps each, with 0 to 3 prefill batches of 500 tokens in between."""
    rows: list[dict[str, Any]] = []
    line, ts = first, start
    for i in range(40):
        running, prefills = BATCHES[i % len(BATCHES)], PROMPTS[i % len(PROMPTS)]
        for _ in range(prefills):
            rows.append({"source": 1, "line": line, "kind": "prefill", "ts": ts, "running": running, "waiting": 0,
                         "new_seq": 1, "new_tokens": 500, "cached_tokens": 0, "usage": 0.2})  # fmt: skip
            line += 1
        taken = 40 * (base + each * running) + token * 500 * prefills
        ts += taken
        rows.append({"source": 1, "line": line, "kind": "decode", "ts": ts, "running": running, "waiting": 0,
                     "gen_tps": 40 * running / taken, "tokens": 1000 * running, "usage": 0.2})  # fmt: skip
        line += 1
    return rows


def view(step: float, token: float) -> View:
    """Steps `step` times as dear and tokens `token` times as dear in the second window."""
    rows = [*lines(0.01, 0.001, 2e-4, T0, 1), *lines(0.01 * step, 0.001 * step, 2e-4 * token, T0 + 1000, 1000)]
    made = view_of({"sources": [{"source": 1, "path": "server.log", "kind": "log"}], "batches": rows})
    made.con.execute("SET threads = 1")
    return made.window(Window(T0 + 1000, T0 + 3000), Window(T0, T0 + 999))


@settings(max_examples=8, deadline=None)
@given(step=st.floats(0.5, 4), token=st.floats(0.5, 4))
def test_each_side_shows_in_its_own_ratio_only(step: float, token: float) -> None:
    seen = view(step, token)
    assert step_excess(seen).value == pytest.approx(step, rel=0.02)
    assert prefill_excess(seen).value == pytest.approx(token, rel=0.05)


def test_few_reports_give_no_fit() -> None:
    rows = lines(0.01, 0.001, 2e-4, T0, 1)[:6]
    assert steps(view_of({"sources": [{"source": 1, "path": "server.log", "kind": "log"}], "batches": rows})) is None
