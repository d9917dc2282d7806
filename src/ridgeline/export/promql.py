"""Prometheus queries over shared words, and those words as one engine and version exports them.

Alert rules and the dashboard write `{ttft_s}`, `{waiting}` and the like; `filled` puts the version's own names there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ridgeline.bundle.view import View
from ridgeline.words.metric import Metric
from ridgeline.words.metrics import METRICS, names_for
from ridgeline.words.versions import INSPECTED, Engine

WORD: Final = re.compile(r"\{(\w+)\}")
PREFIX: Final[dict[Engine, str]] = {"sglang": "sglang:", "vllm": "vllm:", "gateway": "smg_"}
SERVED: Final = (
    "SELECT engine, version FROM servers WHERE engine IS NOT NULL ORDER BY boot_ts DESC NULLS LAST, server LIMIT 1"
)
SEEN: Final = "SELECT DISTINCT raw FROM series WHERE raw LIKE 'vllm%' LIMIT 1"


@dataclass(frozen=True)
class Exported:
    """Which engine and version names are for; `sure` is false where the evidence states no version."""

    engine: Engine
    version: str
    sure: bool

    def entry(self, word: str) -> Metric | None:
        """The metric of a word in this version; None where it has none or the releases read cannot tell."""
        for name in names_for(word, self.engine):
            for m in METRICS:
                if m.name == name and m.engine == self.engine and m.span.has(self.version, self.engine):
                    return m
        return None

    def raw(self, word: str) -> str | None:
        """The full name of a gauge or counter."""
        m = self.entry(word)
        if m is None:
            return None
        old = next(
            (o for o in m.names if (o.span.since or o.span.until) and o.span.has(self.version, self.engine)), None
        )
        name = PREFIX[self.engine] + (old.raw if old is not None and not _later(m, self) else m.name)
        return name + "_total" if m.kind == "counter" and not name.endswith("_total") else name


def filled(expr: str, of: Exported) -> str | None:
    """The expression in full names; None where this version lacks one of its metrics."""
    names = {word: of.raw(word) for word in WORD.findall(expr)}
    if any(name is None for name in names.values()):
        return None
    return WORD.sub(lambda found: names[found[1]] or "", expr)


def rate(word: str, over: str, by: str = "", offset: str = "") -> str:
    """The sum of a counter's rate per second; `word` is a shared word, of a histogram with its part: `ttft_s/sum`.

    `by` keeps a label apart; `offset` is a time ago such as `1h`.
    """
    word, _, part = word.partition("/")
    apart = f" by ({by}) " if by else ""
    ago = f" offset {offset}" if offset else ""
    return f"sum{apart}(rate({{{word}}}{part and '_' + part}[{over}]{ago}))"


def quantile(q: float, word: str, over: str, by: str = "", offset: str = "") -> str:
    """A quantile of a histogram over a stretch of time, such as `5m`."""
    apart = f"le, {by}" if by else "le"
    return f"histogram_quantile({q}, {rate(f'{word}/bucket', over, apart, offset)})"


def _later(m: Metric, of: Exported) -> bool:
    """Whether the present name is known to be in this version too (then it is used)."""
    return bool(m.span.since) and bool(m.span.has(of.version, of.engine))


def exported(view: View, version: str | None = None) -> Exported:
    """From the evidence's newest boot; the newest release read where it states none."""
    found = view.query(SERVED)
    engine: Engine = "vllm" if (found and found[0][0] == "vllm") or (not found and view.query(SEEN)) else "sglang"
    stated = version or (found[0][1] if found else None)
    return Exported(engine, stated or INSPECTED[engine][-1], stated is not None)
