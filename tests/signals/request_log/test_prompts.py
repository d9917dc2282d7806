"""Prompts of request-log records: ids before text, what level 2 cuts, keys, and every form of the log."""

import json
from typing import Any

import pytest

from ridgeline.signals.request_log.prompts import KEEP
from tests.signals.reading import tables_of
from tests.signals.request_log.compose import meta, obj


def record(event: str, rid: str, **more: Any) -> str:
    made: dict[str, Any] = {"timestamp": "2026-11-30T03:41:02.118734", "event": f"request.{event}", "rid": rid}
    given = {k: v for k, v in more.items() if k != "prompt_tokens"}
    made["obj"] = obj(rid, **given)
    if event == "finished":
        made["out"] = {"meta_info": meta(rid, prompt_tokens=more.get("prompt_tokens", 211))}
    return json.dumps(made)


def prompts_of(*lines: str) -> list[dict[str, Any]]:
    reading, tables = tables_of("\n".join(lines) + "\n")
    assert reading.unparsed == 0
    return sorted(tables["prompts"], key=lambda row: row["line"])


def test_ids_come_before_text() -> None:
    rows = prompts_of(
        record("received", "a", text="Count the crates."),
        record("finished", "a", text="Count the crates.", input_ids=[4, 5, 6]),
    )
    assert [(r["line"], r["unit"], r["basis"], r["tokens"]) for r in rows] == [
        (1, "chars", "text", 17),
        (2, "tokens", "ids", 3),
    ]


def test_the_same_said_twice_is_kept_once() -> None:
    rows = prompts_of(record("received", "a", input_ids=[4, 5]), record("finished", "a", input_ids=[4, 5]))
    assert [r["line"] for r in rows] == [1]


def test_the_output_goes_on_where_the_prompt_ends() -> None:
    def finished(output: list[Any], tokens: int) -> str:
        made = json.loads(record("finished", "a", input_ids=[1, 2]))
        made["out"]["output_ids"] = output
        made["out"]["meta_info"]["completion_tokens"] = tokens
        return json.dumps(made)

    (row,) = prompts_of(finished([3, 4, 5], 3))
    assert (row["tokens"], row["held_tokens"]) == (2, 4)  # the last token's KV is never computed
    for output, tokens in (([5], 3), ([3, "...", 5], 3), ([], 0), ([3, -4, 5], 3)):
        (row,) = prompts_of(finished(output, tokens))
        assert row["held_tokens"] == 2


def test_level_two_cuts_long_lists() -> None:
    cut: list[Any] = [*range(KEEP), "...", *range(KEEP)]
    (row,) = prompts_of(record("finished", "a", text=None, input_ids=cut, prompt_tokens=3000))
    assert (row["tokens"], row["seen_tokens"], len(row["hashes"])) == (3000, KEEP, KEEP)
    reading, _ = tables_of(record("finished", "a", text=None, input_ids=cut, prompt_tokens=3000) + "\n")
    assert any("first 1,024" in note for note in reading.notes)


def test_level_two_cuts_long_texts_whose_length_is_then_unknown() -> None:
    said = "k" * KEEP + "..." + "z" * KEEP
    (row,) = prompts_of(record("finished", "a", text=said))
    assert "tokens" not in row
    assert row["seen_tokens"] == KEEP


def test_keys_make_the_namespace() -> None:
    rows = prompts_of(
        record("finished", "a", input_ids=[1]),
        record("finished", "b", input_ids=[1], lora_path="sql", extra_key="t7", cache_salt="s"),
    )
    assert [r["namespace"] for r in rows] == ["", "lora=sql extra=t7 salt=s"]


def test_probes_and_records_without_content_give_none() -> None:
    assert (
        prompts_of(
            record("finished", "HEALTH_CHECK_1", input_ids=[0]),
            record("finished", "b", text=None),
            record("finished", "c", text="", input_ids=[]),
        )
        == []
    )


@pytest.mark.parametrize("ids", [[1, -1], [1, 2**40], [1.5], ["..."], [[1], [2]], [1, None], [2**70]])
def test_ids_that_cannot_be_fall_back_to_the_text(ids: list[Any]) -> None:
    (row,) = prompts_of(record("finished", "a", text="Go on.", input_ids=ids))
    assert row["unit"] == "chars"


def test_the_text_form() -> None:
    rows = prompts_of(
        "[2026-11-30 04:23:14] Receive: obj=GenerateReqInput(rid='q1', text=None, input_ids=[7, 8, 9], stream=True,"
        " lora_path='sql', extra_key=None)",
        "[2026-11-30 04:23:15] Receive: obj=GenerateReqInput(rid='q2', text='say input_ids=[1, 2]', stream=True)",
    )
    assert [(r["rid"], r["unit"], r["tokens"]) for r in rows] == [("q1", "tokens", 3), ("q2", "chars", 20)]
    assert rows[0]["namespace"] == "lora=sql"


def test_the_exporter() -> None:
    line = {"request_parameters": json.dumps({"rid": "e1", "input_ids": [3, 4, 5, 6], "stream": False}), **meta("e1")}
    reading, tables = tables_of(json.dumps(line) + "\n")
    assert reading.kind == "exporter"
    assert [(r["rid"], r["tokens"]) for r in tables["prompts"]] == [("e1", 4)]


def test_chains_agree_across_records() -> None:
    one, two = prompts_of(record("finished", "a", input_ids=[1, 2, 3, 4]), record("finished", "b", input_ids=[1, 2, 9]))
    assert one["hashes"][:2] == two["hashes"][:2]
    assert one["hashes"][2] != two["hashes"][2]
