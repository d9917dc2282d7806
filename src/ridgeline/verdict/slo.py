"""Service-level objectives as given on the command line: `ttft_p99=2s,errors=1%`."""

from __future__ import annotations

import re
from typing import Final

from ridgeline.model.errors import InputError

NAMES: Final = re.compile(r"(?:ttft|queue|tpot|e2e)_(?:mean|p(?!0+$)\d{1,2}(?:\.\d{1,2})?)")
SHARES: Final = ("errors", "retractions", "hit_ratio")
UNITS: Final = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}
VALUE: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(us|ms|s|m|%)?")


def slo_of(text: str | None) -> dict[str, float]:
    """Figure → bound, in seconds or as a share. Raises InputError for an unknown name or a value that is none."""
    out: dict[str, float] = {}
    for part in (text or "").split(","):
        if not part.strip():
            continue
        name, equals, value = (piece.strip() for piece in part.partition("="))
        found = VALUE.fullmatch(value)
        if not equals or found is None or not (NAMES.fullmatch(name) or name in SHARES):
            raise InputError(
                f"--slo {part.strip()}: expected NAME=VALUE with NAME one of ttft, queue, tpot, e2e with _mean or _p50 "
                f"to _p99.9, or errors, hit_ratio; such as ttft_p99=2s,errors=1%"
            )
        number, unit = float(found[1]), found[2]
        if (name in SHARES) == (unit in UNITS):
            raise InputError(f"--slo {part.strip()}: a time needs s, ms or us, a share % or no unit")
        out[name] = number / 100 if unit == "%" else number * UNITS.get(unit or "", 1.0)
    return out
