"""The verbs that take `--on local-ray` give the bytes they give locally."""

from collections.abc import Iterator
from typing import Any

import pytest

from ridgeline.lab.score.grid import Cell
from ridgeline.lab.score.whole import run_all
from ridgeline.spread.tasks import connect

WHERE = "local-ray"


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    ray = connect(WHERE, 2)
    yield
    ray.shutdown()


def untimed(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in r.items() if k != "took_s"} for r in results]


def test_lab_score_cells() -> None:
    todo = [Cell("healthy/idle", 7, "0.5.23", 2.0, None, 1, None)]
    here = [untimed(found) for found in run_all(todo, ("full",), 1)]
    there = [untimed(found) for found in run_all(todo, ("full",), 2, WHERE)]
    assert here == there
