"""One cell from recording to result: `diagnose` in a process of its own, with and without evidence taken away."""

from ridgeline.lab.score.grid import Cell
from ridgeline.lab.score.run import run_cell


def test_a_cell_is_recorded_asked_and_condensed() -> None:
    cell = Cell("healthy/idle", 7, "0.5.23", 2.0, None, 1, None)
    full, logs, same = run_cell(cell, ("full", "logs", "one-missing"), True)
    assert (full["arm"], logs["arm"]) == ("full", "logs")
    # there is one server: with none missing it is the same evidence, which is not asked about twice
    assert (same["arm"], same["same"], "verdict" in same) == ("one-missing", True, False)
    for result in (full, logs):
        assert result["error"] == ""
        assert result["verdict"] in ("healthy", "finding", "inconclusive")
        assert result["truth"]["cause"] == "healthy"
        assert result["admitted"]
    assert full["floors"]["doctor"] == "healthy"
    same, asked = full["recomputed"]
    assert same == asked


def test_a_case_that_harms_nobody_is_only_noted() -> None:
    (only,) = run_cell(Cell("prefill.grammar", 13, "0.5.3", 2.0, None, 1, 0.01), ("full",), False)
    assert not only["admitted"]
    assert "verdict" not in only
