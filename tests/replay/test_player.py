"""The player against real servers: what arrives when, and what is kept of every way to end."""

import asyncio
import http.server
import json
import os
import resource
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ridgeline.replay import player
from ridgeline.replay.body import Manner
from ridgeline.replay.clock import Clock
from ridgeline.replay.player import Drain, Pace, play
from ridgeline.replay.shot import Drawn, Outcome, Shot
from ridgeline.replay.target import target_of
from tests.replay.conftest import Server, free_port

Serve = Callable[..., Server]


def shot(i: int, text: str, at_s: float = 0.0, **given: Any) -> Shot:
    return Shot(at_s, f"r{i}", text=text, sampling={"max_new_tokens": 8, "temperature": 0.0}, **given)


def played(shots: list[Shot], url: str, manner: Manner | None = None, pace: Pace | None = None,
           drain: Drain | None = None) -> list[Outcome]:  # fmt: skip
    outcomes: dict[int, Outcome] = {}
    asyncio.run(
        play(
            shots, target_of(url), manner or Manner(prefix="p-"), pace or Pace(),
            lambda i, _, o: outcomes.update({i: o}), drain or Drain(), Clock(),
        )
    )  # fmt: skip
    return [outcomes[i] for i in sorted(outcomes)]


def arrivals(log: Path) -> list[dict[str, Any]]:
    return sorted((json.loads(line) for line in log.read_text().splitlines()), key=lambda row: row["at"])


def test_every_request_arrives_as_it_was_and_when_it_was(serve: Serve, tmp_path: Path) -> None:
    server = serve(log=str(tmp_path / "log"))
    shots = [replace(shot(i, f"prompt {i}", i * 0.01), headers=(("x-smg-routing-key", "k"),)) for i in range(100)]
    outcomes = played(shots, server.url)
    got = arrivals(tmp_path / "log")
    assert [row["body"]["rid"] for row in got] == [f"p-r{i}" for i in range(100)]
    assert got[3]["body"]["text"] == "prompt 3" and got[3]["body"]["sampling_params"]["max_new_tokens"] == 8
    assert got[3]["headers"]["x-smg-routing-key"] == "k"
    error = np.array([row["at"] for row in got]) - np.array([o.planned_ts for o in outcomes])
    assert np.median(np.abs(error)) < 0.02
    assert all(o.fine and o.finish_reason == "length" and o.completion_tokens == 8 for o in outcomes)
    assert all(o.ttft_s is not None and o.e2e_s is not None and 0 < o.ttft_s <= o.e2e_s for o in outcomes)
    assert all(o.output_ids is not None and len(o.output_ids) == 8 and o.server_id == f"p-r{i}"
               for i, o in enumerate(outcomes))  # fmt: skip


def test_a_stalling_target_does_not_slow_arrivals(serve: Serve, tmp_path: Path) -> None:
    server = serve(log=str(tmp_path / "log"), stall=True)
    outcomes = played([shot(i, "x", i * 0.005) for i in range(200)], server.url, pace=Pace(timeout_s=1.5))
    at = np.array([row["at"] for row in arrivals(tmp_path / "log")])
    assert len(at) == 200 and {o.failure for o in outcomes} == {"timeout"}
    assert 0.9 < at[-1] - at[0] < 1.4, "one second of arrivals takes one second"


@pytest.mark.parametrize("as_", ["generate", "completions", "chat"])
def test_every_way_to_end_is_kept(serve: Serve, as_: Any) -> None:
    server = serve()
    words = ["fine", "@500", "@error", "@full", "@abort", "@cut", "@length"]
    seen = played([shot(i, word) for i, word in enumerate(words)], server.url, Manner(as_, "tiny", "p-"))
    failed = [o.failure for o in seen]
    assert failed == [None, "http", "stream-error", "stream-error", "abort", "disconnect", None]
    assert seen[1].status == 500 and seen[1].message == "Internal server error"
    assert seen[2].status == 200 and "scheduler" in str(seen[2].message)
    assert seen[5].chunks >= 1 and seen[5].text, "what came before the cut is kept"
    assert seen[6].finish_reason == "length" and seen[0].prompt_tokens == 1 and seen[0].chunks == 8


def test_answers_that_are_no_streams(serve: Serve) -> None:
    server = serve()
    one = played([shot(0, "x", stream=False)], server.url)[0]
    assert one.fine and one.first_ts is None and one.ttft_s is None and one.completion_tokens == 8
    forced = played([shot(0, "x", stream=False)], server.url, Manner(stream=True))[0]
    assert forced.ttft_s is not None and forced.text == one.text


def test_incremental_output_says_the_same(serve: Serve) -> None:
    shots = [shot(i, f"p{i}") for i in range(3)]
    whole, parts = played(shots, serve().url), played(shots, serve(incremental=True).url)
    assert [(o.text, o.output_ids, o.chunks) for o in whole] == [(o.text, o.output_ids, o.chunks) for o in parts]


def test_gaps_are_measured(serve: Serve) -> None:
    one = played([shot(0, "@slow 100 x")], serve(token_s=0.02).url)[0]
    assert len(one.gaps_s) == 7 and 0.015 < sorted(one.gaps_s)[3] < 0.2
    assert one.ttft_s is not None and one.ttft_s >= 0.1


def test_a_cap_makes_later_sends_late(serve: Serve, tmp_path: Path) -> None:
    server = serve(log=str(tmp_path / "log"))
    outcomes = played([shot(i, "@slow 50 x") for i in range(8)], server.url, pace=Pace(concurrency=2))
    late = [o.sent_ts - o.planned_ts for o in outcomes if o.sent_ts and o.planned_ts]
    assert all(o.fine for o in outcomes) and max(late) > 0.14


def test_speed_and_longest_pause() -> None:
    shots = [shot(0, "x", 0.0), shot(1, "x", 10.0), shot(2, "x", 10.5)]
    assert Pace(speed=5.0).due(shots) == [0.0, 2.0, 2.1]
    assert Pace(speed=5.0, most_gap_s=0.1).due(shots) == [0.0, 0.1, 0.2]


def test_nothing_listens() -> None:
    one = played([shot(0, "x")], f"http://127.0.0.1:{free_port()}")[0]
    assert one.failure == "refused" and one.status is None


def test_stopping_waits_for_what_is_open_and_leaving_cuts_it(serve: Serve) -> None:
    server = serve()
    drain = Drain()
    shots = [shot(i, "@slow 300 x", i * 0.1) for i in range(50)]

    def stop_soon(after_s: float) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(after_s, drain.ask)

    async def run(leave: bool) -> list[Outcome]:
        seen: list[Outcome] = []
        stop_soon(0.7)
        if leave:
            stop_soon(0.75)
        await play(shots, target_of(server.url), Manner(), Pace(), lambda _i, _s, o: seen.append(o), drain, Clock())
        return seen

    waited = asyncio.run(run(False))
    assert 3 <= len(waited) < 20 and all(o.fine for o in waited)
    drain = Drain()
    cut = asyncio.run(run(True))
    assert {o.failure for o in cut} >= {"cancelled"} and len(cut) < 20


def test_a_redirect_is_not_followed() -> None:
    hits: list[str] = []

    class Redirect(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            hits.append(self.path)
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(307)
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_address[1]}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Redirect) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        one = played([shot(0, "x")], f"http://127.0.0.1:{server.server_address[1]}")[0]
        server.shutdown()
        thread.join(5)
    assert (one.failure, one.status, hits) == ("http", 307, ["/generate"])


def test_drawn_prompts_arrive_with_their_shared_prefix(serve: Serve, tmp_path: Path) -> None:
    server = serve(log=str(tmp_path / "log"))
    sampling = {"max_new_tokens": 3, "ignore_eos": True}
    shots = [Shot(i * 0.001, f"r{i}", drawn=Drawn(i, 40, ((9, 25),)), sampling=sampling) for i in range(3)]
    outcomes = played(shots, server.url)
    ids = [row["body"]["input_ids"] for row in arrivals(tmp_path / "log")]
    assert all(len(i) == 40 and i[:25] == ids[0][:25] for i in ids) and ids[0][25:] != ids[1][25:]
    assert [o.completion_tokens for o in outcomes] == [3, 3, 3]


def test_a_limit_of_our_own_is_not_the_targets_fault(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(stall=True)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    monkeypatch.setattr(player, "_open_files", lambda: None)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 12, hard))  # noqa: PTH208
    try:
        outcomes = played([shot(i, "x") for i in range(40)], server.url, pace=Pace(timeout_s=0.5))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert {o.failure for o in outcomes} == {"timeout", "local"}
    assert any("open files" in str(o.message) for o in outcomes)
