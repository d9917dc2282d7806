import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.signals.log.template import template, templates


def test_ids_numbers_addresses_and_paths_leave() -> None:
    line = "Session 10.0.0.4:8998 of chatcmpl-ab12-7 at 0x7f00, /srv/models/x y 12.5 and 4f3a9c0d1e2b7788 failed"
    assert template(line) == "Session <addr> of <id> at <hex>, <path> y <n> and <hex> failed"


def test_lines_of_one_kind_share_a_template() -> None:
    assert template("Transfer 17 failed after 0.25s") == template("Transfer 18123 failed after 30s")
    assert template("Transfer 17 failed") != template("Transfer 17 finished")


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=600), max_size=8))
def test_column_form_equals_line_form(lines: list[str]) -> None:
    assert templates(pa.array(lines, pa.string())).to_pylist() == [template(line) for line in lines]
