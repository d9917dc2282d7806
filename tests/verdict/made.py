"""Composed traffic of a service with a queue, as request rows and as files in the real formats."""

import heapq
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ridgeline.verdict.evidence import Evidence
from ridgeline.verdict.requests import LABELS, Requests

COLUMNS = ("ttft_s", "queue_s", "tpot_s", "e2e_s", "prompt_tokens", "completion_tokens", "cached_tokens", "retractions",
           "bad", "open", "stream", "last_ts")  # fmt: skip


def traffic(
    seconds: float, seed: int, *, rate: float = 4.0, faster: float = 1.0, slots: int = 4, tokens: float = 40.0
) -> Requests:
    """Poisson arrivals at `slots` slots, first come first served: queueing makes neighbours alike."""
    rng = np.random.default_rng(seed)
    at = np.cumsum(rng.exponential(1 / rate, int(rate * seconds)))
    n = at.size
    prompt = rng.lognormal(6.0, 0.5, n).round()
    output = np.maximum(2, rng.lognormal(0.0, 0.5, n) * tokens).round()
    prefill, tpot = 0.1 / faster, 0.02 * np.exp(rng.normal(0, 0.1, n)) / faster
    service = prefill + tpot * (output - 1)
    free, start = [0.0] * slots, np.empty(n)
    for i in range(n):
        start[i] = max(at[i], heapq.heappop(free))
        heapq.heappush(free, start[i] + service[i])
    queue = start - at
    zero = np.zeros(n)
    values = (queue + prefill, queue, tpot, queue + service, prompt, output, zero, zero, zero, zero, np.ones(n),
              start + service)  # fmt: skip
    none: NDArray[np.object_] = np.full(n, None, object)
    columns = dict(zip(COLUMNS, values, strict=True))
    return Requests("engine", at, columns, dict.fromkeys(LABELS, none), none, True, 0)


def evidence(name: str, requests: Requests | None, **more: object) -> Evidence:
    """Evidence of request rows alone."""
    given: dict[str, object] = {
        "name": name, "window": None, "requests": requests, "histograms": {}, "ratios": {}, "finished": None,
        "summaries": {}, "identity": {"model": "m", "version": "0.5.9", "engine": "sglang"}, "config": {}, "note": None,
        "reach": None, **more,
    }  # fmt: skip
    return Evidence(**given)  # type: ignore[arg-type]


def client_file(path: Path, requests: Requests, base: float = 1.796e9) -> Path:
    """The requests as a client's own JSON lines."""
    c = requests.columns
    with path.open("w") as out:
        for i in range(requests.n):
            sent = base + float(requests.at[i])
            row = {
                "rid": f"r{i}", "prompt_tokens": int(c["prompt_tokens"][i]),
                "completion_tokens": int(c["completion_tokens"][i]), "send_ts": round(sent, 6), "status": 200,
                "first_chunk_ts": round(sent + float(c["ttft_s"][i]), 6),
                "end_ts": round(sent + float(c["e2e_s"][i]), 6), "finish_reason": "stop",
            }  # fmt: skip
            out.write(json.dumps(row) + "\n")
    return path


BOUNDS = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 20.0)


def metrics_file(path: Path, requests: Requests, *, base: float = 1.796e9, restart_at: float | None = None) -> Path:
    """Scrapes of SGLang's TTFT and E2E histograms every five seconds; at `restart_at` the counters begin anew."""
    c = requests.columns
    ends = requests.at + c["e2e_s"]
    edges = np.arange(0.0, float(ends.max()) + 5, 5.0)
    with path.open("w") as out:
        for now in edges:
            since = restart_at if restart_at is not None and now > restart_at else -1.0
            done = (ends <= now) & (ends > since)
            out.write(f"#### scrape ts={base + now:.6f} took=0.0020 status=200 url=http://127.0.0.1:30000/metrics\n")
            for name, column in (("time_to_first_token_seconds", "ttft_s"), ("e2e_request_latency_seconds", "e2e_s")):
                out.write(f"# TYPE sglang:{name} histogram\n")
                values = c[column][done]
                for le in BOUNDS:
                    out.write(f'sglang:{name}_bucket{{le="{le}",model_name="m"}} {float((values <= le).sum())}\n')
                out.write(f'sglang:{name}_bucket{{le="+Inf",model_name="m"}} {float(values.size)}\n')
                out.write(f'sglang:{name}_count{{model_name="m"}} {float(values.size)}\n')
                out.write(f'sglang:{name}_sum{{model_name="m"}} {float(values.sum())}\n')
            out.write('# TYPE sglang:num_requests_total counter\n'
                      f'sglang:num_requests_total{{model_name="m"}} {float(done.sum())}\n')  # fmt: skip
    return path
