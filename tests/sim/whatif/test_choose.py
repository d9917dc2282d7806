"""The cheapest change that is not clearly worse is chosen, and what is as good is named."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from ridgeline.sim.settings import SettingError, Settings
from ridgeline.sim.whatif.advise import advise
from ridgeline.sim.whatif.basis import Basis
from ridgeline.sim.whatif.beside import apart
from ridgeline.sim.whatif.choose import choose, mends
from ridgeline.sim.whatif.compare import compare, objective_of
from ridgeline.sim.whatif.contract import table
from ridgeline.sim.whatif.decide import Decision, decide, to_json
from ridgeline.sim.whatif.result import Comparison
from ridgeline.sim.whatif.sentence import of_remedy, without
from ridgeline.sim.whatif.variants import variants
from ridgeline.words.catalogue import said
from ridgeline.words.whatif import PRICES
from tests.sim.whatif.made import made_basis, pinned_basis


@cache
def pinned() -> Basis:
    """Two ranks, and every request asks for the first."""
    return pinned_basis(8)


@cache
def freed() -> Decision:
    return decide(pinned(), "routing.hot-key", "simulate", repeats=3, remedies=["--load-balance-method total_requests"])


def test_to_stop_asking_for_a_rank_goes_before_flags_and_servers() -> None:
    found = freed()
    assert found.verdict == "change" and found.price == "client" and found.flag is None
    assert found.sentence.startswith("Let the clients or the gateway stop asking for a DP rank: TTFT p90 ")
    assert any("no rank asked for" in name for name in found.equal) and "Equal within noise: " in found.sentence
    told = to_json(found)
    assert told["change"]["unpin"] is True and told["change"]["settings"] == {} and told["equal"] == list(found.equal)


def test_a_remedy_that_moves_nothing_is_called_so() -> None:
    said = "The diagnosis' remedy, --load-balance-method total_requests, was tried alone and changes nothing here"
    assert said in freed().sentence and "300 requests ask for a rank" in freed().sentence


@cache
def caps() -> Comparison:
    basis = made_basis()
    ways = variants(basis.settings, ("max_running_requests=9,16,64",))
    return compare(basis, ways, repeats=3, objective=objective_of("ttft_p90", ()))


def test_what_is_clearly_worse_is_not_taken_for_its_price() -> None:
    found = caps()
    nine, sixteen, most = found.runs[1:]
    cheap = choose([nine, most], found, {nine.variant.name: "client", most.variant.name: "server"})
    assert nine.score > 0.7 * most.score and cheap.chosen is most and cheap.less is nine
    alike = choose([sixteen, most], found, {sixteen.variant.name: "flag", most.variant.name: "server"})
    assert sixteen.score <= 0.9 * most.score and alike.chosen is sixteen and alike.less is None


def test_of_servers_the_least_is_taken_that_brings_the_good_time_back() -> None:
    """Without a good time to compare with, the least that gives most of what any gives."""
    basis = made_basis(settings=Settings(max_running_requests=4, max_total_num_tokens=60_000, router="round_robin",
                                         workers=2), rate=16.0)  # fmt: skip
    ways = variants(basis.settings, ("workers=3,4,6",))
    found = compare(basis, ways, objective=objective_of("ttft_p90", ()), repeats=2)
    price = dict.fromkeys((run.variant.name for run in found.runs[1:]), "server")
    helps = [run for run in found.runs[1:] if run.score < 0]
    three, _four, six = (run.figures["ttft_s"] for run in found.runs[1:])
    assert three is not None and six is not None and six["p90"] < three["p90"]
    easy = {"ttft_s": (three["p90"], three["p99"])}
    assert mends(found.runs[1], found, easy) and choose(helps, found, price, easy).chosen is found.runs[1]
    hard = {"ttft_s": (six["p90"], six["p99"])}
    chosen = choose(helps, found, price, hard).chosen
    assert mends(chosen, found, hard)
    assert helps.index(chosen) == min(helps.index(run) for run in helps if mends(run, found, hard))


def test_prices_rise_from_the_caller_to_the_servers() -> None:
    assert PRICES == ("client", "gateway", "flag", "memory", "server")


def test_the_table_has_the_figure_it_is_ranked_by_and_says_what_its_base_counts() -> None:
    basis = made_basis()
    assert basis.traffic is not None
    lost = basis.traffic.measured & (np.arange(300) % 10 != 3)
    basis = replace(basis, traffic=replace(basis.traffic, measured=lost))
    ways = variants(basis.settings, ("max_running_requests=16",))
    found = compare(basis, ways, over=np.arange(100, 200), objective=objective_of("ttft_p90", ()))
    statement = apart(found)
    assert statement is not None
    text = said(statement)
    assert "counts the 100 of 300 requests of the incident, 10 of them without TTFT" in text
    assert f"On the {int(lost[100:200].sum())} observed" in text
    lines = table(found, False)
    assert lines[0] == text and lines[1].startswith("100 of 300 requests") and "TTFT p90" in lines[2]
    assert apart(compare(made_basis(), variants(basis.settings, ()))) is None


def test_a_gateways_policy_is_refused_where_there_is_none() -> None:
    basis = made_basis(60)
    with pytest.raises(SettingError, match="there is no gateway in this evidence"):
        compare(basis, variants(basis.settings, ("router=power_of_two,cache_aware",)))
    both = compare(basis, variants(basis.settings, ("router=power_of_two", "workers=2")))
    assert len(both.runs) == 2


def test_vllm_gets_no_flag_of_the_other_gateway() -> None:
    vllm = Settings(engine="vllm", page_size=16, max_running_requests=8, max_total_num_tokens=60_000)
    found = decide(made_basis(settings=vllm), "queue.arrival-overload", "simulate", repeats=2)
    assert found.price == "server" and "servers and a load-aware router in front" in found.sentence
    assert "--policy" not in found.sentence


def test_nothing_that_helps_is_one_sentence_with_the_remedy() -> None:
    basis = made_basis()
    ways = variants(basis.settings, ("max_running_requests=6,4",))
    found = compare(basis, ways, repeats=3, objective=objective_of("ttft_p90", ()))
    remedy = of_remedy(["--max-running-requests", "--mem-fraction-static"], found, [], 0)
    told = said(without("memory.retraction-storm", found, remedy))
    assert told.startswith("None of the settings the cause suggests helps on this traffic (memory.retraction-storm; ")
    assert "The diagnosis' remedy, --max-running-requests, was tried alone and is worse here (+" in told
    assert "--mem-fraction-static" not in told


def test_a_remedy_that_helps_at_a_price_elsewhere_is_not_called_useless() -> None:
    found = decide(made_basis(), "decode.batch-growth", "simulate", repeats=2, remedies=["--max-running-requests"])
    assert "--max-running-requests, was tried alone and helps only at the cost of another figure (-" in found.sentence


def test_a_simulator_that_is_not_proven_orders_nothing() -> None:
    basis = made_basis()
    wrong = replace(basis, settings=replace(basis.settings, max_running_requests=3))
    told = decide(wrong, "queue.running-cap", "simulate", repeats=2)
    assert told.sentence.startswith("Not to be trusted on this traffic: ") and "Set " not in told.sentence
    assert "at most worth trying on one server first: --max-running-requests" in told.sentence
    found = compare(wrong, variants(wrong.settings, ("max_running_requests=32",)))
    assert advise(found).sentence.startswith("Not to be trusted on this traffic: ")
    assert "Set " not in advise(found).sentence
