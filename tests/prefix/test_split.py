"""The split equals a plain computation, adds up, and says what it cannot tell."""

import json
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.bundle.open import open_sources
from ridgeline.bundle.view import view_of
from ridgeline.prefix.prompts import Prompts, load
from ridgeline.prefix.split import REASONS, Split, split, split_prompts
from tests.prefix.compose import Ask, plainly, prompts_of, setting_of, view_with

IDS = st.lists(st.integers(0, 1), min_size=1, max_size=14).map(tuple)
ASKS = st.lists(
    st.builds(
        Ask,
        ids=IDS,
        space=st.sampled_from(["", "", "extra=a"]),
        rank=st.sampled_from([0, 0, 1]),
        outputs=st.integers(0, 5),
    ),
    min_size=1,
    max_size=14,
)


def parts_of(s: Split) -> list[dict[str, int]]:
    names = ("hit", *REASONS, "unseen", "computed")
    return [
        {name: 0 if (v := getattr(s.parts, name)) is None else int(v[i]) for name in names} for i in range(s.prompts.n)
    ]


def direct(asks: list[Ask], page: int, pool: int | None) -> Split:
    prompts = prompts_of(asks)
    return split_prompts(prompts, setting_of(prompts, page, pool))


def only(asks: list[Ask], **given: Any) -> Split:
    (s,) = split(view_with(asks, **given))
    return s


@settings(max_examples=150, deadline=None)
@given(ASKS, st.integers(1, 4), st.integers(4, 40))
def test_equals_a_plain_computation(asks: list[Ask], page: int, pool: int) -> None:
    assert parts_of(direct(asks, page, pool)) == plainly(asks, page, pool)


@settings(max_examples=60, deadline=None)
@given(ASKS, st.integers(1, 4))
def test_endless_pool_equals_a_plain_computation(asks: list[Ask], page: int) -> None:
    s = direct(asks, page, None)
    assert s.parts.eviction is None
    assert parts_of(s) == plainly(asks, page, None)


@settings(max_examples=60, deadline=None)
@given(ASKS, st.integers(1, 4), st.one_of(st.none(), st.integers(4, 40)))
def test_parts_add_up_and_are_never_negative(asks: list[Ask], page: int, pool: int | None) -> None:
    s = direct(asks, page, pool)
    for parts, ask in zip(parts_of(s), asks, strict=True):
        assert min(parts.values()) >= 0
        assert sum(parts.values()) == len(ask.ids)
    groups = s.by(s.prompts.place, ("a", "b", "c"))
    assert sum(t.tokens for _, t in groups) == s.totals().tokens
    assert sum(t.hit for _, t in groups) == s.totals().hit


def test_a_view_gives_the_same_prompts() -> None:
    asks = [Ask((1, 2, 3), key="b", rank=1, outputs=4), Ask((1, 2, 3, 4), "extra=a", key="a", cached=2), Ask((9,))]
    loaded, made = load(view_with(asks), "tokens"), prompts_of(asks)
    for f in fields(Prompts):
        one, two = getattr(loaded, f.name), getattr(made, f.name)
        assert np.array_equal(one, two) if isinstance(one, np.ndarray) else one == two, f.name


@pytest.mark.parametrize(("page", "reusable", "lost"), [(16, 16, 4), (1, 20, 0)])
def test_a_common_prefix_of_twenty(page: int, reusable: int, lost: int) -> None:
    head = tuple(range(20))
    s = only([Ask((*head, *range(100, 130))), Ask((*head, *range(200, 230)))], page=page)
    assert s.parts.hit.tolist() == [0, reusable]
    assert s.parts.page_misaligned is not None
    assert s.parts.page_misaligned.tolist() == [0, lost]


@pytest.mark.parametrize(("page", "hit", "lost"), [(16, 16, 15), (1, 31, 0), (32, 0, 31)])
def test_one_token_is_always_computed(page: int, hit: int, lost: int) -> None:
    s = only([Ask(tuple(range(32)))] * 2, page=page)
    assert s.parts.hit[1] == hit
    assert s.parts.page_misaligned is not None and s.parts.page_misaligned[1] == lost
    assert s.parts.computed[1] == 1


def test_what_cannot_be_told_is_none_and_said() -> None:
    asks = [Ask((1, 2, 3, 4), space=None, rank=None), Ask((1, 2, 3, 9), space=None, rank=None)]
    s = only(asks)
    t = s.totals()
    assert (t.scattered_routing, t.eviction, t.key_split, t.page_misaligned) == (None, None, None, None)
    assert t.hit == 3
    said = " ".join(s.notes)
    for words in (
        "page size not stated",
        "size of the pool: not stated: taken as endless",
        "rank of the prompts is not known",
        "keys (adapter",
    ):
        assert words in said


def test_one_rank_cannot_scatter() -> None:
    assert only([Ask((1, 2), rank=None)], dp=1).totals().scattered_routing == 0
    assert only([Ask((1, 2), rank=None)], dp=4).totals().scattered_routing is None


def test_a_given_page_and_pool_come_before_those_read() -> None:
    view = view_with([Ask(tuple(range(40)))] * 2, page=1, pool=1000)
    (s,) = split(view, page=32, pool=4)
    assert (s.setting.page, s.setting.page_from, s.setting.pool_from) == (32, "given", "given")
    assert s.totals().hit == 0


def test_order_is_that_of_time() -> None:
    asks = [Ask((1, 2, 3, 4, 5), ts=9.0), Ask((1, 2, 3), ts=1.0)]
    s = only(asks, page=1)
    assert s.prompts.rids == ("r1", "r0")
    assert s.parts.hit.tolist() == [0, 3]


def test_classes_and_what_the_engine_said() -> None:
    asks = [Ask((1, 2, 3), key="a", cached=0), Ask((1, 2, 3), key="a", cached=1), Ask((7, 8), key="b")]
    s = only(asks, page=1)
    assert [(name, t.requests, t.hit) for name, t in s.by(s.prompts.label, s.prompts.labels)] == [
        ("a", 2, 2),
        ("b", 1, 0),
    ]
    t = s.totals()
    assert (t.cached, t.cached_of, t.hit_of) == (1, 6, 2)


def test_a_cut_prompt_is_known_as_far_as_it_is_shown() -> None:
    view = view_with([Ask(tuple(range(30)))] * 2, page=1)
    view.con.execute("UPDATE prompts SET tokens = 100")
    (s,) = split(view)
    assert (s.parts.hit[1], s.parts.never_seen[1], s.parts.unseen[1]) == (30, 0, 69)
    view.con.execute("UPDATE prompts SET tokens = NULL")
    view.con.execute("UPDATE requests SET prompt_tokens = NULL")
    (s,) = split(view)
    assert s.totals().tokens == 60
    assert any("2 prompts are cut" in note for note in s.notes)


def test_refused_requests_and_probes_ask_no_cache() -> None:
    view = view_with([Ask((1, 2, 3))] * 4, page=1)
    view.con.execute("UPDATE requests SET state = 'rejected' WHERE rid = 'r0'")
    view.con.execute("UPDATE requests SET probe = TRUE WHERE rid = 'r1'")
    (s,) = split(view)
    assert s.prompts.rids == ("r2", "r3")


def test_decode_is_sent_the_prompt_and_asks_no_cache() -> None:
    view = view_with([Ask((1, 2, 3))], page=1)
    view.con.execute("UPDATE requests SET role = 'prefill'")
    for table in ("prompts", "requests"):
        view.con.execute(f"INSERT INTO {table} SELECT * REPLACE ('d' AS server) FROM {table}")
    view.con.execute("UPDATE requests SET role = 'decode' WHERE server = 'd'")
    (s,) = split(view)
    assert s.prompts.n == 1 and s.prompts.places[0][0] == "s"


def test_grains_of_one_and_sixteen_are_compared_where_both_are_known() -> None:
    view = view_with([Ask(tuple(range(50)))] * 2, page=16)
    row = view.query("SELECT hashes FROM prompts WHERE rid = 'r1'")[0][0]
    view.con.execute(
        "UPDATE prompts SET grain = 16, hashes = $h WHERE rid = 'r1'", {"h": [row[15], row[31], row[47], row[49]]}
    )
    (s,) = split(view)
    assert s.parts.hit[1] == 48


def test_no_prompts() -> None:
    assert split(view_of({})) == []


def independent(path: Path) -> tuple[int, int, int]:
    """(blocks that hit, blocks, tokens) of a trace with an endless cache, counted line by line."""
    seen: set[int] = set()
    hit = blocks = tokens = 0
    for line in path.read_text().splitlines():
        record = json.loads(line)
        for n, block in enumerate(record["hash_ids"]):
            if block not in seen:
                break
            hit += 1
            assert n < len(record["hash_ids"])
        seen.update(record["hash_ids"])
        blocks += len(record["hash_ids"])
        tokens += record["input_length"]
    return hit, blocks, tokens


@pytest.mark.shared
@pytest.mark.parametrize(("name", "rate"), [("conversation", 36.6), ("synthetic", 64.0)])
def test_mooncake_traces_equal_an_independent_count(shared_dir: Path, name: str, rate: float) -> None:
    path = shared_dir / "traces" / f"mooncake_{name}_trace.jsonl"
    hit, blocks, tokens = independent(path)
    began = time.process_time()
    (s,) = split(open_sources([str(path)]))
    assert time.process_time() - began < 3
    t = s.totals()
    assert (t.hit_blocks, t.blocks, t.tokens) == (hit, blocks, tokens)
    assert round(100 * hit / blocks, 1) == rate
    assert t.hit + t.never_seen + t.computed + t.unseen == tokens
    assert (t.scattered_routing, t.eviction, t.key_split, t.page_misaligned, t.prompt_drift) == (None,) * 5


@pytest.mark.shared
def test_a_limited_cache_on_the_conversation_trace(shared_dir: Path) -> None:
    path = shared_dir / "traces" / "mooncake_conversation_trace.jsonl"
    view = open_sources([str(path)])
    (endless,) = split(view)
    (small,) = split(view, pool=512 * 4000)
    assert small.parts.eviction is not None
    assert np.array_equal(small.parts.hit + small.parts.eviction, endless.parts.hit)
    assert 0 < small.totals().hit < endless.totals().hit


@pytest.mark.shared
def test_a_real_run_with_two_ranks(shared_dir: Path) -> None:
    (s, text) = split(open_sources([str(shared_dir / "real" / "sglang_0.5.23" / "dp2_round_robin" / "server.log.gz")]))
    assert [rank for _, rank in s.prompts.places] == [0, 1]
    t = s.totals()
    assert t.scattered_routing and t.cached and t.hit_of
    # Running requests hold much of this small pool, so the engine finds less than a cache that has it all.
    assert t.cached <= t.hit_of
    assert text.prompts.unit == "chars"
