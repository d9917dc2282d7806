"""The zone of the request log's naive `timestamp`, told from the records themselves where they carry epoch stamps."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ridgeline.signals.lines import F64, I64
from ridgeline.signals.rows import Reading

QUARTER_S: Final = 900.0  # zones differ by whole quarters of an hour
LATE_S: Final = 120.0  # a record is written soon after the request ended


@dataclass
class Zone:
    """How far naive local times are ahead of UTC; `shift_s` is None until known.

    `line` and `ts`: lines of a log with times that framing already made wall-clock; the same zone is used then.
    """

    shift_s: float | None = None
    assumed: bool = False
    line: I64 | None = None
    ts: F64 | None = None

    @property
    def clock(self) -> str:
        """The `clock` of a row whose only time is the naive one."""
        return "naive" if self.assumed else "wall"

    def shifted(self, projected: pa.Table, reading: Reading) -> pa.Array:
        """`logged_ts` as wall-clock seconds; learns the zone from the first records that tell it."""
        naive = projected["logged_ts"].combine_chunks()
        if self.shift_s is None and self.line is not None and self.ts is not None:
            beside = self.ts[np.searchsorted(self.line, projected["line"].to_numpy())]
            apart = naive.to_numpy(zero_copy_only=False) - beside
            apart = apart[~np.isnan(apart)]
            self.shift_s = round(float(np.median(apart)) / QUARTER_S) * QUARTER_S if len(apart) else 0.0
        if self.shift_s is None:
            if reading.tz is not None:
                return pa.array(_local(naive.to_numpy(zero_copy_only=False), reading), pa.float64(), from_pandas=True)
            self._learn(projected, naive, reading)
        return pc.subtract(naive, self.shift_s) if self.shift_s else naive

    def _learn(self, projected: pa.Table, naive: pa.Array, reading: Reading) -> None:
        apart = np.zeros(0)
        if "finished_ts" in projected.column_names:
            known = pc.coalesce(projected["finished_ts"], projected["response_sent_ts"])
            apart = pc.subtract(naive, known).drop_null().to_numpy()
        if not len(apart):
            self.assumed = True
            reading.clock = "naive"
            reading.note(
                f"{reading.path}: times carry no zone; read as UTC (give --tz if the server's clock was elsewhere)"
            )
            return
        shift = round(float(np.median(apart)) / QUARTER_S) * QUARTER_S
        if abs(shift) > 15 * 3600 or abs(float(np.median(apart)) - shift) > LATE_S:
            self.shift_s = 0.0
            reading.note(f"{reading.path}: the records' own times and their epoch stamps disagree; read as UTC")
            return
        self.shift_s, self.assumed, reading.clock = shift, False, "wall"
        if shift:
            hours = f"{'-' if shift < 0 else '+'}{int(abs(shift)) // 3600:02d}:{int(abs(shift)) % 3600 // 60:02d}"
            reading.note(f"{reading.path}: times carry no zone; the records' epoch stamps show UTC{hours}, read so")


def _local(naive: F64, reading: Reading) -> F64:
    """Naive epoch seconds of the zone given with --tz → UTC, one look-up per quarter of an hour."""
    assert reading.tz is not None
    quarters = np.floor(np.nan_to_num(naive) / QUARTER_S)
    unique, where = np.unique(quarters, return_inverse=True)
    offsets = np.array([_offset(float(q) * QUARTER_S, reading.tz) for q in unique])
    shifted: F64 = naive - offsets[where]
    return shifted


def _offset(naive_s: float, tz: Any) -> float:
    try:
        local = datetime.fromtimestamp(naive_s, UTC).replace(tzinfo=tz)
    except (ValueError, OverflowError, OSError):
        return 0.0
    found = local.utcoffset()
    return found.total_seconds() if found is not None else 0.0
