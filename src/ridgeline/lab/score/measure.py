"""What one result was right about: cause, layer, honesty, scope, onset, route; confusable pairs and layers."""

from collections import defaultdict
from datetime import datetime
from typing import Any, Final

from ridgeline.lab.score.twins import cause_pairs

Result = dict[str, Any]


def answers(r: Result) -> list[str]:
    """Causes in the order given; a healthy verdict is the answer healthy, an inconclusive one unknown."""
    if r["verdict"] == "healthy":
        return ["healthy"]
    named = [str(f["cause"]) for f in r["findings"]]
    if not named:
        return ["unknown"] if r["verdict"] == "inconclusive" else ["none"]
    return named


def wanted(r: Result) -> set[str]:
    """Causes that count as right in first place."""
    return {r["truth"]["cause"], *r["truth"]["second"]}


def first_right(r: Result) -> bool:
    """The first answer is a true cause."""
    return answers(r)[0] in wanted(r)


def three_right(r: Result) -> bool:
    """A true cause is among the first three."""
    return bool(wanted(r) & set(answers(r)[:3]))


def layer_right(r: Result) -> bool:
    """The first answer's layer is the true one (healthy and unknown must be said as such)."""
    if first_right(r):
        return True
    if not r["findings"]:
        return False
    return r["findings"][0]["layer"] in {c.partition(".")[0] for c in wanted(r)}


def confident(r: Result) -> bool:
    """It committed itself: a finding of medium or high confidence, or a healthy verdict."""
    if r["verdict"] == "healthy":
        return True
    return bool(r["findings"]) and r["verdict"] == "finding" and r["findings"][0]["confidence"] in ("high", "medium")


def wrong_and_confident(r: Result) -> bool:
    """Committed, and wrong."""
    return confident(r) and not first_right(r)


def wrong_and_high(r: Result) -> bool:
    """Wrong with the surest word."""
    first = r["findings"][0] if r["findings"] and r["verdict"] == "finding" else None
    return first is not None and first["confidence"] == "high" and not first_right(r)


ALIASES: Final[dict[str, frozenset[str]]] = {
    "client": frozenset({"client", "user"}),
    "lora": frozenset({"lora", "lora_id", "lora_path"}),
    "worker": frozenset({"worker", "server", "instance"}),
    "server": frozenset({"worker", "server", "instance", "peer"}),
    "dp_rank": frozenset({"dp_rank", "rank", "dp_rank_asked"}),
    "schema_set": frozenset({"schema_set", "schema", "json_schema", "schema_hash"}),
    "prompt_tokens": frozenset({"prompt_tokens", "prompt", "length"}),
}
"""Names under which a dimension of the truth may be said."""


def scope_right(r: Result) -> bool | None:
    """The first finding names a true dimension with a true value; None where the truth has no scope.

    A range of prompt lengths counts as named when the dimension is.
    """
    truth = {k: set(v) for k, v in r["truth"]["scope"].items() if v != ["*"]}
    if not truth:
        return None
    said = (r["findings"][0].get("scope") or {}) if r["findings"] else {}
    for name, values in truth.items():
        for key, found in said.items():
            if key.rsplit(".", 1)[-1] not in ALIASES.get(name, frozenset({name})):
                continue
            if name in ("prompt_tokens", "schema_set") or any(v in str(f) for v in values for f in found):
                return True
    return False


def onset_error_s(r: Result) -> float | None:
    """Seconds between the onset said and the true one."""
    if not r["findings"] or r["findings"][0].get("onset") is None or r["truth"]["onset"] is None:
        return None
    said = datetime.fromisoformat(r["findings"][0]["onset"].replace("Z", "+00:00"))
    return abs((said - datetime.fromisoformat(r["truth"]["onset"])).total_seconds())


def route_right(r: Result) -> bool | None:
    """The route of a right first finding; None where the cause is not right."""
    if not r["findings"] or not first_right(r):
        return None
    return bool(r["findings"][0]["route"] == r["truth"]["route"])


def ruled_out_true(r: Result) -> bool | None:
    """The true cause was ruled out; None where the result does not say what was."""
    if "ruled_out" not in r or r["truth"]["cause"] in ("healthy", "unknown"):
        return None
    return r["truth"]["cause"] in r["ruled_out"]


def pairs_right(results: list[Result]) -> dict[tuple[str, str], list[bool]]:
    """Per confusable pair (cause, twin) whether both members were right; cases are paired in order of seed."""
    by: dict[str, list[Result]] = defaultdict(list)
    for r in results:
        by[r["truth"]["cause"]].append(r)
    return {
        (a, b): [first_right(x) and first_right(y) for x, y in zip(by.get(a, []), by.get(b, []), strict=False)]
        for a, b in cause_pairs()
    }


def confusion(results: list[Result]) -> dict[tuple[str, str], int]:
    """(true layer, first answer's layer) to cases."""
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for r in results:
        if r["admitted"] and not r.get("same"):
            said = answers(r)[0].partition(".")[0]
            counts[(r["truth"]["layer"], said)] += 1
    return dict(sorted(counts.items()))
