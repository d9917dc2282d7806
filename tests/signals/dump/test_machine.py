"""The machine: equal to pickle on plain data of every protocol, inert on everything else, one line on what is wrong."""

import math
import pickle
import time
from collections import Counter, OrderedDict, defaultdict, deque
from datetime import UTC, date, datetime
from decimal import Decimal
from http import HTTPStatus
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.signals.dump.inert.child import answer
from ridgeline.signals.dump.inert.limits import DEFAULT, Limits
from ridgeline.signals.dump.inert.machine import Machine
from ridgeline.signals.dump.inert.plain import Plain
from ridgeline.signals.dump.inert.things import Cut, Global, Inert, Refusal
from tests.signals.dump.compose import call, glob, stack_glob

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(1 << 700), 1 << 700)
    | st.floats()
    | st.text()
    | st.text(st.characters(categories=["Cs", "Lu"]))
    | st.binary()
    | st.builds(complex, st.floats(allow_nan=False), st.floats(allow_nan=False))
)
KEYS = st.none() | st.booleans() | st.integers() | st.text() | st.binary() | st.tuples(st.integers(), st.text())
PLAIN = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.lists(st.integers(-(1 << 40), 1 << 40), max_size=40)
        | st.lists(inner, max_size=5).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=5)
        | st.sets(KEYS, max_size=5)
        | st.frozensets(KEYS, max_size=5)
        | st.binary().map(bytearray)
    ),
    max_leaves=25,
)


def machine(data: bytes, limits: Limits = DEFAULT) -> Machine:
    return Machine(data, limits, time.monotonic() + 30)


def same(a: Any, b: Any) -> bool:
    """Equality that knows NaN and tells types apart."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return bool(a == b)


@settings(max_examples=300, deadline=None)
@given(PLAIN, st.integers(0, 5))
def test_plain_data_as_pickle_reads_it(value: Any, protocol: int) -> None:
    data = pickle.dumps(value, protocol)
    assert same(machine(data).run(), pickle.loads(data))


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_are_refused_in_one_line_or_are_plain(data: bytes, headed: bool) -> None:
    found = answer(b"\x80\x04" + data if headed else data, DEFAULT, time.monotonic() + 10)
    if "refused" in found:
        assert found["refused"]
        assert "\n" not in found["refused"]
        assert len(found["refused"]) < 400
    else:
        assert found.keys() == {"root", "cut", "rest"}


@settings(max_examples=200, deadline=None)
@given(PLAIN, st.integers(0, 5), st.data())
def test_damaged_pickles_are_refused_or_plain(value: Any, protocol: int, draw: st.DataObject) -> None:
    data = bytearray(pickle.dumps(value, protocol))
    for _ in range(draw.draw(st.integers(1, 4))):
        data[draw.draw(st.integers(0, len(data) - 1))] = draw.draw(st.integers(0, 255))
    found = answer(bytes(data), DEFAULT, time.monotonic() + 10)
    assert ("refused" in found) != ("root" in found)


@pytest.mark.parametrize("protocol", range(6))
def test_containers_of_the_library_become_plain_ones(protocol: int) -> None:
    value = [
        OrderedDict(a=1, b=2),
        defaultdict(list, {"k": [1]}),
        deque([1, 2], maxlen=9),
        Counter("aab"),
        {1, 2},
        frozenset((3,)),
        bytearray(b"x\xff"),
        b"\x00\xff",
        complex(1, -2),
    ]
    found = machine(pickle.dumps(value, protocol)).run()
    assert found[:4] == [{"a": 1, "b": 2}, {"k": [1]}, [1, 2], {"a": 2, "b": 1}]
    assert found[4:] == value[4:]


@pytest.mark.parametrize("protocol", range(6))
def test_other_objects_are_told_as_plain_data(protocol: int) -> None:
    value = {
        "status": HTTPStatus.BAD_GATEWAY,
        "price": Decimal("1.50"),
        "at": datetime(2026, 11, 30, 3, 59, 40, 7, tzinfo=UTC),
        "day": date(2026, 11, 30),
        "path": PurePosixPath("/srv/models/a"),
        "numbers": range(3, 9, 2),
    }
    built = machine(pickle.dumps(value, protocol)).run()
    assert isinstance(built["status"], Inert)
    found = Plain(10_000, DEFAULT, time.monotonic() + 5).walk(built)
    assert found["status"] == 502
    assert found["price"] == "1.50"
    assert found["path"] == "/srv/models/a"
    if protocol >= 3:  # before, the packed time is text by way of a codec
        assert found["at"] == "2026-11-30T03:59:40.000007"
        assert found["day"] == "2026-11-30"
    assert found["numbers"]["$"] == "builtins.range"
    assert found["numbers"]["args"] == [3, 9, 2]


@pytest.mark.parametrize("protocol", range(2, 6))
def test_numbers_of_numpy_are_numbers_and_its_arrays_records(protocol: int) -> None:
    value = {
        "numbers": [np.float64(1.5), np.float32(0.25), np.int64(-7), np.bool_(True), np.uint16(65535)],
        "array": np.arange(100, dtype=np.int32),
    }
    data = pickle.dumps(value, protocol)
    found = Plain(len(data), DEFAULT, time.monotonic() + 5).walk(machine(data).run())
    assert found["numbers"] == [1.5, 0.25, -7, True, 65535]
    assert found["array"]["$"].startswith("numpy.")
    assert "size" in str(found["array"])


class Held:
    """Pickled by the default reduce; a dataclass of the engine is the same."""

    def __init__(self) -> None:
        self.rid = "a"
        self.nested = {"x": (1, 2)}


@pytest.mark.parametrize("protocol", range(6))
def test_an_object_is_its_class_by_name_and_its_state(protocol: int) -> None:
    data = pickle.dumps(Held(), protocol)
    found = machine(data).run()
    assert isinstance(found, Inert)
    assert isinstance(found.made_by, Global)
    assert found.made_by.path == f"{__name__}.Held"
    assert Plain(len(data), DEFAULT, time.monotonic() + 5).walk(found) == {
        "$": f"{__name__}.Held",
        "rid": "a",
        "nested": {"x": (1, 2)},
    }


def test_state_items_and_arguments_are_kept_apart() -> None:
    made = call(stack_glob("numpy.core", "_reconstruct"), stack_glob("numpy", "ndarray"), (3,), b"C\x01b")
    data = b"\x80\x04" + made + b"(K\x01(K\x02K\x03tt" + b"b" + b"(\x8c\x01kK\x07u."
    found = answer(data, DEFAULT, time.monotonic() + 5)["root"]
    assert found == {
        "$": "numpy.core._reconstruct",
        "args": [{"$": "numpy.ndarray"}, (3,), {"$": "bytes", "size": 1}, 1, (2, 3)],
        "items": [["k", 7]],
    }


def test_every_byte_behind_which_a_pickle_may_be_cut() -> None:
    data = pickle.dumps({"a": [1, 300, 70000, "x" * 300, 1.5, (1, 2, 3, 4)], "b": {"c": None, "d": b"y" * 9}}, 4)
    for size in range(1, len(data)):
        with pytest.raises(Cut):
            machine(data[:size]).run()


@pytest.mark.parametrize(
    ("limits", "data", "why"),
    [
        (Limits(memo=10), b"\x80\x04" + b"]\x94" * 40_000 + b".", "memo"),
        (Limits(objects=20_000), b"\x80\x04" + b"]" * 40_000 + b".", "20,000 objects"),
        (Limits(text_bytes=10), b"\x80\x04X\x0b\x00\x00\x00hello world.", "11 bytes"),
        (Limits(depth=5), b"\x80\x04" + b"(" * 8 + b"l" * 8 + b".", "5 containers"),
        (Limits(objects=50), b"\x80\x04" + call(glob("builtins", "set"), list(range(100))) + b".", "50 objects"),
    ],
)
def test_caps(limits: Limits, data: bytes, why: str) -> None:
    assert why in answer(data, limits, time.monotonic() + 5)["refused"]


def test_time_is_capped_too() -> None:
    found = answer(b"\x80\x04" + b"N0" * 200_000 + b"N.", DEFAULT, time.monotonic() - 1)
    assert "too long" in found["refused"]


def test_shared_values_unfold_only_so_far() -> None:
    doubling = b"\x80\x04]\x94" + b"".join(b"(h" + bytes([i]) + b"2l\x94" for i in range(40)) + b"."
    assert "more values" in answer(doubling, DEFAULT, time.monotonic() + 30)["refused"]
    widths = b"".join(b"(h" + bytes([i]) + b"2" * 63 + b"t\x940" for i in range(4))
    shared = b"\x80\x04K\x07\x940" + widths + b"}h\x04K\x01s."
    began = time.process_time()
    assert "many parts" in answer(shared, DEFAULT, time.monotonic() + 30)["refused"]
    assert time.process_time() - began < 0.5
    long = b"\x80\x04X\x00\x00\x10\x00" + b"x" * (1 << 20) + b"\x94(" + b"h\x00" * 200 + b"l."
    assert "more text" in answer(long, DEFAULT, time.monotonic() + 30)["refused"]


def test_the_bytes_behind_the_end_are_counted() -> None:
    assert answer(b"\x80\x04].and more", DEFAULT, time.monotonic() + 5) == {"root": [], "cut": None, "rest": 8}


def test_a_refusal_says_where() -> None:
    with pytest.raises(Refusal, match=r"os\.system, which no dump does"):
        machine(glob("os", "system") + b".").run()
    assert "(at byte " in answer(b"\x80\x04]]]\xff.", DEFAULT, time.monotonic() + 5)["refused"]
