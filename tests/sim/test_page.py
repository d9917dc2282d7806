"""docs/simulator.md shows what its script kept, and what it kept holds the bars."""

import json
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "simulator.md").read_text(encoding="utf-8")
KEPT: dict[str, list[str]] = json.loads((DOCS / "simulator.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["halves", "pairs", "kinds", "less", "gate", "decide"])
def test_a_table_is_the_kept_one(name: str) -> None:
    shown = PAGE.split(f"<!-- {name} -->\n")[1].split(f"<!-- end {name} -->\n")[0]
    assert shown == "\n".join(KEPT[name]) + "\n", f"run `python bench/fidelity.py --write {name}`"


def test_every_mark_has_its_table() -> None:
    assert set(re.findall(r"<!-- (?!end )(\w+) -->", PAGE)) == set(KEPT)


def test_every_run_with_a_bar_is_within_it() -> None:
    barred = [line for line in KEPT["halves"][2:] if "no bar" not in line]
    assert len(barred) == 4 and all("| yes; " in line for line in barred)


def test_every_recorded_pair_has_its_sign_and_lies_within_a_quarter() -> None:
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in KEPT["pairs"][2:]]
    assert len(rows) == 18 and all(row[-1] == "right" for row in rows)
    assert max(abs(int(row[-2].removesuffix(" %"))) for row in rows) <= 25


def test_trust_is_right_nine_times_in_ten() -> None:
    agreed = next(re.search(r"\((\d+)%\)", line) for line in KEPT["gate"] if line.startswith("| all |"))
    assert agreed is not None and int(agreed[1]) >= 90
