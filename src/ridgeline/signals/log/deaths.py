"""How memory ran out and how processes died: messages of several lines, backtraces of native code (DESIGN §1 C0).

Python stack traces are left to `stacks`, which runs next: an exception that ends a trace is read here for what it
means and there as the end of the trace.
"""

import re
from typing import Any, Final

import numpy as np

from ridgeline.signals.lines import LogLines, Mask, Parsed
from ridgeline.signals.log.copies import folded_events
from ridgeline.signals.log.rules import event, event_rows, matching
from ridgeline.signals.rows import Reading

GATE: Final = (
    r"(?i)out of memory|outofmemory|oom.?kill|oom_reaper|runs out of memory|Try to allocate \d|^Killed$|MemoryError"
    r"|cudaErrorMemoryAllocation|STATUS_ALLOC_FAILED|exit(?:ed)? (?:with )?code 137|No space left on device|^Bus error"
    r"|shared memory|Disk quota exceeded|Cannot allocate memory| hit an exception|Caught signal \d|Segmentation fault"
    r"|Fatal Python error|core dumped|==== backtrace|terminate called"
)
BYTES: Final = {"KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
FOLLOWING: Final = 24  # lines of figures or frames behind a message, at most
# First pattern that fits names the kind. `happened` is 0.4.6's word for a retraction, which is no failure.
KINDS: Final[tuple[tuple[str, str, re.Pattern[str]], ...]] = (
    ("slots-exhausted", "fatal", re.compile(r"alloc_req_slots runs out of memory")),
    ("host-oom", "fatal", re.compile(
        r"OOMKilled|oom.?kill(?:er|ed|:|$|\b)|oom_reaper|Out of memory: Killed process|[Cc]group out of memory|^Killed$"
        r"|exit(?:ed)? (?:with )?code 137|^MemoryError|Cannot allocate memory")),
    ("cuda-oom", "fatal", re.compile(
        r"(?:CUDA|HIP|NPU|XPU|MUSA)(?: error:)? out of memory|OutOfMemoryError|cudaErrorMemoryAllocation"
        r"|STATUS_ALLOC_FAILED")),
    ("pool-full", "fatal", re.compile(
        r"(?:Prefill|Decode) out of memory(?! happened)|[Oo]ut of memory\. Try to lower your batch size")),
    ("disk-full", "error", re.compile(
        r"No space left on device|Disk quota exceeded|^Bus error|insufficient shared memory|out of shared memory")),
    ("crash", "fatal", re.compile(
        r"^(?P<process>\w+) hit an exception|Caught signal (?P<signal>\d+)\b(?: \((?P<name>[^:)]{1,60}))?"
        r"|Fatal Python error: (?P<python>[^\n]{1,80})|^(?P<fault>Segmentation fault)|terminate called"
        r"|\(core dumped\)")),
)  # fmt: skip
# What may happen has not happened.
ADVICE: Final = re.compile(r"(?i)\b(?:avoid|prevent|may|might|could(?! not)|would|if|in case|reduce|risk|cause)\b")
RAISED: Final = re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b")
ASKED: Final = re.compile(r"Try to allocate (\d+) tokens")
FIGURE: Final = re.compile(
    r"(?:^|[\s(])(?:self\.)?([\w.]*(?:available|avaliable|evictable|protected|uncached)\w*)(?:\(\))?=(\d+)(?=[,)\s]|$)"
)
WORDED: Final = re.compile(r"^(Ava(?:il|li)able|Evictable)(?: (\w+))? tokens: (\d+)(?=[,(\s]|$)")
FIGURES: Final = re.compile(
    r"^(?:Try to allocate \d+ tokens|Ava(?:il|li)able|Evictable|self\.|full_|swa_|mamba_|[\w.]+_size\b)"
)
FRAME: Final = re.compile(r"^(?:={4} backtrace|\s*\d{1,3} {1,4}(?:0x[0-9a-f]+ )?[\w./+-]+\(|#\d{1,3} |=+$)")
FUNCTION: Final = re.compile(r"\((\w+)\+0x")
TRIED: Final = re.compile(r"Tried to allocate (\d+(?:\.\d+)?) ([KMG]iB)")
FREE: Final = re.compile(r"of which (\d+(?:\.\d+)?) ([KMG]iB) is free")
IN_STACK: Final = re.compile(r"^(?:\s+\S|  File \"|Traceback )")


def parse(lines: LogLines, reading: Reading) -> Parsed:
    """Events of the out-of-memory family and of crashes; what belongs to a Python trace is left for `stacks`."""
    understood = np.zeros(len(lines), np.bool_)
    rows: list[dict[str, Any]] = []
    for i in np.flatnonzero(matching(lines.body, GATE)).tolist():
        if understood[i]:
            continue
        text = lines.body[i].as_py()[:4000]
        row = _one(lines, i, text, reading, understood)
        if row is not None:
            rows.append(row)
    return folded_events(Parsed(event_rows(rows), understood))


def _one(lines: LogLines, i: int, text: str, reading: Reading, understood: Mask) -> dict[str, Any] | None:
    if text[:1] in " \t" or text.startswith("{"):
        return None  # source text inside a trace, or a request's own words
    for kind, severity, pattern in KINDS:
        found = pattern.search(text)
        if found is None:
            continue
        if ADVICE.search(text, 0, found.start()) and not RAISED.search(text):
            understood[i] = True
            return event(lines, i, reading, "other-warning", {}, "warning")
        attrs: dict[str, Any] = {k: v for k, v in found.groupdict().items() if v}
        groups: dict[str, str | None] = {}
        if kind == "pool-full":
            groups["value"] = _figures(lines, i, text, attrs, understood)
        elif kind == "cuda-oom":
            _sizes(text, attrs)
        elif kind == "crash":
            _frames(lines, i, attrs, understood)
        # A record of its own, or an exception that no trace stands before, is understood here.
        understood[i] = not _ends_trace(lines, i) and "Traceback (most" not in text
        return event(lines, i, reading, kind, groups, severity, attrs)
    if FRAME.match(text):
        understood[i] = True
    return None


def _ends_trace(lines: LogLines, i: int) -> bool:
    if i == 0 or (lines.prefixed[i] and not lines.prefixed[i - 1]):
        return False
    return bool(IN_STACK.match(lines.body[i - 1].as_py()[:200]))


def _figures(lines: LogLines, i: int, text: str, attrs: dict[str, Any], understood: Mask) -> str | None:
    """Read what was asked for and what there was from the lines behind the message; the tokens asked for."""
    parts = [text]
    for j in range(i + 1, min(i + FOLLOWING, len(lines))):
        part = lines.body[j].as_py()[:1000]
        if lines.prefixed[j] or lines.line[j] != lines.line[j - 1] + 1 or not FIGURES.match(part):
            break
        understood[j] = True
        parts.append(part if lines.ended[j] else part.rstrip("0123456789"))
    asked = None
    for part in "\n".join(parts).splitlines():
        found = ASKED.search(part)
        asked = found[1] if found and asked is None else asked
        worded = WORDED.match(part)
        if worded:
            name = "available" if worded[1].startswith("Ava") else "evictable"
            # 0.5.23 prints the sum here and its two parts in brackets behind it.
            name = "free_or_evictable" if "(" in part else name
            attrs.setdefault(f"{worded[2]}_{name}" if worded[2] else name, int(worded[3]))
        for name, number in FIGURE.findall(part):
            attrs.setdefault(_name(name), int(number))
    head = re.search(r"(Prefill|Decode) out of memory", text)
    if head:
        attrs["phase"] = head[1].lower()
    return asked


def _name(printed: str) -> str:
    """`self.tree_cache.evictable_size()` → `evictable`; `full_available_size` → `full_available`."""
    last = printed.rsplit(".", 1)[-1].replace("avaliable", "available")
    return last.removesuffix("_size")


def _sizes(text: str, attrs: dict[str, Any]) -> None:
    for name, pattern in (("tried_bytes", TRIED), ("free_bytes", FREE)):
        found = pattern.search(text)
        if found:
            attrs[name] = int(float(found[1]) * BYTES[found[2]])


def _frames(lines: LogLines, i: int, attrs: dict[str, Any], understood: Mask) -> None:
    """Functions of a native backtrace behind the message, innermost first."""
    functions: list[str] = []
    for j in range(i + 1, min(i + FOLLOWING * 4, len(lines))):
        part = lines.body[j].as_py()[:500]
        if lines.prefixed[j] or not FRAME.match(part):
            break
        understood[j] = True
        functions += FUNCTION.findall(part)
    if functions:
        attrs["functions"] = functions[:20]
