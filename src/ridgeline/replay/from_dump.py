"""Request and crash dumps → shots. Only plain data that a request may carry is sent on.

Left out on purpose: `custom_logit_processor` (code that the target would run), references to media that the target
would have to fetch, ids of the first server's own (`lora_id`, `bootstrap_*`, `http_worker_ipc`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ridgeline.model.errors import InputError
from ridgeline.replay.shot import Failure, Load, Outcome, Shot
from ridgeline.signals.dump import Dump, DumpedRequest, read_dump

FIELDS: Final = (
    "return_logprob", "logprob_start_len", "top_logprobs_num", "token_ids_logprob", "return_text_in_logprobs",
    "return_hidden_states", "lora_path", "session_id", "routed_dp_rank", "data_parallel_rank", "routing_key",
    "conversation_id", "require_reasoning", "max_thinking_tokens", "priority", "extra_key", "cache_salt",
    "custom_labels", "return_entropy", "modalities",
)  # fmt: skip
"""Fields of a request that are sent on where they are set and not what a server takes by itself."""
USUAL: Final[dict[str, Any]] = {
    "logprob_start_len": -1, "top_logprobs_num": 0, "return_text_in_logprobs": True, "return_logprob": False,
    "return_hidden_states": False, "require_reasoning": False, "return_entropy": False,
}  # fmt: skip
BATCH: Final = ("rid", "text", "input_ids", "sampling_params")
"""Fields that are lists where one request holds several prompts."""
MEDIA: Final = ("image_data", "video_data", "audio_data")
ROUTING_HEADER: Final = "x-smg-routing-key"


def load_dumps(paths: Sequence[Path]) -> Load:
    """The requests of one or more dumps in order of arrival.

    Raises InputError where none of them holds a request that can be sent.
    """
    notes: list[str] = []
    dumps = [read_dump(path) for path in paths]
    notes += [f"{d.path}: {d.refused}" if d.path not in d.refused else d.refused for d in dumps if d.refused]
    all_of = [(dump, r) for dump in dumps for r in dump.requests]
    if not all_of:
        raise InputError("; ".join(notes) or f"{', '.join(map(str, paths))}: no request in it")
    sendable = [(dump, r) for dump, r in all_of if _sendable(r)]
    for reason, count in sorted(Counter(_why_not(r) for _, r in all_of if not _sendable(r)).items()):
        notes.append(f"{count} requests are not sent: {reason}")
    if not sendable:
        raise InputError(f"{', '.join(map(str, paths))}: no request of it can be sent; " + "; ".join(notes))
    if any("custom_logit_processor" in r.asked and r.asked["custom_logit_processor"] for _, r in sendable):
        notes.append("custom_logit_processor is code for the target to run: left out")
    undated = [r for _, r in sendable if r.arrival_ts is None or r.clock != "wall"]
    if undated:
        notes.append(f"{len(undated)} requests have no arrival time: sent with the one before them")
    first = min((r.arrival_ts for _, r in sendable if r.arrival_ts is not None and r.clock == "wall"), default=None)
    shots: list[Shot] = []
    at_s = 0.0
    for dump, r in sendable:
        if r.arrival_ts is not None and r.clock == "wall" and first is not None:
            at_s = r.arrival_ts - first
        shots.append(shot_of(r, at_s, dump, len(shots)))
    shots.sort(key=lambda s: s.at_s)
    return Load(tuple(shots), ", ".join(path.name for path in paths), first, tuple(notes))


def _sendable(r: DumpedRequest) -> bool:
    return _why_not(r) == ""


def _why_not(r: DumpedRequest) -> str:
    if any(not _inline(r.asked.get(name)) for name in MEDIA):
        return "their images, videos or sounds are not in the dump, only where they were"
    if r.text is None and r.input_ids is None and not _is_batch(r.asked):
        return "the dump holds neither their text nor their token ids"
    return ""


def _is_batch(asked: Mapping[str, Any]) -> bool:
    return any(isinstance(asked.get(name), list) and asked.get(name) for name in ("text", "input_ids"))


def _inline(value: Any) -> bool:
    """Whether media is absent or stands in the dump itself as a data URL or base64."""
    if value is None or value == []:
        return True
    if isinstance(value, list):
        return all(_inline(one) for one in value)
    return isinstance(value, str) and (value.startswith("data:") or (len(value) > 512 and "/" not in value[:8]))


def shot_of(r: DumpedRequest, at_s: float, dump: Dump | None = None, number: int = 0) -> Shot:
    """One dumped request as it will be sent."""
    fields = {k: r.asked[k] for k in FIELDS if r.asked.get(k) not in (None, "", [], {}) and r.asked[k] != USUAL.get(k)}
    media = {k: r.asked[k] for k in MEDIA if r.asked.get(k)}
    text, ids = r.text, r.input_ids
    if media:
        fields |= media
        ids = None if text is not None else ids  # the ids hold the places of the images, which the target makes anew
    if text is None and ids is None:
        fields |= {k: r.asked[k] for k in BATCH if isinstance(r.asked.get(k), list)}
    key = r.routing_key
    return Shot(
        at_s, r.rid or f"request-{number}", text, ids, None, dict(r.sampling), fields,
        ((ROUTING_HEADER, key),) if key and key.isascii() and key.isprintable() else (),
        bool(r.stream), r.endpoint, _attrs(r), _recorded(r), r.finished is False,
    )  # fmt: skip


def _attrs(r: DumpedRequest) -> dict[str, str | float | bool | None]:
    temperature = r.sampling.get("temperature")
    return {
        "rid": r.rid,
        "prompt_tokens": r.prompt_tokens,
        "prompt_chars": len(r.text) if r.text is not None else None,
        "completion_tokens": r.completion_tokens,
        "max_new_tokens": r.max_new_tokens,
        "temperature": temperature if isinstance(temperature, int | float) else None,
        "stream": r.stream,
        "n": r.n,
        "lora": r.lora,
        "routing_key": r.routing_key,
        "session_id": r.session_id,
        "priority": r.priority,
        "dp_rank": r.dp_rank_asked,
        "regex": any(r.sampling.get(k) for k in ("regex", "ebnf")),
        "schema": any(r.sampling.get(k) for k in ("json_schema", "structural_tag")),
        "logprobs": bool(r.asked.get("return_logprob")),
        "media": bool(r.media),
        "finish_reason": r.finish_reason,
        "status": r.status_code,
        "finished": r.finished,
        "e2e_s": r.e2e_s,
        "ttft_s": r.ttft_s,
    }


def _recorded(r: DumpedRequest) -> Outcome | None:
    """What the dump says came of it; None for a request that had not finished."""
    if not r.finished:
        return None
    failure: Failure | None = "abort" if r.finish_reason == "abort" else None
    return Outcome(
        r.status_code, failure, r.finish_message, r.finish_reason, r.output_text, r.output_ids, r.prompt_tokens,
        r.completion_tokens, r.cached_tokens, r.rid, sent_ts=r.arrival_ts, end_ts=r.end_ts, ttft_s=r.ttft_s,
        e2e_s=r.e2e_s,
    )  # fmt: skip
