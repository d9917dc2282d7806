"""Which sources speak of one server, and what that server is called.

The rule, in order; the first that applies counts:

1. `--label role:name=FILE` and `--label role=FILE`.
2. Traces, client files, range queries and dumps belong to no server as files; their rows go by role.
3. Sources of one folder and one role are one server. The role comes from content; a name that says `prefill`,
   `decode` or `router` is used only where content says nothing.
4. Two logs of one folder and role that report the same rank at the same time are two servers (replicas). Logs of
   other ranks (further nodes) or other times (rotation, a restart) are the same one.
5. A folder joins the nearest folder above it, then beside it, that has the same role or none and other kinds of
   evidence (`prefill/metrics` and `prefill.log`); never two folders that hold the same kind.
6. A name: the label's; the role, where only one server has it; else the folder or file.

A file with lines of both sides of a disaggregated pair is split by the role of each row.
"""

import re
from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

FREE: Final = frozenset(("client", "otlp", "jaeger", "prometheus-range", "dump", "empty", "binary", "duplicate"))
HINTS: Final = (
    (re.compile(r"prefill", re.IGNORECASE), "prefill"),
    (re.compile(r"decode", re.IGNORECASE), "decode"),
    (re.compile(r"router|gateway", re.IGNORECASE), "gateway"),
)
ENGINE_ROLES: Final = ("unified", "prefill", "decode")
OVERLAP_S: Final = 1.0


@dataclass(frozen=True)
class Trace:
    """What a source shows of the server behind it. `ranks` are those whose batch lines it has."""

    source: int
    path: str
    kind: str
    role: str | None = None
    label: str | None = None  # the name part of --label
    row_roles: frozenset[str] = frozenset()
    ranks: frozenset[str] = frozenset()
    from_ts: float | None = None
    to_ts: float | None = None


@dataclass
class _Unit:
    folder: PurePosixPath
    role: str | None
    label: str | None
    members: list[Trace] = field(default_factory=list)

    @property
    def kinds(self) -> set[str]:
        # A log without batch lines (a request log in text form, stderr) stands beside the server's own log.
        return {"side-log" if m.kind == "log" and not m.ranks else m.kind for m in self.members}

    @property
    def logs(self) -> list[Trace]:
        return [m for m in self.members if m.kind == "log"]


@dataclass(frozen=True)
class Servers:
    """`of[(source, role of the row)]` is the server of a row; `roles[server]` its role where known."""

    of: Mapping[tuple[int, str | None], str]
    roles: Mapping[str, str | None]
    notes: Mapping[int, str]


def assign(traces: Sequence[Trace]) -> Servers:
    """Servers for all sources by the rule above. Deterministic: depends on paths, kinds and contents only."""
    bound = [_hinted(t) for t in traces if t.kind not in FREE and t.role != "client" and not _mixed(t)]
    units = _by_folder(bound)
    units = [part for unit in units for part in _replicas(unit)]
    units = _fold(units)
    names = _names(units)
    roles: dict[str, str | None] = {name: unit.role for name, unit in zip(names, units, strict=True)}
    for trace in traces:
        if _mixed(trace):
            for role in sorted(trace.row_roles & {"prefill", "decode"}):
                if role not in roles.values():
                    roles[role] = role
    return Servers(_rows(traces, units, names, roles), roles, _notes(units, names))


def _mixed(trace: Trace) -> bool:
    return {"prefill", "decode"} <= trace.row_roles and trace.kind not in FREE and trace.role is None


def _hinted(trace: Trace) -> Trace:
    if trace.role is not None:
        return trace
    said = {role for pattern, role in HINTS if pattern.search(trace.path)}
    if len(said) != 1:
        return trace
    return Trace(**{**trace.__dict__, "role": said.pop()})


def _by_folder(traces: Iterable[Trace]) -> list[_Unit]:
    units: dict[tuple[PurePosixPath, str | None, str | None], _Unit] = {}
    for t in traces:
        key = (PurePosixPath(t.path).parent, t.role, t.label)
        units.setdefault(key, _Unit(*key)).members.append(t)
    for key, unit in list(units.items()):
        if unit.role is None and unit.label is None:
            # What says no role belongs to the one server of its folder that says one.
            homes = [u for u in units.values() if u.folder == unit.folder and u.role in ENGINE_ROLES]
            if len(homes) == 1:
                homes[0].members += unit.members
                del units[key]
    return list(units.values())


class _Replica:
    """Logs that can be of one server, and when each rank wrote: longer spans only, so that they follow each other."""

    def __init__(self) -> None:
        self.logs: list[Trace] = []
        self._spans: dict[str, tuple[list[float], list[float]]] = {}
        self._always: set[str] = set()  # ranks with a log without times

    def rivals(self, log: Trace) -> bool:
        """Whether a rank of `log` wrote here at the same time."""
        if log.from_ts is None or log.to_ts is None:
            return bool(log.ranks & (self._always | self._spans.keys()))
        if log.ranks & self._always:
            return True
        return any(self._overlap(rank, log.from_ts, log.to_ts) for rank in log.ranks & self._spans.keys())

    def _overlap(self, rank: str, start: float, end: float) -> bool:
        starts, ends = self._spans[rank]
        at = bisect_right(ends, start + OVERLAP_S)  # the first that goes on for long enough behind `start`
        return end - start > OVERLAP_S and at < len(ends) and end - starts[at] > OVERLAP_S

    def add(self, log: Trace) -> None:
        """Take a log that is no rival."""
        self.logs.append(log)
        for rank in log.ranks:
            starts, ends = self._spans.setdefault(rank, ([], []))
            if log.from_ts is None or log.to_ts is None:
                self._always.add(rank)
            elif log.to_ts - log.from_ts > OVERLAP_S:
                insort(starts, log.from_ts)
                insort(ends, log.to_ts)


def _replicas(unit: _Unit) -> list[_Unit]:
    groups: list[_Replica] = []
    for log in unit.logs:
        home = next((g for g in groups if not g.rivals(log)), None)
        if home is None:
            home = _Replica()
            groups.append(home)
        home.add(log)
    if len(groups) < 2:
        return [unit]
    parts = [_Unit(unit.folder, unit.role, unit.label, group.logs) for group in groups]
    loose = _Unit(unit.folder, unit.role, unit.label)
    words = _own_words(parts)
    for member in unit.members:
        if member.kind != "log":
            hits = {words[word] for word in _words(member.path) & words.keys()}
            (parts[hits.pop()] if len(hits) == 1 else loose).members.append(member)
    return [*parts, loose] if loose.members else parts


def _own_words(parts: Sequence[_Unit]) -> dict[str, int]:
    """Word → the one part whose logs have it in their names."""
    of: dict[str, set[int]] = {}
    for i, part in enumerate(parts):
        for log in part.logs:
            for word in _words(log.path):
                of.setdefault(word, set()).add(i)
    return {word: min(where) for word, where in of.items() if len(where) == 1}


def _words(path: str) -> set[str]:
    return set(re.findall(r"[a-z]+|\d+", PurePosixPath(path).name.lower()))


def _fold(units: list[_Unit]) -> list[_Unit]:
    """Join folders that complete each other, the deepest first."""
    again = True
    while again:
        again = False
        for unit in sorted(units, key=lambda u: (-len(u.folder.parts), str(u.folder), u.role or "")):
            partner = _partner(unit, units)
            if partner is not None:
                partner.members += unit.members
                partner.role = partner.role or unit.role
                partner.label = partner.label or unit.label
                units.remove(unit)
                again = True
                break
    return units


def _partner(unit: _Unit, units: Sequence[_Unit]) -> _Unit | None:
    fitting = [u for u in units if u is not unit and u.folder != unit.folder and _fits(unit, u)]
    above = [u for u in fitting if u.folder in unit.folder.parents]
    if above:
        depth = max(len(u.folder.parts) for u in above)
        nearest = [u for u in above if len(u.folder.parts) == depth]
        return nearest[0] if len(nearest) == 1 and not _rival(unit, nearest[0], units) else None
    # Beside it only where there is no doubt at all: every other unit of a fitting role holds other kinds.
    others = [u for u in units if u is not unit and _same_side(unit, u)]
    return fitting[0] if len(fitting) == 1 and len(others) == 1 else None


def _rival(unit: _Unit, home: _Unit, units: Sequence[_Unit]) -> bool:
    """True where another folder below `home` could join it just as well with the same kinds of evidence."""
    return any(
        u is not unit and home.folder in u.folder.parents and u.kinds & unit.kinds and _fits(u, home)
        for u in units
        if unit.folder not in u.folder.parents and u.folder not in unit.folder.parents
    )


def _fits(a: _Unit, b: _Unit) -> bool:
    return _same_side(a, b) and not a.kinds & b.kinds and not (a.label and b.label and a.label != b.label)


def _same_side(a: _Unit, b: _Unit) -> bool:
    return a.role == b.role or (None in (a.role, b.role) and "gateway" not in (a.role, b.role))


def _names(units: Sequence[_Unit]) -> list[str]:
    wished: list[str] = []
    for unit in units:
        alone = [u for u in units if u.role == unit.role]
        if unit.label:
            wished.append(unit.label)
        elif len(units) == 1 or (len(alone) == 1 and unit.role in ("prefill", "decode", "gateway")):
            wished.append(unit.role if unit.role in ("prefill", "decode", "gateway") else "server")
        elif len([u for u in units if u.folder == unit.folder and u.role == unit.role]) > 1 and unit.logs:
            stem = PurePosixPath(unit.logs[0].path)
            wished.append(str(stem.with_name(stem.name.split(".")[0])))
        else:
            folder = str(unit.folder)
            wished.append("server" if folder == "." else folder)
    return [w if wished.index(w) == i else f"{w}-{wished[:i].count(w) + 1}" for i, w in enumerate(wished)]


def _rows(
    traces: Sequence[Trace], units: Sequence[_Unit], names: Sequence[str], roles: Mapping[str, str | None]
) -> dict[tuple[int, str | None], str]:
    of: dict[tuple[int, str | None], str] = {}
    sides: tuple[str | None, ...] = (None, "unified", "prefill", "decode", "gateway", "client")
    for name, unit in zip(names, units, strict=True):
        for member in unit.members:
            of.update({(member.source, side): name for side in sides})
    below = _below(units, names)
    for trace in traces:
        if trace.kind not in FREE and trace.role != "client" and not _mixed(trace):
            continue
        near = _near(trace, below) or list(roles)  # a file with both sides alone
        engines = [name for name in near if roles[name] != "gateway"]
        for side in sides:
            of_role = [name for name in near if side is not None and roles[name] == side]
            if len(of_role) == 1:
                of[(trace.source, side)] = of_role[0]
            elif len(engines) == 1 and side in (None, "unified", "client"):
                of[(trace.source, side)] = engines[0]
    return of


def _near(trace: Trace, below: Mapping[PurePosixPath, Sequence[str]]) -> Sequence[str]:
    """Servers with a source in or below the folder of a file that belongs to none, or the nearest folder above."""
    return next((below[here] for here in PurePosixPath(trace.path).parents if here in below), ())


def _below(units: Sequence[_Unit], names: Sequence[str]) -> dict[PurePosixPath, list[str]]:
    """Folder → the servers with a source in it or below it."""
    found: dict[PurePosixPath, dict[str, None]] = {}
    for name, unit in zip(names, units, strict=True):
        for member in unit.members:
            for here in PurePosixPath(member.path).parents:
                found.setdefault(here, {})[name] = None
    return {here: list(of) for here, of in found.items()}


def _notes(units: Sequence[_Unit], names: Sequence[str]) -> dict[int, str]:
    """Said for sources that only the folder's several servers together could own."""
    notes: dict[int, str] = {}
    for unit, name in zip(units, names, strict=True):
        beside = [u for u in units if u is not unit and u.folder == unit.folder and u.role == unit.role]
        if beside and not unit.logs:
            for member in unit.members:
                notes[member.source] = (
                    f"{member.path}: its folder holds several servers and nothing says which one it is of; kept as "
                    f"{name} (--label {unit.role or 'unified'}:NAME={member.path} tells)"
                )
    return notes
