"""What a fault is made of: changes of traffic, of engine parameters, of the front end, and events on the host.

Every strength is a triple, one figure per severity (1 mild, 2 clear, 3 severe). A fault is data: the lab
carries it out in the engine, never on the output, but for what an engine cannot know (a killed process,
a driver's error), where the host event stops the server and writes what a real one writes.
"""

from dataclasses import dataclass
from typing import Any, Final

Strength = tuple[float, float, float]
NONE: Final[Strength] = (0.0, 0.0, 0.0)
SAME: Final[Strength] = (1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Traffic:
    """A change of what is sent, from the onset on (``always``: from the start, in the healthy twin too).

    ``what`` is a name of `ridgeline.lab.traffic.STEPS`.
    """

    what: str
    amount: Strength = SAME
    always: bool = False


@dataclass(frozen=True)
class Change:
    """An engine parameter (a key of the simulator's perturbable ones): ``value x times + plus``.

    ``plus`` in seconds for times, else in the parameter's own unit; it begins ``after_s`` after the onset.
    ``where``: all | rank (one drawn DP rank or worker) | prefill | decode | class (only the affected requests).
    ``shape``: step | ramp (in eight steps) | pulses (a window of ``width_s`` every ``every_s``) | decay (a minute
    of falling steps).
    """

    parameter: str
    times: Strength = SAME
    plus: Strength = NONE
    where: str = "all"
    shape: str = "step"
    after_s: float = 0.0
    width_s: float = 6.0
    every_s: float = 30.0


@dataclass(frozen=True)
class Front:
    """A change of the API server, gateway or client; ``what`` is a name of `ridgeline.lab.front.EFFECTS`."""

    what: str
    amount: Strength = NONE


@dataclass(frozen=True)
class Host:
    """An event outside the engine; ``what`` is a name of `ridgeline.lab.host.EVENTS`."""

    what: str
    amount: Strength = SAME


@dataclass(frozen=True)
class Fault:
    """One way for a serving system to go wrong, or (cause ``healthy``) not to.

    ``scope``: dimensions the truth names values of; ``by``: the attribute that makes the affected class;
    ``symptom``: what the person on call would complain of, where the evidence alone gives no reason to look;
    ``settings`` hold from the start, ``deploy`` from a restart at the onset; ``needs``: ranks | workers | pd.
    """

    id: str
    cause: str
    mechanism: str
    stage: str
    route: str = "none"
    scope: tuple[str, ...] = ()
    by: str | None = None
    traffic: tuple[Traffic, ...] = ()
    changes: tuple[Change, ...] = ()
    front: tuple[Front, ...] = ()
    host: tuple[Host, ...] = ()
    settings: tuple[tuple[str, Any], ...] = ()
    deploy: tuple[tuple[str, Any], ...] = ()
    needs: tuple[str, ...] = ()
    versions: tuple[str, ...] = ("0.5.3", "0.5.9", "0.5.23", "vllm")
    lasts_s: float = 0.0
    rules_out: tuple[str, ...] = ()
    second: tuple[str, ...] = ()
    harmless: bool = False
    symptom: str = "auto"
    answerable: str = "full"

    @property
    def layer(self) -> str:
        """The part of the cause before the dot."""
        return self.cause.partition(".")[0]

    @property
    def parameters(self) -> tuple[str, ...]:
        """What ``lab record`` varies for it."""
        names = ["seed", "version", "size", "rate", "severity"]
        if self.by is not None:
            names.append("share")
        if "ranks" in self.needs or "workers" in self.needs:
            names.append("ranks")
        if "pd" in self.needs:
            names.append("pd")
        return tuple(names)


SGLANG: Final = ("0.5.3", "0.5.9", "0.5.23")
