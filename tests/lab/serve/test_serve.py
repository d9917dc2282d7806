"""The lab as a server, over real HTTP: OpenAI's own client, plain requests, a pair behind its gateway, faults."""

import asyncio
import json
import time
import urllib.error
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openai
import pytest
from prometheus_client.parser import text_string_to_metric_families

from ridgeline.bundle.open import open_sources
from ridgeline.ladder.diagnose import coverage
from tests.lab.serve.conftest import Served

CHAT = {"messages": [{"role": "user", "content": "why is the queue long"}], "max_tokens": 12, "ignore_eos": True}


@pytest.fixture(scope="module")
def server(lab_serve: Callable[..., Served]) -> Served:
    return lab_serve("--ranks", "2", "--size", "fast")


@pytest.fixture(scope="module")
def pair(lab_serve: Callable[..., Served]) -> Served:
    return lab_serve("--pd", "--size", "fast")


def samples(page: bytes, name: str) -> list[tuple[dict[str, str], float]]:
    families = text_string_to_metric_families(page.decode())
    return [(s.labels, s.value) for family in families for s in family.samples if s.name == name]


def total(page: bytes, name: str) -> float:
    return sum(value for _, value in samples(page, name))


def test_the_openai_client_works_unchanged(server: Served) -> None:
    with openai.OpenAI(base_url=f"{server.gate}/v1", api_key="none", max_retries=0) as client:
        model = client.models.list().data[0].id
        whole = client.chat.completions.create(model=model, max_tokens=9, messages=[{"role": "user", "content": "hi"}])
        assert whole.usage is not None and whole.usage.completion_tokens <= 9
        assert whole.choices[0].message.content
        pieces = list(client.chat.completions.create(
            model=model, max_tokens=9, messages=[{"role": "user", "content": "hi"}], stream=True,
            stream_options={"include_usage": True}, extra_body={"ignore_eos": True}))  # fmt: skip
        said = "".join(p.choices[0].delta.content or "" for p in pieces if p.choices)
        assert said.startswith(whole.choices[0].message.content)
        assert pieces[-1].usage is not None and pieces[-1].usage.completion_tokens == 9
        assert [p.choices[0].finish_reason for p in pieces if p.choices][-1] == "length"
        several = client.completions.create(model=model, prompt="once", max_tokens=5, n=3)
        assert [c.index for c in several.choices] == [0, 1, 2]
        assert len({c.text for c in several.choices}) == 3
        with pytest.raises(openai.BadRequestError, match="temperature must be non-negative"):
            client.completions.create(model=model, prompt="once", temperature=-1)


def test_generate_answers_text_ids_and_batches(server: Served) -> None:
    asked = {"text": "hello there", "sampling_params": {"max_new_tokens": 7, "ignore_eos": True}}
    one = server.json("/generate", asked)
    assert one["meta_info"]["completion_tokens"] == 7 == len(one["output_ids"])
    assert one["meta_info"]["finish_reason"] == {"type": "length", "length": 7}
    many = server.json("/generate", {"input_ids": [[1, 2, 3], [4, 5]], "sampling_params": {"max_new_tokens": 2}})
    assert [m["meta_info"]["prompt_tokens"] for m in many] == [3, 2]
    stream = server.ask("/generate", asked | {"stream": True})
    events = [json.loads(line[6:]) for line in stream.decode().splitlines() if line.startswith("data: {")]
    counts = [e["meta_info"]["completion_tokens"] for e in events]
    assert counts == sorted(counts) and counts[-1] == 7
    assert events[-1]["text"] == one["text"] and all(one["text"].startswith(e["text"]) for e in events)


def test_a_repeated_prompt_is_cached_and_a_flush_forgets_it(server: Served) -> None:
    body = {"text": "the same long prefix " * 30, "rid": "a", "sampling_params": {"max_new_tokens": 2}}
    first = [server.json("/generate", body)["meta_info"]["cached_tokens"] for _ in range(2)]
    again = [server.json("/generate", body)["meta_info"]["cached_tokens"] for _ in range(2)]
    assert first == [0, 0]  # round robin: each rank computes it once
    assert min(again) > 100
    assert b"flushed" in server.ask("/flush_cache", method="POST")
    assert server.json("/generate", body)["meta_info"]["cached_tokens"] == 0


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/v1/chat/completions", {"messages": []}, "at least one message"),
        ("/v1/chat/completions", {"messages": [{"content": "x"}]}, "needs a role"),
        ("/v1/completions", {"prompt": ""}, "prompt is empty"),
        ("/v1/completions", {"prompt": "x", "n": 99}, "n must be 1 to 16"),
        ("/v1/completions", {"prompt": "x", "max_tokens": 0}, "max_new_tokens must be 1"),
        ("/generate", {"text": "x", "input_ids": [1]}, "either text or input_ids"),
        ("/generate", [1, 2], "must be a JSON object"),
        ("/lab/fault", {"fault": "no.such"}, "cannot be switched on here"),
        ("/lab/fault", {"off": True}, "no fault is named; send a body such as {"),
        ("/lab/fault", {"id": "fault.hang"}, "DELETE /lab/fault turns off"),
        ("/lab/fault", {"fault": "fault.hang", "off": True}, "off: not known here"),
        ("/lab/fault", {"fault": "fault.hang", "severity": True}, "whole numbers"),
    ],
)
def test_what_cannot_be_served_is_refused_in_one_sentence(server: Served, path: str, body: Any, said: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        server.ask(path, body)
    with caught.value as answer:
        assert answer.code == 400
        assert said in answer.read().decode()


def test_the_endpoints_around_generation(server: Served) -> None:
    assert server.json("/model_info")["is_generation"] is True
    info = server.json("/server_info")
    assert info["dp_size"] == 2
    assert (info["enable_trace"], info["export_metrics_to_file"]) == (False, False)  # it writes neither
    assert [load["dp_rank"] for load in server.json("/v1/loads")["loads"]] == [0, 1]
    assert server.ask("/health") == b"" == server.ask("/health_generate")
    assert server.ask("/start_profile", method="POST").startswith(b"Start")
    assert server.ask("/stop_profile", method="POST").startswith(b"Stop")
    assert server.ask("/configure_logging", {"log_requests": True, "log_requests_level": 1}) == b""


def test_metrics_count_what_was_served(server: Served) -> None:
    before = server.ask("/metrics")
    for _ in range(6):
        server.json("/v1/chat/completions", CHAT)
    time.sleep(0.05)
    after = server.ask("/metrics")
    assert total(after, "sglang:num_requests_total") - total(before, "sglang:num_requests_total") == 6
    tokens = "sglang:generation_tokens_total"
    assert total(after, tokens) - total(before, tokens) == 6 * 12
    count = "sglang:time_to_first_token_seconds_count"
    assert total(after, count) - total(before, count) == 6
    gaps = "sglang:inter_token_latency_seconds_count"
    assert total(after, gaps) - total(before, gaps) >= 6 * 11 - 2
    assert {labels["dp_rank"] for labels, _ in samples(after, "sglang:num_running_reqs")} == {"0", "1"}


async def dropped(url: str, count: int) -> None:
    """Open streams and hang up after the first bytes, many at a time."""
    host, port = url.removeprefix("http://").split(":")
    body = json.dumps(CHAT | {"stream": True, "max_tokens": 4000}).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    gate = asyncio.Semaphore(64)

    async def one(index: int) -> None:
        async with gate:
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(head + body if index % 3 else (head + body)[: 40 + index % 50])
            if index % 3 == 1:
                await reader.read(10)
            writer.transport.abort()

    await asyncio.gather(*(one(k) for k in range(count)))


def test_ten_thousand_clients_that_hang_up_leave_nothing_behind(server: Served) -> None:
    files = Path(f"/proc/{server.pid}/fd")
    before = server.json("/lab/lag")
    had = len(list(files.iterdir()))
    asyncio.run(dropped(server.gate, 10_000))
    until = time.monotonic() + 20
    while time.monotonic() < until:
        lag = server.json("/lab/lag")
        if lag["open"] == lag["handles"] == 0 and lag["tasks"] <= before["tasks"] + 2:
            break
        time.sleep(0.2)
    assert (lag["open"], lag["handles"]) == (0, 0)
    assert lag["tasks"] <= before["tasks"] + 2  # the one that asks, and one of a connection that closes
    assert len(list(files.iterdir())) <= had + 2
    running = [value for _, value in samples(server.ask("/metrics"), "sglang:num_running_reqs")]
    assert running == [0.0, 0.0]
    assert server.json("/v1/chat/completions", CHAT)["usage"]["completion_tokens"] == 12


def test_abort_ends_a_stream(server: Served) -> None:
    async def go() -> str:
        host, port = server.gate.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        body = json.dumps({"prompt": "x", "rid": "end-me", "stream": True, "max_tokens": 90_000, "ignore_eos": True})
        writer.write(f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        await reader.readuntil(b"data: ")
        await asyncio.to_thread(server.ask, "/abort_request", {"rid": "end-me"})
        seen = await asyncio.wait_for(reader.readuntil(b"[DONE]"), 10)
        writer.close()
        return seen.decode()

    assert "cancelled" in asyncio.run(go())


def test_a_hang_stops_tokens_and_the_switch_brings_them_back(server: Served) -> None:
    server.json("/lab/fault", {"fault": "fault.hang"})
    with pytest.raises((TimeoutError, urllib.error.URLError)):
        asyncio.run(asyncio.wait_for(asyncio.to_thread(short_ask, server), 3))
    before = server.ask("/metrics")
    assert total(before, "sglang:http_requests_total") > 0  # scrapes answer while the scheduler stands still
    assert server.json("/lab/fault", method="DELETE")["on"] == []
    assert server.json("/v1/chat/completions", CHAT)["usage"]["completion_tokens"] == 12


def short_ask(server: Served) -> None:
    import urllib.request

    data = json.dumps(CHAT).encode()
    with urllib.request.urlopen(urllib.request.Request(server.gate + "/v1/chat/completions", data), timeout=1.5) as a:
        a.read()


def test_a_slow_rank_is_slow_only_while_it_is_on(server: Served) -> None:
    def took() -> float:
        began = time.monotonic()
        for _ in range(2):
            server.json("/v1/chat/completions", CHAT | {"max_tokens": 40})
        return time.monotonic() - began

    quiet = took()
    server.json("/lab/fault", {"fault": "decode.regression", "severity": 3})
    slow = took()
    server.json("/lab/fault", method="DELETE")
    assert slow > 1.5 * quiet


def test_what_it_writes_is_read_with_nothing_left(server: Served) -> None:
    page = server.logs / "metrics.txt"
    page.write_bytes(server.ask("/metrics"))
    found = {c.source: (c.kind, c.rows, c.unparsed) for c in coverage(open_sources([str(server.logs)]))}
    assert all(unparsed == 0 for _, _, unparsed in found.values()), found
    assert any(rows > 100 for _, rows, _ in found.values())


def test_a_pair_behind_its_gateway(pair: Served) -> None:
    for k in range(4):
        found = pair.json("/v1/chat/completions", CHAT | {"stream": False, "max_tokens": 6 + k})
        assert found["usage"]["completion_tokens"] == 6 + k
    time.sleep(0.1)
    prefill, decode = (pair.ask("/metrics", base=url) for url in pair.urls)
    assert {labels["engine_type"] for labels, _ in samples(prefill, "sglang:num_running_reqs")} == {"prefill"}
    assert total(decode, "sglang:num_requests_total") == 4
    assert total(prefill, "sglang:kv_transfer_latency_ms_count") == 4
    gate = pair.ask("/metrics")
    assert total(gate, "smg_http_requests_total") == 4
    assert pair.ask("/health") == b""
    assert json.loads(pair.ask("/server_info", base=pair.urls[1]))["disaggregation_mode"] == "decode"


def test_a_prefill_server_ends_a_request_when_it_lets_go_of_it(pair: Served) -> None:
    """Its part is over with the transfer, however long the decode server goes on, or however busy it is itself."""
    from concurrent.futures import ThreadPoolExecutor

    def ended(page: bytes) -> tuple[float, float]:
        return total(page, "sglang:num_requests_total"), total(page, "sglang:num_aborted_requests_total")

    before = ended(pair.ask("/metrics", base=pair.urls[0]))
    bodies = [
        {"prompt": f"{k} " + "about the queue " * 900, "max_tokens": 3 + k, "ignore_eos": True} for k in range(24)
    ]
    with ThreadPoolExecutor(24) as pool:
        found = list(pool.map(lambda body: pair.json("/v1/completions", body), bodies))
    assert [f["usage"]["completion_tokens"] for f in found] == [3 + k for k in range(24)]
    time.sleep(0.3)
    after = ended(pair.ask("/metrics", base=pair.urls[0]))
    assert (after[0] - before[0], after[1] - before[1]) == (24, 0)
    assert "KVTransferError" not in (pair.logs / "prefill.log").read_text()
