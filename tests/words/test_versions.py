import pytest

from ridgeline.words.versions import INSPECTED, Span, nearest_inspected, parse_version


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("0.4.6", "0.4.6.post5"),
        ("0.4.6.post5", "0.4.10"),
        ("0.5.9rc1", "0.5.9"),
        ("0.5.9.dev3", "0.5.9rc1"),
        ("0.5.9", "0.5.23"),
        ("v0.5.3", "0.5.6+cu128"),
    ],
)
def test_versions_are_ordered_by_number_not_by_letter(older: str, newer: str) -> None:
    one, other = parse_version(older), parse_version(newer)
    assert one is not None
    assert other is not None
    assert one < other


@pytest.mark.parametrize("text", [None, "", "unknown", "v5", "main", "99999999.1.2"])
def test_no_version_is_none(text: str | None) -> None:
    assert parse_version(text) is None
    assert Span("0.5.3").has(text) is None
    assert nearest_inspected(text) is None


def test_a_span_answers_yes_no_and_not_known() -> None:
    span = Span("0.5.9", "0.5.9")
    assert span.has("0.5.9") is True
    assert span.has("0.5.6") is False
    assert span.has("0.5.7") is None
    assert span.has("0.5.15") is None
    assert span.has("0.5.23") is False
    assert span.has("0.6.0") is False


def test_an_open_end_reaches_the_future() -> None:
    assert Span("0.5.23").has("0.7.0") is True
    assert Span().has("0.1.0") is True


def test_inspected_releases_are_in_order() -> None:
    for releases in INSPECTED.values():
        parsed = [parse_version(text) for text in releases]
        assert None not in parsed
        assert parsed == sorted(parsed, key=lambda version: version or ())


def test_nearest_inspected_is_the_newest_not_above() -> None:
    assert nearest_inspected("0.5.10") == "0.5.9"
    assert nearest_inspected("0.3.0") == "0.4.6.post5"
    assert nearest_inspected("0.32.1", "vllm") == "0.32.0"
    assert nearest_inspected("1.0", "gateway") is None
