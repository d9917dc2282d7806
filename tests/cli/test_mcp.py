"""The tools over stdio, asked by the SDK's own client."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from ridgeline.cli.bounded import bounded
from ridgeline.cli.mcp import LOOPBACK, allowed
from ridgeline.model.errors import InputError

ROOT: Final = Path(__file__).resolve().parents[2]
INCIDENT: Final = ROOT / "examples" / "incident"


async def _asked() -> dict[str, Any]:
    from mcp import ClientSession, StdioServerParameters, stdio_client

    server = StdioServerParameters(
        command=sys.executable, args=["-m", "ridgeline", "mcp", str(INCIDENT)], cwd=str(ROOT)
    )
    out: dict[str, Any] = {}
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        out["hello"] = await session.initialize()
        out["tools"] = (await session.list_tools()).tools
        out["diagnose"] = await session.call_tool("diagnose", {"sources": ["."]})
        out["show"] = await session.call_tool("show", {"evidence": "E1", "sources": ["server.log"]})
        out["cause"] = await session.call_tool("causes", {"cause": "routing.hot-key"})
        out["outside"] = await session.call_tool("sources", {"sources": ["/etc/passwd"]})
        out["stdin"] = await session.call_tool("sources", {"sources": ["-"]})
        out["host"] = await session.call_tool("diagnose", {"sources": ["http://192.0.2.1:30000"]})
        out["nonsense"] = await session.call_tool("causes", {"cause": "no.such"})
    return out


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    pytest.importorskip("mcp")
    return asyncio.run(_asked())


def text(result: Any) -> str:
    (only,) = result.content
    return str(only.text)


def test_the_tools_only_read(told: dict[str, Any]) -> None:
    assert {t.name for t in told["tools"]} == {
        "sources", "diagnose", "show", "request", "classes", "prefix", "causes", "compare",
    }  # fmt: skip
    assert all(t.annotations.read_only_hint and t.description for t in told["tools"])
    assert "ladder" in told["hello"].instructions


def test_the_answers_are_those_of_the_command_line(told: dict[str, Any]) -> None:
    answer = json.loads(text(told["diagnose"]))
    assert answer["schema"] == "ridgeline.diagnosis/1" and answer["exit_status"] == 2
    assert answer["findings"][0]["cause"] == "routing.hot-key"
    shown = json.loads(text(told["show"]))
    assert shown["value"] == shown["again"] and shown["lines"]
    assert json.loads(text(told["cause"]))["cause"] == "routing.hot-key"


def test_nothing_outside_is_read(told: dict[str, Any]) -> None:
    for name, words in (("outside", "outside"), ("stdin", "outside"), ("host", "not this machine")):
        assert told[name].is_error and words in text(told[name]), name
    assert told["nonsense"].is_error and "no cause" in text(told["nonsense"])


def test_what_may_be_read(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "away").symlink_to("/etc")
    roots = [tmp_path / "in"]
    assert allowed("a.log", roots, LOOPBACK) == str(tmp_path / "in" / "a.log")
    for bad in ("../b.log", "away/passwd", "--lang=zh", "/"):
        with pytest.raises(InputError):
            allowed(bad, roots, LOOPBACK)
    assert allowed("http://127.0.0.1:30000", roots, LOOPBACK)
    with pytest.raises(InputError):
        allowed("http://127.0.0.1.example.com", roots, LOOPBACK)


def test_a_long_answer_is_cut_and_stays_json() -> None:
    value = {"rows": [{"text": "x" * 500, "k": k} for k in range(10_000)], "deep": [["y" * 9000] * 50] * 50}
    cut = bounded(value, 20_000)
    assert len(cut) <= 20_000
    assert "more left out" in json.loads(cut)["rows"][-1]
    assert json.loads(bounded({"a": [1, 2]}, 20_000)) == {"a": [1, 2]}
