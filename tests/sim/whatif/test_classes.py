"""Classes are called what the evidence calls them."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from ridgeline.sim.whatif.basis import read_basis, write_basis
from ridgeline.sim.whatif.classes import groups_of, names_of
from tests.sim.whatif.made import made_basis


def test_a_routing_key_is_called_by_its_name_where_one_is_known(tmp_path: Path) -> None:
    basis = made_basis(60)
    keys = np.arange(60) % 3 + 1
    scenario = replace(basis.scenario, columns={**basis.scenario.columns, "routing_key": keys})
    called = names_of(scenario, {"routing_key": [None if k == 3 else f"tenant-{k}" for k in keys]})
    assert called == {"routing_key": {1: "tenant-1", 2: "tenant-2"}}
    names = {group.name for group in groups_of(scenario, called)}
    assert {"routing_key tenant-1", "routing_key tenant-2", "routing_key number 3"} <= names
    write_basis(replace(basis, scenario=scenario, called=called), tmp_path / "s")
    assert read_basis(tmp_path / "s").called == called


def test_of_several_names_the_most_frequent_counts() -> None:
    basis = made_basis(4)
    scenario = replace(basis.scenario, columns={**basis.scenario.columns, "lora": np.array([1, 1, 1, 0])})
    assert names_of(scenario, {"lora": ["b", "a", "b", "c"]}) == {"lora": {1: "b"}}
