from dataclasses import replace

import pytest

from ridgeline.model.contrast import Contrast

BASE = Contrast("mean", 2.0, 3.0, 1.0, 0.5, 1.5, 0.95, 0.2, 10, 10, 0.001, "mann-whitney", "different", "")


def test_ratio_and_direction() -> None:
    assert BASE.ratio == 1.5
    assert BASE.direction == "up"
    assert replace(BASE, difference=-1.0).direction == "down"


def test_nothing_is_said_of_what_is_not_known() -> None:
    assert replace(BASE, a=None).ratio is None
    assert replace(BASE, a=0.0).ratio is None
    assert replace(BASE, verdict="same").direction is None
    assert replace(BASE, difference=None).direction is None


def test_it_is_frozen() -> None:
    with pytest.raises(AttributeError):
        BASE.a = 1.0  # type: ignore[misc]
