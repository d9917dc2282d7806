"""Answers as they arrive: whatever the cut of the bytes, the same is understood."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.replay.answer import Answer, error_message


def sse(*events: Any, end: str = "\n\n") -> bytes:
    return b"".join(f"data: {e if isinstance(e, str) else json.dumps(e)}{end}".encode() for e in events)


def native(text: str, ids: list[int] | None, n: int, reason: Any = None) -> dict[str, Any]:
    out = {"text": text, "meta_info": {"id": "r1", "finish_reason": reason, "prompt_tokens": 5, "completion_tokens": n,
                                       "cached_tokens": 2}}  # fmt: skip
    return out if ids is None else {**out, "output_ids": ids}


STOP = {"type": "stop", "matched": 2}
REPEATING = sse(native("a", [1], 1), native("ab", [1, 2], 2), native("abc", [1, 2, 3], 3, STOP), "[DONE]")
PARTS = sse(native("a", [1], 1), native("ab", [2], 2), native("c", [3], 3, STOP), "[DONE]")
CHAT = sse(
    {"id": "r1", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]},
    {"id": "r1", "choices": [{"index": 0, "delta": {"reasoning_content": "hm "}, "finish_reason": None}]},
    {"id": "r1", "choices": [{"index": 0, "delta": {"content": "yes"}, "finish_reason": None}]},
    {"id": "r1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    {"id": "r1", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2,
                                          "prompt_tokens_details": {"cached_tokens": 2}}},
    "[DONE]",
)  # fmt: skip


def fed(data: bytes, cuts: list[int] | None = None) -> Answer:
    answer = Answer()
    at = 0
    for k, cut in enumerate([*sorted(set(cuts or [])), len(data)]):
        answer.feed(data[at:cut], float(k))
        at = max(at, cut)
    answer.end(99.0)
    return answer


def told(a: Answer) -> tuple[Any, ...]:
    return (a.text, a.output_ids, a.finish_reason, a.failure, a.message, a.prompt_tokens, a.completion_tokens,
            a.cached_tokens, a.server_id, a.chunks, a.done)  # fmt: skip


@pytest.mark.parametrize(("data", "text", "ids", "chunks"), [
    (REPEATING, "abc", (1, 2, 3), 3), (PARTS, "aabc", (1, 2, 3), 3), (CHAT, "hm yes", None, 2),
])  # fmt: skip
def test_a_whole_stream(data: bytes, text: str, ids: Any, chunks: int) -> None:
    answer = fed(data)
    assert (answer.text, answer.output_ids, answer.chunks) == (text, ids, chunks)
    assert (answer.finish_reason, answer.prompt_tokens, answer.cached_tokens, answer.server_id) == ("stop", 5, 2, "r1")
    assert answer.done and answer.failure is None


@given(st.sampled_from([REPEATING, PARTS, CHAT]), st.lists(st.integers(0, 1200), max_size=12), st.booleans())
@settings(deadline=None)
def test_any_cut_says_the_same(data: bytes, cuts: list[int], windows: bool) -> None:
    sent = data.replace(b"\n", b"\r\n") if windows else data
    assert told(fed(sent, [c for c in cuts if c < len(sent)])) == told(fed(data))


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=5))
@settings(deadline=None)
def test_no_bytes_break_it(data: bytes, cuts: list[int]) -> None:
    answer = fed(data, [c for c in cuts if c < len(data)])
    assert answer.chunks == 0 or answer.text is not None
    Answer().whole(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["text", "output_ids", "meta_info", "choices", "delta", "content", "error", "usage", "index",
                         "finish_reason", "completion_tokens", "message", "type", "id"]), inner, max_size=5),
    max_leaves=12,
)  # fmt: skip


@given(
    st.lists(
        st.dictionaries(st.sampled_from(["text", "output_ids", "meta_info", "choices", "error"]), JSON), max_size=4
    )
)
@settings(deadline=None)
def test_no_shape_breaks_it(events: list[Any]) -> None:
    answer = fed(sse(*events))
    assert isinstance(answer.text, str | None) and isinstance(answer.output_ids, tuple | None)
    whole = Answer()
    whole.whole(json.dumps(events).encode())
    assert whole.done


def test_times_are_of_the_pieces() -> None:
    answer = Answer()
    answer.feed(sse(native("", [], 0)), 1.0)
    assert answer.first_s is None, "a piece without output is no first token"
    answer.feed(sse(native("a", [1], 1)), 2.0)
    answer.feed(b": a comment\n\n", 2.5)
    answer.feed(sse(native("ab", [1, 2], 2, STOP)), 4.0)
    assert (answer.first_s, answer.last_s, answer.gaps, answer.chunks) == (2.0, 4.0, [2.0], 2)


def test_a_stop_string_cut_off_again_is_no_new_part() -> None:
    stream = sse(native("ab", None, 1), native("ab ST", None, 2), native("ab", None, 3, STOP), "[DONE]")
    assert fed(stream).text == "ab"


@pytest.mark.parametrize(("event", "failure", "message"), [
    ({"error": {"message": "queue is full", "code": 503}}, "stream-error", "queue is full"),
    ({"object": "error", "message": "bad", "type": "BadRequest"}, "stream-error", "bad"),
    (native("", [], 0, {"type": "abort", "message": "gone", "status_code": 503}), "abort", "gone"),
    ("{not json", "protocol", "an event is no JSON: {not json"),
])  # fmt: skip
def test_errors_inside_a_stream(event: Any, failure: str, message: str) -> None:
    answer = fed(sse(event, "[DONE]"))
    assert (answer.failure, answer.message) == (failure, message)


def test_several_choices_and_batches() -> None:
    answer = Answer()
    answer.whole(json.dumps([native("a", [1], 1, STOP), native("b", [2], 1, STOP)]).encode())
    assert answer.text == "a\x1eb" and answer.output_ids is None and answer.finish_reason == "stop"


def test_an_answer_without_output_is_said() -> None:
    answer = Answer()
    answer.whole(b"{}")
    assert answer.failure == "protocol"
    embedding = Answer()
    embedding.whole(b'{"embedding": [0.5], "meta_info": {"id": "e"}}')
    assert embedding.failure is None


def test_the_memory_of_a_repeating_stream_is_linear() -> None:
    answer = Answer()
    text = ""
    for n in range(1, 2001):
        text += "x"
        answer.feed(sse(native(text, None, n)), float(n))
    piece = answer.choices[0]
    assert len(piece.last) == 2000 and piece.parts == [] and len(piece.lengths) == 2000


def test_messages_of_http_errors() -> None:
    assert error_message(b'{"error": {"message": "too long"}}') == "too long"
    assert error_message(b'{"detail": "nope"}') == "nope"
    assert error_message(b"<html>") == "<html>"
    assert error_message(b"") == "empty"
