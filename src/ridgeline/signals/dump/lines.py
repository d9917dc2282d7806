"""A request of a dump as one line of text, for citations: a pickle has no lines, its requests are numbered instead."""

import json
from collections.abc import Collection
from typing import Final

from ridgeline.signals.dump import read_blob
from ridgeline.signals.dump.records import DumpedRequest
from ridgeline.signals.stream import Blob

SAID: Final = (
    *("rid", "type", "arrival_ts", "finished", "finish_reason", "finish_message", "status_code"),
    *("prompt_tokens", "cached_tokens", "completion_tokens", "max_new_tokens", "n", "stream", "lora", "room"),
    *("queue_s", "ttft_s", "e2e_s"),
)


def request_lines(blob: Blob, numbers: Collection[int]) -> dict[int, str]:
    """Number → text of the wanted requests, without prompts and outputs; numbers the dump does not have are absent."""
    return {r.number: line_of(r) for r in read_blob(blob).requests if r.number in numbers}


def line_of(r: DumpedRequest) -> str:
    """Everything said of a request but its content, as one line of JSON."""
    said = {name: value for name in SAID if (value := getattr(r, name)) is not None}
    return json.dumps({"request": r.number, **said})
