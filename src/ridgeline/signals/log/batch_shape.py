"""What one shape of a batch line means: which number is which column, whether the shape is known, and since when.

The shape is a batch line with each run of digits written as one `0` (see `shapes`). Layouts: SIGNALS §6.2 and §6.3,
and the first releases' `new fill batch.` line.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from ridgeline.words.logkeys import LineKind, log_key

HEAD: Final = re.compile(r"(?P<kind>Prefill|Decode) batch(?P<mark>\.|,| \[0\],)(?: |$)")
FIRST_ERA: Final = re.compile(r"new fill batch\. (?=#seq: )")
FIRST_ERA_DECODE: Final = re.compile(r"(?=#running-req: 0, #token: 0, token usage: 0\.0)")
# A `#` inside a key would be the start of another record that broke in.
ITEM: Final = re.compile(r"(?P<key>#?[A-Za-z][A-Za-z0-9 +./()_-]{0,60}): (?P<value>-?0(?:\.0)?%?|True|False|nan%?)")
# The first releases' spelling → today's.
FIRST_KEYS: Final = {
    "#seq": "#new-seq",
    "#cached_token": "#cached-token",
    "#new_token": "#new-token",
    "#remaining_req": "#queue-req",
    "#running_req": "#running-req",
    "tree_cache_hit_rate": "cache hit rate",
}
USAGES: Final = ("usage", "full_usage", "swa_usage", "mamba_usage")
PREFILL_PD: Final = frozenset(("bootstrap", "inflight", "optimistic"))
DECODE_PD: Final = frozenset(("prealloc", "transfer", "retracted", "prealloc_usage", "host_receive"))

Form = Literal["integer", "decimal", "constant"]


@dataclass(frozen=True, slots=True)
class Item:
    """One `key: value` of a shape. `slot` is the first run of digits of its value."""

    key: str
    column: str | None
    form: Form
    slot: int
    sign: float = 1.0
    scale: float = 1.0
    constant: bool | None = None  # True and False as printed; None for nan
    open: bool = False  # nothing stands behind it: the line may have been cut inside it
    whole: bool = False  # an integer at the end that a known layout ends with


@dataclass(frozen=True, slots=True)
class Plan:
    """How to read the lines of one shape."""

    kind: LineKind
    items: tuple[Item, ...]
    iteration: int | None  # slot of `[N]`
    shape: str  # the releases with this layout, or "by-key"
    versions: tuple[str, ...]
    role: str | None
    unknown: bool  # some key is in no release that was read


@lru_cache(maxsize=4096)
def plan(shape: str) -> Plan | None:
    """The plan of a shape; None where it is no batch line."""
    head = HEAD.match(shape)
    if head:
        kind: LineKind = "prefill" if head["kind"] == "Prefill" else "decode"
        iteration = 0 if "[" in head["mark"] else None
        return _plan(shape, head.end(), kind, head["mark"][-1], iteration)
    first = FIRST_ERA.match(shape)
    if first:
        return _plan(shape, first.end(), "prefill", "first", None)
    if FIRST_ERA_DECODE.match(shape):
        return _plan(shape, 0, "decode", "first", None)
    return None


def _plan(shape: str, at: int, kind: LineKind, mark: str, iteration: int | None) -> Plan:
    dotted = mark == "first" and kind == "prefill"
    items: list[Item] = []
    seen: set[str] = set()
    clean = True
    unknown = False
    while at < len(shape) and shape[at:].strip(" "):
        found = ITEM.match(shape, at)
        behind = shape[found.end() : found.end() + 2] if found else ""
        stop = ". " if dotted else ", "
        closed = behind == stop or (behind == stop[0] and found is not None and found.end() + 1 == len(shape))
        ending = found is not None and not shape[found.end() :].strip(" ")
        if found is None or not (closed or ending):
            clean = False  # what stands behind a malformed item may belong to another record
            break
        key = FIRST_KEYS.get(found["key"], found["key"])
        if key in seen:
            clean = False
            break
        seen.add(key)
        known = log_key(key, kind)
        unknown |= known is None
        spaced = ending and found.end() < len(shape)  # 0.4.6 ends some lines with a blank
        items.append(_item(key, found, shape, kind, mark, seen, not closed and not spaced))
        at = found.end() + (0 if ending and not closed else len(behind))
    columns = {item.column for item in items if item.column}
    versions = _versions(kind, mark, seen, shape.endswith((", ", ","))) if clean and not unknown else ()
    complete = _complete(kind, mark, columns) and not any(
        item.open and item.form == "integer" and not item.whole for item in items
    )
    if not complete:
        versions = ()
    return Plan(kind, tuple(items), iteration, _span(versions), versions, _role(kind, columns, bool(versions)), unknown)


def _item(key: str, found: re.Match[str], shape: str, kind: LineKind, mark: str, seen: set[str], is_open: bool) -> Item:
    known = log_key(key, kind)
    column = known.column if known else None
    value = found["value"]
    slot = shape.count("0", 0, found.start("value"))
    scale = known.scale if known else 1.0
    if value in ("True", "False") or value.startswith("nan"):
        return Item(key, column, "constant", slot, constant=None if value.startswith("nan") else value == "True")
    sign = -1.0 if value[0] == "-" else 1.0
    form: Form = "decimal" if "." in value else "integer"
    is_open = is_open and not value.endswith("%")
    return Item(key, column, form, slot, sign, scale, None, is_open, is_open and _may_end(key, kind, mark, seen))


def _may_end(key: str, kind: LineKind, mark: str, seen: set[str]) -> bool:
    """Whether a known layout ends with this integer and nothing behind it."""
    if kind == "decode":
        return key == "#queue-req"
    if mark != ".":
        return False
    return key == "#transferring-req" or (key == "#queue-req" and not seen & {"#unbootstrapped-req", "#prealloc-req"})


def _complete(kind: LineKind, mark: str, columns: set[str]) -> bool:
    usage = bool(columns & set(USAGES))
    if kind == "prefill":
        core = {"new_seq", "new_tokens", "cached_tokens", "waiting"} <= columns
        return core and (usage or mark == "first")
    return usage and {"running", "waiting"} <= columns and ("gen_tps" in columns or mark == "first")


def _versions(kind: LineKind, mark: str, keys: set[str], trailing: bool) -> tuple[str, ...]:
    """The inspected releases (and `0.1`, `0.4` for the times before) whose layout has these keys."""
    if mark == "first":
        return ("0.1",)
    if mark == ".":
        if keys & {"cache hit rate", "largest-len"}:
            return ("0.4",)
        if kind == "prefill":
            if "#unbootstrapped-req" in keys:
                return ("0.4.10",) if "input throughput (token/s)" in keys else ("0.4.6.post5",)
            if "#prealloc-req" in keys:
                return ("0.5.3",)
            return ("0.4", "0.4.10", "0.5.3") if trailing else ("0.4", "0.4.6.post5")
        if "#transfer-req" in keys:
            return ("0.5.3",)
        if "#retracted-req" in keys:
            return ("0.4.10",)
        if not trailing:
            return ("0.4", "0.4.6.post5")
        return ("0.4.10",) if "pre-allocated usage" in keys else ("0.4.10", "0.5.3")
    if kind == "prefill":
        if keys & {"#pending-token", "#bootstrap-req", "#optimistic-req", "#replay-token"}:
            return ("0.5.23",)
        return ("0.5.9",) if any(key.endswith(" graph") for key in keys) else ("0.5.6",)
    if keys & {"#host-receive-req", "cap len", "block accept len", "#gpu token", "#cpu token"}:
        return ("0.5.23",)
    return ("0.5.6",) if trailing else ("0.5.9", "0.5.23")


def _span(versions: tuple[str, ...]) -> str:
    if not versions:
        return "by-key"
    return versions[0] if len(versions) == 1 else f"{versions[0]}-{versions[-1]}"


def _role(kind: LineKind, columns: set[str], known: bool) -> str | None:
    if kind == "prefill" and columns & PREFILL_PD:
        return "prefill"
    if kind == "decode" and columns & DECODE_PD:
        return "decode"
    # Every disaggregated server prints its queues, so a whole known line without them is of a unified one.
    return "unified" if known else None
