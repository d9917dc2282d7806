"""First differences of a split: kinds, costs, examples, and keys."""

from ridgeline.bundle.view import View, view_of
from ridgeline.prefix.drift import drifts, shapes
from ridgeline.prefix.split import split
from ridgeline.signals.prompt import kinds
from ridgeline.signals.prompt.book import Book, Prompt, prompt_rows
from ridgeline.signals.rows import Reading
from tests.prefix.compose import Ask, view_with

REST = (
    " Tell the driver which gate to use, and never send two lorries to the same one. Gates five and six are closed." * 2
)


def view_of_texts(*texts: str) -> View:
    prompts = [Prompt(n, None, "chars", text, len(text), None) for n, text in enumerate(texts, 1)]
    (rows,) = prompt_rows(prompts, Reading(1, "given"), Book())
    return view_of({"prompts": rows.data})


def test_kinds_costliest_first() -> None:
    view = view_of_texts(
        "At 10:00:01." + REST,
        "At 10:00:02." + REST,
        "At 10:00:03." + REST,
        "Unlike all of the others, this one is about the weather in spring.",
    )
    (s,) = split(view)
    (found,) = drifts(s)
    assert (found.kind, found.prompts, found.tokens) == (kinds.CLOCK, 2, 2 * len(REST))
    assert found.position == 10
    assert found.example[:2] == (1, 2) and found.example[2] == 1
    assert shapes(view, s, found) is not None


def test_nothing_differs() -> None:
    (s,) = split(view_of_texts(REST, REST))
    assert drifts(s) == []


def test_a_prompt_under_another_key() -> None:
    view = view_with([Ask((1, 2, 3, 4), "extra=a"), Ask((1, 2, 3, 4), "extra=b"), Ask((1, 2, 3, 4), "extra=b")], page=1)
    (s,) = split(view)
    (found,) = drifts(s)
    assert (found.kind, found.prompts, found.tokens) == (kinds.NAMESPACE, 1, 3)
    assert shapes(view, s, found) is None


def test_drift_is_not_counted_where_the_prefix_was_seen_elsewhere() -> None:
    # The third prompt drifts from the second, and is the first one again.
    a, b = "Run 1." + REST, "Run 2." + REST
    (s,) = split(view_of_texts(a, b, a))
    assert s.parts.prompt_drift is not None
    assert s.parts.prompt_drift[2] <= s.step
    assert s.parts.hit[2] >= len(a) - 1 - s.step
