"""Answers of /generate, /v1/completions and /v1/chat/completions, whole or as an event stream, while they arrive.

Facts of the formats: SIGNALS §3.6 (meta_info) and §1.1; events: WHATWG HTML, "Interpreting an event stream".
/generate repeats the whole text in every piece unless the server runs with incremental output: told by the pieces.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from ridgeline.replay.shot import Failure

MOST_GAPS: Final = 100_000
MOST_BODY: Final = 256 << 20
MESSAGE_CHARS: Final = 300


@dataclass
class Piece:
    """What one choice has said so far.

    While every text begins with the one before, only the last and the lengths are kept: a server that repeats the whole
    output in every piece would otherwise fill the memory with the square of it.
    """

    growing: bool = True
    last: str = ""
    lengths: list[int] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)  # once a piece did not begin with the one before
    ids: list[Any] | None = None
    ids_in_parts: bool = False
    finish: str | None = None

    def say(self, text: str, repeats: bool = False) -> bool:
        """Take one text in, which `repeats` all that was said where the token ids did; True where it says more.

        A stop string is cut off again in the last piece: a text may be shorter than the one before.
        """
        trimmed = len(self.lengths) > 1 and text != "" and self.last.startswith(text)
        if self.growing and (repeats or trimmed or text.startswith(self.last)):
            more = len(text) > len(self.last)
            self.lengths.append(len(text))
            self.last = text
            return more
        if self.growing:
            self.growing, self.parts = False, self._apart()
        self.parts.append(text)
        return text != ""

    def token_ids(self, ids: list[Any], made: int | None) -> tuple[bool, bool]:
        """Take token ids in, `made` tokens having been made so far: (there are new ones, they repeat the old ones)."""
        before = len(self.ids or ())
        repeats = made is not None and len(ids) >= made > 1
        if self.ids is not None and made is not None and len(ids) < made:
            if not self.ids_in_parts:
                self.ids_in_parts, self.ids = True, list(self.ids)
            self.ids.extend(ids)
        else:
            self.ids = ids
        return len(self.ids) != before, repeats

    def _apart(self) -> list[str]:
        return [self.last[:n] for n in self.lengths]

    def text(self) -> str:
        """The whole output."""
        if not self.growing:
            return "".join(self.parts)
        # Pieces may begin alike by chance: where the ids came in parts, so did the text.
        return "".join(self._apart()) if self.ids_in_parts else self.last


@dataclass
class Answer:
    """State of one answer. Times are of one clock, in seconds; the caller's."""

    status: int | None = None
    first_s: float | None = None
    last_s: float | None = None
    chunks: int = 0
    gaps: list[float] = field(default_factory=list)
    done: bool = False
    failure: Failure | None = None
    message: str | None = None
    server_id: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    choices: dict[int, Piece] = field(default_factory=dict)
    rest: bytes = b""

    def feed(self, data: bytes, now_s: float) -> None:
        """Bytes of an event stream, in any cut."""
        self.rest += data
        if b"\r" in self.rest:
            tail = self.rest.endswith(b"\r")  # perhaps the first half of \r\n
            self.rest = self.rest[: len(self.rest) - tail].replace(b"\r\n", b"\n").replace(b"\r", b"\n") + b"\r" * tail
        if b"\n\n" not in self.rest:
            if len(self.rest) > MOST_BODY:
                self.fail("protocol", f"an event of more than {MOST_BODY >> 20} MiB")
                self.rest = b""
            return
        *events, self.rest = self.rest.split(b"\n\n")
        for event in events:
            self._event(event, now_s)

    def end(self, now_s: float) -> None:
        """The stream is over: an event without a blank line behind it still counts."""
        if self.rest.strip():
            self._event(self.rest.replace(b"\r", b"\n"), now_s)
        self.rest = b""

    def whole(self, body: bytes) -> None:
        """A whole answer that is no stream."""
        try:
            said = msgspec.json.decode(body)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            self.fail("protocol", "the answer is no JSON: " + _text(body))
            return
        for at, one in enumerate(said if isinstance(said, list) else [said]):
            if isinstance(one, dict):
                self._object(one, at)
        self.done = True
        if not self.choices and self.failure is None and not (isinstance(said, list | dict) and _embeds(said)):
            self.fail("protocol", "the answer holds no output")

    def fail(self, failure: Failure, message: str) -> None:
        """Keep the first failure."""
        if self.failure is None:
            self.failure, self.message = failure, message[:MESSAGE_CHARS]

    def _event(self, event: bytes, now_s: float) -> None:
        lines = [line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:")]
        if not lines:
            return
        data = lines[0] if len(lines) == 1 else b"\n".join(lines)
        if data.strip() == b"[DONE]":
            self.done = True
            return
        try:
            said = msgspec.json.decode(data)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            self.fail("protocol", "an event is no JSON: " + _text(data))
            return
        if isinstance(said, dict) and self._object(said):
            self.chunks += 1
            if self.first_s is None:
                self.first_s = now_s
            elif self.last_s is not None and len(self.gaps) < MOST_GAPS:
                self.gaps.append(now_s - self.last_s)
            self.last_s = now_s

    def _object(self, said: Mapping[str, Any], place: int = 0) -> bool:
        """Take one object in, of the choice at `place` unless it says another; True where it carries output."""
        error = said.get("error")
        if error or said.get("object") == "error":
            self.fail("stream-error", _message(error if error else said))
            return False
        if isinstance(said.get("choices"), list):
            return self._openai(said)
        return self._native(said, place)

    def _native(self, said: Mapping[str, Any], place: int) -> bool:
        text, ids, meta = said.get("text"), said.get("output_ids"), said.get("meta_info")
        meta = meta if isinstance(meta, dict) else {}
        if not meta and not isinstance(text, str) and not isinstance(ids, list):
            return False
        at = said.get("index")
        piece = self.choices.setdefault(at if isinstance(at, int) else place, Piece())
        made, before = _count(meta.get("completion_tokens")), self.completion_tokens
        carries = repeats = False
        if isinstance(ids, list):
            carries, repeats = piece.token_ids(ids, made)
        if isinstance(text, str):
            carries = piece.say(text, repeats) or carries
        reason = meta.get("finish_reason")
        kind = reason.get("type") if isinstance(reason, dict) else reason
        if isinstance(kind, str):
            piece.finish = kind
        if isinstance(meta.get("id"), str):
            self.server_id = meta["id"]
        self._counts(meta.get("prompt_tokens"), made, meta.get("cached_tokens"))
        if kind == "abort" and isinstance(reason, dict):
            self.fail("abort", _message(reason))
        return carries or (made or 0) > (before or 0)

    def _openai(self, said: Mapping[str, Any]) -> bool:
        carries = False
        if isinstance(said.get("id"), str):
            self.server_id = said["id"]
        for choice in said["choices"]:
            if not isinstance(choice, dict):
                continue
            at = choice.get("index")
            piece = self.choices.setdefault(at if isinstance(at, int) else 0, Piece(growing=False))
            holder = next((choice[k] for k in ("delta", "message") if isinstance(choice.get(k), dict)), choice)
            for name in ("reasoning_content", "content", "text"):
                value = holder.get(name)
                if isinstance(value, str) and value:
                    carries = piece.say(value)
            if holder.get("tool_calls"):
                carries = piece.say(msgspec.json.encode(holder["tool_calls"]).decode())
            reason = choice.get("finish_reason")
            if isinstance(reason, str):
                piece.finish = reason
                if reason == "abort":
                    self.fail("abort", "finish_reason abort")
        usage = said.get("usage")
        if isinstance(usage, dict):
            details = usage.get("prompt_tokens_details")
            cached = details.get("cached_tokens") if isinstance(details, dict) else None
            self._counts(usage.get("prompt_tokens"), usage.get("completion_tokens"), cached)
        return carries

    def _counts(self, prompt: Any, completion: Any, cached: Any) -> None:
        for name, value in (("prompt_tokens", prompt), ("completion_tokens", completion), ("cached_tokens", cached)):
            if (found := _count(value)) is not None:
                setattr(self, name, found)

    @property
    def finish_reason(self) -> str | None:
        """Of all choices: abort where one was, else the first one's."""
        said = [piece.finish for _, piece in sorted(self.choices.items())]
        return "abort" if "abort" in said else next((reason for reason in said if reason), None)

    @property
    def text(self) -> str | None:
        """The output of all choices in order; None where no answer came."""
        return "\x1e".join(piece.text() for _, piece in sorted(self.choices.items())) if self.choices else None

    @property
    def output_ids(self) -> tuple[int, ...] | None:
        """The token ids of a single choice, where the server shows them."""
        if len(self.choices) != 1:
            return None
        ids = next(iter(self.choices.values())).ids
        return None if ids is None else tuple(i for i in ids if isinstance(i, int))


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53 else None


def _embeds(said: Any) -> bool:
    first = said[0] if isinstance(said, list) and said else said
    return isinstance(first, dict) and ("embedding" in first or "data" in first)


def _message(value: Any) -> str:
    if isinstance(value, dict):
        found = next((value[k] for k in ("message", "detail", "type") if value.get(k)), None)
        return str(found) if found is not None else "an error without a message"
    return str(value)


def error_message(body: bytes) -> str:
    """The message in the body of an HTTP error."""
    try:
        said = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return _text(body)
    if isinstance(said, dict):
        inner = said.get("error")
        return _message(inner if inner else said)[:MESSAGE_CHARS]
    return _text(body)


def _text(data: bytes) -> str:
    return data[:MESSAGE_CHARS].decode("utf-8", "replace").strip() or "empty"
