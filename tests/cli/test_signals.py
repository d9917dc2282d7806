"""`ridgeline signals` in its three forms."""

import json
import subprocess
import sys

from tests.live.serving import Engine, serving


def run(*arguments: str) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, "-m", "ridgeline", "signals", *arguments], capture_output=True, text=True,
                          timeout=60, check=False)  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def test_json_is_a_contract() -> None:
    engine = Engine(settings={"log_requests": True, "log_requests_level": 1})
    with serving(engine) as url:
        status, out, err = run(url, "--format", "json")
    found = json.loads(out)
    assert status == 0, err
    assert found["schema"] == "ridgeline.signals/1" and found["blind"] is False
    (server,) = found["servers"]
    log = next(s for s in server["signals"] if s["signal"] == "exporter")
    assert log["state"] == "unknown" and log["needs_restart"] and log["how"].startswith("--export-metrics-to-file")
    assert {m for m, _, _ in engine.seen} == {"GET"}
    assert "sk-secret-9" not in out


def test_text_and_markdown_name_the_flag() -> None:
    with serving(Engine(settings={"log_requests": False, "export_metrics_to_file": False, "enable_trace": False,
                                  "enable_request_time_stats_logging": False})) as url:  # fmt: skip
        status, out, _ = run(url)
        assert status == 3 and "--log-requests" in out and "A3" in out
        status, out, _ = run(url, "--format", "md")
        assert status == 3 and "| request-log | off |" in out


def test_what_is_on_but_at_no_endpoint_is_handed_over() -> None:
    with serving(Engine(settings={"log_requests": True, "enable_trace": True, "export_metrics_to_file": False})) as url:
        _, out, _ = run(url)
        (server,) = json.loads(run(url, "--format", "json")[1])["servers"]
        assert f"ridgeline capture {url} -o DIR --logs LOG --otlp 4318" in out
        assert server["hand_over"][0].startswith("request-log, traces: on, but no endpoint shows them")
        assert f"ridgeline capture {url}" in run(url, "--format", "md")[1].replace("\\", "")


def test_bad_arguments_are_one_line() -> None:
    for arguments, says in (((), "no server was given"), (("localhost:1",), "not a server's URL")):
        status, _, err = run(*arguments)
        assert status == 1 and says in err and err.count("\n") == 1
