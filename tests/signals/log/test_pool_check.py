"""The engine's own idle check: every release's way of counting."""

import pytest

from ridgeline.signals.log.pool_check import figures

NAME = "token_to_kv_pool_allocator memory leak detected! "
CASES: tuple[tuple[str, dict[str, str]], ...] = (
    (
        "self.max_total_num_tokens=90000, available_size=1100, evictable_size=88837, protected_size=0",
        {"total": "90000", "missing": "63"},
    ),
    # What is free and what can be evicted as one figure; more than there is.
    ("available_size=90064, protected_size=0, self.max_total_num_tokens=90000", {"total": "90000", "missing": "-64"}),
    (
        "full_available_size=500, full_evictable_size=89400, self.token_to_kv_pool_allocator.size=90000, "
        "self.tree_cache.full_protected_size()=100",
        {"total": "90000", "missing": "0"},
    ),
    ("available_size=1, ", {}),
)


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_what_is_missing_is_counted(text: str, expected: dict[str, str]) -> None:
    assert figures(NAME + text) == expected


def test_request_rows_are_no_tokens() -> None:
    assert figures("req_to_token_pool memory leak detected!available_size=3071, total_size=3072") == {}
