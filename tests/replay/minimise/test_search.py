"""The search on its own: what is needed is found, within the tries that are promised."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.replay.minimise.inside import PAGE_CHARS, PAGE_TOKENS, cut, parts_of, with_parts
from ridgeline.replay.minimise.search import fewest, representatives
from ridgeline.replay.shot import Shot


@given(st.integers(1, 3000), st.data())
@settings(deadline=None)
def test_whatever_is_needed_is_found_and_nothing_else(n: int, data: st.DataObject) -> None:
    need = set(data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=4)))
    tries = 0

    def fails(items: object) -> bool:
        nonlocal tries
        tries += 1
        return need <= set(items)  # type: ignore[call-overload, no-any-return]

    assert fewest(range(n), fails) == sorted(need)
    assert tries <= len(need) * (2 * math.log2(n + 1) + 3)


def test_before_a_second_item_is_looked_for_the_set_is_asked_about() -> None:
    asked: list[list[int]] = []
    assert fewest(range(10), lambda items: {2, 7} <= set(items), asked.append) == [2, 7]
    assert asked == [[2, 3, 4, 5, 6, 7, 8, 9]]


@given(st.integers(1, 200), st.integers(0, 8000), st.integers(0, 8000))
@settings(deadline=None, max_examples=200)
def test_a_text_is_cut_to_within_a_page_of_its_trigger(length: int, before: int, after: int) -> None:
    trigger = "T" * length
    tries = 0

    def fails(text: str) -> bool:
        nonlocal tries
        tries += 1
        return trigger in text

    found = cut("a" * before + trigger + "b" * after, PAGE_CHARS, fails)
    assert trigger in found and len(found) <= length + PAGE_CHARS
    assert tries <= 32


@given(st.integers(1, 3000), st.integers(0, 3000))
@settings(deadline=None)
def test_a_length_is_cut_to_within_a_page(least: int, more: int) -> None:
    found = cut(tuple(range(least + more)), PAGE_TOKENS, lambda ids: len(ids) >= least)
    assert least <= len(found) <= least + PAGE_TOKENS


@given(st.integers(0, 3000), st.integers(0, 4000), st.integers(0, 3000))
@settings(deadline=None)
def test_two_parts_far_apart_keep_what_is_between_short(before: int, between: int, after: int) -> None:
    text = "a" * before + "<A>" + "-" * between + "<B>" + "b" * after
    found = cut(text, PAGE_CHARS, lambda t: "<A>" in t and t.find("<B>") > t.find("<A>"))
    assert "<A>" in found and "<B>" in found and len(found) <= 2 * PAGE_CHARS + 6


def test_what_does_not_matter_is_one_unit() -> None:
    assert cut("x" * 5000, PAGE_CHARS, lambda _: True) == "x"


def test_parts_are_dropped_but_not_the_length_of_the_output() -> None:
    shot = Shot(0.0, "r", text="x", sampling={"max_new_tokens": 9, "top_p": 0.5}, fields={"priority": 1},
                headers=(("x-smg-routing-key", "k"),))  # fmt: skip
    assert len(parts_of(shot, keep_stream=False)) == 4 and len(parts_of(shot, keep_stream=True)) == 3
    bare = with_parts(shot, ())
    assert (bare.sampling, bare.fields, bare.headers, bare.stream) == ({"max_new_tokens": 9}, {}, (), False)
    assert with_parts(shot, parts_of(shot, False)) == shot


@pytest.mark.parametrize("unfinished", [True, False])
def test_a_shape_is_stood_for_by_its_last_request(unfinished: bool) -> None:
    shots = [Shot(float(i), f"r{i}", text="x" * 10, unfinished=unfinished and i == 2) for i in range(5)]
    long = Shot(9.0, "long", text="x" * 900)
    assert [s.rid for s in representatives([*shots, long])] == ["r2" if unfinished else "r4", "long"]
