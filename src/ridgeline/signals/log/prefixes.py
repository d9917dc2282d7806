"""What stands before a log record's text: wrappers of containers and collectors, and the record's own prefix.

One line at a time, for the shapes that `frame` does not read in bulk. Every pattern is anchored and bounded, so a
hostile line costs no more than its first few hundred characters.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from ridgeline.signals.log.clock import Stamp

MONTHS: Final = {
    name: n
    for n, name in enumerate(["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], 1)
}
SEVERITY: Final = {
    "TRACE": "info", "DEBUG": "info", "INFO": "info", "NOTICE": "info", "I": "info",
    "WARNING": "warning", "WARN": "warning", "W": "warning",
    "ERROR": "error", "E": "error", "ERR": "error", "EXCEPTION": "error",
    "CRITICAL": "fatal", "FATAL": "fatal", "F": "fatal", "PANIC": "fatal",
}  # fmt: skip
_LEVEL = r"(?P<level>TRACE|DEBUG|INFO|NOTICE|WARNING|WARN|ERROR|CRITICAL|FATAL)"
_DATE = r"(?P<y>\d{4})[-/](?P<mo>\d\d)[-/](?P<d>\d\d)"
_TIME = r"(?P<h>\d\d):(?P<mi>\d\d):(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))?"
_ZONE = r"(?P<z>Z|[+-]\d\d:?\d\d)?"
_RANK = r"(?:DP|PP|ATTN_CP|MOE_DP|ATTN_TP|TP|EP|CP)\d{1,5}"
RANK: Final = re.compile(r"\b(DP|TP|PP)(\d{1,5})\b")

# Wrappers: what a collector put before the record. They may nest.
WRAPPERS: Final = (
    re.compile(r"(?P<mon>[A-Z][a-z]{2}) {1,2}(?P<d>\d{1,2}), (?P<y>\d{4}) @ " + _TIME + r"\s+"),  # Kibana
    re.compile(_DATE + "T" + _TIME + _ZONE + r" (?:stdout|stderr) [FP] "),  # Kubernetes CRI
    re.compile(
        _DATE + "T" + r"(?P<h>\d\d):(?P<mi>\d\d):(?P<s>\d\d)\.(?P<f>\d{6,9})(?P<z>Z|[+-]\d\d:\d\d) (?! )"
    ),  # docker
    re.compile(
        r"(?P<mon>[A-Z][a-z]{2}) {1,2}(?P<d>\d{1,2}) "
        + _TIME
        + r" (?P<who>[\w.:-]{1,80} [\w./@:-]{1,80}(?:\[\d+\])?): ?"
    ),  # journald, syslog
    re.compile(
        r"<\d{1,3}>1 "
        + _DATE
        + "T"
        + _TIME
        + _ZONE
        + r" (?P<who>\S{1,80} \S{1,80}) \S{1,60} \S{1,60} (?:-|\[[^\]]{0,300}\]) ?"
    ),
    re.compile(r"\[pod/(?P<who>[\w./-]{1,200})\] "),  # kubectl logs --prefix
    re.compile(r"\((?P<who>[A-Za-z][\w.:/+ -]{0,80}?pid=\d{1,9}(?:, ip=[\w.:]{1,45})?)\) ?"),  # Ray, vLLM processes
    re.compile(r"(?P<who>[A-Za-z][\w.-]{0,80}[-_]\d{1,4}) {0,40}\| "),  # docker compose
    re.compile("[\u2502\u2503] "),  # a terminal's box
)
_BRACKET = re.compile(
    r"\[?" + _DATE + "[ T]" + _TIME + _ZONE + r"(?P<ranks>(?: " + _RANK + r"){0,8})\]"
    r"(?:\[(?P<who>[\w./-]{1,80}:\d{1,6})\])?(?:\[" + _LEVEL + r"\])?:? ?"
)
_LMCACHE = re.compile(r"\[" + _DATE + " " + _TIME + r"\] (?P<who>[A-Za-z]\w{1,30}) " + _LEVEL + r":? ")
_UNDATED = re.compile(r"\[" + _TIME + r"(?P<ranks>(?: " + _RANK + r"){0,8})\] ?")
_RANKS = re.compile(r"\[(?P<ranks>" + _RANK + r"(?: " + _RANK + r"){0,8})\] ?")
_LEVELLED = re.compile(r"\[" + _LEVEL + r"\]:? ?")
_VLLM = re.compile(_LEVEL + r" (?P<mo>\d\d)-(?P<d>\d\d) " + _TIME + r" \[?(?P<who>[^\[\]\s]{1,120})\] ?")
_PLACE = re.compile(r"\[(?P<who>[\w./-]{1,80}\.py:\d{1,6})\] ?")
_GLOG = re.compile(
    r"(?P<level>[IWEF])(?P<y>\d{4})?(?P<mo>\d\d)(?P<d>\d\d) "
    + _TIME
    + r" {1,8}\d{1,9} (?P<who>[\w./-]{1,120}:\d{1,6})\] ?"
)
_PYTHON = re.compile(_DATE + "[ T]" + _TIME + _ZONE + r" - (?P<who>[\w./-]{1,120}) - " + _LEVEL + r" - ")
_RUST = re.compile(_DATE + "[ T]" + _TIME + _ZONE + r"\s{1,4}" + _LEVEL + r" (?P<who>[\w:.-]{1,160}): ")
# Formats that a deployment set itself: `time level pid [file:line] text`, and loguru's.
_PLACED = re.compile(
    _DATE + "[ T]" + _TIME + _ZONE + r"\s{1,4}\[?" + _LEVEL + r"\]?:?(?:\s{1,4}\d{1,9})?"
    r"\s{1,4}\[?(?P<who>[\w./-]{1,120}\.py:\d{1,6})\]?:?(?:\s+-)?\s+"
)
_LOGURU = re.compile(
    _DATE + "[ T]" + _TIME + _ZONE + r" {1,4}\| {0,4}" + _LEVEL + r" {0,10}\| {0,4}(?P<who>[\w.<>:/-]{1,160}) +- "
)
_PLAIN = re.compile(_DATE + "[ T]" + _TIME + _ZONE + r"(?:\s{1,4}\[?" + _LEVEL + r"\]?:?)?(?:\s+|$)")
_CLOCK = re.compile(_TIME + r"\s+(?=\S)")
# The record's own prefix by its first character.
OWN: Final[dict[str, tuple[re.Pattern[str], ...]]] = {
    "[": (_LMCACHE, _BRACKET, _UNDATED, _RANKS, _LEVELLED, _PLACE),
    "digit": (_PYTHON, _RUST, _BRACKET, _PLACED, _LOGURU, _PLAIN, _CLOCK),
    "upper": (_VLLM, _GLOG),
}


@dataclass(slots=True)
class Head:
    """What the start of one line says; `at` is where the body begins (in characters)."""

    at: int = 0
    stamp: Stamp | None = None  # the record's own time
    outer: Stamp | None = None  # the wrapper's time
    dp: int = -1
    tp: int = -1
    pp: int = -1
    severity: str | None = None
    names: list[str] = field(default_factory=list)
    prefixed: bool = False
    boxed: bool = False


def split_head(line: str) -> Head:
    """The wrappers and the record prefix of one line (only its first few hundred characters are looked at)."""
    head = Head()
    for _ in range(6):
        if not _unwrap(line, head):
            break
    first = line[head.at : head.at + 1]
    group = "digit" if first.isdigit() else "upper" if "A" <= first <= "Z" else first
    for pattern in OWN.get(group, ()):
        found = pattern.match(line, head.at)
        if found:
            _take_own(found, head)
            break
    return head


def looks_like_record(line: str) -> bool:
    """Whether a line starts like a log record of a known kind."""
    head = split_head(line)
    return head.prefixed or head.outer is not None or bool(head.names and "pid=" in head.names[0])


def ranks_of(text: str) -> tuple[int, int, int]:
    """(dp, tp, pp) named in a prefix such as ` DP1 PP0 TP0 EP0`; -1 where it names none."""
    found = {name: int(number) for name, number in RANK.findall(text)}
    return found.get("DP", -1), found.get("TP", -1), found.get("PP", -1)


def _unwrap(line: str, head: Head) -> bool:
    for pattern in WRAPPERS:
        found = pattern.match(line, head.at)
        if found is None or found.end() == head.at:
            continue
        names = found.groupdict()
        if names.get("who"):
            head.names.append(names["who"])
        if names.get("h") and head.outer is None:
            head.outer = _stamp(names)
        if not names:
            head.boxed = True
        head.at = found.end()
        return True
    return False


def _take_own(found: re.Match[str], head: Head) -> None:
    names = found.groupdict()
    head.at = found.end()
    head.prefixed = True
    if names.get("h"):
        head.stamp = _stamp(names)
    if names.get("ranks"):
        head.dp, head.tp, head.pp = ranks_of(names["ranks"])
    if names.get("level"):
        head.severity = SEVERITY[names["level"]]
    if names.get("who"):
        head.names.append(names["who"])


def _stamp(names: dict[str, str | None]) -> Stamp:
    hour, minute, whole = int(names["h"] or 0), int(names["mi"] or 0), int(names["s"] or 0)
    second = 3600.0 * hour + 60 * minute + whole if hour < 24 and minute < 60 and whole < 61 else float("nan")
    if names.get("f"):
        second += float(f"0.{names['f']}")
    zone = names.get("z")
    zone_s = None
    if zone == "Z":
        zone_s = 0
    elif zone:
        minutes = int(zone[1:3]) * 60 + int(zone[-2:])
        zone_s = -60 * minutes if zone[0] == "-" else 60 * minutes
    month = MONTHS.get(names.get("mon") or "") or (int(names["mo"] or 0) if names.get("mo") else None)
    return Stamp(
        int(names["y"] or 0) if names.get("y") else None,
        month,
        int(names["d"] or 0) if names.get("d") else None,
        second,
        zone_s,
    )
