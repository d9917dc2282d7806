"""Sentences: parts without figures go, counts and shares read as people write them, and no log text is touched."""

import pytest

from ridgeline.words import catalogue
from ridgeline.words.catalogue import CATALOGUES, say


@pytest.fixture
def entry(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    def make(template: str, **figures: object) -> str:
        monkeypatch.setitem(catalogue.CATALOGUES, "en", {**CATALOGUES["en"], "t": template})
        return say("t", figures)

    return make


def test_a_part_is_said_only_with_all_its_figures(entry) -> None:  # type: ignore[no-untyped-def]
    template = "a died process[[: {text}]][[ ({n} lines, {at})]]"
    assert entry(template, text="boom", n=2, at="3") == "a died process: boom (2 lines, 3)"
    assert entry(template, text="", n=2, at=None) == "a died process"
    assert entry(template, text="boom", n=0, at="x") == "a died process: boom (0 lines, x)"


def test_outside_a_part_none_is_said(entry) -> None:  # type: ignore[no-untyped-def]
    assert entry("{x:.3g} s", x=None) == "not measured s"


def test_a_separator_whose_clause_is_gone_goes_too(entry) -> None:  # type: ignore[no-untyped-def]
    template = "[[; gap {gap}]][[; lag {lag}]] (of TTFT:[[, {q:.0%} queue]][[, {p:.0%} prefill]])"
    assert entry(template, gap=None, lag=2, q=None, p=0.5) == "lag 2 (of TTFT: 50% prefill)"
    assert entry("told: {text}", text="a (; b") == "told: a (; b"  # what a log says stays as it is


@pytest.mark.parametrize(
    ("template", "value", "said"),
    [
        ("{v:#request}", 1, "1 request"),
        ("{v:#request}", 0, "0 requests"),
        ("{v:#request was|requests were} refused", 2, "2 requests were refused"),
        ("{v:#batch|batches}", 9.5, "9.5 batches"),
        ("{v:.0%}", 0.003, "<1%"),
        ("{v:.0%}", 0.0, "0%"),
        ("{v:.0%}", 0.998, ">99%"),
        ("{v:.0%}", 1.0, "100%"),
        ("{v:.3g}", 15234.0, "15,200"),
        ("{v:.3g}", 0.0000778, "0.0000778"),
        ("{v}", 173900.0, "173,900"),
        ("{v}", 2315, "2315"),
        ("{v}", True, "yes"),
        ("{v:quantile}", 0.5, "median"),
        ("{v:quantile}", 0.95, "95 % quantile"),
        ("{v:word}", "ttft_s", "TTFT"),
        ("{v:word}", "cuda-oom,host-oom", "CUDA out of memory or a process killed for host memory"),
        ("{v:word}", "never_heard_of", "never heard of"),
        ("{v:each guard.*}", "bytes|retracted", f"{CATALOGUES['en']['guard.bytes']}; "),
        ("{v:.3g}", float("inf"), "inf"),
    ],
)
def test_figures_read_as_people_write_them(entry, template: str, value: object, said: str) -> None:  # type: ignore[no-untyped-def]
    assert entry(template, v=value).startswith(said)
