"""Compose the crash dump of examples/dumps from a seed: `python examples/compose_dumps.py`.

Sixteen requests of 0.5.23; three long ones with a JSON schema are still open when the scheduler dies.
"""

import random
from pathlib import Path
from typing import Any

from ridgeline.lab.emit.pickles import Instance, dumps

START = 1796011165.0
SCHEMA = '{"type": "object", "properties": {"ward": {"type": "string"}}}'
OUT = Path(__file__).resolve().parent / "dumps" / "crash_dump.pkl"


def request(rid: str, tokens: int, draw: random.Random, **sampling: Any) -> Instance:
    """A request object as the API server holds it."""
    params = {"max_new_tokens": 128, "temperature": 0.7, "n": 1, "stop": None, "json_schema": None, **sampling}
    ids = tuple(draw.randrange(32_000) for _ in range(tokens))
    state = {"rid": rid, "text": None, "input_ids": ids, "sampling_params": params, "stream": True, "log_metrics": True}
    return Instance("sglang.srt.managers.io_struct", "GenerateReqInput", tuple(state.items()))


def entry(i: int, draw: random.Random, crash_ts: float) -> tuple[Any, ...]:
    """(request, answer, arrival, end) of the request number `i`."""
    at = START + 1.5 * i
    if i >= 13:
        asked = request(f"req-{i:02}", 1200 + 40 * i, draw, json_schema=SCHEMA, max_new_tokens=512)
        return (asked, {"output_ids": [7] * (20 - i)} if i < 15 else {}, at, crash_ts)
    tokens = draw.choice((90, 180, 700))
    output = draw.randrange(20, 128)
    e2e_s = 0.12 + output * 0.02
    meta = {
        "id": f"req-{i:02}", "finish_reason": {"type": "stop", "matched": 2}, "prompt_tokens": tokens,
        "completion_tokens": output, "cached_tokens": tokens // 2, "queue_time": 0.004, "first_token_latency": 0.12,
        "e2e_latency": e2e_s, "request_received_ts": at,
    }  # fmt: skip
    answer = {"text": "", "output_ids": [7] * output, "meta_info": meta}
    return (request(f"req-{i:02}", tokens, draw), answer, at, at + e2e_s)


def main() -> None:
    """Write the dump; the same bytes every time."""
    draw = random.Random(3)
    crash_ts = START + 24.25
    args = {"model_path": "example/model", "tp_size": 1, "page_size": 1, "max_running_requests": 64, "dtype": "auto"}
    whole = {
        "server_args": Instance("sglang.srt.server_args", "ServerArgs", tuple(args.items())),
        "config_updates": [],
        "resolved_config": args,
        "requests": [entry(i, draw, crash_ts) for i in range(16)],
        "launch_command": "python -m sglang.launch_server --model-path example/model",
    }
    OUT.write_bytes(dumps(whole))


if __name__ == "__main__":
    main()
