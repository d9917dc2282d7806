"""Per-request records of a vLLM run: one JSON object per line with the engine's own stamps, and the run's settings.

`requests.jsonl`: `request_id`, `input_toks`, `output_toks`, `arrival_time` (epoch seconds), and `queued_ts`,
`scheduled_ts`, `first_token_ts`, `last_token_ts` on the engine's monotonic clock (vLLM's RequestStateStats). The
monotonic stamps give durations; they become wall stamps by one offset for the whole file, the largest of
`arrival - queued`: the request that reached the queue fastest is taken to have needed no time, so no stamp comes
before its arrival and each is early by at most that request's front-end time. The offset is stated in a note and as a
row of `clocks`.
`meta.json` beside it (settings, KV blocks) gives `config` and `servers` rows, `config.json` (cluster) `config` rows.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from ridgeline.signals.client.record import count, number
from ridgeline.signals.jsontext import decoded
from ridgeline.signals.rows import Reading, Rows, rows_of
from ridgeline.signals.stream import Blob
from ridgeline.signals.unread import unread_rows

BATCH: Final = 50_000
STAMPS: Final = ("queued_ts", "scheduled_ts", "first_token_ts", "last_token_ts")
WALL_FROM: Final = 1e9
BRANCHES: Final = ("engine_kwargs", "kv_cache", "resolved_config", "hardware")
CONFIG_LIMIT: Final = 2000


def read(blob: Blob, reading: Reading) -> Iterator[Rows]:
    """The rows of one file: `records` and `clocks` of requests.jsonl, `config` and `servers` of a settings file."""
    head = blob.head().lstrip()
    if _decoded(head.partition(b"\n")[0]) is None:
        yield from _settings(blob, reading)
        return
    offset = _offset(blob, reading)
    if offset is not None:
        reading.note(
            f"{reading.path}: engine stamps are monotonic; placed on the wall clock by arrival_time (offset "
            f"{offset:.3f} s; each may be early by the fastest request's front-end time)"
        )
        yield rows_of(
            "clocks",
            {
                "clock": ["monotonic:engine"],
                "source": [reading.source],
                "offset_s": [offset],
                "basis": ["largest arrival_time less queued_ts"],
            },
        )
    for first, chunk in blob.chunks(reading):
        made: list[dict[str, Any]] = []
        unread: list[tuple[int, str]] = []
        lines = chunk.removesuffix(b"\n").split(b"\n")
        reading.lines += len(lines)
        for line, text in enumerate(lines, first):
            value = _decoded(text)
            record = _record(value, offset) if value is not None else None
            if record is not None:
                made.append({**record, "line": line})
            elif text.strip():
                unread.append((line, text[:500].decode("utf-8", "replace")))
            else:
                reading.blank += 1
        reading.understood += len(made)
        for at in range(0, len(made), BATCH):
            yield _rows(made[at : at + BATCH], reading)
        if unread:
            yield unread_rows(reading, unread)


def _decoded(text: bytes) -> dict[str, Any] | None:
    value = decoded(text)
    return value if isinstance(value, dict) else None


def _offset(blob: Blob, reading: Reading) -> float | None:
    """The largest arrival - queued of the file; None where the stamps are epoch times already or missing."""
    most: float | None = None
    for _, chunk in blob.chunks(Reading(reading.source, reading.path)):
        for text in chunk.split(b"\n"):
            value = _decoded(text) or {}
            arrival, queued = number(value.get("arrival_time")), number(value.get("queued_ts"))
            if arrival is None or queued is None or arrival < WALL_FROM or queued >= WALL_FROM or queued <= 0:
                continue
            most = arrival - queued if most is None else max(most, arrival - queued)
    return most


def _record(value: Mapping[str, Any], offset: float | None) -> dict[str, Any] | None:
    rid = value.get("request_id")
    arrival = number(value.get("arrival_time"))
    if not isinstance(rid, str | int) or isinstance(rid, bool):
        return None
    raw = {name: number(value.get(name)) for name in STAMPS}
    raw = {name: at if at and at > 0 else None for name, at in raw.items()}  # 0.0: not reached
    wall = {name: _wall(at, offset) for name, at in raw.items()}
    queued, scheduled, first, last = (raw[name] for name in STAMPS)
    tokens = count(value.get("output_toks"))
    decode = _less(last, first)
    end = wall["last_token_ts"]
    made = {
        "rid": str(rid),
        "prompt_tokens": count(value.get("input_toks")),
        "completion_tokens": tokens,
        "received_ts": arrival if arrival is not None and arrival >= WALL_FROM else None,
        "queued_ts": wall["queued_ts"],
        "scheduled_ts": wall["scheduled_ts"],
        "first_token_ts": wall["first_token_ts"],
        "last_token_ts": end,
        "queue_s": _less(scheduled, queued),
        "prefill_s": _less(first, scheduled),
        "decode_s": decode,
        "inference_s": _less(last, scheduled),
        "tpot_s": decode / (tokens - 1) if decode is not None and tokens is not None and tokens > 1 else None,
        "ttft_s": _less(wall["first_token_ts"], arrival),
        "e2e_s": _less(end, arrival),
        "state": "finished" if last is not None else "unfinished",
        "clock": "wall" if arrival is not None and arrival >= WALL_FROM else "monotonic:engine",
    }
    return made if any(made[name] is not None for name in ("received_ts", "queue_s", "prompt_tokens")) else None


def _wall(at: float | None, offset: float | None) -> float | None:
    if at is None or at >= WALL_FROM:
        return at
    return at + offset if offset is not None else None


def _less(later: float | None, earlier: float | None) -> float | None:
    return later - earlier if later is not None and earlier is not None and later >= earlier else None


def _rows(made: list[dict[str, Any]], reading: Reading) -> Rows:
    n = len(made)
    columns = {name: [row[name] for row in made] for name in made[0]}
    for name in ("received_ts", "last_token_ts"):
        known = [at for at in columns[name] if at is not None]
        reading.saw(min(known, default=None), max(known, default=None))
    columns |= {"source": [reading.source] * n, "kind": ["vllm-requests"] * n, "event": ["finished"] * n}
    return rows_of("records", columns)


def _settings(blob: Blob, reading: Reading) -> Iterator[Rows]:
    """`config` (dotted keys) and one `servers` row of a run's meta.json."""
    data = blob.whole(reading)
    value = _decoded(data)
    reading.lines += data.count(b"\n") + (not data.endswith(b"\n"))
    if value is None:
        reading.note(f"{blob.shown}: broken or cut JSON; nothing of it was used (give the whole file)")
        yield unread_rows(reading, [(1, data[:500].decode("utf-8", "replace"))])
        return
    reading.understood += 1
    version = value.get("vllm_version")
    reading.version = version if isinstance(version, str) else reading.version
    keys = sorted(_flat(value, ""))[:CONFIG_LIMIT]
    if keys:
        yield rows_of(
            "config",
            {
                "key": [key for key, _ in keys],
                "value": [text for _, text in keys],
                "origin": ["vllm-requests"] * len(keys),
                "source": [reading.source] * len(keys),
                "line": [1] * len(keys),
            },
        )
    if reading.version is not None or isinstance(value.get("engine_kwargs"), dict):
        yield _server(value, reading)


def _flat(value: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for key, one in value.items():
        if isinstance(one, dict):
            yield from _flat(one, f"{prefix}{key}.")
        elif one is not None:
            text = one if isinstance(one, str) else msgspec.json.encode(one).decode()
            yield prefix + key, text[:500]


def _server(value: Mapping[str, Any], reading: Reading) -> Rows:
    branches = [value.get(name) for name in BRANCHES]
    args, cache, *_ = [branch if isinstance(branch, dict) else {} for branch in branches]
    columns: dict[str, Any] = {
        "engine": "vllm",
        "version": reading.version,
        "model": value.get("model") if isinstance(value.get("model"), str) else None,
        "dp_size": count(args.get("data_parallel_size")),
        "tp_size": count(args.get("tensor_parallel_size")),
        "max_running": count(args.get("max_num_seqs")),
        "max_prefill_tokens": count(args.get("max_num_batched_tokens")),
        "context_len": count(args.get("max_model_len")),
        "page_size": count(cache.get("block_size")),
        "pool_tokens": count(cache.get("num_kv_tokens")),
        "source": reading.source,
        "line": 1,
    }
    return rows_of("servers", {name: [one] for name, one in columns.items()})
