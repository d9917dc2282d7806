"""Lines that a terminal or a pager broke: put together again where, and only where, the whole is a known line."""

import re
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ridgeline.signals.lines import LogLines, Mask
from ridgeline.signals.log.batch_shape import plan

LINE_CHARS: Final = 4096
PART_CHARS: Final = 400
PARTS: Final = 16  # a batch line of 500 characters in a narrow terminal
DIGITS: Final = re.compile(r"\d+")
BATCH: Final = r"^(?:Prefill|Decode) batch"
STATS: Final = r"^(?:ReqTimeStats|Req Time Stats)\("
STATS_WHOLE: Final = re.compile(r"(?:entry_time|start_time|start)=[\d.]+(?:, transfer_speed=.*)?$")
STRANGER: Final = re.compile(
    r"(?:Prefill|Decode) batch|Req ?Time ?Stats|Traceback|INFO: |WARNING: |ERROR: |\{|\[(?:\d{4}-|\d\d:|[A-Z])"
)


def unwrap(lines: LogLines) -> tuple[LogLines, int]:
    """(lines with the broken ones joined, how many lines were joined to the one before them)."""
    if len(lines) < 2 or lines.prefixed.all():
        return lines, 0
    starts = _found(lines.body, BATCH) | _found(lines.body, STATS)
    follow = ~lines.prefixed[1:] & (np.diff(lines.line) == 1)
    candidates = np.flatnonzero(starts[:-1] & follow & ~starts[1:])
    if not len(candidates):
        return lines, 0
    gone = np.zeros(len(lines), np.bool_)
    ended = lines.ended.copy()
    texts: dict[int, str] = {}
    for i in candidates.tolist():
        if gone[i]:
            continue
        found = _whole(lines, i)
        if found is not None:
            text, last, sure = found
            texts[i] = text
            gone[i + 1 : last + 1] = True
            ended[i] = lines.ended[last] and sure
    if not texts:
        return lines, 0
    replaced = np.zeros(len(lines), np.bool_)
    replaced[list(texts)] = True
    body = pc.replace_with_mask(lines.body, pa.array(replaced), pa.array(list(texts.values()), pa.string()))
    out = LogLines(
        lines.line,
        lines.ts,
        body,
        lines.dp_rank,
        lines.tp_rank,
        lines.pp_rank,
        lines.severity,
        lines.logger,
        lines.prefixed,
        ended,
    )
    return out.pick(~gone), int(gone.sum())


def _found(texts: pa.Array, pattern: str) -> Mask:
    found: Mask = np.asarray(pc.match_substring_regex(texts, pattern))
    return found


def _whole(lines: LogLines, i: int) -> tuple[str, int, bool] | None:
    """The longest known line that begins with line `i` and goes on in those behind it, and the last of them.

    The third value is False where digits alone follow a line that was whole without them: then nobody can say whether
    they belong to its last number, and that number does not count.
    """
    glued = spaced = lines.body[i].as_py()
    if len(glued) > LINE_CHARS:
        return None
    found: tuple[str, int, bool] | None = None
    known = _complete(glued)
    for last in range(i + 1, min(i + PARTS, len(lines))):
        if lines.prefixed[last] or lines.line[last] != lines.line[last - 1] + 1:
            break
        part = lines.body[last].as_py()
        if STRANGER.match(part) or len(part) > PART_CHARS:
            break
        glued += part  # broken at a column, inside a word or number
        spaced = f"{spaced.rstrip()} {part.lstrip()}"  # broken at a blank, which was lost
        whole = next((text for text in (glued, spaced) if _complete(text)), None)
        if whole is not None:
            found = whole, last, not (known and part.strip(" ,").isdigit())
        known = whole is not None
    return found


def _complete(text: str) -> bool:
    found = plan(DIGITS.sub("0", text)) if "batch" in text[:13] else None
    return bool(found and found.versions) or (text.startswith("Req") and bool(STATS_WHOLE.search(text)))
