"""A finding is low where the one question that tells it from a rival is not in the evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ridgeline.causes import BY_ID
from ridgeline.facts.make import lacking
from ridgeline.ladder.judge import Judgement, judge
from ridgeline.ladder.rivals import weighed
from ridgeline.model.cause import Sign
from ridgeline.model.fact import Fact, Statement

PLAIN = Statement("series")


def judged(cause: str, answers: dict[str, Any]) -> Judgement:
    """The cause as it is judged where these measures have these values and every other one is not known."""

    def of(sign: Sign) -> Fact:
        if sign.measure not in answers:
            return replace(lacking("it", "how"), measure=sign.measure, args=sign.args)
        return Fact(sign.measure, answers[sign.measure], "", PLAIN, sign.args, 10, kinds=("log", "metrics"))

    return judge(BY_ID[cause], of, baseline=True)


CAPPED = {"queued": True, "at_cap_share": 1.0, "usage_when_queued": 0.1, "slots_held": False, "running_cap": 14}


def of_running_cap(**more: Any) -> tuple[Judgement, ...]:
    both = [judged(c, {**CAPPED, **more}) for c in ("queue.running-cap", "queue.priority-starvation")]
    return weighed(both)


def test_a_full_limit_is_low_where_priorities_are_on_and_not_seen() -> None:
    cap, _ = of_running_cap(switched_on=True)
    assert cap.holds
    assert cap.confidence == "low"
    assert "unheard-rival: queue.priority-starvation" in cap.caps


def test_it_stays_as_sure_as_it_is_where_they_are_off_or_seen() -> None:
    assert of_running_cap(switched_on=False)[0].confidence != "low"
    assert of_running_cap(switched_on=True, priority_gap=1.0)[0].confidence != "low"
    assert of_running_cap()[0].confidence != "low"  # nothing speaks for priorities


def test_what_a_doubted_finding_explains_is_doubted_too() -> None:
    grown = {"change": 1.3, "step_excess": 1.0}
    names = ("queue.running-cap", "queue.priority-starvation", "decode.batch-growth")
    known = {**CAPPED, **grown}
    growth = weighed([judged(name, {**known, "switched_on": True}) for name in names])[2]
    assert growth.confidence == "low" or not growth.holds
    assert not any(
        "unheard" in cap for cap in weighed([judged(n, {**known, "switched_on": False}) for n in names])[2].caps
    )
