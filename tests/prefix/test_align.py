"""Two prompts side by side, from shapes or read again from their source."""

import gzip
import json
from pathlib import Path

import pytest

from ridgeline.prefix.align import of_line, of_shapes, of_text, texts
from ridgeline.signals.stream import Blob


def test_shapes_part_where_they_part() -> None:
    found = of_shapes("x x: 99:99", "x x: 9")
    assert found.at == 6
    assert found.lines("12", "9") == ["12  x x: 99:99", "9   x x: 9", "          ^"]


def test_text_is_cut_around_the_difference() -> None:
    found = of_text("a" * 500 + "X" + "b" * 500, "a" * 500 + "Y" + "b" * 500, "chars")
    assert found.a[: found.at] == found.b[: found.at]
    assert (found.a[found.at], found.b[found.at]) == ("X", "Y")
    assert len(found.a) < 200


def test_line_breaks_do_not_move_the_mark() -> None:
    found = of_text("one\ntwo\n3", "one\ntwo\n4", "chars")
    assert found.a == "one two 3" and found.at == 8


def test_ids_are_shown_as_numbers() -> None:
    found = of_text("".join(map(chr, [11, 12, 13])), "".join(map(chr, [11, 12, 99])), "tokens")
    assert (found.a, found.b, found.at) == ("11 12 13", "11 12 99", 6)


RECORD = {"event": "request.finished", "rid": "a", "obj": {"rid": "a", "text": "So be it", "input_ids": [5, 6, 7]}}


@pytest.mark.parametrize(
    "line",
    [
        json.dumps(RECORD),
        "[2026-11-30 03:41:02] " + json.dumps(RECORD),
        json.dumps({"request_parameters": json.dumps(RECORD["obj"]), "id": "a"}),
        "[2026-11-30 03:41:02] Receive: obj=GenerateReqInput(rid='a', text='So be it', input_ids=[5, 6, 7])",
    ],
)
def test_every_form_of_the_record(line: str) -> None:
    assert of_line(line, "tokens") == "\x05\x06\x07"
    assert of_line(line, "chars") == "So be it"


@pytest.mark.parametrize(
    "line", ["", "[]", "7", '{"obj": 3}', '{"request_parameters": "{"}', "Receive: obj=", "[" * 5000]
)
def test_other_lines_hold_no_prompt(line: str) -> None:
    assert of_line(line, "chars") is None


def test_lines_of_a_compressed_log(tmp_path: Path) -> None:
    path = tmp_path / "requests.log.gz"
    path.write_bytes(gzip.compress(("x\n" + json.dumps(RECORD) + "\ny\n").encode()))
    assert texts(Blob("requests.log.gz", path), "request-log", (2, 3, 9), "chars") == {2: "So be it"}


def test_prompts_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "prompts.txt"
    path.write_text("=== prompt 1 ===\nup\n=== prompt 2 ===\ndown\n")
    assert texts(Blob("prompts.txt", path), "prompts", (1, 3), "chars") == {1: "up", 3: "down"}
