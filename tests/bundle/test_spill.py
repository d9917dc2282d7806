from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ridgeline.bundle.spill import Spill
from ridgeline.signals.rows import Rows


def rows(table: str, **columns: list[object]) -> Rows:
    return Rows(table, pa.table(columns))


def test_little_stays_in_memory_with_the_union_of_columns() -> None:
    spill = Spill()
    spill.add(rows("events", line=[1], kind=["ready"]))
    spill.add(rows("events", line=[2], text=["x"]))
    held = spill.memory("events")
    assert held is not None
    assert held.to_pylist() == [{"line": 1, "kind": "ready", "text": None}, {"line": 2, "kind": None, "text": "x"}]
    assert not spill.large
    assert spill.memory("batches") is None


def test_much_goes_to_part_files_in_order_and_memory_is_given_back() -> None:
    spill = Spill(limit=1000)
    for at in range(50):
        spill.add(rows("events", line=list(range(at * 10, at * 10 + 10))))
    assert spill.large
    parts = spill.parts("events")
    lines = [line for part in parts for line in pq.read_table(part)["line"].to_pylist()]
    assert lines == list(range(500))
    assert spill.memory("events") is None or spill.memory("events").num_rows == 0


def test_adopted_parts_are_numbered_behind_those_that_are_there(tmp_path: Path) -> None:
    spill = Spill(limit=0)
    spill.add(rows("events", line=[0]))
    for task in ("a", "b"):
        (tmp_path / task).mkdir()
        far = Spill(0, tmp_path / task)
        for line in (1, 2):
            far.add(rows("events", line=[line], kind=[task]))
            far.parts("events")
        spill.adopt("events", far.parts("events"))
    parts = spill.parts("events")
    assert len({part.name for part in parts}) == len(parts)
    assert [part.name for part in parts] == sorted(part.name for part in parts)
    assert [line for part in parts for line in pq.read_table(part)["line"].to_pylist()] == [0, 1, 2, 1, 2]


def test_the_folder_goes_with_the_spill() -> None:
    spill = Spill(limit=0)
    spill.add(rows("events", line=[1]))
    folder: Path = spill.folder
    assert folder.is_dir()
    del spill
    assert not folder.exists()
