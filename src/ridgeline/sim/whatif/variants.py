"""Settings to compare: ``--set``, ``--vary`` and ``--policy`` texts → one variant per combination, the base first."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import product

import numpy as np

from ridgeline.scenario.model import Scenario
from ridgeline.sim.settings import SettingError, Settings, with_changes
from ridgeline.sim.whatif.flags import own_name, shown

UNASKED = "no rank asked for"
MOST = 10_000
"""Variants beyond this are a mistake."""


@dataclass(frozen=True)
class Variant:
    """One setting: what differs from the base (empty for the base itself), and all of it."""

    changes: tuple[tuple[str, bool | int | float | str], ...]
    settings: Settings
    unpin: bool = False  # nobody asks for a rank

    @property
    def name(self) -> str:
        """``key=value`` of every change."""
        pairs = [shown(key, value, self.settings) for key, value in self.changes]
        told = [f"{key}={plain(value)}" for key, value in pairs]
        return ", ".join([*told, *([UNASKED] if self.unpin else [])]) or "base"


def free(scenario: Scenario) -> Scenario:
    """The scenario with nobody asking for a rank."""
    columns = {**scenario.columns, "dp_rank": np.full(scenario.n, -1, np.int64)}
    return replace(scenario, columns=columns)


def plain(value: bool | int | float | str) -> str:
    """A value as the command line takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def pair_of(text: str, option: str, engine: str, page: int) -> tuple[str, str]:
    """``KEY=VALUE`` with the server's own spelling of the key turned into the simulator's. Raises SettingError."""
    key, equals, value = text.partition("=")
    if not equals or not value.strip():
        raise SettingError(f"{option} {text}: want KEY=VALUE")
    return own_name(key, value.strip(), engine, page)


def changed(base: Settings, texts: Sequence[str], option: str = "--set") -> Settings:
    """The settings with every ``KEY=VALUE`` applied. Raises SettingError."""
    # the engine and the page decide what the other names mean, whatever the order they are given in
    first = [t for t in texts if t.partition("=")[0].strip().lstrip("-") in ("engine", "version", "page_size")]
    for group in (first, [t for t in texts if t not in first]):
        base = with_changes(base, dict(pair_of(text, option, base.engine, base.page_size) for text in group))
    return base


def variants(base: Settings, vary: Sequence[str]) -> list[Variant]:
    """The base, then the cross product of every ``KEY=A,B``; a combination that is the base itself is not repeated.

    Raises:
        SettingError: an axis that is none, a value that a key does not take, too many combinations.
    """
    axes: list[list[str]] = []
    count = 1
    for text in vary:
        key, equals, values = text.partition("=")
        if not equals or not all(value.strip() for value in values.split(",")):
            raise SettingError(f"--vary {text}: want KEY=A,B")
        axes.append([f"{key}={value.strip()}" for value in values.split(",")])
        count *= len(axes[-1])
    if count > MOST:
        raise SettingError(f"--vary: {count} combinations are more than {MOST}; vary less at once")
    found = [Variant((), base)]
    for combination in product(*axes) if axes else ():
        settings = changed(base, combination, "--vary")
        if all(settings != known.settings for known in found):
            found.append(variant_of(base, settings))
    return found


def variant_of(base: Settings, settings: Settings) -> Variant:
    """A variant from whole settings."""
    names = [f.name for f in fields(settings) if getattr(settings, f.name) != getattr(base, f.name)]
    return Variant(tuple((name, getattr(settings, name)) for name in names), settings)
