"""A symptom in the user's words → the ladder to start with, by counting keywords (English, some Chinese).

Deterministic: weights are summed per ladder, the first of `LADDERS` wins a tie, no keyword means `auto`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

Ladder = Literal["slow", "stream", "errors", "hang", "memory", "cache", "disagg", "wrong-output", "auto"]

# In order of precedence at a tie: the more special first.
LADDERS: Final[tuple[Ladder, ...]] = (
    "wrong-output", "disagg", "cache", "hang", "memory", "stream", "errors", "slow",
)  # fmt: skip

# ladder → (weight, pattern on lower-cased text). Latin patterns are whole words; Chinese ones are substrings.
_KEYWORDS: Final[dict[Ladder, tuple[tuple[int, str], ...]]] = {
    "wrong-output": (
        (4, r"garbled|gibberish|garbage output|wrong (?:output|answer|token|result)s?|corrupt(?:ed|ion)?"),
        (4, r"repeats? (?:the same|itself|forever)|repeated tokens|endless repetition|nonsense|!!!!"),
        (3, r"(?:malformed|invalid|broken) (?:json|tool calls?)|incorrect output|accuracy (?:drops?|dropped|fell)"),
        (4, "乱码|输出错误|答案错误|重复输出|胡言乱语|精度下降"),
    ),
    "disagg": (
        (4, r"disaggregat\w*|pd (?:pair|setup|fleet|mode|deployment|request|parameters|transfer|separation)"),
        (4, r"kv transfers?|transfer(?:ring)? (?:of )?kv|transfer(?:s|red)? fail\w*|failed transfers?|kvpoll"),
        (3, r"bootstrap\w*|prealloc\w*|mooncake|nixl|mori|rdma|bootstrap_room"),
        (3, r"prefill (?:side|instance|process|pods?|node|server|worker)s?|decode (?:side|instance|node|server)s?"),
        (1, r"pd|transfer\w*"),
        (4, "分离|传输|预填充节点|解码节点|引导"),
    ),
    "cache": (
        (4, r"prefix[ -]cache|radix|cache[ -]hits?|hit[ -]rates?|hit[ -]ratios?|cached[ -]tokens?|cache miss\w*"),
        (3, r"shared? (?:a )?(?:long )?prefix|prompt cache|never read|re-?comput\w*|evict\w*|hits"),
        (1, r"cach\w*|prefix\w*"),
        (4, "命中率|前缀缓存|缓存命中|缓存失效"),
    ),
    "hang": (
        (4, r"hangs?|hung|hanging|stuck|freez\w*|froze|frozen|deadlock\w*|watchdog|unresponsive|no progress"),
        (3, r"stops? respond\w*|all logs stop|stalls?|stalled|never (?:returns?|finish\w*|starts?|answers?)|silent"),
        (2, r"produces? nothing|get nothing|stays? pending"),
        (4, "卡住|卡死|挂起|无响应|死锁|没反应|假死"),
    ),
    "memory": (
        (4, r"oom|out[ -]of[ -]memory|retract\w*|memory leaks?|kv leaks?|leak\w*|cuda error: out of"),
        (3, r"memory|allocation fail\w*|pool (?:is )?(?:full|fills)|token[ -]usage|kv usage|usage climbs?"),
        (2, r"allocator|vram|preempt\w*|give (?:their )?kv back"),
        (4, "内存|显存|爆显存|泄漏|溢出|撤回"),
    ),
    "stream": (
        (4, r"inter[ -]token|itl|tpot|stream\w*|chunks? (?:arrive|come)|burst of tokens|stutter\w*|choppy|jitter\w*"),
        (2, r"pauses?|gaps? between|between tokens"),
        (4, "流式|断断续续|卡顿|逐字|抖动"),
    ),
    "errors": (
        (4, r"(?:http |status |code )?50[0-4]|http 4\d\d|errors?|exceptions?|crash\w*|traceback|abort\w*"),
        (4, r"refused|rejected|sigquit|dies|died"),
        (3, r"fail(?:s|ed|ures?|ing)?|exits?|killed|queue is full|disconnect\w*|goes down|is gone"),
        (4, "报错|错误|崩溃|异常|失败|中断|拒绝"),
    ),
    "slow": (
        (4, r"slow\w*|latenc\w*|ttft|time to first token|takes? (?:too )?long|p9\d|sluggish"),
        (3, r"queue\w*|waiting|throughput|drags on|degrad\w*|delay\w*|time-?outs?|timed? out|overload\w*|balanced?"),
        (4, "慢|延迟|超时|排队|吞吐|首字|首个? ?token"),
    ),
}

_COMPILED: Final = tuple(
    (ladder, weight, re.compile(pattern if not pattern.isascii() else rf"(?<![a-z0-9.,])(?:{pattern})(?![a-z0-9])"))
    for ladder in LADDERS
    for weight, pattern in _KEYWORDS[ladder]
)
# Longer texts are a report, not a symptom; the head decides and time stays bounded.
_LONGEST: Final = 4000


@dataclass(frozen=True, slots=True)
class Symptom:
    """Which ladder a text points to. `scores` holds every ladder with a keyword, best first."""

    text: str
    ladder: Ladder
    scores: tuple[tuple[Ladder, int], ...] = ()
    words: tuple[str, ...] = ()

    @property
    def clear(self) -> bool:
        """Whether the best ladder leads by a keyword; otherwise the next one deserves a look too."""
        return bool(self.scores) and (len(self.scores) == 1 or self.scores[0][1] > self.scores[1][1])


def symptom(text: str) -> Symptom:
    """Read a symptom: a ladder's own name is taken as it is, free text by its keywords, else `auto`."""
    plain = text.strip().lower()
    if plain in ("", "auto"):
        return Symptom(text, "auto")
    for ladder in LADDERS:
        if plain.replace("_", "-").replace(" ", "-") == ladder:
            return Symptom(text, ladder, ((ladder, 1),), (plain,))
    totals: dict[Ladder, int] = {}
    words: list[str] = []
    for ladder, weight, pattern in _COMPILED:
        # A word counts once however often it is said.
        said = dict.fromkeys(found.group(0) for found in pattern.finditer(plain[:_LONGEST]))
        if said:
            totals[ladder] = totals.get(ladder, 0) + weight * len(said)
            words.extend(said)
    if not totals:
        return Symptom(text, "auto")
    ranked = sorted(totals.items(), key=lambda item: (-item[1], LADDERS.index(item[0])))
    return Symptom(text, ranked[0][0], tuple(ranked), tuple(dict.fromkeys(words)))
