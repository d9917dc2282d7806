"""Scenarios, bundles and raw recordings → shots with drawn prompts: equal lengths, equal shared prefixes, no content.

Output lengths are held by `ignore_eos` and `max_new_tokens`, for a prompt without meaning ends nowhere in particular.
"""

from collections.abc import Mapping
from typing import Any, Final

from ridgeline.bundle.view import View
from ridgeline.model.errors import InputError
from ridgeline.replay.from_dump import ROUTING_HEADER
from ridgeline.replay.shot import Drawn, Failure, Load, Outcome, Shot
from ridgeline.scenario.from_bundle import traffic_of
from ridgeline.scenario.model import PS, Scenario

RECORDED: Final = """
    SELECT
        rid, any_value(state) AS state, any_value(finish_reason) AS finish_reason, max(status_code) AS status_code,
        any_value(abort_message) AS abort_message, max(prompt_tokens) AS prompt_tokens,
        max(completion_tokens) AS completion_tokens, max(cached_tokens) AS cached_tokens,
        coalesce(max(ttft_s) FILTER (WHERE role = 'client'), max(ttft_s)) AS ttft_s,
        coalesce(max(e2e_s) FILTER (WHERE role = 'client'), max(e2e_s)) AS e2e_s,
        any_value(stream) AS stream, any_value(endpoint) AS endpoint, any_value(temperature) AS temperature
    FROM requests
    WHERE rid IS NOT NULL AND role IS DISTINCT FROM 'gateway'
    GROUP BY rid
"""
SYNTHETIC: Final = (
    "the source holds no text: prompts are drawn by seed, with the recorded lengths and shared prefixes; "
    "outputs are made as long as recorded (ignore_eos)"
)


def load_scenario(scenario: Scenario, name: str) -> Load:
    """The requests of a scenario."""
    notes = [SYNTHETIC]
    if scenario.n and bool((scenario["lora"] != 0).any()):
        notes.append("adapters have numbers here, not names: no lora_path is sent")
    shots = [shot_at(scenario, i, f"request-{i:06d}", None, {}) for i in range(scenario.n)]
    if not shots:
        raise InputError(f"{name}: no request in it")
    return Load(tuple(shots), name, None, tuple(notes), synthetic=True)


def load_view(view: View, name: str) -> Load:
    """The requests of a bundle or of raw recordings. Raises InputError where none has an arrival and lengths."""
    try:
        traffic = traffic_of(view)
    except InputError as e:
        raise InputError(f"{name}: no request in it has an arrival and lengths; nothing to replay") from e
    recorded = {row["rid"]: row for row in view.arrow(RECORDED).to_pylist()}
    notes = [SYNTHETIC, *traffic.notes]
    if bool((traffic.scenario["lora"] != 0).any()):
        notes.append("adapters are not named here: no lora_path is sent")
    shots = []
    for i, rid in enumerate(traffic.rids):
        row = recorded.get(rid, {})
        shots.append(shot_at(traffic.scenario, i, rid, _recorded(row), _attrs(rid, row)))
    return Load(tuple(shots), name, traffic.origin_ts, tuple(notes), synthetic=True)


def shot_at(s: Scenario, i: int, rid: str, recorded: Outcome | None, attrs: Mapping[str, Any]) -> Shot:
    """Request `i` of a scenario. Its shared segments leave at least one token of its own (a cache never gives all)."""
    low, high = int(s.offsets[i]), int(s.offsets[i + 1])
    segments = tuple(zip(s.segment_id[low:high].tolist(), s.segment_tokens[low:high].tolist(), strict=True))
    tokens, limit = int(s["input_tokens"][i]), int(s["output_tokens"][i])
    key, rank, priority, lora = (int(s[name][i]) for name in ("routing_key", "dp_rank", "priority", "lora"))
    fields: dict[str, Any] = {}
    if rank >= 0:
        fields["data_parallel_rank"] = rank
    if priority:
        fields["priority"] = priority
    seen = {
        "prompt_tokens": tokens, "max_new_tokens": limit, "routing_key": str(key) if key else None,
        "dp_rank": rank if rank >= 0 else None, "priority": priority, "lora": str(lora) if lora else None,
        "kind": int(s["kind"][i]), **attrs,
    }  # fmt: skip
    return Shot(
        int(s["arrival_ps"][i]) / PS, rid, None, None, Drawn(i, tokens, segments),
        {"max_new_tokens": limit, "temperature": 0.0, "ignore_eos": True}, fields,
        ((ROUTING_HEADER, f"key-{key}"),) if key else (), True, "/generate", seen, recorded,
    )  # fmt: skip


def _attrs(rid: str, row: Mapping[str, Any]) -> dict[str, Any]:
    names = ("state", "finish_reason", "endpoint", "stream", "temperature", "completion_tokens", "ttft_s", "e2e_s")
    return {"rid": rid, "status": row.get("status_code"), **{name: row.get(name) for name in names}}


def _recorded(row: Mapping[str, Any]) -> Outcome | None:
    if not row or row["state"] in (None, "unfinished", "received"):
        return None
    failure: Failure | None = None
    status = row["status_code"]
    if row["finish_reason"] == "abort" or row["state"] == "aborted":
        failure = "abort"
    elif status is not None and status >= 400:
        failure = "http"
    elif row["state"] in ("error", "rejected"):
        failure = "stream-error"
    return Outcome(
        status, failure, row["abort_message"], row["finish_reason"], None, None, row["prompt_tokens"],
        row["completion_tokens"], row["cached_tokens"], row["rid"], ttft_s=row["ttft_s"], e2e_s=row["e2e_s"],
    )  # fmt: skip
