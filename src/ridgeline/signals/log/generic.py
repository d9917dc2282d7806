"""The last parser of a log: what any program may say, by rules; stack traces; client usage; library chatter.

A record of another program that no rule fits stays unread: the router lists it with severity and template.
"""

import re
from typing import Any, Final

import numpy as np

from ridgeline.signals.lines import LogLines, Parsed
from ridgeline.signals.log import stacks, usage
from ridgeline.signals.log.generic_rules import KNOWN, RULES
from ridgeline.signals.log.rules import apply_rules, event, event_rows, in_turn, matching, table_rows
from ridgeline.signals.rows import Reading

STORE_KEY: Final = r"Transfer failed for key |Failed to put key|failed put for key "
SLICE: Final = r"^Transfer slice failed with status: |^transfer failed and disconnect to: ?"
STATUS: Final = re.compile(r"with status: (?P<status>-?\d{1,12})|disconnect to: ?(?P<peer>[\w.:-]{1,100})")
COMPLETED: Final = re.compile(r"\brequest completed request_id=\"?([\w.:@-]{1,200})")
NEAR_S: Final = 1.0


def parse(lines: LogLines, reading: Reading) -> Parsed:
    """Events, client records, and which lines are known to carry nothing."""
    return in_turn((usage.parse, _slices, _completed, stacks.parse, _rules, _known), lines, reading)


def _rules(lines: LogLines, reading: Reading) -> Parsed:
    return apply_rules(RULES, lines, reading)


def _known(lines: LogLines, reading: Reading) -> Parsed:
    return Parsed([], matching(lines.body, KNOWN))


def _slices(lines: LogLines, reading: Reading) -> Parsed:
    """Transport lines that name neither request nor key: a store's, where the store names a key within a second."""
    understood = matching(lines.body, SLICE)
    if not understood.any():
        return Parsed([], understood)
    keyed = lines.ts[matching(lines.body, STORE_KEY)]
    rows = []
    for i in np.flatnonzero(understood).tolist():
        near = bool((np.abs(keyed - lines.ts[i]) <= NEAR_S).any())
        found = STATUS.search(lines.body[i].as_py()[:400])
        groups = found.groupdict() if found else {}
        rows.append(event(lines, i, reading, "storage" if near else "session-failed", groups, "error"))
    return Parsed(event_rows(rows), understood)


def _completed(lines: LogLines, reading: Reading) -> Parsed:
    """Dynamo's worker says that a request is done."""
    understood = matching(lines.body, "request completed request_id=")
    records: list[dict[str, Any]] = []
    for i in np.flatnonzero(understood).tolist():
        found = COMPLETED.search(lines.body[i].as_py()[:1000])
        if found is None:
            understood[i] = False
            continue
        ts = None if np.isnan(lines.ts[i]) else float(lines.ts[i])
        at = {"source": reading.source, "line": int(lines.line[i]), "kind": "dynamo-log", "event": "finished"}
        records.append({**at, "rid": found[1], "state": "finished", "finished_ts": ts, "logged_ts": ts})
    return Parsed(table_rows("records", records), understood)
