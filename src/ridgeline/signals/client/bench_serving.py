"""SGLang's `bench_serving` (and the like of vLLM's `bench serve`): one JSON object per run, appended to a file.

Read: the public documentation of `sglang.bench_serving` (docs.sglang.io, "Bench Serving Guide", late 2025) and result
lines quoted in public issues of 2025. A run always has aggregates (`mean_ttft_ms`, `p99_itl_ms`,
`request_throughput`, …); with `--output-details` also one array entry per request (`input_lens`, `output_lens`,
`ttfts` and `itls` in seconds, `errors` with "" for none). There are no times of day and no ids. A `ttft` of 0.0 means
"not measured" (non-streaming back ends, failed requests), so it is null here.
"""

from collections.abc import Mapping
from typing import Any, Final

from ridgeline.signals.client.record import Collected, count, ended, gaps, number
from ridgeline.signals.client.series import LATENCIES, Figures, statistic

TOTALS: Final = (
    "completed",
    "duration",
    "total_input_tokens",
    "total_output_tokens",
    "request_throughput",
    "input_throughput",
    "output_throughput",
    "total_throughput",
    "concurrency",
    "accept_length",
    "max_output_tokens_per_s",
    "max_concurrent_requests",
)
RUN_LABELS: Final = ("backend", "dataset_name", "request_rate", "max_concurrency")
DETAILS: Final = ("input_lens", "output_lens", "ttfts", "itls", "errors", "start_times")


def is_run(values: Mapping[str, Any]) -> bool:
    """Whether an object is a result of such a tool."""
    return "request_throughput" in values or ("ttfts" in values and "itls" in values) or "mean_ttft_ms" in values


def read_run(values: Mapping[str, Any], line: int, into: Collected, figures: Figures) -> None:
    """One run's requests (where it has details) and aggregates."""
    labels = {name: f"{values[name]}" for name in RUN_LABELS if values.get(name) is not None}
    found = 0
    for name, value in values.items():
        found += _aggregate(name, value, labels, line, figures)
    lists = {name: values[name] for name in DETAILS if isinstance(values.get(name), list)}
    sizes = {len(lists[name]) for name in lists if lists[name]}
    if len(sizes) > 1:
        into.reading.note(
            f"{into.reading.path}:{line}: arrays of unequal length; the run's single requests were left out"
        )
    elif sizes and "ttfts" in lists:
        for at in range(sizes.pop()):
            into.add(line, _request({name: rows[at] for name, rows in lists.items() if rows}, into), labels)
        return
    if found:
        into.reading.understood += 1


def _aggregate(name: str, value: Any, labels: dict[str, str], line: int, figures: Figures) -> bool:
    word, _, rest = name.partition("_")
    label = statistic(word)
    series = LATENCIES.get(rest.removesuffix("_ms")) if rest.endswith("_ms") else None
    if label and series:
        seconds = number(value)
        if seconds is None or (seconds == 0 and label[1] != "std"):
            return False  # 0.0: not measured
        return figures.add(series, {**labels, label[0]: label[1]}, seconds * 1e-3, line)
    return name in TOTALS and figures.add(f"client_{name}", labels, value, line)


def _request(one: Mapping[str, Any], into: Collected) -> dict[str, Any]:
    error = one.get("errors") or None
    ttft = number(one.get("ttfts"))
    ttft = ttft if ttft else None
    itls = one.get("itls")
    known = [found for value in itls if (found := number(value)) is not None] if isinstance(itls, list) else []
    output = count(one.get("output_lens"))
    e2e = ttft + sum(known) if ttft is not None else None
    sent = number(one.get("start_times"))
    made: dict[str, Any] = {
        "prompt_tokens": count(one.get("input_lens")),
        "completion_tokens": output,
        "ttft_s": ttft,
        "e2e_s": None if error else e2e,
        "chunks": len(known) + 1 if ttft is not None else None,
        "tpot_s": sum(known) / (output - 1) if known and output and output > 1 and not error else None,
        **gaps(known, 1.0, None, into.reading),
        **ended(None, str(error) if error else None, False, True),
    }
    if sent is not None and sent >= 1e9:
        made |= {"received_ts": sent, "first_token_ts": sent + ttft if ttft else None, "clock": "wall"}
    return made
