"""`ridgeline capture` against real HTTP on loopback: what is read, what survives, what is never sent."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from ridgeline.bundle.open import open_sources
from tests.live.bad_answers import away, garbage, half, hang, huge
from tests.live.running import end_all, start, until
from tests.live.serving import Engine, Handler, serving

LINE = ("[2026-11-30 03:38:01 TP0] Decode batch, #running-req: 8, #token: 1834, token usage: 0.01, cuda graph: True, "
        "gen throughput (token/s): 810.55, #queue-req: 0\n")  # fmt: skip


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    yield
    end_all()


def run(*arguments: str | Path) -> tuple[int, str, str]:
    process = start("capture", *arguments)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def count(folder: Path, sql: str) -> int:
    return int(open_sources([str(folder)]).one(sql)[0])


def test_a_capture_is_a_bundle(tmp_path: Path) -> None:
    engine = Engine(ranks=2)
    (tmp_path / "s.log").write_text(LINE)
    out_dir = tmp_path / "out"
    with serving(engine) as url:
        status, out, err = run(url, "-o", out_dir, "--for", "4s", "--every", "500ms", "--logs", tmp_path / "s.log",
                               "--format", "json")  # fmt: skip
    assert status == 0, err
    said = json.loads(out)
    assert said["gaps"] == 0 and said["answers"] >= 8
    view = open_sources([str(out_dir)])
    kinds = {kind for (kind,) in view.query("SELECT kind FROM sources")}
    assert kinds >= {"exposition", "loads", "server-info", "health", "log"}
    assert view.one("SELECT count(DISTINCT ts) FROM scrapes WHERE endpoint = '/metrics'")[0] >= 4
    assert view.one("SELECT count(*) FROM batches")[0] == 1
    assert {method for method, _, _ in engine.seen} == {"GET"}
    assert not (out_dir / "raw").exists()
    secret = [p for p in out_dir.rglob("*") if p.is_file() and b"sk-secret-9" in p.read_bytes()]
    assert not secret and "version" in {key for (key,) in view.query("SELECT key FROM config")} | {"version"}


def test_sigterm_seals_and_kill_leaves_it_readable(tmp_path: Path) -> None:
    engine = Engine()
    with serving(engine) as url:
        soft, hard = (start("capture", url, "-o", tmp_path / name, "--every", "200ms") for name in ("soft", "hard"))
        until(lambda: sum(path == "/metrics" for _, path, _ in engine.seen) >= 20)
        soft.send_signal(signal.SIGTERM)
        hard.send_signal(signal.SIGKILL)
        assert soft.wait(60) == 0, soft.stderr
        hard.wait(60)
        for process in (soft, hard):
            process.communicate()
    assert (tmp_path / "soft" / "manifest.json").exists()
    unsealed = count(tmp_path / "hard" / "raw", "SELECT count(*) FROM scrapes WHERE endpoint = '/metrics' AND ok")
    assert unsealed >= 5
    status, _, err = run("--seal", tmp_path / "hard")
    assert status == 0, err
    assert count(tmp_path / "hard", "SELECT count(*) FROM scrapes WHERE endpoint = '/metrics' AND ok") == unsealed
    assert run("--seal", tmp_path / "hard")[0] == 0  # a second time changes nothing


def test_a_terminal_that_goes_away_ends_it_in_order(tmp_path: Path) -> None:
    """The line to the machine drops: what was captured is sealed, and raised logging is put back."""
    # A process of one thread forks behind a terminal of its own, closes it when told, and passes the status on.
    code = (
        "import os, pty, signal, sys\n"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever runs the tests may be deaf to it\n"
        "child, terminal = pty.fork()\n"
        "if child == 0: os.execv(sys.executable, [sys.executable, '-m', 'ridgeline', *sys.argv[1:]])\n"
        "sys.stdin.readline(); os.close(terminal)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    engine = Engine(settings={"log_requests": False, "log_requests_level": 0})
    with serving(engine) as url:
        command = [sys.executable, "-c", code, "capture", url, "-o", str(tmp_path / "out"), "--every", "200ms"]
        with subprocess.Popen([*command, "--raise-logging"], stdin=subprocess.PIPE, text=True) as behind:
            until(lambda: sum(path == "/metrics" for _, path, _ in engine.seen) >= 6)
            assert behind.stdin is not None
            behind.stdin.write("\n")
            behind.stdin.flush()
            try:
                assert behind.wait(60) == 0
            finally:
                behind.kill()
    assert (tmp_path / "out" / "manifest.json").exists()
    posts = [json.loads(body) for method, _, body in engine.seen if method == "POST"]
    assert posts == [{"log_requests": True, "log_requests_level": 1}, {"log_requests": False, "log_requests_level": 0}]
    assert count(tmp_path / "out", "SELECT count(*) FROM scrapes WHERE endpoint = '/metrics' AND ok") >= 5


@pytest.mark.parametrize("seed", range(3))
def test_killed_at_random_no_answer_that_was_written_is_lost(tmp_path: Path, seed: int) -> None:
    """kill -9 at a random moment: every answer but those on their way is there, before the seal and after it."""
    rng, engine, log = Random(seed), Engine(ranks=2), tmp_path / "s.log"
    log.write_text(LINE)
    with serving(engine) as url:
        process = start("capture", url, "-o", tmp_path / "out", "--every", "100ms", "--logs", log)
        until(lambda: sum(path == "/metrics" for _, path, _ in engine.seen) >= 10)
        time.sleep(rng.uniform(0.0, 1.5))
        answered = sum(path == "/metrics" for _, path, _ in engine.seen)
        process.kill()
        process.communicate()
    raw, sealed = tmp_path / "out" / "raw", tmp_path / "out"
    wanted = "SELECT count(*) FROM scrapes WHERE endpoint = '/metrics' AND ok"
    kept = count(raw, wanted)
    assert answered - 1 <= kept, (answered, kept)
    assert count(raw, "SELECT count(*) FROM batches") == 1
    status, _, err = run("--seal", sealed)
    assert status == 0, err
    assert count(sealed, wanted) == kept and count(sealed, "SELECT count(*) FROM batches") == 1


def test_endpoints_in_trouble_cost_only_themselves(tmp_path: Path) -> None:
    good = Engine()
    bad = {"hangs": hang, "half": half, "huge": huge, "away": away, "garbage": garbage}
    engines = {name: Engine(faults={"/metrics": fault}) for name, fault in bad.items()}
    from contextlib import ExitStack

    with ExitStack() as stack:
        urls = {name: stack.enter_context(serving(engine)) for name, engine in engines.items()}
        fine = stack.enter_context(serving(good))
        status, out, err = run(fine, *urls.values(), "http://127.0.0.1:9", "-o", tmp_path / "out", "--for", "4s",
                               "--every", "500ms", "--format", "json")  # fmt: skip
    assert status == 0, err
    said = json.loads(out)
    assert "more than 16 MiB" in said["refused"][f"{urls['huge']}/metrics"]
    assert f"{urls['half']}/metrics" in said["refused"] and f"{urls['garbage']}/metrics" in said["refused"]
    view = open_sources([str(tmp_path / "out")])
    ok = view.one("SELECT count(*) FROM scrapes s JOIN sources USING (source) WHERE ok AND endpoint = '/metrics'")[0]
    assert ok >= 5  # the good one was asked on time all the while
    gaps = view.query("SELECT DISTINCT error FROM scrapes WHERE NOT ok AND status IS DISTINCT FROM 200")
    assert len(gaps) >= 3  # gaps are rows, and say why
    assert sum(p.stat().st_size for p in (tmp_path / "out").rglob("*") if p.is_file()) < 8 << 20


def test_labels_change_and_a_server_restarts(tmp_path: Path) -> None:
    engine = Engine()
    with serving(engine) as url:
        process = start("capture", url, "-o", tmp_path / "out", "--every", "200ms")
        until(lambda: sum(path == "/metrics" for _, path, _ in engine.seen) >= 4)
        engine.labels = ',pod="b"'
        engine.restart()
        seen = len(engine.seen)
        until(lambda: len(engine.seen) > seen + 8)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    labels = open_sources([str(tmp_path / "out")]).query("SELECT DISTINCT labels ->> 'pod' FROM series")
    assert {None, "b"} <= {pod for (pod,) in labels}


def test_logging_is_raised_only_where_allowed_and_put_back(tmp_path: Path) -> None:
    engine = Engine(settings={"log_requests": False, "log_requests_level": 0})
    with serving(engine) as url:
        process = start("capture", url, "-o", tmp_path / "out", "--raise-logging", "--every", "200ms")
        until(lambda: any(m == "POST" for m, _, _ in engine.seen))
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    posts = [json.loads(body) for method, path, body in engine.seen if (method, path) == ("POST", "/configure_logging")]
    assert posts == [{"log_requests": True, "log_requests_level": 1}, {"log_requests": False, "log_requests_level": 0}]
    assert process.returncode == 0 and "logging is as it was" in err
    status, _, err = run("http://192.0.2.7:30000", "-o", tmp_path / "far", "--raise-logging", "--for", "1s")
    assert status == 1 and "--allow-host 192.0.2.7" in err and not (tmp_path / "far").exists()


def test_killed_with_logging_raised_the_seal_says_how_to_put_it_back(tmp_path: Path) -> None:
    engine = Engine(settings={"log_requests": False, "log_requests_level": 0})
    with serving(engine) as url:
        process = start("capture", url, "-o", tmp_path / "out", "--raise-logging", "--every", "200ms")
        until(lambda: sum(path == "/metrics" for _, path, _ in engine.seen) >= 2)
        process.kill()
        process.communicate()
    status, _, err = run("--seal", tmp_path / "out")
    assert status == 0 and f"curl -X POST {url}/configure_logging" in err


def test_otlp_is_received_on_loopback(tmp_path: Path) -> None:
    process = start("capture", "-o", tmp_path / "out", "--otlp", "0")
    assert process.stderr is not None
    line = process.stderr.readline()
    address = line.split()[-1]
    now = time.time_ns()
    span = {"traceId": "a" * 32, "spanId": "b" * 16, "name": "llm_request", "startTimeUnixNano": str(now),
            "endTimeUnixNano": str(now + 10**9), "attributes": []}  # fmt: skip
    body = json.dumps(
        {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"spans": [span]}]}]}, indent=2
    )
    for kind, data, wanted in (("application/json", body.encode(), 200), ("application/json", b"{", 400)):
        request = urllib.request.Request(address, data, {"Content-Type": kind}, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                assert answer.status == wanted
        except urllib.error.HTTPError as e:
            with e:
                assert e.code == wanted
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert count(tmp_path / "out", "SELECT count(*) FROM spans") == 1


def test_the_past_out_of_a_prometheus(tmp_path: Path) -> None:
    engine = Engine()

    def answer(handler: Handler) -> None:
        values = [[1796000000 + 15 * k, str(k % 7)] for k in range(40)]
        result = [{"metric": {"__name__": "sglang:num_running_reqs", "instance": "a:1"}, "values": values}]
        found = result if "sglang" in handler.path else []
        handler.answer(
            200, json.dumps({"status": "success", "data": {"resultType": "matrix", "result": found}}).encode()
        )

    engine.faults["/api/v1/query_range"] = answer
    with serving(engine) as url:
        status, _, err = run("-o", tmp_path / "out", "--prometheus", url, "--from", "1796000000", "--to", "1796000600")
    assert status == 0, err
    assert count(tmp_path / "out", "SELECT count(*) FROM samples") == 40


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("http://127.0.0.1:9", "-o", "OUT", "--for", "1s"), "no endpoint answered"),
        (("-o", "OUT"), "nothing to capture"),
        (("localhost:1", "-o", "OUT"), "not a server's URL"),
        (("http://127.0.0.1:9",), "-o is missing"),
        (("-o", "OUT", "--prometheus", "http://127.0.0.1:9"), "needs --from and --to"),
        (("--seal", "OUT"), "no unsealed capture"),
        (("http://127.0.0.1:9", "-o", "FULL"), "is not empty"),
        (("http://127.0.0.1:9", "-o", "OUT", "--logs", "a.log", "b.log"), "quote the pattern"),
        (("http://127.0.0.1:9", "FULL", "-o", "OUT"), "to follow it write --logs"),
    ],
)
def test_bad_arguments_are_one_line(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    places = {"OUT": str(tmp_path / "out"), "FULL": str(tmp_path / "full")}
    status, _, err = run(*(places.get(a, a) for a in arguments))
    assert status == 1 and says in err and err.count("\n") == 1, err


def test_a_pattern_that_the_shell_made_words_of(tmp_path: Path) -> None:
    """Unquoted, `--logs DIR/*.log` comes as several words: all are logs. The sealed folder is not written again."""
    for second, name in enumerate(("a.log", "b.log", "c.log")):
        (tmp_path / name).write_text(LINE.replace("03:38:01", f"03:38:0{second}"))
    with serving(Engine()) as url:
        logs = [tmp_path / name for name in ("a.log", "b.log", "c.log")]
        status, _, err = run(url, "-o", tmp_path / "out", "--for", "1s", "--logs", *logs)
    assert status == 0, err
    assert count(tmp_path / "out", "SELECT count(DISTINCT ts) FROM batches") == 3
    status, _, err = run("http://127.0.0.1:9", "-o", tmp_path / "out")
    assert status == 1 and "holds a bundle already" in err and "seal" not in err.split("already")[1], err


def test_a_full_disk_ends_it_with_one_line_and_keeps_what_was_written(tmp_path: Path) -> None:
    """A limit on the size of files stands in for the disk: writes fail with EFBIG as they would with ENOSPC."""
    engine = Engine(padding=400_000)
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (30000, 30000)); from ridgeline.cli import main; main(sys.argv[1:])"
    )
    with serving(engine) as url:
        command = [sys.executable, "-c", code, "capture", url, "-o", str(tmp_path / "out"), "--every", "200ms"]
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([*command, "--for", "20s"], capture_output=True, text=True, timeout=90, check=False,
                              env=environment)  # fmt: skip
    assert done.returncode == 1
    assert "cannot be written" in done.stderr and "--seal" in done.stderr and done.stderr.count("\n") == 1
    assert run("--seal", tmp_path / "out")[0] == 0
    assert count(tmp_path / "out", "SELECT count(*) FROM scrapes WHERE endpoint = '/metrics' AND ok") >= 1


def test_without_the_extra_one_line_names_it(tmp_path: Path) -> None:
    for verb in ("capture", "watch"):
        code = (
            "import sys; sys.modules['aiohttp'] = None\nfrom ridgeline.cli import main\n"
            f"main(['{verb}', *sys.argv[1:]])"
        )
        command = [sys.executable, "-c", code, "http://127.0.0.1:9", "-o", str(tmp_path / verb), "--for", "1s"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 1 and "pip install 'ridgeline[live]'" in done.stderr, done.stderr
        assert done.stderr.count("\n") == 1
