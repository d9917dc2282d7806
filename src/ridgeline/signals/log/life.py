"""What one line cannot tell: a process that dies after SIGTERM was stopped, and a second start is a restart."""

import json
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ridgeline.signals.rows import Rows, rows_of

STOPPING_S: Final = 600.0  # a server drains its requests before it exits
AFTER: Final = {
    "crash": ("shutdown", "info"),
    "traceback": ("traceback", "warning"),
    "crash-dump": ("shutdown", "info"),
}


class Life:
    """The starts and the stop seen so far in one source."""

    def __init__(self) -> None:
        self.starts = 0
        self.stop_line: int | None = None
        self.stop_ts: float | None = None

    def follow(self, found: list[Rows]) -> list[Rows]:
        """The rows of a run of lines, those of a stop renamed, those of a restart added."""
        starts = [
            row for rows in found if rows.table == "servers" for row in rows.data.to_pylist() if row.get("args_hash")
        ]
        out = [self._stopped(rows) if rows.table == "events" else rows for rows in self._with_stop(found)]
        restarts = []
        for row in sorted(starts, key=lambda row: row["line"]):
            if self.starts:
                restarts.append(row)
            self.starts += 1
            if self.stop_line is not None and row["line"] > self.stop_line:
                self.stop_line = self.stop_ts = None
        if restarts:
            out.append(_restarts(restarts))
        return out

    def _with_stop(self, found: list[Rows]) -> list[Rows]:
        for rows in found:
            if rows.table != "events":
                continue
            data = rows.data.filter(
                pc.and_(
                    pc.equal(rows.data["kind"], "shutdown"), pc.match_substring(rows.data["text"], "SIGTERM received")
                )
            )
            for row in data.to_pylist():
                if self.stop_line is None or row["line"] < self.stop_line:
                    self.stop_line, self.stop_ts = row["line"], row.get("ts")
        return found

    def _stopped(self, rows: Rows) -> Rows:
        data = rows.data
        if self.stop_line is None or not pc.any(pc.is_in(data["kind"], pa.array(list(AFTER)))).as_py():
            return rows
        changed = data.to_pylist()
        for row in changed:
            if row["kind"] in AFTER and row["line"] > self.stop_line and self._soon(row.get("ts")):
                was = row["kind"]
                row["kind"], row["severity"] = AFTER[was]
                attrs: dict[str, Any] = json.loads(row.get("attrs") or "{}") | {"after": "SIGTERM", "was": was}
                row["attrs"] = json.dumps(attrs, sort_keys=True, ensure_ascii=False)
        names = [*data.column_names, *(["attrs"] if "attrs" not in data.column_names else [])]
        return rows_of("events", {name: [row.get(name) for row in changed] for name in names})

    def _soon(self, ts: float | None) -> bool:
        return ts is None or self.stop_ts is None or ts - self.stop_ts <= STOPPING_S


def _restarts(starts: list[dict[str, Any]]) -> Rows:
    n = len(starts)
    return rows_of(
        "events",
        {
            "source": [row["source"] for row in starts],
            "line": [row["line"] for row in starts],
            "ts": [row.get("boot_ts") for row in starts],
            "kind": ["restart"] * n,
            "severity": ["warning"] * n,
            "copies": np.ones(n, np.int64),
            "role": [row.get("role") for row in starts],
            "text": ["a further start of the server in the same log"] * n,
            "template": ["a further start of the server in the same log"] * n,
        },
    )
