"""Polling as a whole: steady on monotonic time whatever the wall clock does, every endpoint on its own."""

import asyncio
import time

import pytest

from ridgeline.live import fetch
from ridgeline.live.polling import Tally, home_of, poll
from ridgeline.model.errors import InputError
from tests.live.serving import Engine, serving


class Kept:
    """A sink in memory."""

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}

    def append(self, name: str, data: bytes, ts: float) -> None:
        self.data[name] = self.data.get(name, b"") + data

    def count(self, url: str, file: str) -> int:
        return self.data.get(f"{home_of(url)}/{file}.scrapes.txt", b"").count(b"#### scrape")


async def polled(urls: list[str], every_s: float, seconds: float) -> tuple[Kept, Tally, list[str]]:
    kept, tally, said, stop = Kept(), Tally(), list[str](), asyncio.Event()

    async def end() -> None:
        await asyncio.sleep(seconds)
        stop.set()

    await asyncio.gather(poll(urls, every_s, kept, stop, said.append, tally), end())
    return kept, tally, said


def test_a_stepped_wall_clock_changes_stamps_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock goes back an hour, then forward a day, while it polls."""
    real, began = time.time, time.monotonic()

    class Stepped:
        monotonic = staticmethod(time.monotonic)

        @staticmethod
        def time() -> float:
            passed = time.monotonic() - began
            return real() + (-3600.0 if 0.7 < passed < 1.4 else 86400.0 if passed >= 1.4 else 0.0)

    monkeypatch.setattr(fetch, "time", Stepped)
    engine = Engine()
    with serving(engine) as url:
        kept, tally, _ = asyncio.run(polled([url], 0.1, 2.2))
    assert kept.count(url, "metrics") >= 12 and tally.gaps == 0
    assert abs(sum(path == "/metrics" for _, path, _ in engine.seen) - kept.count(url, "metrics")) <= 1


def test_vllm_is_asked_for_the_load_under_its_own_name() -> None:
    """Names that are not there are asked once; the one that is goes on being asked."""
    gone = {path: (lambda handler: handler.answer(404, b"")) for path in ("/v1/loads", "/server_info", "/model_info")}
    engine = Engine(faults={**gone, "/load": lambda handler: handler.answer(200, b'{"server_load":3}')})
    with serving(engine) as url:
        kept, _, _ = asyncio.run(polled([url], 0.2, 2.0))
    asked = [path.split("?")[0] for _, path, _ in engine.seen]
    assert (asked.count("/v1/loads"), asked.count("/get_load")) == (1, 1) and asked.count("/load") >= 5
    said = kept.data[f"{home_of(url)}/loads.scrapes.txt"]
    assert said.count(b'{"server_load":3}') == asked.count("/load") and b"url=" + url.encode() + b"/load\n" in said


def test_a_dead_server_stalls_nobody() -> None:
    with serving(Engine()) as good, serving(Engine(faults={"/metrics": lambda h: time.sleep(5)})) as stuck:
        kept, tally, _ = asyncio.run(polled([good, stuck, "http://127.0.0.1:9"], 0.2, 2.0))
    assert kept.count(good, "metrics") >= 6
    assert any("127.0.0.1:9" in url for url in tally.refused)
    assert sorted(tally.late_s)[len(tally.late_s) // 2] < 0.1


def test_secrets_never_reach_a_sink_and_the_answer_stays_json() -> None:
    with serving(Engine(settings={"admin_api_key": "x", "env": {"HF_TOKEN": "hf_" + "a" * 30}})) as url:
        kept, _, _ = asyncio.run(polled([url], 0.2, 1.2))
    said = kept.data[f"{home_of(url)}/server_info.scrapes.txt"]
    assert b"sk-secret-9" not in said and b"hf_aaa" not in said and b'"version": "0.5.9"' in said


def test_what_is_no_url_is_refused() -> None:
    with pytest.raises(InputError, match="not a server's URL"):
        asyncio.run(poll(["ftp://x"], 1.0, Kept(), asyncio.Event(), print, Tally()))
