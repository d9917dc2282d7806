"""The requests of a dump by shape: what those that were open at the crash have in common, beside the others."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ridgeline.signals.dump.records import Dump, DumpedRequest

BANDS: Final = (64, 256, 1024, 4096, 16384, 65536)  # upper ends in tokens
SCHEMAS: Final = ("json_schema", "regex", "ebnf", "structural_tag")
# Field of the request object → feature, where it is set and neither false nor empty.
FEATURES: Final = (
    ("return_logprob", "logprobs"),
    ("return_hidden_states", "hidden states"),
    ("require_reasoning", "reasoning"),
    ("custom_logit_processor", "logit processor"),
    ("input_embeds", "input embeds"),
    ("session_params", "session"),
    ("bootstrap_room", "disaggregated"),
)
PENALTIES: Final = (("frequency_penalty", 0), ("presence_penalty", 0), ("repetition_penalty", 1))


@dataclass(frozen=True)
class Shape:
    """What makes requests alike here: a band of prompt tokens, the limit asked for, how it is sampled, what it uses."""

    prompt: str
    limit: str
    sampling: str
    features: tuple[str, ...]


@dataclass(frozen=True)
class Group:
    """The requests of one shape. `last_s`: seconds from its last arrival to the crash, or to the end of the dump."""

    shape: Shape
    unfinished: int
    finished: int
    failed: int  # finished with abort
    last_s: float | None
    numbers: tuple[int, ...]  # of its unfinished requests


def shape_of(r: DumpedRequest) -> Shape:
    """The shape of one request."""
    tokens = r.prompt_tokens
    prompt = "unknown" if tokens is None else _band(tokens)
    if tokens is None and r.text is not None:
        prompt = f"{_band(len(r.text))} chars"
    return Shape(prompt, _limit(r), _sampling(r), _features(r))


def grouped(dump: Dump) -> list[Group]:
    """All requests by shape: most unfinished first, then the latest to arrive."""
    members: dict[Shape, list[DumpedRequest]] = {}
    for r in dump.requests:
        members.setdefault(shape_of(r), []).append(r)
    end = dump.crash_ts if dump.crash_ts is not None else _latest(r.end_ts for r in dump.requests if r.clock == "wall")
    groups = [_group(shape, requests, end) for shape, requests in members.items()]
    return sorted(groups, key=lambda g: (-g.unfinished, g.last_s if g.last_s is not None else 1e18, str(g.shape)))


def last(dump: Dump, count: int) -> list[DumpedRequest]:
    """The last `count` to arrive, those open at the crash before all others; in the order of arrival."""
    ranked = sorted(dump.requests, key=lambda r: (r.finished is False, r.arrival_ts or 0.0, r.number))
    chosen = ranked[len(ranked) - count :] if count < len(ranked) else ranked
    return sorted(chosen, key=lambda r: (r.arrival_ts or 0.0, r.number))


def _group(shape: Shape, requests: Sequence[DumpedRequest], end: float | None) -> Group:
    arrival = _latest(r.arrival_ts for r in requests if r.clock == "wall")
    return Group(
        shape=shape,
        unfinished=sum(r.finished is False for r in requests),
        finished=sum(r.finished is True for r in requests),
        failed=sum(r.finish_reason == "abort" for r in requests),
        last_s=None if end is None or arrival is None else end - arrival,
        numbers=tuple(r.number for r in requests if r.finished is False),
    )


def _latest(stamps: Iterable[float | None]) -> float | None:
    return max((ts for ts in stamps if ts is not None), default=None)


def _band(tokens: int) -> str:
    low = 0
    for high in BANDS:
        if tokens <= high:
            return f"{low}-{high}"
        low = high + 1
    return f"over {BANDS[-1]}"


def _limit(r: DumpedRequest) -> str:
    if not r.sampling:
        return "unknown"
    return "none" if r.max_new_tokens is None else _band(r.max_new_tokens)


def _sampling(r: DumpedRequest) -> str:
    """`greedy`, or the settings that are not the engine's defaults."""
    if not r.sampling:
        return "unknown"
    params = r.sampling
    heat = params.get("temperature")
    if heat == 0 or params.get("top_k") == 1:
        words = ["greedy"]
    else:
        words = [] if heat in (None, 1) else [f"temperature {_shown(heat)}"]
        words += [f"top-p {_shown(params['top_p'])}"] if params.get("top_p") not in (None, 1) else []
        words += [f"top-k {_shown(params['top_k'])}"] if params.get("top_k") not in (None, -1, 1 << 30) else []
        words += [f"min-p {_shown(params['min_p'])}"] if params.get("min_p") not in (None, 0) else []
        words = words or ["default"]
    words += ["penalties"] if any(params.get(name) not in (None, usual) for name, usual in PENALTIES) else []
    return ", ".join(words)


def _features(r: DumpedRequest) -> tuple[str, ...]:
    params, asked = r.sampling, r.asked
    found = [name.replace("_", " ") for name in SCHEMAS if params.get(name)]
    found += [f"n={r.n}"] if r.n is not None and r.n > 1 else []
    found += ["ignore eos"] if params.get("ignore_eos") else []
    found += ["stop"] if any(params.get(name) for name in ("stop", "stop_token_ids", "stop_regex")) else []
    found += ["logit bias"] if params.get("logit_bias") else []
    found += [word for name, word in FEATURES if asked.get(name) not in (None, False, "", [], {})]
    found += ["lora"] if r.lora else []
    found += [f"{count} {name}" for name, count in r.media.items()]
    found += ["embedding"] if r.endpoint == "/encode" else []
    found += ["not streamed"] if r.stream is False else []
    return tuple(found)


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, int | float) else "other"
