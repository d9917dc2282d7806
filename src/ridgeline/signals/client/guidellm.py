"""GuideLLM's benchmarks file: `{"benchmarks": [{"requests": {"successful": […], "incomplete": […], "errored": […]}}]}`.

Read: the public schema of GuideLLM 0.1 to 0.3 (`start_time`, `first_token_time`, `last_token_time`, `end_time`,
`prompt_tokens`, `output_tokens`) and of 0.4 and later (`info.timings.request_start`, `first_token_iteration`,
`last_token_iteration`, `request_end`, `targeted_start`; token counts as computed fields). Epoch seconds; `*_ms` are
milliseconds. `targeted_start` against `request_start` is the generator's own lag.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ridgeline.signals.client.record import (
    Collected,
    count,
    ended,
    error_text,
    first_of,
    less,
    number,
    per_token,
    stamp,
    timed,
)
from ridgeline.signals.client.series import LATENCIES, Figures, statistic

BUCKETS: Final = ("successful", "incomplete", "errored", "cancelled")
TOKENS: Final = ("total_tokens", "text_tokens")


def read_report(values: Mapping[str, Any], into: Collected, figures: Figures) -> None:
    """Every request of every benchmark, and the aggregates; a record's `line` is its number in the file."""
    line = 0
    for index, bench in enumerate(values.get("benchmarks") or []):
        if not isinstance(bench, dict):
            continue
        for bucket, one in _requests(bench.get("requests")):
            line += 1
            into.add(line, _record(one, bucket, into), {"benchmark": index, **_lag(one, into)})
        _metrics(bench.get("metrics"), index, figures)


def _requests(requests: Any) -> Iterable[tuple[str, Mapping[str, Any]]]:
    if isinstance(requests, list):
        requests = {"successful": requests}
    if isinstance(requests, dict):
        for bucket in BUCKETS:
            listed = requests.get(bucket)
            for one in listed if isinstance(listed, list) else ():
                if isinstance(one, dict):
                    yield bucket, one


def _timings(one: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    info = first_of(one, ("info", "scheduler_info"))
    info = info if isinstance(info, dict) else {}
    timings = info.get("timings")
    return info, timings if isinstance(timings, dict) else {}


def _record(one: Mapping[str, Any], bucket: str, into: Collected) -> dict[str, Any]:
    info, timings = _timings(one)
    reading = into.reading
    sent = stamp(timings.get("request_start") or first_of(one, ("request_start_time", "start_time")), reading)
    first = stamp(timings.get("first_token_iteration") or one.get("first_token_time"), reading)
    last = stamp(timings.get("last_token_iteration") or one.get("last_token_time"), reading)
    end = stamp(timings.get("request_end") or first_of(one, ("request_end_time", "end_time")), reading)
    output = count(first_of(one, ("output_tokens",)) or _usage(one, "output_metrics"))
    error = error_text(one.get("error") or info.get("error"))
    made = timed(sent, first, last, end, reading)
    ttft_ms = number(one.get("time_to_first_token_ms"))
    if made["ttft_s"] is None and ttft_ms:
        made["ttft_s"] = ttft_ms * 1e-3
    if made["e2e_s"] is None:
        made["e2e_s"] = number(one.get("request_latency"))
    made |= ended(None, error or ("errored" if bucket == "errored" else None), bucket == "cancelled", True)
    if bucket == "incomplete":
        made["state"] = "unfinished"
        made["e2e_s"] = None
    served = one.get("response_id")
    own = one.get("request_id")
    return {
        **made,
        "rid": str(served or own) if served or own else None,
        "client_rid": str(own) if served and own and own != served else None,
        "prompt_tokens": count(first_of(one, ("prompt_tokens",)) or _usage(one, "input_metrics")),
        "completion_tokens": output,
        "cached_tokens": count(one.get("cached_tokens")),
        "chunks": count(timings.get("token_iterations")) or None,
        "tpot_s": per_token(first, last, output),
    }


def _usage(one: Mapping[str, Any], name: str) -> Any:
    metrics = one.get(name)
    return first_of(metrics, TOKENS) if isinstance(metrics, dict) else None


def _lag(one: Mapping[str, Any], into: Collected) -> dict[str, Any]:
    _, timings = _timings(one)
    planned = stamp(timings.get("targeted_start"), into.reading)
    return {"send_lag_s": less(stamp(timings.get("request_start"), into.reading), planned)}


def _metrics(metrics: Any, index: int, figures: Figures) -> None:
    if not isinstance(metrics, dict):
        return
    for name in sorted(metrics):
        block = metrics[name]
        block = block.get("successful", block) if isinstance(block, dict) else None
        series = LATENCIES.get(name.removesuffix("_ms"))
        if series is None or not isinstance(block, dict):
            continue
        unit = 1e-3 if name.endswith("_ms") else 1.0
        percentiles = block.get("percentiles")
        for word, value in {**block, **(percentiles if isinstance(percentiles, dict) else {})}.items():
            label, seconds = statistic(word), number(value)
            if label and seconds is not None:
                labels = {"benchmark": f"{index}", label[0]: label[1]}
                figures.add(series, labels, seconds * unit, index + 1)
