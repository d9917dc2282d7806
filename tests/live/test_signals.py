"""What is on and what is off, told from real HTTP answers."""

import json
from collections.abc import Iterator

import pytest

from ridgeline.live.probe import Server, probe
from ridgeline.live.signals import Survey, survey
from tests.live.serving import Engine, Handler, serving

QUIET = {"enable_metrics": True, "log_requests": False, "log_requests_level": 2, "enable_trace": False,
         "enable_request_time_stats_logging": False, "export_metrics_to_file": False, "crash_dump_folder": "",
         "enable_cache_report": False}  # fmt: skip


def of(engine: Engine) -> Survey:
    with serving(engine) as url:
        (server,) = probe([url])
    return survey(server)


def states(found: Survey) -> dict[str, str]:
    return {signal.name: signal.state for signal in found.signals}


def test_metrics_alone_leave_the_classes_blind() -> None:
    found = of(Engine(settings=QUIET))
    state = states(found)
    assert (found.server.engine, found.server.version, found.server.role) == ("sglang", "0.5.9", "unified")
    assert state["metrics"] == state["loads"] == state["server-info"] == "on"
    assert state["request-log"] == state["exporter"] == state["time-stats"] == state["traces"] == "off"
    assert state["request-params"] == "off"
    assert state["metrics-fine-buckets"] == "off"  # the first TTFT bound is 0.1 s
    assert state["server-log"] == "unknown"
    assert {r.rung: r.sees for r in found.rungs} == {"A1": "yes", "A2": "yes", "A3": "no", "C": "yes", "D": "yes"}
    assert found.blind
    way = next(s.way for s in found.signals if s.name == "request-log")
    assert way is not None and way.how.startswith("--log-requests --log-requests-format json")
    assert "cache_hit_rate" not in dict(found.traps) and "num_running_reqs" in dict(found.traps)


def test_a_request_log_opens_its_eyes() -> None:
    found = of(Engine(settings={**QUIET, "log_requests": True, "log_requests_level": 1}))
    assert states(found)["request-log"] == states(found)["request-params"] == "on"
    assert not found.blind


def test_what_the_version_lacks_is_absent_and_not_off() -> None:
    found = of(Engine(version="0.5.3", settings={"log_requests": False}))
    assert states(found)["exporter"] == states(found)["forward-passes"] == "absent"


def test_what_cannot_be_seen_is_unknown() -> None:
    """Without /server_info nothing is known of the request log: perhaps, not blind."""
    engine = Engine()
    engine.faults["/server_info"] = lambda handler: handler.answer(404, b"")
    found = of(engine)
    assert states(found)["server-info"] == "off" and states(found)["request-log"] == "unknown"
    assert next(r for r in found.rungs if r.rung == "A3").sees == "perhaps"
    assert not found.blind


def test_a_prefill_server_is_asked_for_its_queues() -> None:
    found = of(Engine(settings={**QUIET, "disaggregation_mode": "prefill"}))
    assert found.server.role == "prefill" and states(found)["pd-queues"] == "on"
    assert any(r.rung == "B3" for r in found.rungs)


def test_metrics_off_and_a_server_in_trouble() -> None:
    engine = Engine(settings=QUIET)
    engine.faults["/metrics"] = lambda handler: handler.answer(404, b"")
    engine.faults["/health"] = lambda handler: handler.answer(503, b"")
    engine.faults["/v1/loads"] = lambda handler: handler.answer(500, b"")
    found = of(engine)
    assert states(found)["metrics"] == "off" and states(found)["loads"] == "unknown"
    assert any("HTTP 503" in note for note in found.notes)


@pytest.fixture
def vllm() -> Iterator[Server]:
    engine = Engine()

    def metrics(handler: Handler) -> None:
        text = (
            '# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine="0"} 3.0\n'
            '# TYPE vllm:kv_cache_usage_perc gauge\nvllm:kv_cache_usage_perc{engine="0"} 0.4\n'
        )
        handler.answer(200, text.encode())

    for path in ("/v1/loads", "/server_info", "/model_info"):
        engine.faults[path] = lambda handler: handler.answer(404, b"")
    engine.faults["/metrics"] = metrics
    engine.faults["/version"] = lambda handler: handler.answer(200, json.dumps({"version": "0.32.0"}).encode())
    with serving(engine) as url:
        yield probe([url])[0]


def test_vllm_is_known_by_its_metrics(vllm: Server) -> None:
    found = survey(vllm)
    assert (vllm.engine, vllm.version) == ("vllm", "0.32.0")
    assert states(found)["metrics"] == "on" and states(found)["request-log"] == "unknown"
    assert "kv_cache_usage_perc" in dict(found.traps)
    assert not found.blind


def test_nobody_there_is_blind() -> None:
    (server,) = probe(["http://127.0.0.1:9"])
    found = survey(server)
    assert found.blind and found.notes == ("no endpoint answers; is the server up and the port right?",)
