"""The receiver of traces takes anything that comes over the wire, keeps what is whole, and stays up."""

import asyncio
import io
import json
from pathlib import Path

import aiohttp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ridgeline.live.otlp import BODY_LIMIT, receiver
from ridgeline.live.raw import RawFolder, raw_folder

BODIES = st.binary(max_size=60) | st.text(max_size=40).map(lambda s: json.dumps({s: [s]}).encode())
TYPES = st.sampled_from(
    ("application/json", "application/x-protobuf", "text/plain", "application/json; charset=latin1")
)
Calls = list[tuple[bytes, str, str]]


@given(st.lists(st.tuples(BODIES, TYPES, st.sampled_from(("/v1/traces", "/v1/logs", "/", "/v1/traces/../x")))))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_body(tmp_path: Path, calls: Calls) -> None:
    with raw_folder(tmp_path / "raw") as folder:
        statuses = asyncio.run(sent(folder, calls))
    assert all(status in (200, 400, 404, 415) for status in statuses), statuses
    kept = tmp_path / "raw" / "otlp" / "traces.jsonl"
    if kept.exists():
        for line in kept.read_bytes().splitlines():
            json.loads(line)


async def sent(folder: RawFolder, calls: Calls) -> list[int]:
    statuses = []
    async with receiver(0, folder) as port, aiohttp.ClientSession() as session:
        for body, kind, path in calls:
            url = f"http://127.0.0.1:{port}{path}"
            async with session.post(url, data=io.BytesIO(body), headers={"Content-Type": kind}) as answer:
                statuses.append(answer.status)
    return statuses


def test_a_body_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    calls = [
        (b"\0" * (BODY_LIMIT + 1), "application/x-protobuf", "/v1/traces"),
        (b"{}", "application/json", "/v1/traces"),
    ]
    with raw_folder(tmp_path / "raw") as folder:
        assert asyncio.run(sent(folder, calls)) == [413, 200]
    assert not (tmp_path / "raw" / "otlp" / "traces.pb").exists()
