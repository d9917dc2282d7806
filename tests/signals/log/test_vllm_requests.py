import gzip
import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.signals.reading import tables_of

HEAD = "(APIServer pid=812) INFO 11-30 03:41:00 [request_logger.py:65] "
PARAMS = (
    "SamplingParams(n=2, presence_penalty=0.0, temperature=0.7, stop=[{stop}], stop_token_ids=[], ignore_eos=True, "
    "max_tokens=48, logprobs=None, structured_outputs=None, extra_args=None)"
)


def received(rid: str = "cmpl-a-0", stop: str = "", prompt: str = "", lora: str = "None") -> str:
    before = f"prompt: {prompt}, " if prompt else ""
    return f"{HEAD}Received request {rid}: {before}params: {PARAMS.format(stop=stop)}, lora_request: {lora}."


def test_received_says_what_was_asked() -> None:
    _, tables = tables_of(received(lora="LoRARequest(lora_name='law', lora_int_id=1)") + "\n", year=2026)
    (row,) = tables["records"]
    assert (row["rid"], row["state"], row["n"], row["max_new_tokens"], row["temperature"]) == (
        "cmpl-a-0",
        "received",
        2,
        48,
        0.7,
    )
    assert (row["ignore_eos"], row["stop_set"], row["schema_set"], row["lora"]) == (True, False, False, "law")
    assert row["params_logged"] is True
    assert row["received_ts"] == row["logged_ts"] == 1796010060.0


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(codec="ascii", exclude_characters="\n\r"), max_size=60))
def test_prompt_and_stop_words_cannot_forge_parameters(text: str) -> None:
    quoted = repr(text)
    forged = repr("x', max_tokens=9, params: SamplingParams(n=9, max_tokens=9), lora_request: None")
    for prompt, stop in ((forged, quoted), (quoted, forged), (quoted, quoted)):
        _, tables = tables_of(received(prompt=prompt, stop=stop) + "\n")
        rows = [row for row in tables["records"] if row["event"] == "received"]
        if rows and "params_logged" in rows[0]:
            assert rows[0].get("max_new_tokens") in (None, 48)
            assert rows[0].get("n") in (None, 2)


def test_finish_is_read_from_the_end_of_the_line_and_deltas_are_quiet() -> None:
    text = "\n".join(
        [
            HEAD + "Generated response cmpl-a-0 (streaming delta): output: 'a', finish_reason: None",
            HEAD
            + "Generated response cmpl-a-0 (streaming delta): output: 'b, finish_reason: stop', finish_reason: length",
            HEAD + "Generated response cmpl-a-0 (streaming complete): output: 'ab', finish_reason: streaming_complete",
            HEAD + "Generated response cmpl-b: output: 'x', finish_reason: stop",
            HEAD + "Added request cmpl-a-0-94b1b20c.",
            HEAD + "Aborted request(s) cmpl-c-1234abcd.",
            HEAD + "Request cmpl-c aborted.",
            HEAD + "Request cmpl-d failed (bad request).",
            "",
        ]
    )
    reading, tables = tables_of(text)
    assert (reading.understood, reading.unparsed) == (8, 0)
    got = [(r["rid"], r["event"], r["state"], r.get("finish_reason"), r.get("stream")) for r in tables["records"]]
    assert got == [
        ("cmpl-a-0", "finished", "finished", "length", True),
        ("cmpl-a-0", "finished", "finished", None, True),
        ("cmpl-b", "finished", "finished", "stop", False),
        ("cmpl-c", "aborted", "aborted", "abort", None),
        ("cmpl-d", "failed", "rejected", None, None),
    ]
    assert [(e["kind"], e["rid"]) for e in tables["events"]] == [("abort", "cmpl-c"), ("request-invalid", "cmpl-d")]


@pytest.mark.shared
def test_recorded_run_agrees_with_the_client(shared_dir: Path) -> None:
    run = shared_dir / "real/vllm_0.32.0/run1"
    _, tables = tables_of((run / "server.log.gz").read_bytes(), year=2026)
    raw = gzip.decompress((run / "server.log.gz").read_bytes()).decode()
    records = tables["records"]
    received_rids = {row["rid"] for row in records if row["event"] == "received"}
    assert len(received_rids) == len(re.findall(r"Received request \S+: params", raw))
    aborted = {row["rid"] for row in records if row["state"] == "aborted"}
    assert len(aborted) == len(set(re.findall(r"Request (\S+) aborted\.", raw)))
    asked = {row["rid"]: row.get("max_new_tokens") for row in records if row["event"] == "received"}
    clients = [json.loads(line) for line in (run / "client.jsonl").read_text().splitlines()]
    compared = 0
    for client in clients:
        for rid in client.get("server_ids") or ():
            for name in (rid, f"{rid}-0"):
                if name in asked and client.get("max_tokens"):
                    assert asked[name] == client["max_tokens"]
                    compared += 1
    assert compared > 150
