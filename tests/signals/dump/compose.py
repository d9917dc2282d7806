"""Pickles written by hand: dumps of every release, and files made to run code when a careless program loads them."""

import struct
from collections.abc import Callable
from typing import Any

from ridgeline.lab.emit.pickles import Instance, body, dumps, text

T = 1796011165.25  # when the first request arrives
IO = "sglang.srt.managers.io_struct"


def asked(rid: str, **more: Any) -> Instance:
    """A request object with a prompt of four tokens."""
    sampling = {"max_new_tokens": 16, "temperature": 0.0, "n": 1, "stop": None}
    state = {
        "rid": rid,
        "text": "one two",
        "input_ids": [1, 300, 70000, 2],
        "sampling_params": sampling,
        "stream": True,
    }
    return Instance(IO, "GenerateReqInput", tuple({**state, "log_metrics": True, **more}.items()))


def answered(rid: str, **more: Any) -> dict[str, Any]:
    """What came of it."""
    meta = {
        "id": rid,
        "finish_reason": {"type": "length", "length": 3},
        "prompt_tokens": 4,
        "completion_tokens": 3,
        "cached_tokens": 1,
        "e2e_latency": 2.0,
        **more,
    }
    return {"text": "out", "output_ids": [5, 6, 7], "meta_info": meta}


def entry(rid: str = "a", at: float = 0.0, **more: Any) -> tuple[Any, ...]:
    """A finished request that arrived `at` seconds after T and took two."""
    return (asked(rid, **more), answered(rid), T + at, T + at + 2.0)


def opened(rid: str = "z", at: float = 0.0, **partial: Any) -> tuple[Any, ...]:
    """A request still open when the server died 9 seconds after T."""
    return (asked(rid), dict(partial), T + at, T + 9.0)


def arguments(**more: Any) -> Instance:
    """Launch arguments."""
    given = {"model_path": "tiny", "tp_size": 2, "page_size": 16, "api_key": "sk-very-secret-0123456789", **more}
    return Instance("sglang.srt.server_args", "ServerArgs", tuple(given.items()))


def dump(requests: list[Any], version: str = "0.5.23", crash: bool = False) -> bytes:
    """A whole dump as that release writes it."""
    if version == "0.4.6":
        return dumps(requests)
    whole: dict[str, Any] = {"server_args": arguments()}
    if version == "0.5.23":
        whole |= {"config_updates": [], "resolved_config": {"model_path": "tiny", "tp_size": 2, "page_size": 1}}
    whole["requests"] = requests
    if crash and version in ("0.5.9", "0.5.23"):
        whole["launch_command"] = "python -m sglang.launch_server --model-path tiny"
    return dumps(whole)


# hand-written opcodes


def glob(module: str, name: str) -> bytes:
    """GLOBAL."""
    return b"c" + module.encode() + b"\n" + name.encode() + b"\n"


def stack_glob(module: str, name: str) -> bytes:
    """STACK_GLOBAL."""
    return text(module) + text(name) + b"\x93"


def call(function: bytes, *args: Any) -> bytes:
    """REDUCE of what `function` puts on the stack; arguments are values or, as bytes, opcodes."""
    inside = b"".join(arg if isinstance(arg, bytes) else body(arg) for arg in args)
    return function + b"(" + inside + b"tR"


def in_dump(payload: bytes) -> bytes:
    """The payload where a dump holds its launch arguments, everything else in order."""
    requests = body([entry()])
    return b"\x80\x04}(" + text("server_args") + payload + text("requests") + requests + b"u."


def hostile(canary: str) -> dict[str, bytes]:
    """Name → pickle. Those that can create the file `canary` when a program loads them that calls what they name."""
    touch = f"touch {canary}"
    made = f"open({canary!r}, 'w').close()"
    found: dict[str, bytes] = {}
    names: list[tuple[str, Callable[[str, str], bytes]]] = [("global", glob), ("stack_global", stack_glob)]
    for how, g in names:
        for module in ("os", "posix", "nt"):
            found[f"{module}.system by {how}"] = b"\x80\x04" + call(g(module, "system"), touch) + b"."
        found[f"eval by {how}"] = b"\x80\x04" + call(g("builtins", "eval"), made) + b"."
        found[f"exec by {how}"] = b"\x80\x04" + call(g("builtins", "exec"), made) + b"."
        found[f"old eval by {how}"] = b"\x80\x02" + call(g("__builtin__", "eval"), made) + b"."
        found[f"subprocess by {how}"] = b"\x80\x04" + call(g("subprocess", "check_call"), ["touch", canary]) + b"."
        opened_file = call(g("builtins", "open"), canary, "w")
        found[f"open by {how}"] = b"\x80\x04" + opened_file + b"."
        getattr_, imported = g("builtins", "getattr"), call(g("builtins", "__import__"), "os")
        chain = call(getattr_, imported, "system")
        found[f"getattr of __import__ by {how}"] = b"\x80\x04" + call(chain, touch) + b"."
        deep = call(getattr_, call(getattr_, g("collections", "OrderedDict"), "__class__"), "__subclasses__")
        found[f"getattr chain by {how}"] = b"\x80\x04" + call(deep) + b"."
        partial = call(g("functools", "partial"), g("os", "system"), touch)
        found[f"partial by {how}"] = b"\x80\x04" + call(partial) + b"."
        methods = call(g("operator", "methodcaller"), "system", touch)
        found[f"methodcaller by {how}"] = (
            b"\x80\x04" + call(methods, call(g("importlib", "import_module"), "os")) + b"."
        )
        nested = call(g("builtins", "map"), g("os", "system"), [touch])
        found[f"nested reduce by {how}"] = b"\x80\x04" + call(g("builtins", "list"), nested) + b"."
        found[f"runpy by {how}"] = b"\x80\x04" + call(g("runpy", "_run_code"), made, {}) + b"."
        found[f"pickle in pickle by {how}"] = b"\x80\x04" + call(g("pickle", "loads"), body("x")) + b"."
        found[f"code object by {how}"] = b"\x80\x04" + call(g("types", "CodeType"), 0, 0, 0) + b"."
        found[f"ctypes by {how}"] = b"\x80\x04" + call(g("ctypes", "CDLL"), "libc.so.6") + b"."
        found[f"socket by {how}"] = b"\x80\x04" + call(g("socket", "create_connection"), ("127.0.0.1", 9)) + b"."
        found[f"inside a dump by {how}"] = in_dump(call(g("os", "system"), touch))
        found[f"newobj by {how}"] = b"\x80\x04" + g("subprocess", "Popen") + body((["touch", canary],)) + b"\x81."
        found[f"newobj_ex by {how}"] = b"\x80\x04" + g("subprocess", "Popen") + body((["touch", canary],)) + b"}\x92."
    found["dotted name"] = b"\x80\x04" + call(stack_glob("sglang.srt.utils", "os.system"), touch) + b"."
    found["dotted dunder"] = b"\x80\x04" + call(stack_glob("collections", "OrderedDict.__init__.__globals__"), 1) + b"."
    found["inst"] = b"(" + text(touch) + b"ios\nsystem\n."
    found["obj"] = b"(" + glob("os", "system") + text(touch) + b"o."
    found["protocol 0"] = b"cos\nsystem\n(S'" + touch.encode() + b"'\ntR."
    found["protocol 1"] = b"cos\nsystem\nq\x00(U" + bytes([len(touch)]) + touch.encode() + b"tq\x01Rq\x02."
    found["build on builtins"] = b"\x80\x04" + glob("builtins", "dict") + b"}(" + text("get") + text("x") + b"ub."
    found["build on a dict"] = b"\x80\x04}}(" + text("__class__") + text("x") + b"ub."
    found["build on a list"] = b"\x80\x04]}" + b"b."
    found["setitems on a name"] = b"\x80\x04" + glob("sglang.x", "y") + b"(" + text("a") + b"K\x01u."
    found["append to a name"] = b"\x80\x04" + glob("sglang.x", "y") + b"K\x01a."
    found["append to a tuple"] = b"\x80\x04)K\x01a."
    found["additems to a dict"] = b"\x80\x04}(K\x01\x90."
    found["call of a number"] = b"\x80\x04K\x01)R."
    found["call of an inert object"] = b"\x80\x04" + call(call(glob("sglang.x", "y"), 1), 2) + b"."
    found["arguments that are none"] = b"\x80\x04" + glob("sglang.x", "y") + b"K\x01R."
    found["stack_global of numbers"] = b"\x80\x04K\x01K\x02\x93."
    found["stack_global of nothing"] = b"\x80\x04\x93."
    for code, op in ((b"\x82\x01", "ext1"), (b"\x83\x01\x00", "ext2"), (b"\x84\x01\x00\x00\x00", "ext4")):
        found[op] = b"\x80\x04" + code + b"."
    found["persid"] = b"P1\n."
    found["binpersid"] = b"\x80\x04K\x01Q."
    found["next buffer"] = b"\x80\x05\x97."
    found["readonly buffer"] = b"\x80\x05]\x98."
    found["huge frame"] = b"\x80\x04\x95" + struct.pack("<Q", 1 << 63) + b"]."
    found["frame beyond the end"] = b"\x80\x04\x95" + struct.pack("<Q", 1 << 20) + b"]."
    found["huge long4"] = b"\x80\x04\x8b" + struct.pack("<i", 0x7FFFFFFF) + b"\x00."
    found["negative long4"] = b"\x80\x04\x8b" + struct.pack("<i", -5) + b"\x00."
    found["giant unicode8"] = b"\x80\x04\x8d" + struct.pack("<Q", 1 << 62) + b"x."
    found["giant bytes8"] = b"\x80\x04\x8e" + struct.pack("<Q", 1 << 62) + b"x."
    found["giant bytearray8"] = b"\x80\x05\x96" + struct.pack("<Q", 1 << 40) + b"x."
    found["giant binunicode"] = b"\x80\x04X" + struct.pack("<I", 0xFFFFFFFF) + b"x."
    found["bytearray of a number"] = b"\x80\x04" + call(glob("builtins", "bytearray"), 1 << 40) + b"."
    found["long of many digits"] = b"(L" + b"9" * 5000 + b"L\n."
    found["int of no digits"] = b"\x80\x04Ix\n."
    found["memo index of the sky"] = b"\x80\x04]r\xff\xff\xff\xff."
    found["memo never put"] = b"\x80\x04h\x07."
    found["memo get of a word"] = b"\x80\x04gx\n."
    found["doubling lists"] = (
        b"\x80\x04]\x94" + b"".join(b"(" + b"j" + struct.pack("<I", i) + b"2l\x94" for i in range(60)) + b"."
    )
    found["doubling tuples as keys"] = b"\x80\x04}" + b")" + b"2\x86" * 60 + b"K\x01s."
    wide = b"".join(b"(h" + bytes([i]) + b"2" * 63 + b"t\x940" for i in range(4))
    found["wide tuples as keys"] = b"\x80\x04K\x07\x940" + wide + b"}h\x04K\x01s."
    found["deep lists"] = b"\x80\x04" + b"(" * 100_000 + b"l" * 100_000 + b"."
    found["deep tuple as a key"] = b"\x80\x04}" + b")" + b"\x85" * 100_000 + b"K\x01s."
    found["list in itself"] = b"\x80\x04]\x94h\x00a."
    found["dict in itself"] = b"\x80\x04}\x94K\x01h\x00s."
    found["list as a key"] = b"\x80\x04}]K\x01s."
    found["set of a list"] = b"\x80\x04\x8f(]\x90."
    found["key without a value"] = b"\x80\x04}(K\x01u."
    found["mark never set"] = b"\x80\x04]e."
    found["empty stack"] = b"\x80\x04\x86."
    found["stop without a value"] = b"\x80\x04."
    found["no opcode"] = b"\x80\x04\xff."
    found["protocol 9"] = b"\x80\x04\x80\x09]."
    found["text that is none"] = b"\x80\x04\x8c\x02\xff\xfe."
    found["two states"] = b"\x80\x04" + stack_glob("sglang.x", "y") + b")\x81K\x01bK\x02b."
    return found
