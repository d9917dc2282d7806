"""What the machine builds in place of what a pickle names, and why it stops."""

from typing import Any


class Refusal(Exception):
    """The file is not read. The text says why, without the byte; the machine adds where."""


class Cut(Refusal):
    """The data ends inside an opcode or before STOP: what came before is whole."""


class Global:
    """A name of a module's member. It is never looked up."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    @property
    def path(self) -> str:
        """`module.name`."""
        return f"{self.module}.{self.name}"


class Inert:
    """What would have been an object: its class or maker by name, and everything it was given."""

    __slots__ = ("args", "items", "made_by", "state")

    def __init__(self, made_by: Global, args: tuple[Any, ...] = ()) -> None:
        self.made_by = made_by
        self.args = args
        self.state: Any = None  # of BUILD
        self.items: list[Any] = []  # of APPEND(S), ADDITEMS, and (key, value) of SETITEM(S)
