"""The prompts of one source, in its order → rows of `prompts`: prefix hashes, and the earlier prompt each resembles."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa

from ridgeline.signals.prompt.anchors import Anchors, windows
from ridgeline.signals.prompt.differ import CHARS, TOKENS, Difference, Scale, difference
from ridgeline.signals.prompt.hashes import prefix_hashes, units_of
from ridgeline.signals.prompt.kinds import IDS, shape
from ridgeline.signals.rows import Reading, Rows, rows_of

# Grains, and how many hashes of a source are kept at each before the next: exact to a page of 1 while it is small.
GRAINS: Final[dict[str, tuple[int, ...]]] = {"tokens": (1, 16, 64), "chars": (4, 64, 256)}
GRAIN_HASHES: Final = (6_000_000, 12_000_000)
KEPT_UNITS: Final = 16_000_000  # units of earlier prompts held for comparison
COMPARED: Final = 50_000  # prompts of one source that are compared; later ones are hashed only
SHORT: Final = 64  # prompts below this many units are compared with the one before them as well
AROUND: Final = 24  # characters shown on each side of a difference, as shapes


@dataclass(frozen=True)
class Prompt:
    """One prompt as a source shows it. `units` is its text, or its ids as characters (`hashes.text_of_ids`)."""

    line: int
    rid: str | None
    unit: str  # tokens | chars
    units: str  # from the start, as far as the source shows it
    total: int | None  # length of the whole prompt in its unit; None: cut, and the length is not said
    namespace: str | None  # adapter, extra key and salt; "" where there are none; None where the source does not say
    text: str | None = None  # readable text beside ids: tells what kind of value differs
    reply: str = ""  # the output behind a whole prompt, as far as its KV is kept: a later turn may begin with both

    @property
    def scale(self) -> Scale:
        """The measures for comparing it."""
        return TOKENS if self.unit == "tokens" else CHARS


@dataclass
class Book:
    """What is kept of a source's prompts while it is read; memory is bounded."""

    kept: OrderedDict[int, Prompt] = field(default_factory=OrderedDict)
    held: int = 0
    count: int = 0
    hashes: int = 0
    any_space: Anchors = field(default_factory=Anchors)
    own_space: dict[str, Anchors] = field(default_factory=dict)
    told: dict[str, int] = field(default_factory=dict)  # rid → how much was said of its prompt
    beside: dict[tuple[str, str, int], dict[str, Any]] = field(default_factory=dict)  # request → what it resembles

    def wanted(self, prompt: Prompt) -> bool:
        """Whether this record of the request says more of its prompt than those before it."""
        if prompt.rid is None:
            return True
        said = 1 + (prompt.unit == "tokens") + bool(prompt.reply)
        if said <= self.told.get(prompt.rid, 0):
            return False
        if len(self.told) > 2_000_000:
            self.told.clear()
        self.told[prompt.rid] = said
        return True


def prompt_rows(prompts: Sequence[Prompt], reading: Reading, book: Book) -> list[Rows]:
    """Rows of `prompts`, one for each, in order; those that show nothing are left out."""
    shown = [p for p in prompts if p.units]
    out: list[Rows] = []
    for unit in ("tokens", "chars"):
        some = [p for p in shown if p.unit == unit]
        if some:
            out.append(_rows(some, unit, reading, book))
    return out


def _rows(prompts: list[Prompt], unit: str, reading: Reading, book: Book) -> Rows:
    lengths = np.array([len(p.units) for p in prompts], np.int64)
    units = units_of("".join(p.units for p in prompts))
    grain = GRAINS[unit][sum(book.hashes >= most for most in GRAIN_HASHES)]
    held = lengths + np.array([len(p.reply) for p in prompts], np.int64)
    hashes, counts = prefix_hashes(units_of("".join(p.units + p.reply for p in prompts)), held, grain)
    book.hashes += len(hashes)
    near = [_compared(p, found, book) for p, found in zip(prompts, windows(units, lengths), strict=True)]
    n = len(prompts)
    columns: dict[str, Any] = {
        "rid": [p.rid for p in prompts],
        "namespace": [p.namespace for p in prompts],
        "unit": [unit] * n,
        "basis": ["ids" if unit == "tokens" else "text"] * n,
        "grain": [grain] * n,
        "tokens": [p.total for p in prompts],
        "seen_tokens": lengths,
        "held_tokens": held,
        "hashes": pa.ListArray.from_arrays(
            pa.array(np.concatenate(([0], np.cumsum(counts))), pa.int32()), pa.array(hashes)
        ),
        "source": [reading.source] * n,
        "line": [p.line for p in prompts],
    }
    names = ("common_tokens", "neighbour", "neighbour_line", "drift", "drift_tokens", "shape", "neighbour_shape")
    columns |= {name: [row.get(name) for row in near] for name in names}
    return rows_of("prompts", columns)


def _compared(prompt: Prompt, found: list[int], book: Book) -> dict[str, Any]:
    """The columns about the prompt's neighbour; empty where it resembles none.

    A later record of the same request shows the same prompt: it is no neighbour of itself.
    """
    if prompt.rid is None:
        return _nearest(prompt, found, book)
    key = (prompt.rid, prompt.unit, hash(prompt.units[:SHORT]))  # an id may be used again for another prompt
    if key not in book.beside:
        row = _nearest(prompt, found, book)
        if book.count > COMPARED:
            return row
        book.beside[key] = row
    return book.beside[key]


def _nearest(prompt: Prompt, found: list[int], book: Book) -> dict[str, Any]:
    book.count += 1
    if book.count > COMPARED:
        return {}
    number = book.count
    own = book.own_space.setdefault(prompt.namespace or "", Anchors()) if len(book.own_space) < 4096 else None
    numbers = [own.nearest(found) if own else None, book.any_space.nearest(found)]
    if len(prompt.units) < SHORT:
        numbers.append(number - 1)
    best: tuple[Difference, Prompt] | None = None
    for candidate in dict.fromkeys(n for n in numbers if n is not None):
        other = book.kept.get(candidate)
        if other is None or other.unit != prompt.unit:
            continue
        found_here = difference(prompt.units, other.units, prompt.scale, prompt.unit == "chars")
        if best is None or found_here.alike > best[0].alike:
            best = (found_here, other)
    for anchors in (own, book.any_space):
        if anchors is not None:
            anchors.add(number, found)
    _keep(prompt, number, book)
    if best is None:
        return {}
    here, other = best
    short = min(len(prompt.units), len(other.units))
    if here.alike < prompt.scale.lost and 2 * here.alike < short:
        return {}
    row: dict[str, Any] = {"common_tokens": here.common, "neighbour": other.rid, "neighbour_line": other.line}
    if here.kind is not None:
        row |= {"drift": here.kind, "drift_tokens": here.again}
        if prompt.unit == "chars":
            row |= _shapes(prompt.units, other.units, here)
        elif prompt.text and other.text:
            row |= _read(prompt.text, other.text)
    return row


def _read(text: str, other: str) -> dict[str, Any]:
    """Kind and shapes of a difference of ids, told from the texts beside them."""
    said = difference(text, other, CHARS, True)
    kind = said.kind or IDS
    return {"drift": kind, **_shapes(text, other, said)}


def _shapes(a: str, b: str, here: Difference) -> dict[str, str]:
    low = max(0, here.common - AROUND)
    high_a, high_b = (
        min(max(end, here.common + 1) + AROUND, here.common + 6 * AROUND) for end in (here.end_a, here.end_b)
    )
    return {"shape": shape(a[low:high_a]), "neighbour_shape": shape(b[low:high_b])}


def _keep(prompt: Prompt, number: int, book: Book) -> None:
    book.kept[number] = prompt
    book.held += len(prompt.units) + len(prompt.text or "")
    while book.held > KEPT_UNITS and len(book.kept) > 1:
        _, gone = book.kept.popitem(last=False)
        book.held -= len(gone.units) + len(gone.text or "")
