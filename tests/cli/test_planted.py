"""Keys, tokens, prompts and names are planted in every kind of source; no output of any verb holds them."""

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

SECRETS = (
    "sk-planted0123456789abcdefgh",
    "hf_PlantedTokenABCDEFGHIJKLMNOP",
    "planted-admin-key-93",
    "PlantedPassw0rd",
    "eyJplantedplanted.eyJwbGFudGVkcGxhbnRlZA.c2lnbmF0dXJlcGxhbnRlZA",
    "AKIAPLANTED0PLANTED0",
)
PROMPT = "the planted patient has a rare planted illness of the left knee"
ANSWER = "planted answer: rest and drink much water for a planted week"
NAME = "planted.person@example.com"
RID = "planted-request-0123456789abcdef"
KEY, TOKEN, ADMIN, PASSWORD, JWT, CLOUD = SECRETS


def server_log() -> str:
    lines = [
        f"server_args=ServerArgs(model_path='acme/chat-8b', api_key='{KEY}', admin_api_key='{ADMIN}', tp_size=1, "
        "dp_size=1, page_size=1, max_running_requests=16, schedule_policy='fcfs', disaggregation_mode='null')",
        f"python3 -m sglang.launch_server --model-path acme/chat-8b --api-key {KEY} --port 30000",
        f'INFO:     10.0.0.1:4 - "POST /generate?api_key={KEY} HTTP/1.1" 200 OK',
        f"Authorization: Bearer {JWT}",
        f"HF_TOKEN={TOKEN} AWS_ACCESS_KEY_ID={CLOUD}",
        f"could not reach http://admin:{PASSWORD}@10.0.0.9:9090/api: refused",
        f"Error: request {RID} failed: prompt: \"{PROMPT}\" user={NAME}",
        f"Receive: obj=GenerateReqInput(text='{PROMPT}', rid='{RID}', user='{NAME}')",
    ]  # fmt: skip
    out = []
    for i in range(240):
        at = f"2026-11-30 03:{40 + i // 60:02d}:{i % 60:02d}"
        wait = 0 if i < 120 else 30
        out.append(
            f"[{at} TP0] Decode batch, #running-req: 16, #token: 9000, token usage: 0.21, cuda graph: True, "
            f"gen throughput (token/s): 610.5, #queue-req: {wait}"
        )
        if i % 30 == 0:
            out.append(f"[{at}] {lines[i // 30]}")
    return "\n".join(out) + "\n"


def request_log() -> str:
    out = []
    for i in range(200):
        rid = RID if i == 150 else f"{i:032x}"
        at = 1796010000.0 + i
        stamp = f"2026-11-30T03:{40 + i // 60:02d}:{i % 60:02d}.000000"
        obj = {"rid": rid, "text": f"{PROMPT} {i}", "stream": True, "user": NAME, "routing_key": NAME,
               "sampling_params": {"max_new_tokens": 99}, "custom_labels": {"api_key": KEY}}  # fmt: skip
        meta = {"id": rid, "finish_reason": {"type": "stop"}, "prompt_tokens": 90, "completion_tokens": 20,
                "cached_tokens": 0, "queue_time": 0.01 if i < 120 else 9.0, "e2e_latency": 1.0 if i < 120 else 10.0,
                "first_token_latency": 0.1 if i < 120 else 9.1, "request_received_ts": at}  # fmt: skip
        if i == 160:
            meta["finish_reason"] = {
                "type": "abort",
                "message": f"bad input '{PROMPT}' token=Bearer {JWT}",
                "status_code": 400,
            }
        out.append(json.dumps({"timestamp": stamp, "event": "request.received", "rid": rid, "obj": obj}))
        done = {"text": ANSWER, "meta_info": meta}
        out.append(json.dumps({"timestamp": stamp, "event": "request.finished", "rid": rid, "obj": obj, "out": done,
                               "headers": {"authorization": f"Bearer {JWT}"}}))  # fmt: skip
    return "\n".join(out) + "\n"


def plant(folder: Path) -> Path:
    folder.mkdir()
    (folder / "server.log").write_text(server_log())
    (folder / "request_log.jsonl").write_text(request_log())
    (folder / "server_info.json").write_text(
        json.dumps(
            {
                "model_path": "m",
                "tokenizer_path": "m",
                "tp_size": 1,
                "api_key": KEY,
                "version": "0.5.23",
                "env": {"HF_TOKEN": TOKEN, "AWS_SECRET_ACCESS_KEY": CLOUD},
                "admin_api_key": ADMIN,
            }
        )
    )
    (folder / "metrics.txt").write_text(
        "#### scrape ts=1796010000.5 took=0.02 status=200 "
        f"url=http://admin:{PASSWORD}@127.0.0.1:1/metrics?api_key={KEY}\n"
        f'# TYPE sglang:num_queue_reqs gauge\nsglang:num_queue_reqs{{model_name="m",api_key="{KEY}"}} 3.0\n'
    )
    record = {"request_parameters": json.dumps({"rid": RID, "text": PROMPT, "user": NAME}), "prompt_tokens": 9,
              "completion_tokens": 3, "id": RID, "timestamp": "2026-11-30T03:43:00", "text": ANSWER}  # fmt: skip
    (folder / "sglang-request-metrics-20261130_03.log").write_text((json.dumps(record) + "\n") * 3)
    span = {"traceId": "ab" * 16, "spanId": "cd" * 8, "name": "Req planted", "startTimeUnixNano": "1796010000000000000",
            "endTimeUnixNano": "1796010001000000000", "attributes": [
                {"key": "rid", "value": {"stringValue": RID}},
                {"key": "gen_ai.prompt", "value": {"stringValue": PROMPT}},
                {"key": "enduser.id", "value": {"stringValue": NAME}},
                {"key": "http.request.header.authorization", "value": {"stringValue": f"Bearer {JWT}"}}]}  # fmt: skip
    (folder / "traces.jsonl").write_text(
        json.dumps({"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": [span]}]}]}) + "\n"
    )
    asked = {"rid": RID, "text": PROMPT, "sampling_params": {}, "user": NAME, "authorization": f"Bearer {JWT}"}
    (folder / "dump.pkl").write_bytes(
        pickle.dumps([(asked, {"text": ANSWER, "meta_info": {"id": RID}}, 1796010000.0, 1796010001.0)], protocol=4)
    )
    (folder / "notes.txt").write_text(
        f"we saw password={PASSWORD} and {TOKEN}\nerror: user={NAME} prompt: '{PROMPT}'\n"
    )
    return folder


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant(tmp_path_factory.mktemp("planted") / "evidence")


@pytest.fixture(scope="module")
def bundle(planted: Path) -> Path:
    out = planted.parent / "bundle"
    run(planted, "ingest", str(planted), "-o", str(out), "--embed")
    return out


def run(planted: Path, *arguments: str) -> str:
    env = {**os.environ, "RIDGELINE_KEY_FILE": str(planted.parent / "key"), "COLUMNS": "4000", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "ridgeline", *arguments], capture_output=True, text=True, env=env, timeout=300,
        check=False, cwd=planted.parent,
    )  # fmt: skip
    assert done.returncode in (0, 2, 3), done.stderr
    return done.stdout + done.stderr


def texts(folder: Path) -> Iterator[tuple[str, str]]:
    """(name, everything in it as text) of each file below a folder; tables row by row."""
    import gzip

    for path in sorted(folder.rglob("*")):
        if path.suffix == ".parquet":
            yield path.name, "\n".join(map(repr, duckdb.read_parquet(str(path)).fetchall()))
        elif path.suffix == ".gz":
            yield path.name, gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
        elif path.is_file():
            yield path.name, path.read_text(encoding="utf-8", errors="replace")


def held(text: str, words: tuple[str, ...]) -> list[str]:
    return [word for word in words if word in text]


PRIVATE = (*SECRETS, PROMPT, ANSWER, NAME, RID)


def test_the_sources_hold_them(planted: Path) -> None:
    all_of = "".join(path.read_bytes().decode("utf-8", "replace") for path in planted.iterdir())
    assert held(all_of, PRIVATE) == list(PRIVATE)


def test_a_bundle_holds_none(bundle: Path) -> None:
    found = {name: words for name, text in texts(bundle / "tables") if (words := held(text, PRIVATE))}
    assert found == {}
    # what --embed copies in keeps ids and names, as its help says; prompts and secrets are cut there too
    rest = {name: words for name, text in texts(bundle) if (words := held(text, (*SECRETS, PROMPT, ANSWER)))}
    assert rest == {}


@pytest.mark.parametrize("kind", ["perfetto", "otlp", "mooncake", "csv", "parquet", "alerts", "dashboard"])
def test_an_export_holds_none(planted: Path, kind: str, tmp_path: Path) -> None:
    out = tmp_path / "out" if kind in ("csv", "parquet") else tmp_path / "out.json"
    said = run(planted, "export", kind, str(planted), "-o", str(out))
    assert held(said, PRIVATE) == []
    found = {name: words for name, text in texts(tmp_path) if (words := held(text, PRIVATE))}
    assert found == {}


def test_a_report_holds_none(planted: Path, tmp_path: Path) -> None:
    run(planted, "report", str(planted), "-o", str(tmp_path / "r.html"))
    assert held((tmp_path / "r.html").read_text(), PRIVATE) == []


@pytest.mark.parametrize(
    ("verb", "format"),
    [
        *(("diagnose", format) for format in ("text", "json", "md")),
        *((verb, "text") for verb in ("sources", "classes", "prefix")),
    ],
)
def test_an_answer_holds_no_secret_and_no_prompt(planted: Path, verb: str, format: str) -> None:
    assert held(run(planted, verb, str(planted), "--format", format), (*SECRETS, PROMPT, ANSWER)) == []


def test_lines_that_are_shown_hold_no_secret(planted: Path) -> None:
    for name in ("server.log", "request_log.jsonl", "notes.txt"):
        assert held(run(planted, "sources", str(planted / name), "--unread"), SECRETS) == []
    told = json.loads(run(planted, "diagnose", str(planted), "--format", "json").partition("\nridgeline:")[0])
    for evidence in sorted(told["evidence"])[::12]:
        assert held(run(planted, "show", evidence, str(planted)), SECRETS) == [], evidence


def test_a_dump_shown_and_converted_holds_no_secret(planted: Path, tmp_path: Path) -> None:
    said = run(planted, "dump", "show", str(planted / "dump.pkl"))
    run(planted, "dump", "convert", str(planted / "dump.pkl"), "-o", str(tmp_path / "d.jsonl"))
    assert held(said, SECRETS) == []
    assert held((tmp_path / "d.jsonl").read_text(), PRIVATE) == []


def test_tools_for_programs_hold_none(planted: Path) -> None:
    pytest.importorskip("mcp")
    import asyncio

    from mcp import ClientSession, StdioServerParameters, stdio_client

    async def asked() -> str:
        server = StdioServerParameters(command=sys.executable, args=["-m", "ridgeline", "mcp", str(planted)])
        async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            answers = [
                await session.call_tool("diagnose", {"sources": ["."]}),
                await session.call_tool("sources", {"sources": ["."]}),
                await session.call_tool("show", {"evidence": "E1", "sources": ["."]}),
                await session.call_tool("classes", {"sources": ["."]}),
            ]
        return "".join(part.text for answer in answers for part in answer.content)

    assert held(asyncio.run(asked()), (*SECRETS, PROMPT, ANSWER)) == []


def test_the_live_page_holds_none(planted: Path) -> None:
    from urllib.parse import urlsplit

    from tests.cli.test_open import get

    env = {**os.environ, "RIDGELINE_KEY_FILE": str(planted.parent / "key")}
    command = [sys.executable, "-m", "ridgeline", "open", str(planted), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env) as child:
        assert child.stdout is not None
        address = child.stdout.readline().strip()
        cookie = get(address, f"/?{urlsplit(address).query}").getheader("set-cookie").split(";")[0]
        pages = [get(address, path, cookie) for path in ("/", "/facets", "/part/size", "/part/picture/latency")]
        lines = [get(address, f"/part/lines?cite={name}:1-400", cookie).text for name in ("server.log", "notes.txt")]
        child.terminate()
    assert [page.status for page in pages[:2]] == [200, 200]
    # names are told apart by on this machine's own page, as the terminal does; what leaves it is the report
    assert held("".join(page.text for page in pages), (*SECRETS, PROMPT, ANSWER)) == []
    assert held("".join(lines), SECRETS) == []
