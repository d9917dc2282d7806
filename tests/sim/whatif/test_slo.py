"""Limits: read, kept, refused."""

import numpy as np
import pytest

from ridgeline.sim.settings import SettingError
from ridgeline.sim.whatif.slo import limits_of, met, within


def test_limits_are_read_with_units_and_p99_by_default() -> None:
    assert [(x.metric, x.share, x.limit_s) for x in limits_of(("ttft_p90=500ms,tpot=0.05", "e2e_p50=1m"))] == [
        ("ttft_s", 0.9, 0.5), ("tpot_s", 0.99, 0.05), ("e2e_s", 0.5, 60.0)]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["ttft_p99", "ttft_p99=-1s", "ttft_p99=0", "speed_p99=2s", "ttft_p99=2h", "", "ttft_p0=1s"]
)
def test_what_is_no_limit_is_refused_by_name(text: str) -> None:
    with pytest.raises(SettingError, match="--slo"):
        limits_of((text,))


def test_what_did_not_finish_keeps_no_limit_and_one_token_has_no_gap_to_keep() -> None:
    nan = float("nan")
    values = {"ttft_s": np.array([1.0, 3.0, 1.0, nan]), "e2e_s": np.array([2.0, 4.0, nan, nan]),
              "tpot_s": np.array([nan, 0.1, 0.1, nan])}  # fmt: skip
    limits = limits_of(("ttft_p99=2s", "tpot=0.2s"))
    assert within(values, limits).tolist() == [True, False, False, False]
    assert not met(values, limits)
    assert met(values, limits_of(("ttft_p25=2s",)))
