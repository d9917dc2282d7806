"""Rules that read one kind of line each: a needle that must be in the text, a pattern, and the event it means.

A parser is a literal tuple of rules. All needles are looked for at once (Arrow, RE2), so that a line none of them
fits costs little; the patterns run in Python on the lines that are left.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ridgeline.signals.lines import LogLines, Mask, Parsed
from ridgeline.signals.log.copies import folded_events
from ridgeline.signals.log.unread import template
from ridgeline.signals.rows import Reading, Rows, rows_of

TEXT_CHARS: Final = 500
SEARCHED_CHARS: Final = 4000
FEW: Final = 64  # lines; Arrow makes its pattern anew at every call
FEW_BYTES: Final = 8192  # and no more than this, since `re` may need the square of it
COLUMNS: Final = ("rid", "peer")
NUMBERS: Final = ("room", "count")
ENDING: Final = frozenset({"crash", "request-error", "watchdog"})
PROCESS_RANK: Final = re.compile(r"(?:^|[_ ])(DP|TP|PP)(\d{1,4})(?=[_ ]|$)")


@dataclass(frozen=True)
class Rule:
    """One kind of line.

    `pattern` is searched in the text. Its groups `rid`, `peer`, `room`, `count`, `value` fill those columns
    (`value_ms`, `value_us`, `value_ns` are brought to seconds), every other group becomes an attribute. An empty
    `kind` means: known, and nothing to keep.
    """

    kind: str
    needle: str
    pattern: str = ""
    severity: str = ""  # "" = what the line itself says
    attrs: dict[str, Any] = field(default_factory=dict)


SCALES: Final = {"value": 1.0, "value_ms": 1e-3, "value_us": 1e-6, "value_ns": 1e-9}


def apply_rules(rules: tuple[Rule, ...], lines: LogLines, reading: Reading, late: Mask | None = None) -> Parsed:
    """Events of the lines that a rule fits; the first rule that fits wins.

    Where `late` is true an orderly shutdown is under way: the failures it brings are events of that shutdown.
    """
    understood = np.zeros(len(lines), np.bool_)
    if len(lines) > FEW:
        hits = matching(lines.body, needles(tuple(rule.needle for rule in rules)))
    else:
        hits = np.ones(len(lines), np.bool_)  # looking for each needle costs less than making the pattern
    rows: list[dict[str, Any]] = []
    for i in np.flatnonzero(hits).tolist():
        text = searched(lines, i)
        for rule in rules:
            if rule.needle not in text:
                continue
            found = compiled(rule.pattern or re.escape(rule.needle)).search(text)
            if found is None:
                continue
            understood[i] = True
            if rule.kind in ENDING and late is not None and late[i]:
                rows.append(event(lines, i, reading, "shutdown", found.groupdict(), "info", rule.attrs))
            elif rule.kind:
                rows.append(event(lines, i, reading, rule.kind, found.groupdict(), rule.severity, rule.attrs))
            break
    return folded_events(Parsed(event_rows(rows), understood))


def searched(lines: LogLines, i: int) -> str:
    """The text of line `i` as patterns see it; digits at the end of a file that was perhaps cut there are left out."""
    text = str(lines.body[i].as_py())[:SEARCHED_CHARS]
    return text if lines.ended[i] else text.rstrip("0123456789")


def event(
    lines: LogLines,
    i: int,
    reading: Reading,
    kind: str,
    groups: Mapping[str, str | None],
    severity: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """One row of `events` for line `i`; `groups` as a rule's pattern names them."""
    text = lines.body[i].as_py()[:TEXT_CHARS]
    dp, tp, pp = ranks_of(lines, i)
    ts = float(lines.ts[i])
    row: dict[str, Any] = {
        "source": reading.source,
        "line": int(lines.line[i]),
        "ts": None if np.isnan(ts) else ts,
        "kind": kind,
        "severity": severity or lines.severity[i].as_py() or "info",
        "dp_rank": dp,
        "tp_rank": tp,
        "pp_rank": pp,
        "copies": 1,
        "count": 1,
        "text": text,
        "template": template(text),
    }
    more = dict(attrs or {})
    for name, value in groups.items():
        if value is None:
            continue
        if name in COLUMNS:
            row[name] = value.strip("'\"")
        elif name in NUMBERS:
            row[name] = _number(value)
        elif name in SCALES:
            row["value"] = float(value.replace(",", "")) * SCALES[name]
        else:
            more[name] = value
    row["attrs"] = json.dumps(more, sort_keys=True, ensure_ascii=False) if more else None
    return row


def event_rows(rows: list[dict[str, Any]]) -> list[Rows]:
    """Event rows as Rows; none for none."""
    return table_rows("events", rows)


def table_rows(table: str, rows: Sequence[dict[str, Any]]) -> list[Rows]:
    """Row mappings (missing keys are null) as Rows of a table; none for none."""
    if not rows:
        return []
    names = list(dict.fromkeys(name for row in rows for name in row))
    return [rows_of(table, {name: [row.get(name) for row in rows] for name in names})]


def ranks_of(lines: LogLines, i: int) -> tuple[int | None, int | None, int | None]:
    """(dp, tp, pp) of a line, from its prefix or from the process name before it (`Worker_DP0_TP1`)."""
    found = {"DP": int(lines.dp_rank[i]), "TP": int(lines.tp_rank[i]), "PP": int(lines.pp_rank[i])}
    name = lines.logger[i].as_py()
    if name:
        for which, number in PROCESS_RANK.findall(name):
            if found[which] < 0:
                found[which] = int(number)
    dp, tp, pp = (found[which] if found[which] >= 0 else None for which in ("DP", "TP", "PP"))
    return dp, tp, pp


def in_turn(parts: Sequence[Callable[[LogLines, Reading], Parsed]], lines: LogLines, reading: Reading) -> Parsed:
    """Run parsers one after the other, each on what is left; one Parsed for all of them."""
    understood = np.zeros(len(lines), np.bool_)
    where = np.arange(len(lines))
    rows: list[Rows] = []
    for parse in parts:
        if not len(lines):
            break
        parsed = parse(lines, reading)
        rows.extend(parsed.rows)
        if parsed.understood.any():
            understood[where[parsed.understood]] = True
            left = ~parsed.understood
            where, lines = where[left], lines.pick(left)
    return Parsed(rows, understood)


def matching(texts: pa.Array, pattern: str) -> Mask:
    """Which texts an RE2 pattern is found in. For few texts Python's `re`, whose patterns are kept, is cheaper."""
    if len(texts) <= FEW and texts.nbytes <= FEW_BYTES:
        found_in = compiled(pattern, re.ASCII).search
        return np.array([text is not None and found_in(text) is not None for text in texts.to_pylist()], np.bool_)
    found: Any = pc.fill_null(pc.match_substring_regex(texts, pattern), False)
    return np.asarray(found.to_numpy(zero_copy_only=False), np.bool_)


def needles(words: tuple[str, ...]) -> str:
    """One RE2 pattern for any of some literal texts."""
    return "|".join(re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", word) for word in dict.fromkeys(words))


@lru_cache(maxsize=512)
def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern, compiled once."""
    return re.compile(pattern, flags)


def _number(value: str) -> int | None:
    try:
        number = int(value.replace(",", ""))
    except ValueError:
        return None
    return number if -(2**63) <= number < 2**63 else None
