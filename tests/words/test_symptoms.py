import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.words.symptoms import LADDERS, symptom


@pytest.mark.parametrize(
    ("text", "ladder"),
    [
        ("slow", "slow"),
        ("wrong output", "wrong-output"),
        ("WRONG_OUTPUT", "wrong-output"),
        ("auto", "auto"),
        ("  ", "auto"),
        ("p99 TTFT jumped to 8 s since noon", "slow"),
        ("throughput falls from 1,574 to 431 tok/s", "slow"),
        ("requests return 503 now and then", "errors"),
        ("the server crashed with a traceback", "errors"),
        ("CUDA out of memory after an hour", "memory"),
        ("token usage climbs and never falls", "memory"),
        ("everything is frozen, the watchdog fired", "hang"),
        ("tokens arrive in bursts, the stream stutters", "stream"),
        ("prefix cache hit rate fell to 3 %", "cache"),
        ("KV transfer failed between prefill and decode instances", "disagg"),
        ("stuck in bootstrap with mooncake", "disagg"),
        ("the answers are garbled since the update", "wrong-output"),
        ("首字延迟很高", "slow"),
        ("服务卡死无响应", "hang"),
        ("显存泄漏", "memory"),
        ("前缀缓存命中率下降", "cache"),
        ("输出乱码", "wrong-output"),
        ("请求报错", "errors"),
        ("流式输出断断续续", "stream"),
        ("my cat is unwell", "auto"),
    ],
)
def test_the_ladder_for_a_symptom(text: str, ladder: str) -> None:
    assert symptom(text).ladder == ladder


def test_words_inside_other_words_do_not_count() -> None:
    assert symptom("unhung paintings, approximated by painters").ladder == "auto"
    assert symptom("1,503 requests").ladder == "auto"


def test_an_even_call_is_not_clear() -> None:
    even = symptom("slow and stuck")
    assert not even.clear
    assert even.ladder == "hang"
    assert {ladder for ladder, _ in even.scores} == {"hang", "slow"}


@given(st.text(max_size=300))
def test_any_text_gets_one_ladder_and_always_the_same(text: str) -> None:
    first = symptom(text)
    assert first == symptom(text)
    assert first.ladder == "auto" or first.ladder in LADDERS


def test_a_very_long_text_is_bounded() -> None:
    assert symptom("slow " * 1_000_000).ladder == "slow"
