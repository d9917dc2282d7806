"""Prometheus names by shared word, as one engine and version exports them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ridgeline.bundle.view import View
from ridgeline.words.metric import Metric
from ridgeline.words.metrics import METRICS, names_for
from ridgeline.words.versions import INSPECTED, Engine

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


def _later(m: Metric, of: Exported) -> bool:
    """Whether the present name is known to be in this version too (then it is used)."""
    return bool(m.span.since) and bool(m.span.has(of.version, of.engine))


def exported(view: View, version: str | None = None) -> Exported:
    """From the evidence's newest boot; the newest release read where it states none."""
    found = view.query(SERVED)
    engine: Engine = "vllm" if (found and found[0][0] == "vllm") or (not found and view.query(SEEN)) else "sglang"
    stated = version or (found[0][1] if found else None)
    return Exported(engine, stated or INSPECTED[engine][-1], stated is not None)
