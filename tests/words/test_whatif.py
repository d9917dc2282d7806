"""What is printed to try by hand and what `decide` tries: the same settings, the same way."""

import pytest

from ridgeline.words.whatif import PLACING, SWITCHED, TRIES, VARY, Axis


def values_of(cause: str, name: str) -> list[str]:
    return [value for one in TRIES[cause] for key, value in one.settings if key == name]


@pytest.mark.parametrize("cause", sorted(c for c, axis in VARY.items() if axis.sglang is not None))
def test_a_setting_that_is_varied_is_tried_and_in_the_same_direction(cause: str) -> None:
    axis: Axis = VARY[cause]
    assert axis.sglang is not None
    tried = values_of(cause, axis.sglang)
    assert tried
    now = axis.usual or 1.0
    factors = [float(value[1:]) if value.startswith("x") else float(value) / now for value in tried]
    for times in axis.times[1:]:
        assert any((factor > 1) == (times > 1) for factor in factors if factor != 1)


@pytest.mark.parametrize("cause", sorted(SWITCHED))
def test_a_word_that_is_switched_is_tried(cause: str) -> None:
    assert set(values_of(cause, SWITCHED[cause].name)) & set(SWITCHED[cause].values[1:])


@pytest.mark.parametrize("cause", sorted(PLACING))
def test_causes_of_placement_try_other_placements(cause: str) -> None:
    assert values_of(cause, "router") and values_of(cause, "load_balance_method")
