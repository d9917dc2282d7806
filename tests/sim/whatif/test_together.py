"""Changes taken together where none below the price of a server mends alone."""

from dataclasses import replace
from functools import cache

from ridgeline.sim.whatif.basis import Basis
from ridgeline.sim.whatif.choose import removed
from ridgeline.sim.whatif.compare import compare, objective_of
from ridgeline.sim.whatif.decide import decide
from ridgeline.sim.whatif.hypotheses import Hypothesis, hypotheses
from ridgeline.sim.whatif.result import Comparison
from ridgeline.sim.whatif.together import adds, joined, merged, pairs
from ridgeline.sim.whatif.variants import Variant
from tests.sim.whatif.made import pinned_basis

CALM = {"ttft_s": (0.1, 0.2), "tpot_s": (0.05, 0.08), "e2e_s": (4.0, 7.0)}


@cache
def pinned() -> Basis:
    """Two ranks whose limit is too low for the traffic even where all of it does not ask for the first."""
    return pinned_basis(3)


@cache
def tried() -> tuple[Comparison, dict[str, Hypothesis]]:
    basis = pinned()
    tries = hypotheses("routing.hot-key", basis.settings, basis.pinned)
    ways = [Variant((), basis.settings), *(one.variant for one in tries)]
    found = compare(basis, ways, repeats=2, objective=objective_of("ttft_p90", ()))
    return found, {one.variant.name: one for one in tries}


def test_the_next_limit_is_lifted_beside_the_change_that_helps_most() -> None:
    found, tries = tried()
    helps = [run for run in found.runs[1:] if run.score < 0]
    told = pairs(helps, found, tries, CALM)
    both = [one for one in told if one.variant.unpin and dict(one.variant.changes) == {"max_running_requests": 6}]
    assert len(both) == 1 and both[0].price == "flag"
    assert "larger batches: each token takes longer" in both[0].risk.split("; ")
    names = [one.variant.name for one in told]
    assert len(names) == len(set(names)) and not set(names) & set(tries)


def test_what_mends_alone_and_an_unknown_good_time_ask_for_no_second_round() -> None:
    found, tries = tried()
    helps = [run for run in found.runs[1:] if run.score < 0]
    easy = {"ttft_s": (found.base.figures["ttft_s"]["p90"] / 1.3, 1e9)}  # type: ignore[index]
    assert pairs(helps, found, tries, easy) == [] and pairs(helps, found, tries, None) == []


def test_a_setting_is_preferred_to_servers_where_both_remove_the_harm() -> None:
    arrival = pinned().traffic
    assert arrival is not None
    found = decide(pinned(), "routing.hot-key", "simulate", repeats=2, seen=CALM)
    assert found.verdict == "change" and found.price == "flag" and found.chosen is not None
    assert found.chosen.variant.unpin and found.chosen.variant.settings.max_running_requests > 3
    assert found.comparison is not None
    alone = next(run for run in found.comparison.runs if run.variant.unpin and not run.variant.changes)
    assert removed(found.chosen, found.comparison, CALM) > removed(alone, found.comparison, CALM) + 0.2


def test_a_pair_that_gives_no_more_than_a_part_is_left_out() -> None:
    found, tries = tried()
    base = found.base.variant.settings
    lead = next(one for one in tries.values() if one.variant.unpin and not one.variant.changes)
    idle = Hypothesis(Variant((("max_total_num_tokens", 90_000),), replace(base, max_total_num_tokens=90_000)),
                      "memory", "")  # fmt: skip
    both = joined(lead, idle, base)
    assert both is not None and both.price == "memory" and both.variant.unpin
    further = compare(pinned(), [Variant((), base), both.variant], repeats=2, objective=found.objective)
    assert not adds(further.runs[1], found, CALM)
    assert merged(found, further, CALM).runs[1:] and len(merged(found, further, CALM).runs) == len(found.runs)
