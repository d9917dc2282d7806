"""Builders of the smallest table rows that can carry a cause: lines, requests, events, scrapes."""

from __future__ import annotations

import json
from typing import Any

Row = dict[str, Any]
Tables = dict[str, list[Row]]
T0 = 1_796_000_000.0


def sources(*kinds: str) -> list[Row]:
    return [{"source": i + 1, "path": f"{kind}.{i + 1}", "kind": kind} for i, kind in enumerate(kinds)]


def decode(n: int, start: float = 0.0, every: float = 2.0, first_line: int = 1, **values: Any) -> list[Row]:
    """Decode lines; a list value is cycled, anything else is the same on every line."""
    base: Row = {"running": 8, "waiting": 0, "usage": 0.3, "tokens": 8000, "gen_tps": 400.0, "graph": True}
    return [
        {
            "source": 1,
            "line": first_line + i,
            "kind": "decode",
            "ts": T0 + start + i * every,
            **_at({**base, **values}, i),
        }
        for i in range(n)
    ]


def prefill(n: int, start: float = 0.5, every: float = 2.0, first_line: int = 1001, **values: Any) -> list[Row]:
    base: Row = {
        "running": 8, "waiting": 0, "usage": 0.3, "new_seq": 2,
        "new_tokens": 800, "cached_tokens": 100, "input_tps": 8000.0,
    }  # fmt: skip
    return [
        {
            "source": 1,
            "line": first_line + i,
            "kind": "prefill",
            "ts": T0 + start + i * every,
            **_at({**base, **values}, i),
        }
        for i in range(n)
    ]


def requests(n: int, start: float = 0.0, every: float = 1.0, first: int = 0, **values: Any) -> list[Row]:
    """Finished requests of 500 prompt tokens and 100 output tokens, all stamps consistent unless overridden."""
    base: Row = {
        "prompt_tokens": 500, "cached_tokens": 100, "completion_tokens": 100, "state": "finished",
        "finish_reason": "stop",
        "max_new_tokens": 128, "params_logged": True, "queue_s": 0.01, "pre_queue_s": 0.005, "prefill_s": 0.1,
        "ttft_s": 0.12,
        "decode_s": 2.0, "e2e_s": 2.2, "return_s": 0.01, "unaccounted_s": 0.0, "tpot_s": 0.02, "stream": True,
    }  # fmt: skip
    rows = []
    for i in range(n):
        row = _at({**base, **values}, i)
        ts = T0 + start + i * every
        row = {
            "request": first + i, "rid": f"r{first + i}", "source": 2, "line": first + i + 1, "received_ts": ts,
            "prefill_done_ts": ts + (row["ttft_s"] or 0), **row,
        }  # fmt: skip
        rows.append(row)
    return rows


def event(
    kind: str, n: int = 1, start: float = 10.0, every: float = 1.0, first_line: int = 5001, **values: Any
) -> list[Row]:
    rows = []
    for i in range(n):
        row = _at(values, i)
        if "attrs" in row:
            row["attrs"] = json.dumps(row["attrs"])
        rows.append({"source": 1, "line": first_line + i, "kind": kind, "ts": T0 + start + i * every, **row})
    return rows


def gauge(series: int, name: str, values: list[float], start: float = 0.0, every: float = 5.0, **labels: str) -> Tables:
    """One series with its samples; `dp_rank` and `stage` are columns too."""
    head = {"series": series, "name": name, "labels": json.dumps(labels, sort_keys=True), "source": 3}
    if "dp_rank" in labels:
        head["dp_rank"] = int(labels["dp_rank"])
    return {
        "series": [head],
        "samples": [
            {
                "series": series,
                "ts": T0 + start + i * every,
                "value": v,
                "scrape": i,
                "source": 3,
                "line": 10 * i + series,
            }
            for i, v in enumerate(values)
        ],
    }


def join(*parts: Tables) -> Tables:
    out: Tables = {}
    for part in parts:
        for table, rows in part.items():
            out.setdefault(table, []).extend(rows)
    out.setdefault("sources", sources("log", "request-log", "exposition"))
    return out


def _at(values: Row, i: int) -> Row:
    return {k: (v[i % len(v)] if isinstance(v, list) else v) for k, v in values.items()}
