"""Request and crash dumps (SIGNALS §5): what each release puts around the list of requests."""

from typing import Any

from ridgeline.lab.emit.meta import asked, meta_info
from ridgeline.lab.emit.model import Request, Server
from ridgeline.lab.emit.pickles import Instance, dumps
from ridgeline.lab.emit.stamp import file_clock
from ridgeline.lab.emit.startup import arguments

IO_STRUCT = "sglang.srt.managers.io_struct"


def request_object(server: Server, r: Request, crash: bool) -> Instance:
    """The request as an object; a crash dump of 0.5.23 holds token ids as tuples."""
    state = dict(asked(server, r))
    ids = state.get("input_ids")
    if ids is not None and crash and server.at == 2:
        state["input_ids"] = tuple(ids)
    return Instance(IO_STRUCT, "GenerateReqInput", tuple(state.items()))


def entry(server: Server, r: Request, crash_ts: float | None) -> tuple[Any, ...]:
    """(request, out, created, finished); of an unfinished one the last piece and the time of the crash."""
    obj = request_object(server, r, crash_ts is not None)
    if r.finished_ts is None:
        assert crash_ts is not None
        partial: dict[str, Any] = {}
        if server.at == 2 and r.first_token_ts is not None:
            partial = {"text": "", "output_ids": list(r.output_ids or ())}
        return (obj, partial, r.received_ts, crash_ts)
    out = {"text": "", "output_ids": list(r.output_ids or ()), "meta_info": meta_info(server, r)}
    return (obj, out, r.received_ts, r.finished_ts)


def dump(server: Server, requests: list[Request], crash_ts: float | None = None) -> bytes:
    """The bytes of a dump; with ``crash_ts`` a crash dump."""
    args = Instance("sglang.srt.server_args", "ServerArgs", tuple(arguments(server).items()))
    whole: dict[str, Any] = {"server_args": args}
    if server.at == 2:
        whole |= {"config_updates": [], "resolved_config": None}
    whole["requests"] = [entry(server, r, crash_ts) for r in requests]
    if crash_ts is not None and server.at > 0:
        whole["launch_command"] = f"python -m sglang.launch_server --model-path {server.model} --port {server.port}"
    return dumps(whole)


def crash_name(server: Server, ts: float) -> str:
    """Path below the crash folder."""
    return f"{server.host}/crash_dump_{file_clock(ts)}.pkl"


def dump_name(ts: float) -> str:
    """File name below the dump folder."""
    return f"{file_clock(ts)}.pkl"
