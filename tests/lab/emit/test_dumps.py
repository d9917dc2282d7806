"""Dumps: opcodes by hand, real class names, and nothing that runs (§5)."""

import pickle
import pickletools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.lab.emit.dumps import crash_name, dump, dump_name
from ridgeline.lab.emit.pickles import Instance, body, dumps
from tests.lab.emit.made import T, request, server

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=9), inner, max_size=5)
    | st.lists(inner, max_size=5).map(tuple),
    max_leaves=25,
)  # fmt: skip


@given(PLAIN)
def test_plain_values_come_back(value: Any) -> None:
    assert pickle.loads(dumps(value)) == value


class Inert(pickle.Unpickler):
    """Stands in for every class, and records which were named."""

    named: list[str]

    def find_class(self, module: str, name: str) -> Any:
        self.named.append(f"{module}.{name}")
        return type(name, (), {})


def opened(raw: bytes) -> tuple[Any, list[str]]:
    import io

    reader = Inert(io.BytesIO(raw))
    reader.named = []
    return reader.load(), sorted(set(reader.named))


@pytest.mark.parametrize(
    ("version", "keys"),
    [
        ("0.5.3", ["server_args", "requests"]),
        ("0.5.9", ["server_args", "requests"]),
        ("0.5.23", ["server_args", "config_updates", "resolved_config", "requests"]),
    ],
)
def test_request_dumps(version: str, keys: list[str]) -> None:
    raw = dump(server(version), [request(input_ids=(1, 2, 3)), request()])
    whole, named = opened(raw)
    assert list(whole) == keys
    assert named == ["sglang.srt.managers.io_struct.GenerateReqInput", "sglang.srt.server_args.ServerArgs"]
    obj, out, created, ended = whole["requests"][0]
    assert (obj.input_ids, created, ended) == ([1, 2, 3], T, T + 2.51)
    assert out["meta_info"]["id"] == "9f2c" * 8
    assert {op.name for op, _, _ in pickletools.genops(raw)}.isdisjoint({"REDUCE", "INST", "OBJ", "GLOBAL", "EXT1"})


def test_crash_dumps_hold_the_unfinished() -> None:
    open_one = request(state="open", finish=None, finished_ts=None, completed_ts=None, input_ids=(7, 8))
    whole, _ = opened(dump(server(), [request(), open_one], T + 9))
    assert "launch_command" in whole
    obj, out, _, ended = whole["requests"][1]
    assert obj.input_ids == (7, 8)
    assert "meta_info" not in out
    assert ended == T + 9
    assert crash_name(server(), T) == "10.4.0.11/crash_dump_2026-11-30_03-59-22.pkl"
    assert dump_name(T) == "2026-11-30_03-59-22.pkl"


def test_a_value_no_dump_holds_is_refused() -> None:
    with pytest.raises(TypeError, match="set"):
        body({1, 2})
    assert isinstance(opened(dumps(Instance("a.b", "C", (("x", 1),))))[0].x, int)
