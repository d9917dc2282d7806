"""What is assumed of the cache, and where it was read."""

from typing import Any

import pytest

from ridgeline.bundle.view import view_of
from ridgeline.prefix.setting import Setting, setting
from ridgeline.prefix.split import split
from tests.prefix.compose import Ask, view_with

PLACES = (("s", 0), ("s", 1))


def of(servers: list[dict[str, Any]], config: dict[str, str] | None = None, **given: int) -> Setting:
    rows = [{"server": "s", "key": key, "value": value} for key, value in (config or {}).items()]
    return setting(view_of({"servers": servers, "config": rows}), PLACES, **given)


def test_nothing_is_invented() -> None:
    assert of([]) == Setting(None, "not stated", (None, None), "not stated: taken as endless", None, False)


def test_servers_say_page_and_pool() -> None:
    found = of([{"server": "s", "page_size": 16, "pool_tokens": 4096, "dp_size": 2}])
    assert found == Setting(16, "servers", (4096, 4096), "servers", False, False)


def test_the_page_from_the_configuration() -> None:
    assert of([{"server": "s"}], {"block_size": "32"}).page == 32


def test_pages_that_differ_are_said() -> None:
    found = of([{"server": "s", "page_size": 1}, {"server": "t", "page_size": 64}])
    assert found.page == 64 and "differ (1, 64)" in found.page_from


def test_a_pool_of_one_rank_only() -> None:
    view = view_of({"servers": [{"server": "s", "pool_tokens": 100}, {"server": "t"}]})
    found = setting(view, (("s", 0), ("t", 0)))
    assert found.pools == (100, None) and found.pool_from == "servers, not of every rank"


@pytest.mark.parametrize(
    ("config", "pools", "words"),
    [
        (
            {"enable_hierarchical_cache": "True", "hicache_ratio": "2.0", "hicache_size": "0"},
            (200, 200),
            "host tier of 2",
        ),
        (
            {"enable_hierarchical_cache": "True", "hicache_ratio": "2.0", "hicache_size": "64"},
            (None, None),
            "unknown size",
        ),
        ({"enable-hierarchical-cache": "true", "hicache-storage-backend": "file"}, (None, None), "unknown size"),
        ({"enable_hierarchical_cache": "False", "hicache_ratio": "2.0"}, (100, 100), "servers"),
    ],
)
def test_tiers_behind_the_pool(config: dict[str, str], pools: tuple[int | None, ...], words: str) -> None:
    found = of([{"server": "s", "pool_tokens": 100}], config)
    assert found.pools == pools
    assert words in found.pool_from


def test_a_given_pool_stands_before_tiers() -> None:
    found = of([{"server": "s", "pool_tokens": 100}], {"enable_hierarchical_cache": "True"}, pool=7)
    assert (found.pools, found.pool_from) == ((7, 7), "given")


def test_a_cache_that_is_off_is_said() -> None:
    view = view_with([Ask((1, 2))], config=[{"server": "s", "key": "disable_radix_cache", "value": "True"}])
    (s,) = split(view)
    assert any("switched off" in note for note in s.notes)
