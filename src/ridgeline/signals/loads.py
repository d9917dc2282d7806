"""Load answers → `loads`, one row per rank and answer.

SIGNALS §7.1: `/v1/loads` of SGLang 0.5.9 and 0.5.23 as JSON and in its Prometheus form (prefix `sglang_`), `/get_load`
of 0.4.10 (one number) and 0.5.3 to 0.5.9 (a list), vLLM's `/load` (requests inside the API server).

`ts` is when the answer was made, `snapshot_ts` when the scheduler wrote the figures: a stuck scheduler still answers,
with old ones. `waiting` counts bootstrap, prealloc, transfer and retracted requests too, unlike the metric
`num_queue_reqs`; `queue_waiting` is the waiting queue alone. What no column holds is JSON in `extra`.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ridgeline.signals.answers import Answer, Answers, real, whole
from ridgeline.signals.exposition.keys import apart, key_of
from ridgeline.signals.rows import Reading, Rows, rows_of
from ridgeline.signals.scrapes import epoch, wall_time
from ridgeline.signals.stream import Blob

ROLES: Final = {"null": "unified", "prefill": "prefill", "decode": "decode"}
# Field of the answer (section.field) → column.
COLUMNS: Final = {
    "dp_rank": "dp_rank",
    "num_running_reqs": "running",
    "num_waiting_reqs": "waiting",
    "num_waiting_uncached_tokens": "waiting_uncached_tokens",
    "num_used_tokens": "used_tokens",
    "num_total_tokens": "total_tokens",
    "max_total_num_tokens": "pool_tokens",
    "max_running_requests": "max_running",
    "token_usage": "usage",
    "gen_throughput": "gen_tps",
    "cache_hit_rate": "hit_rate",
    "utilization": "utilization",
    "disaggregation.prefill_bootstrap_queue_reqs": "bootstrap",
    "disaggregation.prefill_prealloc_queue_reqs": "bootstrap",  # its name in 0.5.9
    "disaggregation.prefill_inflight_queue_reqs": "inflight",
    "disaggregation.decode_prealloc_queue_reqs": "prealloc",
    "disaggregation.decode_transfer_queue_reqs": "transfer",
    "disaggregation.decode_retracted_queue_reqs": "decode_retracted",
    "disaggregation.kv_transfer_speed_gb_s": "transfer_gb_s",
    "disaggregation.kv_transfer_latency_ms": "transfer_ms",
    "queues.waiting": "queue_waiting",
    "queues.grammar": "queue_grammar",
    "queues.paused": "queue_paused",
    "queues.retracted": "queue_retracted",
    "queues.prealloc_ready": "prealloc_ready",
    "speculative.accept_length": "accept_length",
    "lora.slots_used": "lora_used",
    "lora.slots_total": "lora_total",
    "num_tokens": "total_tokens",  # /get_load
}
FLOATS: Final = frozenset(
    {"usage", "gen_tps", "hit_rate", "utilization", "transfer_gb_s", "transfer_ms", "accept_length"}
)
# Section of the Prometheus form → section of the JSON form.
SECTIONS: Final = {
    "disagg": "disaggregation",
    "spec": "speculative",
    "memory": "memory",
    "lora": "lora",
    "queues": "queues",
}
NAMES: Final = ("ts", "snapshot_ts", "version", "role", *dict.fromkeys(COLUMNS.values()), "extra", "line")
FLUSH_ROWS: Final = 50_000

Row = dict[str, Any]


def read(blob: Blob, reading: Reading) -> Iterator[Rows]:
    """Rows of `loads`, `scrapes` and `unread`."""
    answers = Answers(blob, reading)
    rows: list[Row] = []
    roles: set[str | None] = set()
    for answer in answers:
        found = list(_rows(answer, reading))
        if found:
            answers.took(answer)
            rows.extend(found)
        else:
            answers.refuse(answer, "not a load answer")
        roles |= {row["role"] for row in found}
        if len(rows) >= FLUSH_ROWS:
            yield _table(rows, reading)
            yield from answers.rows()
            rows = []
    if len(roles) == 1:
        reading.role = roles.pop() or reading.role
    if rows:
        yield _table(rows, reading)
    yield from answers.rows()


def _rows(answer: Answer, reading: Reading) -> Iterator[Row]:
    value = answer.value
    if answer.text is not None:
        yield from _prometheus_form(answer, reading)
    elif isinstance(value, dict) and isinstance(value.get("loads"), list):
        about = {
            key: item
            for key, item in value.items()
            if key not in ("loads", "timestamp", "version") and item is not None
        }
        version = value.get("version")
        if isinstance(version, str):
            reading.version = reading.version or version
        ts = _time(value.get("timestamp"), reading)
        for rank in value["loads"]:
            if isinstance(rank, dict):
                row = _row(answer, _flat(rank), reading, ts)
                row["version"] = version if isinstance(version, str) else None
                yield _with_extra(row, about)
        if not value["loads"]:
            reading.note(f"{reading.path}:{answer.line}: a load answer that lists no rank")
    elif isinstance(value, list):
        for rank in value:
            if isinstance(rank, dict) and "num_reqs" in rank:
                yield _get_load_row(answer, rank, reading)
    elif isinstance(value, dict) and "num_reqs" in value:
        yield _get_load_row(answer, value, reading)
    elif isinstance(value, dict) and whole(value.get("load")) is not None:
        # 0.4.10: used tokens plus those of queued prompts, of the first rank only.
        yield _with_extra(_row(answer, {"num_total_tokens": value["load"]}, reading, None), {"load": value["load"]})
    elif isinstance(value, dict) and whole(value.get("server_load")) is not None:
        yield _with_extra(_row(answer, {}, reading, None), {"server_load": value["server_load"]})


def _row(answer: Answer, rank: Mapping[str, Any], reading: Reading, ts: float | None) -> Row:
    """The columns of one rank's flat fields; what is left goes to `extra`."""
    row: Row = dict.fromkeys(NAMES)
    extra: dict[str, Any] = {}
    for key, value in rank.items():
        column = COLUMNS.get(key)
        kept = None if column is None else real(value) if column in FLOATS else whole(value)
        if column is not None and kept is not None:
            row[column] = kept
        elif key == "disaggregation.mode":
            row["role"] = ROLES.get(str(value))
        elif key == "timestamp":
            row["snapshot_ts"] = _time(value, reading)
        elif value is not None:
            extra[key] = value
    row["ts"] = ts if ts is not None else answer.scrape.ts
    row["line"] = answer.line
    reading.saw(row["ts"], row["ts"])
    return _with_extra(row, extra)


def _get_load_row(answer: Answer, rank: Mapping[str, Any], reading: Reading) -> Row:
    # num_reqs counts the waiting ones too.
    total, waiting = whole(rank.get("num_reqs")), whole(rank.get("num_waiting_reqs"))
    row = _row(answer, {key: item for key, item in rank.items() if item is not None}, reading, None)
    if total is not None and waiting is not None and total >= waiting:
        row["running"] = total - waiting
    return row


def _prometheus_form(answer: Answer, reading: Reading) -> Iterator[Row]:
    """`sglang_<field>{dp_rank="k"} v`, nested fields as `sglang_<section>_<field>`; no row if a line is another."""
    ranks: dict[str, dict[str, Any]] = {}
    for line in (answer.text or "").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        told = apart(line.strip())
        key = None if told is None else key_of(told.key)
        if told is None or key is None or not key[0].startswith(("sglang_", "sglang:")):
            reading.note(f"{reading.path}: a line of the load answer is no sample: {line.strip()[:80]!r}")
            return
        name = key[0][len("sglang_") :]
        section, _, rest = name.partition("_")
        field = f"{SECTIONS[section]}.{rest}" if section in SECTIONS and rest else name
        rank = ranks.setdefault(key[1].get("dp_rank", ""), {})
        rank[field] = key[1].get("mode", told.value) if field == "disaggregation.mode" else told.value
    for label, rank in sorted(ranks.items()):
        fields = {"dp_rank": int(label), **rank} if label.isascii() and label.isdigit() and len(label) < 10 else rank
        yield _row(answer, fields, reading, None)


def _flat(rank: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in rank.items():
        if isinstance(value, dict):
            out.update({f"{key}.{name}": item for name, item in value.items()})
        else:
            out[key] = value
    return out


def _time(value: Any, reading: Reading) -> float | None:
    return wall_time(value, reading) if isinstance(value, str) else epoch(value)


def _with_extra(row: Row, more: Mapping[str, Any]) -> Row:
    if more:
        known = json.loads(row["extra"]) if row["extra"] else {}
        row["extra"] = json.dumps({**known, **more}, sort_keys=True, default=str)
    return row


def _table(rows: list[Row], reading: Reading) -> Rows:
    columns = {name: [row[name] for row in rows] for name in NAMES}
    return rows_of("loads", {**columns, "source": [reading.source] * len(rows)})
