"""The few live figures of a scrape: queues, usage, throughput, latencies, stages. Only for the view and the triggers.

Evidence is what the one reader of expositions makes of the raw bytes at seal; this only looks for a dozen names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

# What is looked for → the short word used here; the engines' spellings side by side.
GAUGES: Final = {
    b"num_running_reqs": "running", b"num_requests_running": "running", b"num_queue_reqs": "waiting",
    b"num_requests_waiting": "waiting", b"token_usage": "usage", b"kv_cache_usage_perc": "usage",
    b"gen_throughput": "gen_tps", b"num_decode_prealloc_queue_reqs": "prealloc",
    b"num_decode_transfer_queue_reqs": "transfer", b"num_prefill_bootstrap_queue_reqs": "bootstrap",
    b"num_prefill_prealloc_queue_reqs": "bootstrap", b"num_prefill_inflight_queue_reqs": "inflight",
}  # fmt: skip
COUNTERS: Final = {
    b"num_requests_total": "finished", b"request_success_total": "finished",
    b"generation_tokens_total": "generated", b"realtime_tokens_total": "computed",
    b"num_retracted_requests_total": "retracted", b"num_preemptions_total": "retracted",
    b"num_aborted_requests_total": "aborted", b"admission_rejections_total": "aborted",
}  # fmt: skip
ENDED: Final = b"request_success_total"  # vLLM counts what was aborted here too, by reason
# Of the HTTP server: a scheduler that stands still leaves its own gauges as they were, while requests go on arriving.
HTTP: Final = {b"http_requests_total": "arrived", b"http_responses_total": "turned_away"}
ASKED: Final = (b"/generate", b"/v1/completions", b"/v1/chat/completions", b"/v1/responses", b"/v1/messages")
HISTOGRAMS: Final = {
    b"time_to_first_token_seconds": "ttft", b"e2e_request_latency_seconds": "e2e", b"queue_time_seconds": "queue",
    b"request_queue_time_seconds": "queue", b"request_time_per_output_token_seconds": "tpot",
    b"time_per_output_token_seconds": "tpot", b"inter_token_latency_seconds": "gap",
}  # fmt: skip
STAGE: Final = b"per_stage_req_latency_seconds_sum"
_NAMES: Final = b"|".join(
    [*GAUGES, *COUNTERS, *HTTP, *(name + b"_(?:bucket|sum|count)" for name in HISTOGRAMS), STAGE]
)  # fmt: skip
LINE: Final = re.compile(rb"^(?:sglang|vllm)[:_](" + _NAMES + rb")(?:\{([^}\n]*)\})? ([-+.\deEInfNa]+)", re.MULTILINE)
LABEL: Final = re.compile(rb'(dp_rank|engine|le|stage|priority|endpoint|status_code|finished_reason)="([^"]*)"')


@dataclass
class Scraped:
    """One scrape. `ranks`: rank → gauge → value; `counters`: sums over series; `latency`: name → le → count.

    Counters `arrived` and `turned_away`: requests to generate, and those of them that were answered with an error.

    `stages`: rank → stage → seconds in all. `sums` and `counts` are those of the latency histograms.
    """

    ts: float
    ranks: dict[str, dict[str, float]] = field(default_factory=dict)
    counters: dict[str, float] = field(default_factory=dict)
    latency: dict[str, dict[float, float]] = field(default_factory=dict)
    sums: dict[str, float] = field(default_factory=dict)
    counts: dict[str, float] = field(default_factory=dict)
    stages: dict[str, dict[str, float]] = field(default_factory=dict)

    def total(self, gauge: str) -> float | None:
        """A gauge over all ranks; None where no rank has it."""
        known = [values[gauge] for values in self.ranks.values() if gauge in values]
        return sum(known) if known else None


def scraped(ts: float, body: bytes) -> Scraped:
    """The figures of one exposition; lines that are none are passed over."""
    out = Scraped(ts)
    for found in LINE.finditer(body):
        name, labels, text = found[1], dict(LABEL.findall(found[2] or b"")), found[3]
        try:
            value = float(text)
        except ValueError:
            continue
        if value != value or labels.get(b"priority"):
            continue
        rank = (labels.get(b"dp_rank") or labels.get(b"engine") or b"").decode("utf-8", "replace")
        if name in GAUGES:
            of = out.ranks.setdefault(rank, {})
            of[GAUGES[name]] = max(of.get(GAUGES[name], 0.0), value)  # TP ranks repeat it
        elif name in COUNTERS:
            word = COUNTERS[name]
            out.counters[word] = out.counters.get(word, 0.0) + value
            if name == ENDED and labels.get(b"finished_reason") in (b"abort", b"error"):
                out.counters["aborted"] = out.counters.get("aborted", 0.0) + value
        elif name in HTTP:
            failed = labels.get(b"status_code", b"")[:1] in (b"4", b"5")
            if labels.get(b"endpoint") in ASKED and (HTTP[name] == "arrived" or failed):
                out.counters[HTTP[name]] = out.counters.get(HTTP[name], 0.0) + value
        elif name == STAGE:
            stages = out.stages.setdefault(rank, {})
            stage = labels.get(b"stage", b"").decode("utf-8", "replace")
            stages[stage] = stages.get(stage, 0.0) + value
        else:
            _histogram(out, name, labels, value)
    for one, other in (("tpot", "gap"), ("gap", "tpot")):  # a release that has one of the two: it stands for both
        if one not in out.counts and other in out.counts:
            out.counts[one], out.sums[one] = out.counts[other], out.sums.get(other, 0.0)
            out.latency[one] = out.latency.get(other, {})
    return out


def _histogram(out: Scraped, name: bytes, labels: dict[bytes, bytes], value: float) -> None:
    family, _, part = name.rpartition(b"_")
    word = HISTOGRAMS[family]
    if part == b"sum":
        out.sums[word] = out.sums.get(word, 0.0) + value
    elif part == b"count":
        out.counts[word] = out.counts.get(word, 0.0) + value
    else:
        try:
            le = float(labels.get(b"le", b"+Inf"))
        except ValueError:
            return
        buckets = out.latency.setdefault(word, {})
        buckets[le] = buckets.get(le, 0.0) + value


def speed_between(a: Scraped, b: Scraped) -> float | None:
    """Generated tokens per second: the engine's own gauge where it has one (SGLang), else from the counter (vLLM)."""
    told = b.total("gen_tps")
    if told is not None or "generated" not in b.counters or b.ts <= a.ts:
        return told
    return max(0.0, b.counters["generated"] - a.counters.get("generated", 0.0)) / (b.ts - a.ts)


def mean_between(a: Scraped, b: Scraped, name: str) -> float | None:
    """Mean of a latency observed between two scrapes; None without one, and after a restart."""
    n = b.counts.get(name, 0.0) - a.counts.get(name, 0.0)
    spent = b.sums.get(name, 0.0) - a.sums.get(name, 0.0)
    return spent / n if n > 0 and spent >= 0 else None


def least_quantile(a: Scraped, b: Scraped, name: str, q: float) -> tuple[float, float] | None:
    """(what the `q` quantile exceeds for certain, how many values) between two scrapes; None without values."""
    before, after = a.latency.get(name, {}), b.latency.get(name, {})
    steps = sorted((le, count - before.get(le, 0.0)) for le, count in after.items())
    if not steps or steps[-1][1] <= 0 or any(step < 0 for _, step in steps):
        return None
    n, low = steps[-1][1], 0.0
    for le, count in steps:
        if count >= q * n:
            return low, n
        low = le
    return low, n
