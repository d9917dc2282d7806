"""From results to figures: accuracy, honesty, scope, onset, route; per fault and over all (macro)."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any, Final

from ridgeline.lab.score.twins import cause_pairs
from ridgeline.stats.intervals import clopper_pearson

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


def share(values: Iterable[bool | None]) -> float | None:
    """Share that holds among those that say anything."""
    known = [v for v in values if v is not None]
    return sum(known) / len(known) if known else None


def macro(results: list[Result], figure: Callable[[Result], bool | None]) -> float | None:
    """Mean over faults of the share per fault."""
    per: dict[str, list[bool | None]] = defaultdict(list)
    for r in results:
        per[r["truth"]["fault"]].append(figure(r))
    shares = [s for s in (share(v) for v in per.values()) if s is not None]
    return sum(shares) / len(shares) if shares else None


@dataclass(frozen=True)
class Score:
    """Figures of one arm; None where nothing could be measured."""

    cases: int
    healthy: int
    first: float | None
    three: float | None
    layer: float | None
    wrong_confident: float | None
    false_alarms: int
    false_alarm_high: float | None
    scope: float | None
    onset_median_s: float | None
    route: float | None
    abstained: float | None
    failed: int


def score(results: list[Result]) -> Score:
    """Figures of results of one arm (admitted cases only)."""
    told = [r for r in results if r["admitted"]]
    sick = [r for r in told if not r["truth"]["healthy"]]
    known = [r for r in sick if r["truth"]["cause"] != "unknown"]
    well = [r for r in told if r["truth"]["healthy"]]
    alarms = sum(r["verdict"] == "finding" for r in well)
    errors = [e for e in (onset_error_s(r) for r in known) if e is not None]
    outside = [r for r in sick if r["truth"]["answerable"] != "full"]
    high = clopper_pearson(alarms, len(well)).high if well else None
    return Score(
        len(sick), len(well), macro(known, first_right), macro(known, three_right), macro(known, layer_right),
        share(wrong_and_confident(r) for r in told), alarms, high, share(scope_right(r) for r in known),
        median(errors) if errors else None, share(route_right(r) for r in known),
        share(not wrong_and_confident(r) for r in outside), sum(r["verdict"] is None for r in told),
    )  # fmt: skip


def pairs_right(results: list[Result]) -> list[tuple[str, str, int, float | None]]:
    """Per confusable pair: (cause, twin, pairs, share with both members right); cases paired in order of seed."""
    by: dict[str, list[Result]] = defaultdict(list)
    for r in results:
        if r["admitted"]:
            by[r["truth"]["cause"]].append(r)
    out = []
    for a, b in cause_pairs():
        both = list(zip(by.get(a, []), by.get(b, []), strict=False))
        out.append((a, b, len(both), share(first_right(x) and first_right(y) for x, y in both)))
    return out


def precision_by_level(results: list[Result]) -> dict[str, dict[str, float]]:
    """Per cause and confidence level, the share of first findings with it that were right."""
    found: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for r in results:
        if r["admitted"] and r["verdict"] == "finding" and r["findings"]:
            f = r["findings"][0]
            found[f["cause"]][f["confidence"]].append(first_right(r))
    table = {
        c: {level: round(sum(v) / len(v), 3) for level, v in sorted(levels.items())} for c, levels in found.items()
    }
    # a cause with a fault but no finding at all has no precision to be lowered by
    for r in results:
        if not r["truth"]["healthy"]:
            table.setdefault(r["truth"]["cause"], {})
    return dict(sorted(table.items()))


def confusion(results: list[Result]) -> dict[tuple[str, str], int]:
    """(true layer, first answer's layer) to cases."""
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for r in results:
        if r["admitted"]:
            said = answers(r)[0].partition(".")[0]
            counts[(r["truth"]["layer"], said)] += 1
    return dict(sorted(counts.items()))
