"""Where and whom: places of a finding's own signs, and a class only where it is clearly apart from the rest."""

from __future__ import annotations

from typing import Any

import pytest

from ridgeline.bundle.view import view_of
from ridgeline.facts import ask
from ridgeline.ladder.diagnose import diagnose
from ridgeline.ladder.scope import places
from ridgeline.model.fact import Fact, Statement
from tests.causes.rows import Tables, decode, event, join, requests


def naming(measure: str, **figures: str) -> Fact:
    return Fact(measure, 1.0, "", Statement(measure, tuple(sorted(figures.items()))))


def affected(who: str, **values: Any) -> str:
    return str(ask(view_of(join({"requests": requests(200, **values)})), "affected", (("who", who),)).value)


SLOW = [8.0 if i % 5 == 0 else 0.2 for i in range(20)]
FIFTH = ["hot" if i % 5 == 0 else f"k{i % 3}" for i in range(20)]


def test_a_place_is_a_rank_or_one_of_several_servers() -> None:
    fact = naming("free_places", place="10.4.0.12 unified DP1")
    several, one = ("10.4.0.11", "10.4.0.12"), ("10.4.0.12",)
    assert places(("dp_rank", "worker"), several, [fact]) == (("dp_rank", ("1",)), ("worker", ("10.4.0.12",)))
    assert places(("dp_rank", "worker"), one, [fact]) == (("dp_rank", ("1",)),)
    spread = naming("scattered", worker="10.4.0.11, 10.4.0.12")
    assert places(("worker",), several, [spread]) == (("worker", several),)
    assert places(("server",), several, [naming("event_count", peer="10.4.0.11:8998")]) == (
        ("server", ("10.4.0.11:8998",)),
    )


def test_a_class_is_named_where_it_holds_most_of_those_hit_and_little_else() -> None:
    assert affected("ttft_s", ttft_s=SLOW, routing_key=FIFTH) == "routing_key=hot"


@pytest.mark.parametrize(
    "values",
    [
        {"ttft_s": SLOW, "routing_key": ["a", "b", "c"]},  # hit as often as the others
        {"ttft_s": [8.0] * 20, "routing_key": FIFTH},  # all are hit alike
        {"ttft_s": SLOW, "routing_key": None},
        # no more than its lengths explain: others of such a length are as slow
        {"ttft_s": [8.0 if i % 5 < 2 else 0.2 for i in range(20)], "routing_key": FIFTH,
         "prompt_tokens": [16000 if i % 5 < 2 else 500 for i in range(20)]},
    ],
)  # fmt: skip
def test_no_class_is_named_where_none_is_apart(values: dict[str, Any]) -> None:
    assert "routing_key" not in affected("ttft_s", **values)


def test_what_counts_as_hit_follows_from_the_cause() -> None:
    assert affected("missed", cached_tokens=[0, 400, 400, 400, 400], client=["b", "a", "a", "a", "a"]) == "client=b"
    failed = {"state": ["error", "finished"], "schema_set": [True, False]}
    assert affected("failed", **failed) == "schema_set=true"
    assert affected("unlimited", max_new_tokens=[None, 64, 64, 64], client=["b", "a", "c", "d"]) == "client=b"
    assert affected("longer", prompt_tokens=[500] * 19 + [32000]) == "prompt_tokens=> 500"


def test_custom_labels_are_attributes_of_requests() -> None:
    rows = requests(200, ttft_s=SLOW)
    labels = [
        {
            "request": r["request"],
            "rid": r["rid"],
            "name": "label.client",
            "value": FIFTH[i % 20],
            "source": 2,
            "line": i,
        }
        for i, r in enumerate(rows)
    ]
    view = view_of(join({"requests": rows, "request_attrs": labels}))
    assert ask(view, "affected", (("who", "ttft_s"),)).value == "label.client=hot"
    assert ask(view, "slow_class").value == "label.client=hot"


def test_a_finding_says_its_scope_and_cites_what_says_so() -> None:
    rows = requests(200, state=["error", "finished"], schema_set=[True, False], abort_message=["boom", None],
                    status_code=[500, 200], finish_reason=["abort", "stop"])  # fmt: skip
    tables: Tables = {"requests": rows, "batches": decode(40)}
    d = diagnose(view_of(join(tables)), "errors")
    assert d.findings[0].cause == "fault.abort"
    assert dict(d.findings[0].scope)["schema_set"] == ("true",)
    cited = {fact.measure for name, fact in d.evidence if name in d.findings[0].evidence}
    assert "affected" in cited


def test_what_only_loses_to_a_twin_is_not_called_ruled_out() -> None:
    lost = event("peer-lost", text="Lost connection with prefill instance", peer="10.4.0.11:8998")
    d = diagnose(view_of(join({"events": lost})), "disagg")
    assert dict(d.findings[0].scope) == {"server": ("10.4.0.11:8998",)}
    proven = {cause for cause, _ in d.ruled_out}
    assert {c for a in d.ladder for c in a.ruled_out} <= proven
