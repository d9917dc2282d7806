"""`ridgeline watch` over real HTTP: something happens, it is sealed, diagnosed and told within seconds."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.live.bad_answers import away, half, huge
from tests.live.running import end_all, start, until
from tests.live.serving import Engine, Handler, serving


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    yield
    end_all()


def lines_of(process: subprocess.Popen[str]) -> list[str]:
    """Standard error as it comes."""
    lines: list[str] = []
    assert process.stderr is not None
    stream = process.stderr
    threading.Thread(target=lambda: lines.extend(iter(stream.readline, "")), daemon=True).start()
    return lines


def test_an_incident_is_sealed_diagnosed_told_and_after_the_fix_called_over(tmp_path: Path) -> None:
    """The whole way: a good time, an onset, sealed within seconds, diagnosed, told; the fix, a capture, a verdict."""
    told = tmp_path / "told.py"
    told.write_text("import os, sys, pathlib\n"
                    "pathlib.Path(sys.argv[1] + '.told').write_text(os.environ['RIDGELINE_CAUSE'])\n")  # fmt: skip
    engine = Engine(ranks=2, settings={"max_running_requests": 16})
    with serving(engine) as url:
        process = start("watch", url, "-o", tmp_path / "out", "--every", "250ms", "--after", "5s", "--on-incident",
                        f"{sys.executable} {told}")  # fmt: skip
        lines = lines_of(process)
        until(lambda: sum(path == "/metrics" for _, path, _ in engine.seen) >= 1)
        time.sleep(23)
        engine.advance()
        onset = time.time()
        engine.running, engine.waiting, engine.ttft_s = 16.0, 70.0, 4.0
        until(lambda: any(": sealed;" in line for line in lines))
        engine.advance()
        engine.running, engine.waiting, engine.ttft_s = 4.0, 0.0, 0.15
        until(lambda: list((tmp_path / "out").glob("*.told")))
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 2
        process.communicate()
        after = [sys.executable, "-m", "ridgeline", "capture", url, "-o", tmp_path / "after", "--for", "10s", "--every"]
        subprocess.run([*after, "500ms", "--quiet"], check=True, timeout=90)
    (folder,) = [p for p in (tmp_path / "out").iterdir() if p.is_dir()]
    diagnosis = json.loads((folder / "diagnosis.json").read_bytes())
    assert diagnosis["findings"][0]["cause"] == "queue.running-cap"
    assert (tmp_path / "out" / f"{folder.name}.told").read_text() == "queue.running-cap"
    # Sealed within 15 s of the onset where a core is to spare; a busy machine gets twice that.
    assert (folder / "manifest.json").stat().st_mtime - onset < 30
    assert {method for method, _, _ in engine.seen} == {"GET"}
    command = [sys.executable, "-m", "ridgeline", "compare", folder, tmp_path / "after", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    verdict = json.loads(done.stdout)
    assert (done.returncode, verdict["verdict"], verdict["reference"]) == (0, "recovered", "baseline"), verdict[
        "summary"
    ]


def test_a_line_of_the_watchdog_seals_the_log_too(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("[2026-11-30 03:38:01 TP0] Decode batch, #running-req: 8, #token: 1834, token usage: 0.01, "
                   "cuda graph: True, gen throughput (token/s): 810.55, #queue-req: 0\n")  # fmt: skip
    engine = Engine()
    with serving(engine) as url:
        process = start("watch", url, "-o", tmp_path / "out", "--logs", log, "--after", "1s", "--every", "250ms")
        lines = lines_of(process)
        until(lambda: sum(path == "/metrics" for _, path, _ in engine.seen) >= 5)
        with log.open("a") as f:
            f.write(
                "[2026-11-30 03:43:01 TP0] Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)\n"
            )
        until(lambda: any(": sealed;" in line for line in lines))
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 2, lines
        process.communicate()
    (folder,) = (tmp_path / "out").iterdir()
    assert folder.name.endswith("-line")
    kinds = {c["kind"] for c in json.loads((folder / "diagnosis.json").read_bytes())["coverage"]}
    assert {"log", "exposition"} <= kinds


def test_a_quiet_time_seals_nothing(tmp_path: Path) -> None:
    with serving(Engine()) as url:
        process = start("watch", url, "-o", tmp_path / "out", "--for", "3s", "--every", "200ms")
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and not list((tmp_path / "out").iterdir()), out + err


def test_a_server_that_never_answered_is_said_once(tmp_path: Path) -> None:
    process = start("watch", "http://127.0.0.1:9", "-o", tmp_path / "out", "--for", "3s", "--every", "200ms")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0 and err.count("http://127.0.0.1:9/metrics: no answer yet (") == 1, err
    assert err.count("\n") == 2, err


def test_a_server_that_goes_away_is_an_incident(tmp_path: Path) -> None:
    engine = Engine()
    with serving(engine) as url:
        process = start("watch", url, "-o", tmp_path / "out", "--every", "250ms", "--after", "1s")
        lines = lines_of(process)
        until(lambda: sum(path == "/metrics" for _, path, _ in engine.seen) >= 6)
    until(lambda: any(": sealed;" in line for line in lines))
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 2
    process.communicate()
    assert any("silent" in line and "no answer 3 times" in line for line in lines)


def test_a_hostile_server_stops_nothing(tmp_path: Path) -> None:
    """One hangs, one sends rubbish and control characters; the third is watched all the same."""

    def rubbish(handler: Handler) -> None:
        handler.answer(200, b'sglang:num_running_reqs{dp_rank="\x1b[2J"} 3\n' + os.urandom(2000))

    good, bad, slow = Engine(), Engine(faults={"/metrics": rubbish}), Engine()
    slow.faults["/metrics"] = lambda handler: time.sleep(8)
    with serving(good) as a, serving(bad) as b, serving(slow) as c:
        process = start("watch", a, b, c, "-o", tmp_path / "out", "--for", "3s", "--every", "250ms")
        _, err = process.communicate(timeout=90)
    assert process.returncode in (0, 2), err
    assert "Traceback" not in err and "\x1b" not in err
    assert sum(path == "/metrics" for _, path, _ in good.seen) >= 8


def test_killed_at_random_every_sealed_incident_is_whole(tmp_path: Path) -> None:
    engine = Engine(retracted=0.0)
    with serving(engine) as url:
        for k, wait_s in enumerate((0.3, 1.6)):
            process = start("watch", url, "-o", tmp_path / "out", "--every", "200ms", "--after", "500ms")
            lines = lines_of(process)
            seen = len(engine.seen)
            until(lambda seen=seen: len(engine.seen) > seen + 12)
            engine.retracted += 50.0
            until(lambda lines=lines: any("retractions" in line for line in lines))
            time.sleep(wait_s)
            process.kill()
            process.communicate()
            assert not any("Traceback" in line for line in lines), k
    for folder in (tmp_path / "out").iterdir() if (tmp_path / "out").exists() else ():
        command = [sys.executable, "-m", "ridgeline", "capture", "--seal", folder]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if "being sealed" in done.stderr:  # the process that the killed recorder began is still at it
            until(lambda folder=folder: (folder / "manifest.json").exists())
            continue
        assert done.returncode == 0 or "no unsealed capture" in done.stderr, done.stderr


def test_a_full_disk_is_one_line_and_the_ring_goes_on(tmp_path: Path) -> None:
    """A limit on the size of files stands in for the disk. What cannot be sealed is said; the watch goes on."""
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000)); from ridgeline.cli import main; main(sys.argv[1:])"
    )
    engine = Engine(padding=200_000)
    with serving(engine) as url:
        command = [sys.executable, "-c", code, "watch", url, "-o", str(tmp_path / "out"), "--every", "200ms", "--after",
                   "500ms", "--quiet"]  # fmt: skip
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment) as process:  # fmt: skip
            lines = lines_of(process)
            seen = len(engine.seen)
            until(lambda: len(engine.seen) > seen + 60)
            engine.retracted += 50.0
            until(lambda: any("cannot be written" in line for line in lines))
            seen = len(engine.seen)
            until(lambda: len(engine.seen) > seen + 10)
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0, lines
    told = [line for line in lines if "cannot be written" in line]
    assert len(told) == 1 and "the ring goes on" in told[0] and not any("Traceback" in line for line in lines)


def test_trouble_of_every_kind_at_once(tmp_path: Path) -> None:
    """Half an answer, a redirect elsewhere, a gigabyte, other labels, a restart: one clear line at most of each."""
    changing, bad = Engine(ranks=2), [Engine(faults={"/metrics": fault}) for fault in (half, away, huge)]
    with ExitStack() as stack:
        urls = [stack.enter_context(serving(engine)) for engine in (changing, *bad)]
        process = start("watch", *urls, "-o", tmp_path / "out", "--every", "250ms", "--after", "500ms")
        lines = lines_of(process)
        until(lambda: sum(path == "/metrics" for _, path, _ in changing.seen) >= 6)
        changing.labels = ',pod="b"'
        changing.restart()
        seen = len(changing.seen)
        until(lambda: len(changing.seen) > seen + 20)
        process.send_signal(signal.SIGTERM)
        status = process.wait(90)
        process.communicate()
    assert status == 0, lines
    assert not any("Traceback" in line or "silent" in line or "jump" in line for line in lines), lines
    assert len(lines) <= 1 + 2 * len(urls), lines  # that it watches, and what is asked less often and again as before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("-o", "OUT"), "no server was given"),
        (("localhost:1", "-o", "OUT"), "not a server's URL"),
        (("http://127.0.0.1:9", "-o", "OUT", "--ring-bytes", "1K"), "at least 1M"),
        (("http://127.0.0.1:9", "-o", "OUT", "--slo", "errors=1%"), "watch holds times only"),
        (("http://127.0.0.1:9", "-o", "OUT", "--on-incident", "http://192.0.2.7/x"), "--allow-host 192.0.2.7"),
        (("http://127.0.0.1:9", "-o", "OUT", "--on-incident", "'"), "is no command"),
    ],
)
def test_bad_arguments_are_one_line(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    process = start("watch", *(str(tmp_path / "out") if a == "OUT" else a for a in arguments))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and says in err and err.count("\n") == 1, err


def test_what_ships_for_operators_uses_options_that_exist() -> None:
    import re

    root = Path(__file__).resolve().parents[2]
    told = subprocess.run([sys.executable, "-m", "ridgeline", "watch", "--help"], capture_output=True, text=True,
                          timeout=60, check=True).stdout  # fmt: skip
    unit = (root / "deploy" / "ridgeline-watch.service").read_text()
    container = (root / "deploy" / "Containerfile").read_text()
    commands = [line for line in unit.splitlines() if "ExecStart=" in line or "RIDGELINE_OPTIONS=" in line]
    commands += [line for line in container.splitlines() if line.startswith("ENTRYPOINT")]
    used = {flag for line in commands for flag in re.findall(r"(?<![\w-])--[a-z-]+", line)}
    assert len(commands) == 4 and {"--output", "--quiet", "--ring"} <= used
    assert all(flag in told for flag in used), used
    assert "SuccessExitStatus=2" in unit and "'/src[live" in container
