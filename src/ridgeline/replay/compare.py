"""Two outcomes of the same request: where the outputs part, how they ended, how long they were, how long they took.

Greedy requests must give the same output, so any of these is a difference. Sampled ones must not: there only a failure
on one side is. Latency against a record is shown but not judged, for the load around it was another.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from ridgeline.replay.paired import paired_quantile
from ridgeline.replay.shot import Outcome, Shot

Unit = Literal["token", "character"]
SPANS: Final = ("ttft_s", "e2e_s")
QUANTILES: Final = (0.5, 0.9, 0.99)
LISTED: Final = 20


@dataclass(frozen=True, slots=True)
class Pair:
    """One request on both sides; `differs` names what must not differ and does, the worst first."""

    rid: str
    greedy: bool
    differs: tuple[str, ...]
    at: int | None = None  # first place where the outputs part, from 0; None: they do not, or cannot be compared
    unit: Unit | None = None  # None: at least one side has no output to compare
    error: tuple[str | None, str | None] = (None, None)
    finish: tuple[str | None, str | None] = (None, None)
    tokens: tuple[int | None, int | None] = (None, None)


def first_difference(a: Sequence[Any], b: Sequence[Any]) -> int | None:
    """The first place where two sequences part, from 0; None where they are equal."""
    if a == b:
        return None
    least = min(len(a), len(b))
    low, high = 0, least
    while low < high:  # equal up to low, and parted by high
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def pair_of(shot: Shot, a: Outcome, b: Outcome, with_output: bool = True) -> Pair:
    """Compare the outcome `a` (recorded, or of the first target) with `b`.

    `with_output` is False where the prompts were drawn: then only how they ended is compared.
    """
    at: int | None = None
    unit: Unit | None = None
    if with_output and a.failure is None and b.failure is None:
        if a.output_ids is not None and b.output_ids is not None:
            unit, at = "token", first_difference(a.output_ids, b.output_ids)
        elif a.text is not None and b.text is not None:
            unit, at = "character", first_difference(a.text, b.text)
    differs: list[str] = []
    if a.error_class != b.error_class:
        differs.append("error")
    if shot.greedy and with_output and a.failure is None and b.failure is None:
        if at is not None:
            differs.append("output")
        if a.finish_reason and b.finish_reason and a.finish_reason != b.finish_reason:
            differs.append("finish_reason")
        if None not in (a.completion_tokens, b.completion_tokens) and a.completion_tokens != b.completion_tokens:
            differs.append("length")
    return Pair(
        shot.rid, shot.greedy, tuple(differs), at, unit, (a.error_class, b.error_class),
        (a.finish_reason, b.finish_reason), (a.completion_tokens, b.completion_tokens),
    )  # fmt: skip


@dataclass
class Comparison:
    """All pairs of a run, and their spans for the paired quantiles."""

    against: str
    judge_latency: bool
    pairs: list[Pair] = field(default_factory=list)
    spans: dict[str, tuple[list[float], list[float]]] = field(
        default_factory=lambda: {name: ([], []) for name in SPANS}
    )
    unpaired: int = 0
    notes: list[str] = field(default_factory=list)

    def add(self, shot: Shot, a: Outcome, b: Outcome, with_output: bool = True) -> Pair | None:
        """Take one pair in; one that we cut ourselves is not compared."""
        if {"cancelled", "local"} & {a.failure, b.failure}:
            self.unpaired += 1
            return None
        pair = pair_of(shot, a, b, with_output)
        self.pairs.append(pair)
        if a.failure is None and b.failure is None:
            for name in SPANS:
                left, right = getattr(a, name), getattr(b, name)
                if left is not None and right is not None:
                    self.spans[name][0].append(left)
                    self.spans[name][1].append(right)
        return pair

    def report(self) -> dict[str, Any]:
        """The comparison as plain data; `verdict` is same, different or nothing-comparable."""
        latency = {
            name: [asdict(found) for q in QUANTILES if (found := paired_quantile(*self.spans[name], q)) is not None]
            for name in SPANS
        }
        moved = [f"{name} p{round(100 * one['q'])} {one['verdict']}" for name in SPANS for one in latency[name]
                 if one["verdict"] in ("slower", "faster")]  # fmt: skip
        differing = [pair for pair in self.pairs if pair.differs]
        verdict = "same"
        if not self.pairs:
            verdict = "nothing-comparable"
        elif differing or (self.judge_latency and moved):
            verdict = "different"
        greedy = [pair for pair in self.pairs if pair.greedy]
        return {
            "against": self.against,
            "verdict": verdict,
            "pairs": len(self.pairs),
            "not_compared": self.unpaired,
            "differing": len(differing),
            "differences": dict(sorted(Counter(name for pair in differing for name in pair.differs).items())),
            "greedy": self._outputs(greedy),
            "sampled": self._outputs([pair for pair in self.pairs if not pair.greedy]),
            "finish_reasons": _sides([pair.finish for pair in self.pairs]),
            "errors": _sides([pair.error for pair in self.pairs]),
            "latency": latency,
            "latency_judged": self.judge_latency,
            "latency_moved": moved,
            "listed": [asdict(pair) for pair in sorted(differing, key=_weight)[:LISTED]],
            "notes": self.notes,
        }

    def _outputs(self, pairs: Sequence[Pair]) -> dict[str, Any]:
        compared = [pair for pair in pairs if pair.unit is not None]
        apart = [pair for pair in compared if pair.at is not None]
        at = sorted(pair.at for pair in apart if pair.at is not None)
        return {
            "pairs": len(pairs),
            "outputs_compared": len(compared),
            "outputs_parted": len(apart),
            "by_token": sum(pair.unit == "token" for pair in compared),
            "first_parting": at[0] if at else None,
            "median_parting": at[len(at) // 2] if at else None,
        }


def _sides(values: Sequence[tuple[str | None, str | None]]) -> dict[str, list[int]]:
    """Value → how often on side a and on side b."""
    a, b = Counter(left or "none" for left, _ in values), Counter(right or "none" for _, right in values)
    return {name: [a[name], b[name]] for name in sorted({*a, *b})}


def _weight(pair: Pair) -> tuple[int, int, str]:
    return (0 if "error" in pair.differs else 1, pair.at if pair.at is not None else 1 << 30, pair.rid)
