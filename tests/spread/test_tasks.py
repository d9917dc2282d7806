"""A real local Ray: results by place, a worker killed mid-way, errors as they were raised, bounded in flight."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ridgeline.model.errors import InputError
from ridgeline.spread.tasks import connect, over

WHERE = "local-ray"


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    ray = connect(WHERE, 2)
    yield
    ray.shutdown()


def squared(shared: int, item: int) -> int:
    return shared + item * item


def killed_once(folder: str, item: int) -> int:
    mark = Path(folder) / f"{item}"
    if item % 5 == 0 and not mark.exists():
        mark.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def failing(shared: None, item: int) -> int:
    if item == 3:
        raise InputError("item 3 cannot be read")
    return item


def noted(folder: str, item: int) -> int:
    (Path(folder) / f"began-{item}").write_text("")
    time.sleep(0.05)
    return item


def test_results_are_the_local_ones_by_place() -> None:
    found = dict(over(WHERE, squared, range(50), 7, 2))
    assert [found[k] for k in range(50)] == [squared(7, k) for k in range(50)]


def test_a_worker_killed_mid_way_changes_nothing(tmp_path: Path) -> None:
    found = dict(over(WHERE, killed_once, range(12), str(tmp_path), 2))
    assert found == {k: k for k in range(12)}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["0", "10", "5"]


def test_what_a_task_raises_comes_out_as_it_was() -> None:
    with pytest.raises(InputError, match="item 3 cannot be read"):
        list(over(WHERE, failing, range(8), None, 2))


def test_no_more_is_begun_than_can_be_worked_on(tmp_path: Path) -> None:
    for at, _ in over(WHERE, noted, range(30), str(tmp_path), 2):
        if at == 0:
            break
    time.sleep(0.3)
    assert len(list(tmp_path.iterdir())) <= 6


@pytest.mark.parametrize("where", ["local", "http://x", "ray:/x"])
def test_where_is_said_plainly(where: str) -> None:
    with pytest.raises(InputError, match="want local-ray or ray://HOST:PORT"):
        next(over(where, squared, [1], 0))
