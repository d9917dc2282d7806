"""What is recommended, asked for and tried speaks the engine's own language, as text that can be used as it stands."""

import re
from itertools import pairwise

import pytest

from ridgeline.bundle.view import view_of
from ridgeline.causes import CAUSES
from ridgeline.facts.points import ready
from ridgeline.ladder.book import Book
from ridgeline.ladder.context import Context
from ridgeline.ladder.frame import Frame
from ridgeline.ladder.remedies import fitting
from ridgeline.ladder.served import Served, asked_for, served
from ridgeline.ladder.symptom import asked
from ridgeline.ladder.varying import varies
from ridgeline.model.cause import Remedy
from ridgeline.model.fact import Missing
from ridgeline.words.asks import COVERS, ask_of, filled
from ridgeline.words.launch import SGLANG_ARGS, VLLM_ARGS
from ridgeline.words.messages_asks_en import ASKS
from ridgeline.words.whatif import SWITCHED, SWITCHED_VLLM, VARY
from tests.causes.rows import decode, join, requests

CAP = Remedy("fix", "raise the running limit", "--max-running-requests", True)
ADMIT = Remedy("mitigate-now", "admit less at once: raise the conservativeness", "--schedule-conservativeness", True)
SGLANG, VLLM = Served("sglang", None), Served("vllm", None)
EMPTY = view_of({})
# SGLang's own words that must not reach the owner of a vLLM server.
FOREIGN = re.compile(
    r"--(?:max-running-requests|mem-fraction|schedule-conserv|log-requests|enable-metrics|chunked-prefill-size|"
    r"load-balance|enable-request-time|export-metrics|disable-radix|hicache|crash-dump|enable-mixed|page-size)"
    r"|/v1/loads|/get_load|/server_info|/configure_logging|ReqTimeStats|x-smg|SGLANG_|meta_info"
)


def test_an_sglang_server_gets_its_own_flags() -> None:
    assert fitting((CAP, ADMIT), SGLANG, EMPTY) == (CAP, ADMIT)


def test_a_vllm_server_gets_vllm_flags_or_is_told_there_is_none() -> None:
    cap, admit = fitting((CAP, ADMIT), VLLM, EMPTY)
    assert cap.flag == admit.flag == "--max-num-seqs"
    assert "lower the running limit" in admit.action
    (only,) = fitting((Remedy("fix", "a host tier", "--enable-hierarchical-cache", True),), VLLM, EMPTY)
    assert only.flag is None and "vLLM" in only.action


@pytest.mark.parametrize("cause", CAUSES, ids=lambda c: c.id)
def test_every_flag_is_text_that_can_be_typed(cause: object) -> None:
    usable = re.compile(r"--[a-z][a-z0-9-]*( [\w.]+([-.][\w.]+)*)?|[A-Z][A-Z0-9_]+=\w+")
    for remedy in cause.remedies:  # type: ignore[attr-defined]
        assert remedy.flag is None or usable.fullmatch(remedy.flag), remedy.flag
    for remedy in fitting(cause.remedies, VLLM, EMPTY):  # type: ignore[attr-defined]
        assert not FOREIGN.search(f"{remedy.action} {remedy.flag}"), remedy
        known = {a.flag for a in VLLM_ARGS} | {"--kv-cache-dtype", "--enable-prefix-caching", "--scheduling-policy"}
        assert remedy.flag is None or remedy.flag.partition(" ")[0] in known, remedy


def test_a_flag_fits_the_version_and_says_what_is_set() -> None:
    by_load = Remedy("fix", "balance by load", "--load-balance-method total_requests", True)
    late = Remedy("fix", "give decode some steps", "--prefill-decode-interval 4", True)
    (new,) = fitting((by_load,), Served("sglang", "0.5.23"), EMPTY)
    (old,) = fitting((by_load,), Served("sglang", "0.5.6"), EMPTY)
    assert (new.flag, old.flag) == ("--load-balance-method total_requests", "--load-balance-method shortest_queue")
    (none,) = fitting((late,), Served("sglang", "0.5.9"), EMPTY)
    assert none.flag is None and "came with 0.5.23" in none.action
    stated = view_of({"config": [{"source": 1, "line": 1, "key": "max_running_requests", "value": "12"}]})
    assert "set to 12 today" in fitting((CAP,), SGLANG, stated)[0].action


def test_placement_is_changed_where_it_is_decided() -> None:
    by_load = Remedy("fix", "balance by load", "--load-balance-method total_requests", True)
    two = [{"source": k, "server": f"s{k}", "engine": "sglang", "dp_size": 1, "role": "unified"} for k in (1, 2)]
    (gate,) = fitting((by_load,), SGLANG, view_of({"servers": two}))
    assert (gate.flag, gate.action) == ("--policy power_of_two", "balance by load, at the gateway")
    one = {"servers": [{**two[0], "dp_size": 2}]}
    (free,) = fitting((by_load,), SGLANG, view_of({**one, "requests": requests(5)}))
    assert (free.flag, free.action) == (by_load.flag, by_load.action)
    pinned = [{**row, "dp_rank_asked": 1} for row in requests(5)]
    (held,) = fitting((by_load,), SGLANG, view_of({**one, "requests": pinned}))
    assert "stop asking for a DP rank (5 of 5 requests do, and no method moves those)" in held.action


def test_the_engine_is_told_by_servers_else_by_the_kind_of_lines() -> None:
    assert served(view_of({"servers": [{"engine": "vllm"}]})).vllm
    assert served(view_of({"batches": [{**decode(1)[0], "kind": "stats"}]})).vllm
    assert not served(view_of({"batches": decode(3)})).vllm
    assert served(view_of({"series": [{"series": 1, "name": "x", "raw": "vllm:num_requests_running"}]})).vllm
    assert not served(view_of({"series": [{"series": 1, "name": "x", "raw": "sglang:num_running_reqs"}]})).vllm
    note = "vllm.log: times carry no year; read as 2000, an arbitrary one (give --year)"
    assert served(view_of({"sources": [{"source": 1, "kind": "log", "notes": [note]}]})).vllm
    assert served(view_of({"servers": [{"engine": "sglang", "version": "0.5.9"}]})).version == "0.5.9"


def test_many_times_of_requests_are_one_ask() -> None:
    lacks = [Missing(f"{name}_s of requests", "x") for name in ("queue", "prefill", "decode", "ttft", "e2e")]
    (one,) = asked_for(lacks, SGLANG)
    assert one.ask == "stages" and "--enable-request-time-stats-logging" in one.how
    (other,) = asked_for(lacks, VLLM)
    assert "--otlp-traces-endpoint" in other.how and not FOREIGN.search(other.how)


@pytest.mark.parametrize("name", ASKS)
def test_every_ask_speaks_each_engine_s_language(name: str) -> None:
    assert name in {ask for ask, _ in COVERS}
    signal, sglang, vllm = ASKS[name]
    assert not FOREIGN.search(f"{signal} {filled(vllm, None, 'vllm')}")
    for version in (None, "0.4.6.post5", "0.5.3", "0.5.9", "0.5.23"):
        assert not re.search(r"\{[a-z-]+\}", filled(sglang, version))


def test_an_unknown_signal_is_kept_as_it_is() -> None:
    assert ask_of("something else entirely") is None
    assert asked_for([Missing("something else entirely", "that")], SGLANG) == (
        Missing("something else entirely", "that"),
    )


def context(engine: str, **server: object) -> Context:
    stated = [{"source": 1, "line": 1, "engine": engine, "max_running": 12, "pool_tokens": 4096, **server}]
    view = view_of(join({"batches": decode(20, waiting=9, running=12), "requests": requests(5), "servers": stated}))
    return Context(Book(ready(view)), Frame(view, "none", None, None), asked("slow"), (), ())


@pytest.mark.parametrize("cause", sorted({*VARY, *SWITCHED}))
@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_what_is_tried_holds_today_s_setting_and_takes_the_server_s_names(cause: str, engine: str) -> None:
    tried = varies(context(engine), cause)
    if tried is None:
        assert engine == "vllm" or cause == "queue.limit-rejected"  # a limit nobody states has no multiples
        return
    from ridgeline.sim.settings import Settings
    from ridgeline.sim.whatif.variants import changed, variants

    words = tried.split()
    base = changed(Settings(engine=engine), [w for o, w in pairwise(words) if o == "--set"])
    axes = [w for o, w in pairwise(words) if o == "--vary"]
    assert len(variants(base, axes)) >= 2  # the simulator takes every one of them
    name = axes[0].partition("=")[0]
    own = {a.name for a in (VLLM_ARGS if engine == "vllm" else SGLANG_ARGS)} | {"max_total_num_tokens"}
    assert name in own, name
    assert cause in SWITCHED or cause in SWITCHED_VLLM or axes[0].partition("=")[2].split(",")[0]


def test_a_storm_is_met_with_less_at_once_and_a_cap_with_more() -> None:
    assert varies(context("vllm"), "memory.retraction-storm") == "--vary max_num_seqs=12,6,3"
    assert varies(context("sglang"), "memory.retraction-storm") == "--vary schedule_conservativeness=1,1.3,1.6"
    assert varies(context("sglang"), "queue.running-cap") == "--vary max_running_requests=12,18,24"
    assert varies(context("vllm", page_size=16), "memory.saturation") == "--vary num_gpu_blocks_override=256,320,384"
