"""Rows of prompts: hashes, the neighbour each resembles, what differs."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.signals.prompt import kinds
from ridgeline.signals.prompt.book import Book, Prompt, prompt_rows
from ridgeline.signals.rows import Reading

BODY = "".join(chr(1000 + (7 * n * n) % 9973) for n in range(400))


def rows_of_prompts(prompts: list[Prompt], book: Book | None = None) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for rows in prompt_rows(prompts, Reading(1, "given"), book or Book()):
        assert rows.table == "prompts"
        out += rows.data.to_pylist()
    return sorted(out, key=lambda row: row["line"])


def ids(line: int, units: str, space: str | None = "", text: str | None = None) -> Prompt:
    return Prompt(line, f"r{line}", "tokens", units, len(units), space, text)


def test_the_neighbour_is_the_longest_common_prefix_that_resembles() -> None:
    rows = rows_of_prompts([ids(1, BODY + "x" * 30), ids(2, "y" * 200), ids(3, BODY[:300] + "z" * 40)])
    assert rows[0]["neighbour"] is None and rows[1]["neighbour"] is None
    assert (rows[2]["neighbour"], rows[2]["neighbour_line"], rows[2]["common_tokens"]) == ("r1", 1, 300)
    assert rows[2]["drift"] is None


def test_a_changed_head_is_found_though_no_prefix_is_shared() -> None:
    rows = rows_of_prompts([ids(1, "abc" + BODY), ids(2, "abd" + BODY)])
    assert (rows[1]["common_tokens"], rows[1]["drift"], rows[1]["drift_tokens"]) == (2, kinds.IDS, len(BODY) - 1)


def test_text_beside_ids_says_what_it_was() -> None:
    said = "Now {} o'clock" + "".join(chr(97 + (5 * n * n) % 23) for n in range(300))
    one, two = (ids(n, chr(n) + BODY, "", said.format(hour)) for n, hour in ((1, "08:15"), (2, "09:40")))
    row = rows_of_prompts([one, two])[1]
    assert row["drift"] == kinds.CLOCK
    assert row["drift_tokens"] == len(BODY) - 1
    assert row["shape"].startswith("x 99:99 x'x")


def test_the_own_key_is_preferred_among_equals() -> None:
    rows = rows_of_prompts([ids(1, BODY, "extra=a"), ids(2, BODY, "extra=b"), ids(3, BODY, "extra=a")])
    assert [row["neighbour"] for row in rows] == [None, "r1", "r1"]


def test_a_later_record_of_a_request_is_no_neighbour_of_its_first() -> None:
    first, again = ids(2, BODY[:300] + "z" * 40), Prompt(3, "r2", "tokens", BODY[:300] + "z" * 40, 340, "", None, "out")
    rows = rows_of_prompts([ids(1, BODY), first, again])
    assert [(row["neighbour"], row["common_tokens"]) for row in rows] == [(None, None), ("r1", 300), ("r1", 300)]


def test_unknown_namespace_stays_null() -> None:
    assert rows_of_prompts([ids(1, "abc", None)])[0]["namespace"] is None


def test_grain_grows_with_the_source() -> None:
    for hashes, grain in ((0, 1), (6_000_000, 16), (12_000_000, 64)):
        (row,) = rows_of_prompts([ids(1, BODY)], Book(hashes=hashes))
        assert (row["grain"], len(row["hashes"])) == (grain, -(-len(BODY) // grain))


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ridgeline.signals.prompt.book.KEPT_UNITS", 1000)
    book = Book()
    rows_of_prompts([ids(n, BODY[: 300 + n]) for n in range(1, 20)], book)
    assert book.held == sum(len(p.units) for p in book.kept.values()) <= 1000
    assert list(book.kept)[-1] == 19


def test_a_record_that_says_less_is_left_out() -> None:
    book = Book()
    text, tokens = Prompt(1, "a", "chars", "x", 1, ""), Prompt(2, "a", "tokens", "x", 1, "")
    more = Prompt(3, "a", "tokens", "x", 1, "", reply="y")
    assert [book.wanted(p) for p in (text, text, tokens, text, tokens, more, tokens, more)] == [
        *(True, False, True, False, False, True, False, False)
    ]
    nameless = Prompt(4, None, "chars", "x", 1, "")
    assert book.wanted(nameless) and book.wanted(nameless)


def test_the_output_is_hashed_behind_the_prompt() -> None:
    one, two = rows_of_prompts([Prompt(1, "a", "tokens", "abc", 3, "", reply="de"), ids(2, "abcdef")])
    assert (one["tokens"], one["seen_tokens"], one["held_tokens"], len(one["hashes"])) == (3, 3, 5, 5)
    assert one["hashes"] == two["hashes"][:5]


@settings(max_examples=40)
@given(st.lists(st.text("abcd1: \ud800é", max_size=60), max_size=8))
def test_any_text_gives_rows_that_fit(texts: list[str]) -> None:
    prompts = [Prompt(n, None, "chars", text, len(text), None) for n, text in enumerate(texts, 1)]
    rows = rows_of_prompts(prompts)
    assert [row["line"] for row in rows] == [p.line for p in prompts if p.units]
    for row in rows:
        assert len(row["hashes"]) == -(-row["held_tokens"] // row["grain"])
        if row["common_tokens"] is not None:
            assert 0 <= row["common_tokens"] <= row["tokens"]
            assert row["neighbour_line"] < row["line"]
            assert row["drift_tokens"] is None or row["drift_tokens"] + row["common_tokens"] <= row["tokens"]
