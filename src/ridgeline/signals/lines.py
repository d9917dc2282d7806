"""The unit that every log parser works on: framed lines, and what a parser says of them."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ridgeline.signals.rows import Rows

U8 = npt.NDArray[np.uint8]
I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

NEWLINE: Final = 0x0A
BLOCK: Final = 1 << 19  # bytes looked at at a time: they stay in a core's cache
_BYTES: Final = np.array([256**k for k in range(8)], dtype=np.uint64)


@dataclass(frozen=True)
class LogLines:
    """Log records after framing: wrappers, ANSI and every known record prefix are gone from `body`.

    Taken off: docker, Kubernetes, Ray, Kibana, journald and syslog wrappers; SGLang's `[time ranks] `; vLLM's
    `(proc pid=N) LEVEL MM-DD HH:MM:SS [file:line] `; glog's `I0409 14:12:08.312677 tid file:line] `; Python logging's
    `time - name - LEVEL - ` and Rust tracing's `time LEVEL target: `. What they said is in `ts`, `severity` and
    `logger`. Uvicorn's `INFO:     ` stays in the body. Blank lines are not here.

    All arrays have the same length n. `ts` is wall-clock seconds (NaN: none). Ranks are -1 where the prefix names
    none. `severity` is null where the line does not say.
    """

    line: I64  # [n] 1-based line number
    ts: F64  # [n]
    body: pa.Array  # [n] string
    dp_rank: I64  # [n]
    tp_rank: I64  # [n]
    pp_rank: I64  # [n]
    severity: pa.Array  # [n] string: info | warning | error | fatal
    logger: pa.Array  # [n] string: process, pod or file the wrapper or prefix names
    prefixed: Mask  # [n] the line has a record prefix of its own; False: perhaps the continuation of another
    ended: Mask  # [n] a newline ends the line; False: the last of its file, perhaps cut in the middle of a number

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
            self.prefixed[keep],
            self.ended[keep],
        )


def part(lines: LogLines, start: int, stop: int) -> LogLines:
    """Lines `start` to `stop` (excluded), without a copy."""
    keep = slice(start, stop)
    return LogLines(
        lines.line[keep],
        lines.ts[keep],
        lines.body[start:stop],
        lines.dp_rank[keep],
        lines.tp_rank[keep],
        lines.pp_rank[keep],
        lines.severity[start:stop],
        lines.logger[start:stop],
        lines.prefixed[keep],
        lines.ended[keep],
    )


def joined(a: LogLines, b: LogLines) -> LogLines:
    """The lines of `a`, then those of `b`."""
    if not len(a):
        return b
    return LogLines(
        np.concatenate((a.line, b.line)),
        np.concatenate((a.ts, b.ts)),
        pa.concat_arrays([a.body, b.body]),
        np.concatenate((a.dp_rank, b.dp_rank)),
        np.concatenate((a.tp_rank, b.tp_rank)),
        np.concatenate((a.pp_rank, b.pp_rank)),
        pa.concat_arrays([a.severity, b.severity]),
        pa.concat_arrays([a.logger, b.logger]),
        np.concatenate((a.prefixed, b.prefixed)),
        np.concatenate((a.ended, b.ended)),
    )


def bytes_of(texts: pa.Array) -> tuple[U8, I64]:
    """(the bytes of n texts one behind the other, [n + 1] where each begins and the last one ends). No text is null."""
    texts = pa.concat_arrays([texts]) if texts.offset else texts
    _, offset_buffer, data_buffer = texts.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)[: len(texts) + 1].astype(np.int64)
    data = np.frombuffer(data_buffer or b"", np.uint8)[offsets[0] : offsets[-1]]
    return data, offsets - offsets[0]


def slices(data: U8, start: I64, end: I64) -> pa.Array:
    """The texts from each start to its end, none before the end of the one in front of it.

    Arrow copies them: every second one of the parts the bytes fall into.
    """
    edges = np.empty(2 * len(start) + 1, np.int32)
    edges[0:-1:2], edges[1::2], edges[-1] = start, end, end[-1:].max(initial=0)
    parts: Any = pa.StringArray.from_buffers(2 * len(start), pa.py_buffer(edges), pa.py_buffer(data))
    wanted = np.zeros(2 * len(start), np.bool_)
    wanted[0::2] = True
    return parts.filter(pa.array(wanted))


def newlines(buf: U8) -> I64:
    """Where the newlines are, found block by block so that what is compared stays in the cache."""
    found = [marked(buf[start : start + BLOCK] == NEWLINE) + start for start in range(0, len(buf), BLOCK)]
    return np.concatenate(found) if found else np.zeros(0, np.int64)


def marked(marks: Mask) -> I64:
    """Where the few marks stand: `flatnonzero`, eight at a time."""
    whole = len(marks) - len(marks) % 8
    words = marks[:whole].view("<u8")
    at = np.flatnonzero(words != 0)
    held = words[at]
    if bool((held & (held - np.uint64(1))).any()):  # two within eight bytes
        return np.flatnonzero(marks)
    # A word with one mark at byte k is 256 ** k.
    found = at * 8 + np.searchsorted(_BYTES, held)
    return np.append(found, np.flatnonzero(marks[whole:]) + whole) if whole < len(marks) else found


@dataclass(frozen=True)
class Parsed:
    """What one parser made of some lines: rows, and which of the lines it understood ([n], same order)."""

    rows: list[Rows]
    understood: Mask


def ranks(values: I64) -> pa.Array:
    """Rank numbers as a column: -1 becomes null."""
    return pa.array(values, mask=values < 0)


def stamps(values: F64) -> pa.Array:
    """Times as a column: NaN becomes null."""
    return pa.array(values, mask=np.isnan(values))
