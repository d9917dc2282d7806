"""What a dump says, as plain frozen values (SIGNALS §5). Nothing here was made by a name out of the pickle.

What the file does not say is None. Mappings hold plain data only (str, int, float, bool, None, lists, dicts); an object
of any class is `{"$": "module.Class", …its attributes}`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["request-dump", "crash-dump"]


@dataclass(frozen=True)
class DumpedRequest:
    """One entry of a dump: what was asked, and what came of it.

    A dump does not hold the endpoint the client called, the messages of a chat or the number of chunks sent: the server
    has made them one prompt by then. `endpoint` is the native one that takes the same request.
    """

    number: int  # 1-based place in the file
    type: str  # class of the request object: GenerateReqInput, EmbeddingReqInput, …
    endpoint: str  # "/generate" or "/encode"
    rid: str | None
    arrival_ts: float | None  # epoch seconds (the file's created time)
    end_ts: float | None  # epoch seconds: finish time, or time of the crash where unfinished
    clock: str  # "wall", or "undated" where the times are no epoch seconds
    finished: bool | None  # None: the entry does not let tell
    # asked
    text: str | None
    input_ids: tuple[int, ...] | None
    sampling: Mapping[str, Any]  # sampling_params as they stand in the file; empty where there are none
    asked: Mapping[str, Any]  # every set field of the request object by its name, text, ids and sampling_params too
    stream: bool | None
    n: int | None
    max_new_tokens: int | None
    lora: str | None
    routing_key: str | None
    extra_key: str | None
    cache_salt: str | None
    session_id: str | None
    priority: int | None
    dp_rank_asked: int | None
    room: int | None
    media: Mapping[str, int]  # "image" | "video" | "audio" → how many
    # outcome
    output_text: str | None
    output_ids: tuple[int, ...] | None
    prompt_tokens: int | None  # as the engine counted them, else the number of input_ids
    completion_tokens: int | None
    cached_tokens: int | None
    finish_reason: str | None  # stop | length | abort
    finish_message: str | None
    status_code: int | None
    ttft_s: float | None
    e2e_s: float | None
    queue_s: float | None
    meta: Mapping[str, Any]  # meta_info of the last piece; empty where there is none


@dataclass(frozen=True)
class Dump:
    """One file. `refused` is the one line why it was not, or not wholly, read; what came before a cut is kept."""

    path: str
    kind: Kind | None  # None: refused before anything could be told
    version: str | None  # "0.5.23", or a range of releases that write this shape
    requests: tuple[DumpedRequest, ...]
    server_args: Mapping[str, Any]  # launch arguments; empty where the file has none
    launch_command: str | None
    config_updates: tuple[Any, ...]
    crash_ts: float | None  # epoch seconds, of a crash dump with unfinished requests
    refused: str | None
    notes: tuple[str, ...] = ()

    @property
    def finished(self) -> int:
        """How many requests had finished."""
        return sum(r.finished is True for r in self.requests)

    @property
    def unfinished(self) -> int:
        """How many requests were still open."""
        return sum(r.finished is False for r in self.requests)
