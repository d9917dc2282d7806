"""The unit that every log parser works on: framed lines, and what a parser says of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ridgeline.signals.rows import Rows

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class LogLines:
    """Log records after framing: wrappers (docker, k8s, Ray, Kibana), ANSI and the `[time ranks]` prefix are gone.

    All arrays have the same length n. `body` is the text behind the prefix. `ts` is wall-clock seconds (NaN: none).
    Ranks are -1 where the prefix names none. `severity` is null where the line does not say.
    """

    line: I64  # [n] 1-based line number
    ts: F64  # [n]
    body: pa.Array  # [n] string
    dp_rank: I64  # [n]
    tp_rank: I64  # [n]
    pp_rank: I64  # [n]
    severity: pa.Array  # [n] string: info | warning | error | fatal
    logger: pa.Array  # [n] string: process, pod or file the wrapper names

    def __len__(self) -> int:
        return len(self.line)

    def pick(self, keep: Mask) -> "LogLines":
        """The lines where `keep` is true."""
        mask: Any = pa.array(keep)
        return LogLines(
            self.line[keep],
            self.ts[keep],
            self.body.filter(mask),
            self.dp_rank[keep],
            self.tp_rank[keep],
            self.pp_rank[keep],
            self.severity.filter(mask),
            self.logger.filter(mask),
        )


@dataclass(frozen=True)
class Parsed:
    """What one parser made of some lines: rows, and which of the lines it understood ([n], same order)."""

    rows: list[Rows]
    understood: Mask
