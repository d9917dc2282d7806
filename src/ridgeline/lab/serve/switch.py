"""Faults on a switch: those the running engine can take on and put off again while requests are open."""

from dataclasses import dataclass
from typing import Any, Final

from ridgeline.lab.faults import FAULTS
from ridgeline.lab.faults.model import Change, Fault
from ridgeline.lab.serve.world import NEVER, SWITCHES, World
from ridgeline.lab.service import TIME_PARAMETERS
from ridgeline.model.errors import InputError
from ridgeline.scenario.model import PS
from ridgeline.sim.tables import Perturbation, perturbation_rows

QUIET_HOSTS: Final = frozenset({"deploy-note", "watchdog"})
"""Events outside the engine that a live fault may leave out: a note in the log, a line five minutes later."""
AFTERWARDS: Final = frozenset({"return", "return_token", "returners", "tokenizers", "cache"})
"""Parameters a running engine does not read again."""


@dataclass(frozen=True)
class On:
    """A fault that is on. Seconds are virtual."""

    fault: Fault
    severity: int
    rank: int | None
    since_s: float
    slots: tuple[int, ...]


def can_switch(fault: Fault, pd: bool) -> bool:
    """Whether the fault is made of engine changes alone, on this layout."""
    made = bool(fault.changes) and not (fault.traffic or fault.settings or fault.deploy or fault.front)
    fits = ("pd" in fault.needs) == pd if "pd" in fault.needs or pd else True
    return (
        made
        and fits
        and all(h.what in QUIET_HOSTS for h in fault.host)
        and all(c.parameter not in AFTERWARDS and c.where != "class" for c in fault.changes)
        and "workers" not in fault.needs
    )


class Switch:
    """Which faults are on."""

    def __init__(self, world: World) -> None:
        """None is."""
        self.world = world
        self.on: dict[str, On] = {}
        self.pd = world.each == 2

    def available(self) -> list[Fault]:
        """Faults that can be switched here."""
        many = self.world.settings.dp_size > 1
        return [f for f in FAULTS if can_switch(f, self.pd) and (many or "ranks" not in f.needs)]

    def turn_on(self, name: str, severity: int, rank: int | None) -> On:
        """Begin a fault now.

        Raises:
            InputError: unknown, already on, or not one that a running server can take on.
        """
        fault = next((f for f in self.available() if f.id == name), None)
        if fault is None:
            names = ", ".join(f.id for f in self.available())
            raise InputError(f"fault {name!r} cannot be switched on here; one of {names}")
        if name in self.on:
            raise InputError(f"fault {name} is on already")
        if severity not in (1, 2, 3):
            raise InputError(f"severity {severity} is not 1, 2 or 3")
        ranks = self.world.settings.dp_size * self.world.settings.workers
        if rank is not None and not 0 <= rank < ranks:
            raise InputError(f"rank {rank} is not 0 to {ranks - 1}")
        now = self.world.service.now_ps
        rows = [row for c in fault.changes for item in self.changes(c, severity, rank, now)
                for row in perturbation_rows([item])]  # fmt: skip
        free = [k for k in range(SWITCHES) if all(k not in on.slots for on in self.on.values())]
        if len(rows) > len(free):
            raise InputError(f"fault {name}: too many are on")
        slots = tuple(free[: len(rows)])
        self.world.set_perturbations(zip(slots, rows, strict=True))
        found = On(fault, severity, rank, now / PS, slots)
        self.on[name] = found
        return found

    def changes(self, c: Change, severity: int, rank: int | None, now: int) -> list[Perturbation]:
        """A change from now on; pulses are laid out for the next ten minutes."""
        times, plus = c.times[severity - 1], c.plus[severity - 1]
        unit = PS if c.parameter in TIME_PARAMETERS else 1
        where = [-1] if c.where == "all" else [rank or 0]
        if c.where in ("prefill", "decode"):
            where = [0 if c.where == "prefill" else 1]
        spans = [(now, NEVER)]
        if c.shape == "pulses":
            starts = [now + round(k * c.every_s * PS) for k in range(24)]
            spans = [(start, start + round(c.width_s * PS)) for start in starts]
        return [
            Perturbation(c.parameter, start, end, round(times * 1000), round(plus * unit), r)
            for start, end in spans
            for r in where
        ]

    def turn_off(self, name: str | None) -> list[str]:
        """End one fault, or all; the names of those that were on."""
        names = [name] if name is not None else sorted(self.on)
        ended = [n for n in names if n in self.on]
        for n in ended:
            gone = perturbation_rows([Perturbation("step_base", NEVER - 1, NEVER)])[0]
            self.world.set_perturbations((slot, gone) for slot in self.on[n].slots)
            del self.on[n]
        return ended

    def listed(self) -> dict[str, Any]:
        """What can be switched, and what is on."""
        return {
            "schema": "ridgeline.lab-fault/1",
            "on": [
                {"fault": o.fault.id, "cause": o.fault.cause, "severity": o.severity, "rank": o.rank,
                 "since": self.world.wall(o.since_s)}
                for o in self.on.values()
            ],
            "available": [{"fault": f.id, "cause": f.cause, "what": f.mechanism} for f in self.available()],
        }  # fmt: skip

    @property
    def hung(self) -> bool:
        """Whether a scheduler stands still."""
        return any(c.parameter == "hang" and c.shape == "step" for o in self.on.values() for c in o.fault.changes)
