"""The search: bounds read and refused, the same settings every time, within the bounds, better than the base."""

import sys

import pytest

from ridgeline.model.errors import InputError
from ridgeline.sim.settings import SettingError
from ridgeline.sim.whatif.compare import objective_of
from ridgeline.sim.whatif.search import bounds_of, searched
from ridgeline.sim.whatif.slo import limits_of
from ridgeline.sim.whatif.variants import Variant
from tests.sim.whatif.made import TIGHT, made_basis

WRONG = ("max_running_requests=9:2", "nope=1:2", "max_running_requests=a:b", "schedule_policy=1:2",
         "max_running_requests", "schedule_policy=fcfs", "max_running_requests=nan:4")  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_bounds_that_are_none_are_refused_by_name(text: str) -> None:
    with pytest.raises(SettingError, match="--bounds"):
        bounds_of((text,), TIGHT)


def test_the_search_finds_the_cap_within_its_bounds_and_finds_it_again() -> None:
    pytest.importorskip("optuna")
    basis = made_basis(200)
    limits = limits_of(("ttft_p99=0.3s",))
    bounds = ("max_running_requests=4:64", "schedule_policy=fcfs,lof")

    def found() -> list[Variant]:
        return searched(basis, Variant((), basis.settings), bounds, limits, objective_of(None, limits), 12, 7)

    first = found()
    assert first == found() and first[0].settings == basis.settings
    best = dict(first[1].changes)
    assert 8 < int(best["max_running_requests"]) <= 64


def test_bounds_within_which_nothing_runs_are_refused() -> None:
    pytest.importorskip("optuna")
    basis = made_basis(50)
    with pytest.raises(SettingError, match="no setting within them"):
        searched(basis, Variant((), basis.settings), ("page_size=50000:60000",), (), objective_of(None, ()), 3, 0)


def test_without_optuna_one_line_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    basis = made_basis(20)
    with pytest.raises(InputError, match=r"pip install 'ridgeline\[search\]'"):
        searched(basis, Variant((), basis.settings), ("max_running_requests=4:8",), (), objective_of(None, ()), 2, 0)
