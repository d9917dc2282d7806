"""Aligning two prompts: the first gap, what comes again behind it, and the kind of value in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.signals.prompt import kinds
from ridgeline.signals.prompt.differ import CHARS, TOKENS, common_length, difference

REST = (
    " You watch over a warehouse. Name the shelf in every answer, and never the price. If somebody asks for a price,"
    " give the number of the desk that knows it. Be brief, and be kind to people in a hurry. Lifts are out of order."
)


@given(st.text("ab", max_size=300), st.text("ab", max_size=300), st.text("ab", max_size=300))
def test_common_length_is_that_of_a_plain_loop(head: str, a: str, b: str) -> None:
    one, two = head + a, head + b
    n = 0
    while n < min(len(one), len(two)) and one[n] == two[n]:
        n += 1
    assert common_length(one, two) == n


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        ("Clock: 08:27:41. Day: 2026-09-21.", "Clock: 08:27:58. Day: 2026-09-21.", kinds.CLOCK),
        ("Today is Monday, 3 March." + REST, "Today is Tuesday, 4 March." + REST, kinds.CLOCK),
        ("at 1796011162" + REST, "at 1796011899" + REST, kinds.CLOCK),
        ("2026-09-21T08:27:41Z" + REST, "2026-09-22T11:20:09Z" + REST, kinds.CLOCK),
        (
            "id 3f2a9c1e-1111-4222-8333-abcdefabcdef" + REST,
            "id 9c2a9c1e-2222-4222-8333-abcdefabcdee" + REST,
            kinds.UUID,
        ),
        ("call 17." + REST, "call 18." + REST, kinds.COUNTER),
        ("call-1099." + REST, "call-1100." + REST, kinds.COUNTER),
        ("key a8f3kq92zz" + REST, "key b7x1mm40qq" + REST, kinds.RANDOM),
        ("Hear,  me" + REST, "Hear, me" + REST, kinds.SPACE),
        ("dear ann" + REST, "dear carolina" + REST, kinds.OTHER),
        (
            '[{"name": "add", "parameters": {"x": 1}}, {"name": "mul", "parameters": {"y": 2}}]' + REST,
            '[{"name": "mul", "parameters": {"y": 2}}, {"name": "add", "parameters": {"x": 1}}]' + REST,
            kinds.TOOLS,
        ),
    ],
)
def test_kind(a: str, b: str, kind: str) -> None:
    for one, two in ((a, b), (b, a)):
        found = difference(one, two, CHARS, True)
        assert found.kind == kind
        assert one[: found.common] == two[: found.common]
        assert one[found.common] != two[found.common]


def test_other_content_is_no_drift() -> None:
    a, b = REST + " Where do nails lie?", REST + " Who has the key of hall seven, and until when may he keep it?"
    found = difference(a, b, CHARS, True)
    assert found.common >= len(REST)
    assert found.kind is None


def test_one_prompt_begins_the_other() -> None:
    found = difference(REST + " More.", REST, CHARS, True)
    assert (found.common, found.again, found.kind) == (len(REST), 0, None)


def test_a_short_word_that_differs_is_not_called_drift() -> None:
    assert difference("buy milk today, please", "buy corn today, please", CHARS, True).kind is None


@given(
    st.lists(st.integers(1, 50_000), min_size=40, max_size=80),
    st.lists(st.integers(60_000, 70_000), min_size=1, max_size=20),
    st.lists(st.integers(70_001, 80_000), min_size=1, max_size=20),
    st.integers(0, 30),
)
def test_ids_come_together_again(body: list[int], a: list[int], b: list[int], at: int) -> None:
    one, two = ("".join(map(chr, body[:at] + gap + body[at:])) for gap in (a, b))
    found = difference(one, two, TOKENS, False)
    assert found.common == at
    if len(body) - at > TOKENS.lost:
        assert found.kind == kinds.IDS
        # A run may come again a little early or late where the body repeats itself, never longer than the rest.
        assert TOKENS.lost <= found.again < len(one) - at


@given(st.text("ab \n1:", max_size=200), st.text("ab \n1:", max_size=200))
def test_lengths_always_fit(a: str, b: str) -> None:
    found = difference(a, b, CHARS, True)
    assert 0 <= found.common <= min(len(a), len(b))
    assert found.common <= found.end_a <= len(a)
    assert found.common <= found.end_b <= len(b)
    assert 0 <= found.again <= len(a) - found.common


def test_shape_keeps_no_letters() -> None:
    assert kinds.shape("Clock: 08:27 für Ännchen №5") == "x: 99:99 x x №9"
