"""What the lab measured of the confidence words, and what a word may still be said for: it only ever lowers.

`calibration.json` beside this file is written by `ridgeline lab score --calibration`. For each cause that the lab has a
fault of it holds the precision of a word: the share of first findings with that word or a surer one that were right,
shrunk as the file says. A word below `NEEDED` is not said; the next lower one is, if it holds. Without the file every
word stands as it was judged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

from ridgeline.ladder.judge import LEVELS, Judgement
from ridgeline.model.errors import InputError

Calibration = Mapping[str, Mapping[str, float]]
"""Cause → word → precision; a word the lab never heard is not in it."""
COMMITTED: Final = Path(__file__).with_name("calibration.json")
SCHEMA: Final = "ridgeline.calibration/1"
NEEDED: Final = 0.95


@cache
def committed(path: Path = COMMITTED) -> Calibration | None:
    """The precisions of a calibration file; None where there is none.

    Raises:
        InputError: the file is not one.
    """
    if not path.is_file():
        return None
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        if read["schema"] != SCHEMA:
            raise InputError(f"{path}: schema {read['schema']!r} is not {SCHEMA}")
        causes = {
            str(cause): {str(word): float(told["precision"]) for word, told in words.items()}
            for cause, words in read["causes"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise InputError(f"{path}: is no calibration ({type(e).__name__}: {e}); write it with lab score") from e
    return causes


def lowered(j: Judgement, calibration: Calibration | None) -> Judgement:
    """The judgement with the surest word that the lab bears out; each word given up is one named cap."""
    if calibration is None:
        return j
    known = calibration.get(j.cause.id)
    level, caps = LEVELS.index(j.confidence), list(j.caps)
    if known is None:
        return replace(j, confidence=LEVELS[min(level, 1)], caps=(*caps, "no-lab-fault"))
    while level > 0 and (precision := known.get(LEVELS[level], 1.0)) < NEEDED:
        caps.append(f"lab-precision-{precision:.2f}")
        level -= 1
    return replace(j, confidence=LEVELS[level], caps=tuple(caps))
