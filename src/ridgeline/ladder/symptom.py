"""What the symptom changes: the emphasis among causes and which of them are plausible. It is never evidence."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ridgeline.model.cause import Cause
from ridgeline.words.symptoms import symptom

# Ladder → the layers it is about, likeliest first.
STRESS: Final[dict[str, tuple[str, ...]]] = {
    "slow": ("queue", "prefill", "decode", "frontend", "routing", "memory"),
    "stream": ("decode", "frontend"),
    "errors": ("fault", "memory", "disagg", "client"),
    "hang": ("fault", "disagg", "decode"),
    "memory": ("memory",),
    "cache": ("cache", "storage"),
    "disagg": ("disagg", "routing"),
    "wrong-output": ("fault",),
    "auto": (),
}
# A clean bill of health needs evidence that could have shown the symptom.
UNSEEN: Final = frozenset({"errors", "wrong-output", "disagg"})

HIT: Final = re.compile(r"\bhit\b")  # "expected to hit": a cache is meant although no word says so


@dataclass(frozen=True)
class Asked:
    """The symptom as given and the ladders its words point to, best first."""

    text: str
    ladders: tuple[str, ...]

    @property
    def ladder(self) -> str:
        """The first ladder."""
        return self.ladders[0]

    def also(self, ladder: str) -> Asked:
        """The same with one more ladder, which the evidence itself points to."""
        return self if ladder in self.ladders else Asked(self.text, (*self.ladders, ladder))

    def stresses(self, layer: str) -> bool:
        """Whether the symptom is about this layer."""
        return any(layer in STRESS[ladder] for ladder in self.ladders)

    def allows(self, cause: Cause) -> bool:
        """Whether the cause is plausible: some show in everyday signs and count only when asked about."""
        return not cause.only_asked or any(ladder in cause.only_asked for ladder in self.ladders)

    @property
    def layers(self) -> tuple[str, ...]:
        """Layers of all ladders, likeliest first, each once."""
        return tuple(dict.fromkeys(layer for ladder in self.ladders for layer in STRESS[ladder]))


def asked(text: str) -> Asked:
    """Read `--symptom`: a ladder's name or the user's own words."""
    read = symptom(text)
    named = tuple(ladder for ladder, _ in read.scores) or (read.ladder,)
    if "cache" not in named and HIT.search(text.lower()):
        named = (*(ladder for ladder in named if ladder != "auto"), "cache")
    return Asked(text or "auto", named)
