"""Causes are data: a declaration that one evaluator judges with three-valued signs."""

from dataclasses import dataclass
from typing import Any, Literal

Op = Literal[">=", "<=", ">", "<", "==", "!=", "in", "between", "is", "not-empty"]


@dataclass(frozen=True)
class Sign:
    """`measure(**args) op bound`: yes, no, or unknown where the measure has no value.

    `says` is the catalogue key of the sentence that states it.
    """

    measure: str
    op: Op
    bound: Any
    says: str
    args: tuple[tuple[str, Any], ...] = ()
    weight: float = 1.0


@dataclass(frozen=True)
class Twin:
    """A neighbouring cause that looks alike, and the one sign which is yes for this cause and no for the twin.

    `decides`: nothing else tells the two apart, so that a finding is low while the sign is unknown.
    """

    cause: str
    sign: Sign
    decides: bool = False


@dataclass(frozen=True)
class Remedy:
    """What to do, in which direction, at which price."""

    kind: Literal["mitigate-now", "fix", "prevent"]
    action: str
    flag: str | None = None
    needs_restart: bool = False
    loses: str | None = None
    risk: str = ""


@dataclass(frozen=True)
class Cause:
    """One entry of the closed list (DESIGN §3)."""

    id: str
    looks_like: str
    differs: str  # how it differs from its neighbours, one line
    required: tuple[Sign, ...]
    supporting: tuple[Sign, ...] = ()
    absent: tuple[Sign, ...] = ()
    twins: tuple[Twin, ...] = ()
    explains: tuple[str, ...] = ()
    scope_by: tuple[str, ...] = ()
    comparative: bool = False  # needs a baseline to be sure
    only_asked: tuple[str, ...] = ()  # considered only under these symptoms: elsewhere its signs are everyday
    remedies: tuple[Remedy, ...] = ()
    source_entry: tuple[str, ...] = ()
    route: Literal["replay", "simulate", "profile", "config", "none"] = "none"
    statement: str = ""  # catalogue key

    @property
    def layer(self) -> str:
        """The part before the dot."""
        return self.id.partition(".")[0]
