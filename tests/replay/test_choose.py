"""Windows and filters: what is kept, and one clear line for what cannot be meant."""

import pytest

from ridgeline.cli.replay import span_of
from ridgeline.model.errors import InputError
from ridgeline.replay.choose import chosen, within
from ridgeline.replay.shot import Shot

SHOTS = [
    Shot(
        float(i), f"r{i}", text="x", attrs={"prompt_tokens": i * 10, "stream": i % 2 == 0, "lora": None, "state": "ok"}
    )
    for i in range(10)
]


def kept(expression: str) -> list[str]:
    return [s.rid for s in chosen(SHOTS, expression)]


def test_terms() -> None:
    assert kept("prompt_tokens>70") == ["r8", "r9"]
    assert kept("prompt_tokens>=70 and stream=true") == ["r8"]
    assert kept("prompt_tokens = 30") == ["r3"]
    assert kept("stream!=true and prompt_tokens<=10") == ["r1"]
    assert kept("state~^o") == [s.rid for s in SHOTS]
    assert kept("state='ok' and prompt_tokens<10") == ["r0"]


@pytest.mark.parametrize(("expression", "words"), [
    ("prompt_tokens", "want NAME=VALUE"), ("nothing=3", "these requests have"), ("prompt_tokens>x", "is no number"),
    ("state~(", "regular expression"), ("lora=a", "none of 10"), ("lora!=a", "none of 10"),
])  # fmt: skip
def test_what_cannot_be_meant(expression: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        chosen(SHOTS, expression)


def test_a_window_moves_time_zero() -> None:
    assert [(s.rid, s.at_s) for s in within(SHOTS, 3.0, 5.0)] == [("r3", 0.0), ("r4", 1.0)]
    with pytest.raises(InputError, match="the last one does at 9"):
        within(SHOTS, 20.0, 30.0)


def test_windows_in_seconds_and_moments() -> None:
    day = 1_796_011_200.0  # 2026-11-30T04:00:00Z
    assert span_of("2:5", None) == (2.0, 5.0)
    assert span_of(":5", None) == (0.0, 5.0)
    assert span_of("7:", None)[0] == 7.0
    assert span_of("04:00:10..04:00:20", day) == (10.0, 20.0)
    for text, origin in (("5:2", None), ("x", None), ("04:00..05:00", None)):
        with pytest.raises(InputError, match="--window"):
            span_of(text, origin)
