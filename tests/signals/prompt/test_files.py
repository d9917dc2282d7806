"""Files of prompts: three forms, cut ones, and what is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.signals.detect import detect
from ridgeline.signals.prompt import kinds
from ridgeline.signals.prompt.files import split
from tests.signals.reading import tables_of


def test_cut_message_objects_with_a_clock() -> None:
    reading, tables = tables_of(
        "SystemMessage(content='Time now 10:15:02. Week 31, gate B.\n"
        "SystemMessage(content='Time now 10:15:40. Week 31, gate B.\n"
    )
    assert reading.kind == "prompts"
    row = tables["prompts"][1]
    assert (row["drift"], row["common_tokens"], row["unit"], row["basis"]) == (kinds.CLOCK, 15, "chars", "text")
    assert (row["line"], row["neighbour_line"]) == (2, 1)
    assert row["shape"] == "x x 99:99:99. x 99, x x."
    assert "rid" not in row and "namespace" not in row


def test_a_prompt_may_have_several_messages_and_lines() -> None:
    text = "SystemMessage(content='one\ntwo'\nHumanMessage(content='three'\n\nSystemMessage(content='four'"
    found, unread, blank = split(text.split("\n"))
    assert [(line, said.count("\n")) for line, said in found] == [(1, 2), (5, 0)]
    assert unread == [] and blank == 1


def test_sections() -> None:
    text = "--- prompt 1 ---\nGive me the list.\n\nNow.\n--- prompt 2 ---\nGive me the map.\n"
    assert detect(text.encode()) == "prompts"
    found, _, _ = split(text.removesuffix("\n").split("\n"))
    assert found == [(1, "Give me the list.\n\nNow."), (5, "Give me the map.")]


@pytest.mark.parametrize(
    "text",
    [
        "Turn 1\nAverage TTFT = 3.37s\nTurn 2\nAverage TTFT = 3.51s\n",
        "--- prompt 1 ---\nonly one section\n",
        "the prompt 1 was long\nthe prompt 2 was longer\n",
    ],
)
def test_what_only_looks_like_sections(text: str) -> None:
    assert detect(text.encode()) == "text"


def test_json_lines_of_messages_and_batches() -> None:
    reading, tables = tables_of(
        '{"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]}\n'
        '{"custom_id": "7", "body": {"messages": [{"role": "user", "content": [{"type": "text"}]}],'
        ' "tools": [{"a": 1}]}}\n'
        '{"prompt": "plain"}\n'
        '{"messages": 7}\nnot json\n'
    )
    assert reading.kind == "prompts"
    assert [row["line"] for row in tables["prompts"]] == [1, 2, 3]
    assert tables["prompts"][2]["tokens"] == 5
    assert reading.unparsed == 2
    assert reading.lines == reading.understood + reading.unparsed + reading.blank


@pytest.mark.parametrize("line", ["", "{}", "[]", '{"messages": [1, null, {}]}', "SystemMessage(content="])
def test_odd_lines_do_not_fail(line: str) -> None:
    found, unread, blank = split([line])
    assert len(found) + len(unread) + blank == 1


@given(
    st.lists(st.sampled_from(["SystemMessage(content='a", "x", "", "--- prompt 3 ---", '{"prompt": "p"}']), max_size=9)
)
def test_every_line_is_accounted_for(lines: list[str]) -> None:
    found, unread, blank = split(lines)
    starts = [line for line, _ in found]
    assert starts == sorted(set(starts))
    assert len(unread) + blank <= len(lines)
