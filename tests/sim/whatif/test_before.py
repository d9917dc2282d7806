"""What users got in the good time, from the evidence itself."""

from ridgeline.bundle.view import view_of
from ridgeline.sim.whatif.before import seen_between

T0 = 1_796_000_000.0


def rows(count: int, **more: object) -> list[dict[str, object]]:
    return [
        {"request": k, "rid": f"r{k}", "server": "s", "role": "unified", "state": "finished", "received_ts": T0 + k,
         "ttft_s": 0.01 * (k + 1), "tpot_s": 0.02, "e2e_s": 1.0, **more}
        for k in range(count)
    ]  # fmt: skip


def test_the_percentiles_of_the_window_alone() -> None:
    view = view_of({"requests": rows(200)})
    assert seen_between(view, (T0, T0 + 100)) == {"ttft_s": (0.9, 0.99), "tpot_s": (0.02, 0.02), "e2e_s": (1.0, 1.0)}


def test_few_requests_and_no_window_tell_nothing() -> None:
    view = view_of({"requests": rows(200)})
    assert seen_between(view, (T0, T0 + 20)) is None and seen_between(view, None) is None
    assert seen_between(view_of({"requests": rows(200, state="aborted")}), (T0, T0 + 100)) is None
    assert seen_between(view_of({"requests": rows(60, ttft_s=None, tpot_s=None, e2e_s=None)}), (T0, T0 + 60)) is None
