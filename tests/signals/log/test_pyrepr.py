from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.signals.log.pyrepr import balanced, items, quoted_end, unquoted

VALUES = st.recursive(
    st.integers() | st.text(max_size=8) | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), VALUES, max_size=6))
def test_what_python_prints_is_split_at_its_own_commas(given_values: dict[str, object]) -> None:
    text = ", ".join(f"{key}={value!r}" for key, value in given_values.items())
    want = {key: repr(value) for key, value in given_values.items() if "passw" not in key and "secret" not in key}
    got = {key: value for key, value in items(text).items() if value != "<removed>"}
    assert got == want
    assert balanced(f"({text}) tail)", 0) == (text, len(text) + 2)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=40))
def test_a_quoted_text_ends_where_python_ends_it(text: str) -> None:
    assert quoted_end(f"{text!r}, rest'", 0) == len(repr(text))


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_survived(text: str) -> None:
    items(text)
    for at in range(len(text)):
        balanced(text, at)


def test_a_secret_is_not_kept_and_quotes_come_off() -> None:
    assert items("api_key='sk-1', a='b'") == {"api_key": "<removed>", "a": "'b'"}
    assert unquoted("'b'") == "b"
    assert items("a=[1, 2") == {}
