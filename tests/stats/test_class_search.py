import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ridgeline.stats.class_search import Limits, bin_numbers, search_classes, single_outlier

Ints = NDArray[np.int64]


def traffic(n: int, seed: int, dims: int = 4) -> dict[str, Ints]:
    rng = np.random.default_rng(seed)
    columns = {"key": rng.integers(0, 50, n), "rank": rng.integers(0, 4, n)}
    columns |= {f"other{i}": rng.integers(0, 6, n) for i in range(dims)}
    return columns


def slow_where(mask: NDArray[np.bool_], share: float, base: float, seed: int) -> NDArray[np.bool_]:
    rng = np.random.default_rng(seed)
    return rng.random(mask.size) < np.where(mask, share, base)


def test_one_slow_key() -> None:
    columns = traffic(20_000, 1)
    got = search_classes(slow_where(columns["key"] == 7, 0.9, 0.01, 2), columns)
    assert [entry.key for entry in got.classes] == [(("key", 7),)]
    best = got.classes[0]
    assert best.share == pytest.approx(0.9, abs=0.05)
    assert best.interval.contains(0.9)
    assert best.coverage == pytest.approx(0.64, abs=0.06)
    assert best.lift > 20
    assert got.unexplained == got.slow - best.slow


def test_a_pair_wins_over_its_halves() -> None:
    columns = traffic(40_000, 3)
    planted = (columns["key"] == 7) & (columns["rank"] == 3)
    got = search_classes(planted, columns)
    assert got.classes[0].key == (("key", 7), ("rank", 3))
    assert got.classes[0].share == 1
    assert got.classes[0].coverage == 1
    assert len(got.classes) == 1
    assert got.unexplained == 0


def test_a_slow_rank_is_not_split_into_pairs() -> None:
    columns = traffic(20_000, 4)
    got = search_classes(slow_where(columns["rank"] == 2, 0.6, 0.02, 5), columns)
    assert [entry.key for entry in got.classes] == [(("rank", 2),)]


def test_two_classes_are_both_found() -> None:
    columns = traffic(40_000, 6)
    mask = (columns["key"] == 7) | (columns["other1"] == 2) & (columns["rank"] == 1)
    got = search_classes(slow_where(mask, 0.8, 0.005, 7), columns)
    assert {entry.key for entry in got.classes} == {(("key", 7),), (("other1", 2), ("rank", 1))}


@given(st.integers(0, 10_000))
def test_noise_has_no_class(seed: int) -> None:
    columns = traffic(4000, seed)
    slow = np.random.default_rng(seed + 1).random(4000) < 0.05
    got = search_classes(slow, columns)
    assert got.classes == ()
    assert got.unexplained == got.slow


def test_a_key_is_not_blamed_for_its_long_prompts() -> None:
    rng = np.random.default_rng(8)
    columns = traffic(30_000, 9)
    long = rng.random(30_000) < np.where(columns["key"] == 7, 0.9, 0.1)
    slow = slow_where(long, 0.5, 0.01, 10)
    plain = search_classes(slow, columns)
    assert plain.classes[0].key == (("key", 7),)
    fair = search_classes(slow, {**columns, "length": long.astype(np.int64)}, strata=long.astype(np.int64),
                          exempt={"length"})  # fmt: skip
    assert [entry.key for entry in fair.classes] == [(("length", 1),)]
    blamed = [entry for entry in fair.explained_by_strata if entry.key == (("key", 7),)]
    assert blamed
    assert blamed[0].within_lift == pytest.approx(1, abs=0.2)


def test_a_key_that_is_slow_at_every_length_is_kept() -> None:
    rng = np.random.default_rng(11)
    columns = traffic(30_000, 12)
    long = (rng.random(30_000) < np.where(columns["key"] == 7, 0.9, 0.1)).astype(np.int64)
    slow = slow_where(columns["key"] == 7, 0.7, 0.01, 13) | slow_where(long == 1, 0.05, 0, 14)
    got = search_classes(slow, {**columns, "length": long}, strata=long, exempt={"length"})
    assert got.classes[0].key == (("key", 7),)
    assert got.classes[0].within == "slower"
    assert got.classes[0].within_lift is not None
    assert got.classes[0].within_lift > 5


def test_without_peers_of_its_length_nothing_is_claimed() -> None:
    columns = traffic(10_000, 15)
    strata = (columns["key"] == 7).astype(np.int64)
    got = search_classes(slow_where(strata == 1, 0.9, 0.01, 16), columns, strata=strata)
    assert (("key", 7),) not in [entry.key for entry in got.classes]
    assert (("key", 7),) in [entry.key for entry in got.no_peers]


def test_keys_that_mark_the_same_rows_are_named_together() -> None:
    columns = traffic(20_000, 17)
    columns["user"] = columns["key"] + 100
    got = search_classes(slow_where(columns["key"] == 7, 0.9, 0.01, 18), columns)
    assert got.classes[0].key == (("key", 7),)
    assert (("user", 107),) in got.classes[0].same_rows


def test_unknown_values_are_no_class() -> None:
    columns = traffic(10_000, 19)
    columns["key"][:500] = -1
    slow = np.zeros(10_000, np.bool_)
    slow[:500] = True
    assert all(code >= 0 for entry in search_classes(slow, columns).classes for _, code in entry.key)


def test_one_slow_request_is_an_outlier() -> None:
    slow = np.zeros(1000, np.bool_)
    slow[417] = True
    got = search_classes(slow, traffic(1000, 20))
    assert (got.outlier, got.classes) == (417, ())


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_all_or_none_slow_has_no_class(share: float) -> None:
    got = search_classes(np.full(1000, share == 1.0), traffic(1000, 21))
    assert got.classes == ()


def test_a_handful_of_slow_rows_is_too_few() -> None:
    columns = traffic(1000, 22)
    slow = np.zeros(1000, np.bool_)
    slow[np.flatnonzero(columns["key"] == 7)[:4]] = True
    assert search_classes(slow, columns).classes == ()
    assert search_classes(slow, columns, limits=Limits(min_slow=3)).classes != ()


def test_bad_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="codes for 3 rows"):
        search_classes([True, False, True], {"a": [1, 2]})
    with pytest.raises(ValueError, match="integers"):
        search_classes([True, False], {"a": [1.5, 2.0]})
    assert search_classes([], {"a": np.array([], np.int64)}).classes == ()
    assert search_classes([True, False, True], {}).classes == ()


def test_order_of_columns_does_not_matter() -> None:
    columns = traffic(10_000, 23)
    slow = slow_where(columns["key"] == 3, 0.5, 0.01, 24)
    assert search_classes(slow, columns) == search_classes(slow, dict(reversed(columns.items())))


@given(st.lists(st.one_of(st.floats(-1e6, 1e6), st.just(float("nan"))), max_size=60), st.integers(1, 9))
def test_bins_follow_their_edges(values: list[float], bins: int) -> None:
    codes, edges = bin_numbers(values, bins)
    assert list(edges) == sorted(set(edges))
    assert len(edges) < max(bins, 1)
    for value, code in zip(values, codes.tolist(), strict=True):
        if value != value:
            assert code == -1
            continue
        assert code == 0 or value > edges[code - 1]
        assert code == len(edges) or value <= edges[code]


def test_the_one_far_value() -> None:
    rng = np.random.default_rng(25)
    x = rng.exponential(1, 500)
    assert single_outlier(x) is None
    x[99] = 400
    assert single_outlier(x) == 99
    x[98] = 390
    assert single_outlier(x) is None
    assert single_outlier([1, 2, 3]) is None


def test_a_million_rows_of_twelve_attributes_take_seconds() -> None:
    # The lesson of a measured run: the pair is 224 of 224, its halves are not.
    rng = np.random.default_rng(26)
    n = 1_000_000
    columns: dict[str, Ints] = {f"d{i}": rng.integers(0, size, n) for i, size in
                                enumerate((2, 3, 4, 8, 16, 30, 100, 1000, 20_000, 5))}  # fmt: skip
    columns["key"], columns["rank"] = rng.integers(0, 500, n), rng.integers(0, 8, n)
    planted = np.flatnonzero((columns["key"] == 7) & (columns["rank"] == 3))[:224]
    slow = np.zeros(n, np.bool_)
    slow[planted] = True
    started = time.perf_counter()
    got = search_classes(slow, columns, strata=rng.integers(0, 8, n))
    took = time.perf_counter() - started
    assert [entry.key for entry in got.classes] == [(("key", 7), ("rank", 3))]
    assert got.classes[0].coverage == 1
    # Generous: the machine is shared; alone it is about a second.
    assert took < 20
