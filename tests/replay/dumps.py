"""Dumps for tests: real pickle bytes in the shape of 0.5.23, written opcode by opcode."""

from pathlib import Path
from typing import Any

from ridgeline.lab.emit.pickles import Instance, dumps

ARRIVED = 1_796_011_000.0


def request(rid: str, text: str | None = None, ids: list[int] | None = None, *, stream: bool = True,
            sampling: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:  # fmt: skip
    """The state of one GenerateReqInput."""
    given = {"temperature": 0.0, "max_new_tokens": 8} if sampling is None else sampling
    return {"rid": rid, "text": text, "input_ids": ids, "sampling_params": given, "stream": stream, "log_metrics": True,
            "return_logprob": False, "lora_path": None, **fields}  # fmt: skip


def finished(rid: str, prompt: int, ids: list[int], text: str, reason: str = "stop") -> dict[str, Any]:
    """The last piece of an answer."""
    why = {"type": "length", "length": len(ids)} if reason == "length" else {"type": reason, "matched": 2}
    return {"text": text, "output_ids": ids, "meta_info": {
        "id": rid, "finish_reason": why, "prompt_tokens": prompt, "completion_tokens": len(ids), "cached_tokens": 0,
        "e2e_latency": 0.5}}  # fmt: skip


def write_dump(
    path: Path, entries: list[tuple[dict[str, Any], dict[str, Any], float]], crash_s: float | None = None
) -> Path:
    """A dump of (request, last piece or {}, seconds after the first); with `crash_s` a crash dump."""
    rows = []
    for state, out, at_s in entries:
        end = ARRIVED + (at_s + 0.5 if out else crash_s or at_s)
        obj = Instance("sglang.srt.managers.io_struct", "GenerateReqInput", tuple(state.items()))
        rows.append((obj, out, ARRIVED + at_s, end))
    whole: dict[str, Any] = {"server_args": None, "config_updates": [], "resolved_config": None, "requests": rows}
    if crash_s is not None:
        whole["launch_command"] = "python -m sglang.launch_server --model-path tiny"
    path.write_bytes(dumps(whole))
    return path
