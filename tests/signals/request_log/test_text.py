import time

import pytest

from ridgeline.signals.request_log.text import text_record
from tests.signals.reading import tables_of
from tests.signals.request_log.compose import EPOCH, as_text, finished, meta, received
from tests.signals.request_log.test_json import FULL_ROW


def test_every_column_of_the_text_form() -> None:
    _, tables = tables_of(as_text(received("c1d2")) + as_text(finished("c1d2", meta("c1d2"))))
    arrival, row = tables["records"]
    assert (arrival["event"], arrival["logged_ts"], arrival["line"]) == ("received", EPOCH, 1)
    # the line's own time has whole seconds
    assert row == {**FULL_ROW, "line": 2, "logged_ts": EPOCH + 4}


def test_levels_that_cut_long_values_in_the_middle() -> None:
    body = (
        "Finish: obj=GenerateReqInput(rid='a', text='begin' ... 'end', input_ids=[1, 2] ... [3, 4], "
        "sampling_params={'max_new_tokens': 9, 'stop': '</s>'}, stream=False), "
        "out={'text': \"it's\" ... 'over', 'output_ids': [1] ... [2], 'meta_info': {'id': 'a', 'prompt_tokens': 3000, "
        "'finish_reason': {'type': 'stop', 'matched': 2}, 'completion_tokens': 4, 'e2e_latency': 1.5}}"
    )
    _, tables = tables_of(f"[2026-11-30 03:40:02] {body}\n")
    (row,) = tables["records"]
    assert (row["prompt_tokens"], row["completion_tokens"], row["e2e_s"]) == (3000, 4, 1.5)
    assert (row["max_new_tokens"], row["stop_set"], row["stream"]) == (9, True, False)
    assert "prompt_chars" not in row


def test_openai_payload_and_headers() -> None:
    lines = (
        "[2026-11-30 03:40:00] Receive OpenAI: obj={'model': 'm', 'prompt': \"it's\", 'max_tokens': 5, 'rid': 'a'}\n"
        "[2026-11-30 03:40:01] Finish: obj=GenerateReqInput(rid='a', stream=False), "
        "headers={'x-smg-routing-key': 'k'}, out={'meta_info': {'id': 'a', 'finish_reason': None}}\n"
    )
    _, tables = tables_of(lines)
    openai, row = tables["records"]
    assert (openai["event"], openai["endpoint"], openai["max_new_tokens"]) == ("received-openai", "/v1/completions", 5)
    assert row["routing_key"] == "k"
    assert "state" not in row


@pytest.mark.parametrize(
    "body",
    [
        # a dict key that closes its dict and opens a false result
        "Finish: obj=GenerateReqInput(rid='a', sampling_params={'custom_params': {'k': 1}}, stream=True), "
        "out={'meta_info': {'id': 'a', 'e2e_latency': 9.0}}, x={'': 2}}, out={'meta_info': {'id': 'a'}}",
        # a field given twice
        "Receive: obj=GenerateReqInput(rid='a', stream=True, stream=False)",
        "Finish: obj=GenerateReqInput(rid='a'), out={'meta_info': {'e2e_latency': 1.0, 'e2e_latency': 9.0}}",
        # another request's result
        "Finish: obj=GenerateReqInput(rid='a'), out={'meta_info': {'id': 'b', 'e2e_latency': 9.0}}",
        # something behind the end
        "Receive: obj=GenerateReqInput(rid='a')) and more",
        "Receive: obj=GenerateReqInput(rid='a', x=" + "[" * 200 + "]" * 200 + ")",
    ],
)
def test_what_cannot_be_trusted_is_not_used(body: str) -> None:
    assert text_record(body) is None


def test_no_line_is_used_for_words_inside_a_prompt() -> None:
    text = "x', rid='evil', out={'meta_info': {'prompt_tokens': 7}}"
    found = text_record(f"Receive: obj=GenerateReqInput(rid='a', text={text!r})")
    assert found is not None
    assert found.record["rid"] == "a"
    assert "out" not in found.record


@pytest.mark.parametrize(
    "end", ["", "]", "], stream=True)", ", 1.5], stream=True)", ", 'x'], stream=True)", "] ... [4, 5])"]
)
def test_a_prompt_of_many_ids_costs_one_pass_wherever_the_line_is_cut(end: str) -> None:
    # A pattern that may split each number in several ways needs 2^digits steps for a list that does not close.
    ids = ", ".join(str(100_000 + i) for i in range(30_000))
    began = time.process_time()
    found = text_record(f"Receive: obj=GenerateReqInput(rid='a', input_ids=[{ids}{end}")
    assert time.process_time() - began < 2.0
    assert found is not None
    assert found.record["rid"] == "a"
    assert found.cut == (end in ("", "]"))


def test_integers_that_are_no_token_ids_cost_their_own_value_only() -> None:
    found = text_record("Receive: obj=GenerateReqInput(rid='a', input_ids=[" + "9" * 6000 + ", 007], stream=True)")
    assert found is not None
    assert found.record["obj"] == {"rid": "a", "stream": True}
