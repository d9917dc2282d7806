"""`Shot`: one request as the player sends it. `Outcome`: what came of one request, recorded or seen by us."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Failure = Literal[
    "local",  # no connection for a reason of our own: too many open files, no port left
    "refused",  # no connection: nothing listens
    "disconnect",  # the connection closed before the answer was whole
    "timeout",
    "http",  # a status of 400 and above, or a redirect
    "stream-error",  # HTTP 200 and an error inside the stream or the answer
    "abort",  # finish_reason abort
    "protocol",  # an answer that is no answer: not JSON, not an event stream
    "cancelled",  # by us: interrupted while it ran
]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one request. None is "not known"; a text of "" is an empty answer.

    Times are epoch seconds (`planned_ts`, `sent_ts`, `first_ts`, `last_ts`, `end_ts`), spans seconds. `gaps_s` are the
    gaps between pieces of a stream that carried output. A recorded outcome has no `planned_ts` and no gaps.
    """

    status: int | None = None
    failure: Failure | None = None
    message: str | None = None
    finish_reason: str | None = None
    text: str | None = None
    output_ids: tuple[int, ...] | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    server_id: str | None = None
    planned_ts: float | None = None
    sent_ts: float | None = None
    first_ts: float | None = None
    last_ts: float | None = None
    end_ts: float | None = None
    ttft_s: float | None = None
    e2e_s: float | None = None
    chunks: int = 0
    gaps_s: tuple[float, ...] = ()

    @property
    def fine(self) -> bool:
        """An answer that came whole, without an error."""
        return self.failure is None and self.finish_reason is not None

    @property
    def error_class(self) -> str | None:
        """The failure with its status where it has one: `http-500`; None where nothing failed."""
        return f"http-{self.status}" if self.failure == "http" else self.failure


@dataclass(frozen=True, slots=True)
class Drawn:
    """A prompt without content: `own` numbers its own text, `segments` are (id, tokens) of what it may share.

    Two prompts share a prefix exactly as far as their segment ids agree (`scenario.model`).
    """

    own: int
    tokens: int
    segments: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Shot:
    """One request to send `at_s` seconds after the first, as SGLang's native request names things.

    `ids`, `text`: the prompt as recorded (either, both, or neither where it is drawn). `sampling` is sampling_params as
    recorded; `fields` every other field that is sent on; `headers` go beside the body. `attrs` is what a filter sees.
    """

    at_s: float
    rid: str
    text: str | None = None
    ids: tuple[int, ...] | None = None
    drawn: Drawn | None = None
    sampling: Mapping[str, Any] | None = None
    fields: Mapping[str, Any] | None = None
    headers: tuple[tuple[str, str], ...] = ()
    stream: bool = True
    endpoint: str = "/generate"
    attrs: Mapping[str, str | float | bool | None] | None = None
    recorded: Outcome | None = None
    unfinished: bool = False  # still open when the dump was written

    @property
    def greedy(self) -> bool:
        """Whether the same input must give the same output: temperature 0 or top_k 1."""
        given = self.sampling or {}
        return given.get("temperature") == 0 or given.get("top_k") == 1

    @property
    def size(self) -> int:
        """Tokens of the prompt where they are known, else characters."""
        if self.drawn is not None:
            return self.drawn.tokens
        return len(self.ids if self.ids is not None else self.text or "")


@dataclass(frozen=True)
class Load:
    """Requests in order of arrival and where they come from; `origin_ts` is the epoch second of the first."""

    shots: tuple[Shot, ...]
    source: str
    origin_ts: float | None
    notes: tuple[str, ...]
    synthetic: bool = False
