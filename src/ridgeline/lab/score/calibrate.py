"""From results to the calibration file: how often each cause was right when it was named with a word or a surer one."""

import json
from collections import defaultdict
from typing import Any, Final

from ridgeline.lab.score.measure import Result, first_right

SCHEMA: Final = "ridgeline.calibration/1"
WORDS: Final = ("low", "medium", "high")
NEEDED: Final = 0.95
"""The precision a word promises; where the ladder lowers (`ladder/calibration.py` has the same figure)."""
WEIGHT: Final = 10.0
"""How many cases the causes taken together count for beside a cause's own."""
CAP: Final = "lab-precision-"
RULE: Final = (
    "precision = (right + weight * prior) / (said + weight), where said and right count the first findings that named "
    "the cause with this word or a surer one, and prior is the larger of the share right over all causes and what a "
    "word needs: a cause that was never wrong is never lowered, and one wrong answer weighs less among many"
)


def said_word(finding: dict[str, Any]) -> str:
    """The word as it was judged: a calibration that was in force lowered it once per cap of its name."""
    lowered = sum(str(cap).startswith(CAP) for cap in finding.get("caps") or ())
    return WORDS[min(WORDS.index(finding["confidence"]) + lowered, 2)]


def counted(results: list[Result]) -> dict[str, dict[str, tuple[int, int]]]:
    """Per cause and word: (first findings with it or a surer one, those that were right)."""
    named = {r["truth"]["cause"] for r in results} - {"healthy", "unknown"}  # known even if it is never found
    named |= {r["findings"][0]["cause"] for r in results if r.get("verdict") == "finding" and r["findings"]}
    counts = {cause: {word: [0, 0] for word in WORDS[1:]} for cause in sorted(named)}
    for r in results:
        if not r["admitted"] or r.get("verdict") != "finding" or not r["findings"]:
            continue
        first = r["findings"][0]
        for word in WORDS[1 : WORDS.index(said_word(first)) + 1]:
            counts[first["cause"]][word][0] += 1
            counts[first["cause"]][word][1] += first_right(r)
    return {cause: {w: (said, right) for w, (said, right) in words.items()} for cause, words in counts.items()}


def calibration(results: list[Result], seeds: str) -> dict[str, Any]:
    """The file's content from results of the full evidence."""
    full = [r for r in results if r["arm"] == "full"]
    counts = counted(full)
    priors: dict[str, float] = {}
    for word in WORDS[1:]:
        said = sum(words[word][0] for words in counts.values())
        right = sum(words[word][1] for words in counts.values())
        priors[word] = round(max(right / said if said else 1.0, NEEDED), 4)
    per_fault: dict[str, int] = defaultdict(int)
    for r in full:
        if r["truth"]["cause"] != "healthy":
            per_fault[r["truth"]["fault"]] += r["admitted"]
    causes = {
        cause: {
            word: {"said": said, "right": right,
                   "precision": round((right + WEIGHT * priors[word]) / (said + WEIGHT), 4)}
            for word, (said, right) in words.items() if said
        }
        for cause, words in counts.items()
    }  # fmt: skip
    return {
        "schema": SCHEMA, "seeds": seeds, "cases": sum(r["admitted"] for r in full),
        "fewest_cases_of_a_fault": min(per_fault.values(), default=0), "rule": RULE, "weight": WEIGHT,
        "needed": NEEDED, "priors": priors, "causes": causes,
    }  # fmt: skip


def calibration_text(results: list[Result], seeds: str) -> str:
    """The file's text: the same results, the same bytes."""
    return json.dumps(calibration(results, seeds), indent=1, sort_keys=True) + "\n"
