"""The measures of the prefix split: shares by reason, within a window, and what is missing."""

import pytest

from ridgeline.bundle.view import view_of
from ridgeline.facts.prefix import first_difference, prefix_loss
from ridgeline.model.diagnosis import Window
from ridgeline.prefix.split import REASONS
from ridgeline.signals.prompt.kinds import NAMESPACE
from tests.prefix.compose import Ask, view_with

HEAD = tuple(range(20))


def test_page_loss_from_the_server_s_page() -> None:
    view = view_with([Ask((*HEAD, *range(100, 120))), Ask((*HEAD, *range(200, 220)))], page=16)
    fact = prefix_loss(view, "page_misaligned")
    assert fact.value == 4 / 80
    figures = dict(fact.statement.figures)
    assert (figures["lost"], figures["of"], figures["hit"], figures["reason"]) == (4, 80, 0.2, "page-misaligned")
    assert (fact.sources, fact.kinds, fact.n) == (("requests.log:1-2",), ("request-log",), 2)


def test_shares_of_all_reasons_and_hits_make_the_whole() -> None:
    keyed, other = Ask(HEAD[:9], "extra=a"), Ask(tuple(range(50, 70)))
    asks = [Ask(HEAD), Ask(HEAD, rank=1), keyed, other, Ask(HEAD), keyed]
    view = view_with(asks, page=4, pool=24)
    shares = {reason: prefix_loss(view, reason).value for reason in REASONS}
    hit = dict(prefix_loss(view, "eviction").statement.figures)["hit"]
    assert sum(shares.values()) + hit + 6 / 98 == pytest.approx(1, abs=1e-3)
    assert shares["scattered_routing"] > 0 and shares["key_split"] > 0 and shares["eviction"] > 0


def test_only_prompts_of_the_window_count() -> None:
    view = view_with([Ask(HEAD), Ask(HEAD), Ask((*HEAD, 5))], page=16)
    late = view.window(Window(1.5, 9.0), None)
    assert prefix_loss(late, "never_seen").n == 1
    # What came before the window fills the cache all the same.
    assert dict(prefix_loss(late, "never_seen").statement.figures)["hit"] == pytest.approx(16 / 21, abs=1e-3)
    assert prefix_loss(view.window(Window(50.0, 60.0), None), "never_seen").missing


@pytest.mark.parametrize("reason", ["scattered_routing", "eviction", "page_misaligned", "key_split"])
def test_what_cannot_be_told_names_what_would_tell(reason: str) -> None:
    fact = prefix_loss(view_with([Ask(HEAD, space=None, rank=None)] * 2), reason)
    assert fact.value is None
    assert fact.missing[0].signal and fact.missing[0].how


def test_no_prompts() -> None:
    for fact in (prefix_loss(view_of({}), "eviction"), first_difference(view_of({}))):
        assert fact.value is None and fact.missing


def test_an_unknown_reason_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="no reason"):
        prefix_loss(view_of({}), "weather")


def test_the_first_difference() -> None:
    none = first_difference(view_with([Ask(HEAD), Ask(HEAD)], page=1))
    assert (none.value, none.n) == ("", 2)
    keys = first_difference(view_with([Ask(HEAD, "extra=a"), Ask(HEAD, "extra=b")], page=1))
    assert keys.value == NAMESPACE
    assert dict(keys.statement.figures)["lost"] == 19
