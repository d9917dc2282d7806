"""Cut, doubled, shuffled and coloured lines: never a crash, never a number that is not the record's own."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.signals.request_log import read
from ridgeline.signals.rows import Reading
from ridgeline.signals.stream import Blob
from tests.signals.reading import tables_of
from tests.signals.request_log.compose import as_text, bare, finished, meta, prefixed, received

Form = Callable[[dict[str, Any]], str]
HOSTILE = st.sampled_from(
    [
        "'e2e_latency': 9",
        "', out={'meta_info': {'id': 'x', 'e2e_latency': 9.0, 'prompt_tokens': 7}})",
        '"out": {"meta_info": {"prompt_tokens": 7, "e2e_latency": 9.0}}',
        "Finish: obj=GenerateReqInput(rid='x'), out={'meta_info': {'prompt_tokens': 7}}",
        '{"event": "request.finished", "rid": "x", "out": {"meta_info": {"prompt_tokens": 7}}}',
        'say "no", it\'s ... \\ fine\n',
        "\x1b[31mred\x1b[0m",
        "日本語 😀",
    ]
)
WORDS = st.lists(st.one_of(HOSTILE, st.text(max_size=12)), max_size=4).map("".join)
NUMBERS = st.integers(0, 10**7)


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    rid = "r" + draw(st.text("abcdef0123456789-,' \"", max_size=8))
    if draw(st.booleans()):
        return received(rid, text=draw(WORDS), sampling_params={"max_new_tokens": draw(NUMBERS), "n": 1})
    out = meta(
        rid,
        prompt_tokens=draw(NUMBERS),
        completion_tokens=draw(NUMBERS),
        e2e_latency=draw(st.floats(0, 1e4)),
        queue_time=draw(st.floats(0, 1e4)),
    )
    return finished(
        rid, out, text=draw(WORDS), extra_key=draw(WORDS), sampling_params={"max_new_tokens": draw(NUMBERS)}
    )


def figures(record: dict[str, Any]) -> dict[str, Any]:
    """The record's own numbers by column."""
    out = record.get("out", {}).get("meta_info", {})
    pairs = {
        "max_new_tokens": record["obj"]["sampling_params"]["max_new_tokens"],
        "prompt_tokens": out.get("prompt_tokens"),
        "completion_tokens": out.get("completion_tokens"),
        "e2e_s": out.get("e2e_latency"),
        "queue_s": out.get("queue_time"),
        "retractions": out.get("num_retractions"),
        "cached_tokens": out.get("cached_tokens"),
        "finished_ts": out.get("request_finished_ts"),
    }
    return {name: value for name, value in pairs.items() if value is not None}


def check(lines: str | bytes, known: list[dict[str, Any]], whole: bool) -> None:
    """Every row is of a known record and holds only that record's numbers; all of them where the line is whole."""
    _, tables = tables_of(lines)
    for row in tables["records"]:
        of = [record for record in known if record["rid"] == row["rid"]]
        assert any(
            all(row.get(name, value) == value for name, value in figures(record).items())
            and set(figures(record)) >= {n for n in row if n in ("prompt_tokens", "e2e_s", "queue_s", "finished_ts")}
            for record in of
        ), (row, of)
    if whole:
        assert len(tables["records"]) == len(known)
        assert all(figures(known[r["line"] - 1]).items() <= r.items() for r in tables["records"])


@given(st.lists(records(), min_size=1, max_size=12))
@settings(max_examples=10, deadline=None)
@pytest.mark.parametrize("form", [bare, prefixed, as_text])
def test_whole_lines_keep_every_number(form: Form, found: list[dict[str, Any]]) -> None:
    check("".join(form(record) for record in found), found, True)


@given(st.lists(st.tuples(records(), st.floats(0, 1)), min_size=1, max_size=12))
@settings(max_examples=10, deadline=None)
@pytest.mark.parametrize("form", [bare, prefixed, as_text])
def test_cut_lines_give_only_what_was_complete(form: Form, found: list[tuple[dict[str, Any], float]]) -> None:
    lines = [form(record).rstrip("\n").encode() for record, _ in found]
    cut = [line[: int(len(line) * share)] for line, (_, share) in zip(lines, found, strict=True)]
    whole = received("whole")
    check(b"\n".join([*cut, form(whole).encode()]), [*(record for record, _ in found), whole], False)


@given(records(), records(), st.data())
@settings(max_examples=10, deadline=None)
@pytest.mark.parametrize("form", [bare, prefixed, as_text])
def test_interleaved_doubled_and_coloured_lines(form: Form, a: dict[str, Any], b: dict[str, Any], data: Any) -> None:
    first, second = form(a).rstrip("\n"), form(b).rstrip("\n")
    at = data.draw(st.integers(0, len(first)))
    mixed = [
        first + second,
        first[:at] + second,
        first[at:],
        f"\x1b[32m{first}\x1b[0m",
        second[: len(second) // 2] + "\x1b[0m" + second[len(second) // 2 :],
    ]
    check("\n".join(data.draw(st.permutations(mixed))) + "\n", [a, b], False)


def test_a_record_that_broke_into_anothers_id_is_no_id() -> None:
    reading, tables = tables_of(bare(received("a")).replace('"rid": "a"', '"rid": ' + bare(received("b")).strip(), 1))
    assert (reading.unparsed, tables["records"]) == (1, [])


def test_a_record_inside_a_prompt_whose_line_was_cut_before_it_is_none() -> None:
    inner = '{"event": "request.finished", "rid": "x", "out": {"meta_info": {"id": "x", "prompt_tokens": 7}}}'
    for behind in ("', input_ids=None, stream=True)", '", "stream": true}', ", and more"):
        reading, tables = tables_of(bare(received("a")) + inner + behind + "\n")
        assert [row["rid"] for row in tables["records"]] == ["a"]
        assert reading.unparsed == 1
    _, tables = tables_of(bare(received("a")).strip() + inner + "\n")  # two writers, one line
    assert [row["rid"] for row in tables["records"]] == ["a", "x"]


def test_a_line_cut_inside_a_number_has_no_number() -> None:
    line = json.dumps(finished("a", meta("a", prompt_tokens=2048)))
    at = line.index("2048") + 2
    reading, tables = tables_of(line[:at] + "\n" + bare(received("b")))
    cut = next(row for row in tables["records"] if row["rid"] == "a")
    assert cut["max_new_tokens"] == 64
    assert "prompt_tokens" not in cut
    assert cut["finish_reason"] == "length"
    assert any("cut" in note for note in reading.notes)


@given(st.binary(max_size=400))
@settings(max_examples=12, deadline=None)
def test_any_bytes_behind_a_record_do_no_harm(rest: bytes) -> None:
    reading = Reading(1, "given")
    blob = Blob("given", None, bare(received("a")).encode() + rest)
    tables = [rows for rows in read(blob, reading) if rows.table == "records"]
    assert tables[0].data["rid"][0].as_py() == "a"
    assert reading.understood + reading.unparsed + reading.blank == reading.lines
