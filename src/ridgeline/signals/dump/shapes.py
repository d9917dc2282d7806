"""The plain data of a pickle → requests: the shapes of 0.4.6 to 0.5.23 (SIGNALS §5), told by what is in them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ridgeline.signals import answers
from ridgeline.signals.answers import real
from ridgeline.signals.dump.records import Dump, DumpedRequest, Kind
from ridgeline.signals.secrets import clean_text

EPOCH: Final = (631152000.0, 32503680000.0)  # 1990 to 3000: other numbers are no wall clock
I64: Final = 1 << 63
MEDIA: Final = ("image", "video", "audio")
CLASS: Final = "$"
# Attributes of the launch arguments that are the engine's own bookkeeping, and how they were rebuilt.
OWN: Final = ("_", CLASS, "args", "items")
Tree = Mapping[str, Any]


def whole(value: Any) -> int | None:
    """An integer that fits a column; None for anything else, however long."""
    return None if isinstance(value, int) and abs(value) >= I64 else answers.whole(value)


def dump_of(root: Any, path: str) -> Dump | None:
    """The dump in plain data; None where it has no list of requests."""
    top: Tree = root if isinstance(root, dict) else {"requests": root}
    entries = top.get("requests")
    if not isinstance(entries, list) or (isinstance(root, dict) and "server_args" not in root):
        return None
    taken = [(at, entry) for at, entry in enumerate(entries, 1) if _is_entry(entry)]
    if entries and not taken:
        return None
    requests = [request_of(at, entry) for at, entry in taken]
    open_ends = [r.end_ts for r in requests if r.finished is False and r.clock == "wall" and r.end_ts is not None]
    launch = top.get("launch_command")
    crash = isinstance(launch, str) or any(r.finished is False for r in requests)
    kind: Kind = "crash-dump" if crash else "request-dump"
    lost = len(entries) - len(taken)
    return Dump(
        path=path,
        kind=kind,
        version=_version(root, requests, crash),
        requests=tuple(requests),
        server_args=settings(top.get("resolved_config")) or settings(top.get("server_args")),
        launch_command=launch if isinstance(launch, str) else None,
        config_updates=tuple(top["config_updates"]) if isinstance(top.get("config_updates"), list) else (),
        crash_ts=max(open_ends, default=None),
        refused=None,
        notes=(f"{lost} entries are no requests and were left out",) if lost else (),
    )


def settings(value: Any) -> dict[str, Any]:
    """Launch arguments by name, without the engine's own bookkeeping; empty where there are none."""
    if not isinstance(value, dict):
        return {}
    return {key: item for key, item in value.items() if not key.startswith(OWN[:2]) and key not in OWN}


def _is_entry(entry: Any) -> bool:
    return isinstance(entry, list) and len(entry) == 4 and isinstance(entry[0], dict)


def _version(root: Any, requests: Sequence[DumpedRequest], crash: bool) -> str:
    """The release, or the releases, that write this shape."""
    if not isinstance(root, dict):
        return "0.4.6"
    if "resolved_config" in root:
        return "0.5.23"
    if "launch_command" in root or any("received_time_perf" in r.asked for r in requests):
        return "0.5.9"
    return "0.4.10-0.5.6" if crash else "0.4.10-0.5.9"


def request_of(at: int, entry: Sequence[Any]) -> DumpedRequest:
    """One entry: (request object, out, created, finished or the time of the crash)."""
    asked: dict[str, Any] = {key: value for key, value in entry[0].items() if key != CLASS}
    out = entry[1] if isinstance(entry[1], dict) else {}
    meta = out.get("meta_info")
    said: dict[str, Any] = meta if isinstance(meta, dict) else {}
    kind = str(entry[0].get(CLASS, "")).rpartition(".")[2] or "unknown"
    sampling = asked.get("sampling_params")
    params: dict[str, Any] = sampling if isinstance(sampling, dict) else {}
    ids = _ids(asked.get("input_ids"))
    reason, message, status = _reason(said.get("finish_reason"))
    created, ended = real(entry[2]), real(entry[3])
    wall = _is_date(created)
    return DumpedRequest(
        number=at,
        type=kind,
        endpoint="/encode" if kind.startswith("Embedding") else "/generate",
        rid=_text(asked.get("rid")) or _text(said.get("id")),
        arrival_ts=created,
        end_ts=ended if not wall or _is_date(ended) else None,
        clock="wall" if wall else "undated",
        finished=_finished(entry[1], said),
        text=_text(asked.get("text")),
        input_ids=ids,
        sampling=params,
        asked=asked,
        stream=_flag(asked.get("stream")),
        n=whole(params.get("n")),
        max_new_tokens=whole(params.get("max_new_tokens")),
        lora=_text(asked.get("lora_path")) or _text(asked.get("lora_id")),
        routing_key=_text(asked.get("routing_key")),
        extra_key=_text(asked.get("extra_key")),
        cache_salt=_text(asked.get("cache_salt")),
        session_id=_text(asked.get("session_id")) or _session(asked.get("session_params")),
        priority=whole(asked.get("priority")),
        dp_rank_asked=_first(whole(asked.get("routed_dp_rank")), whole(asked.get("data_parallel_rank"))),
        room=whole(asked.get("bootstrap_room")),
        media={name: count for name in MEDIA if (count := _count(asked.get(f"{name}_data")))},
        output_text=_text(out.get("text")),
        output_ids=_ids(out.get("output_ids")),
        prompt_tokens=_first(whole(said.get("prompt_tokens")), None if ids is None else len(ids)),
        completion_tokens=whole(said.get("completion_tokens")),
        cached_tokens=whole(said.get("cached_tokens")),
        finish_reason=reason,
        finish_message=None if message is None else clean_text(message),  # an error may quote the key it was given
        status_code=status,
        ttft_s=real(said.get("first_token_latency")),
        e2e_s=real(said.get("e2e_latency")),
        queue_s=real(said.get("queue_time")),
        meta=said,
    )


def _is_date(ts: float | None) -> bool:
    return ts is not None and EPOCH[0] < ts < EPOCH[1]


def _finished(out: Any, meta: Tree) -> bool | None:
    """False where the last piece has no meta_info or a null finish reason; None where keys were left out on purpose."""
    if not isinstance(out, dict):
        return None
    if not meta:
        return False
    if "finish_reason" in meta:
        return meta["finish_reason"] is not None
    return None


def _reason(value: Any) -> tuple[str | None, str | None, int | None]:
    if isinstance(value, dict):
        return _text(value.get("type")), _text(value.get("message")), whole(value.get("status_code"))
    return _text(value), None, None


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _session(value: Any) -> str | None:
    return _text(value.get("id")) if isinstance(value, dict) else None


def _ids(value: Any) -> tuple[int, ...] | None:
    """Token ids; None for what is not one list of them (a batch has lists of lists)."""
    return tuple(value) if isinstance(value, list) and {int}.issuperset(map(type, value)) else None


def _count(value: Any) -> int:
    if value is None or value == "":
        return 0
    return sum(_count(item) for item in value) if isinstance(value, list) else 1
