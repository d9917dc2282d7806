"""A Grafana dashboard whose rows are the rungs of the ladder, in the metric names of one engine and version."""

from __future__ import annotations

import json
from typing import Any, Final

from ridgeline.export.promql import WORD, Exported, filled, quantile, rate

OVER: Final = "$__rate_interval"  # Grafana's own word for the shortest stretch that holds four scrapes
# (row, ((title, unit, ((expression with shared words in braces, legend), …)), …)); units are Grafana's names.
Target = tuple[str, str]
PANELS: Final[tuple[tuple[str, tuple[tuple[str, str, tuple[Target, ...]], ...]], ...]] = (
    ("A0 What is seen", (
        ("Time to first token", "s", tuple(
            (quantile(q, "ttft_s", OVER), f"p{q * 100:g}")
            for q in (0.5, 0.9, 0.99))),
        ("Whole request (E2E)", "s", tuple(
            (quantile(q, "e2e_s", OVER), f"p{q * 100:g}")
            for q in (0.5, 0.9, 0.99))),
        ("Requests finished", "reqps", ((rate("requests", OVER), "finished"),
                                        (rate("aborted", OVER), "aborted"))),
    )),
    ("A1 Global or local", (
        ("Waiting, each rank", "short", (("{waiting}", "{{instance}} DP{{dp_rank}}"),)),
        ("Running, each rank", "short", (("{running}", "{{instance}} DP{{dp_rank}}"),)),
        ("KV usage, each rank (locked)", "percentunit", (("{usage}", "{{instance}} DP{{dp_rank}}"),)),
    )),
    ("A1b The regime", (
        ("Running against its limit", "short", (("{running}", "running DP{{dp_rank}}"),
                                                ("{max_running}", "limit DP{{dp_rank}}"))),
        ("Generated tokens", "short", ((rate("generation_tokens", OVER), "tokens/s"),)),
    )),
    ("A2 Which slice", (
        ("Mean wait in the queue", "s", (
            (f"{rate('queue_s/sum', OVER)} / {rate('queue_s/count', OVER)}", "queue"),
            (f"{rate('ttft_s/sum', OVER)} / {rate('ttft_s/count', OVER)}", "TTFT"))),
        ("Gap between tokens", "s", (
            (quantile(0.99, "itl_s", OVER), "p99"),)),
    )),
    ("B Disaggregation", (
        ("Queues of the pair", "short", (("sum({bootstrap})", "bootstrap"), ("sum({inflight})", "inflight"),
                                         ("sum({prealloc})", "prealloc"), ("sum({transfer})", "transfer"))),
        ("Failures", "short", ((rate("transfer_failed", OVER), "transfers"),
                               (rate("bootstrap_failed", OVER), "handshakes"))),
    )),
    ("C Memory", (
        ("Retractions", "short", ((rate("retractions", OVER), "requests/s"),)),
        ("Evictable cache beside locked KV", "short", (("sum({evictable_tokens})", "evictable"),
                                                       ("sum({locked_tokens})", "locked"))),
    )),
    ("D Prefix cache", (
        ("Share of prompt tokens found", "percentunit", (
            (f"{rate('cached_tokens', OVER)} / {rate('prompt_tokens', OVER)}", "hit"),)),
        ("Evicted tokens", "short", ((rate("evicted_tokens", OVER), "tokens/s"),)),
    )),
)  # fmt: skip
WIDTH: Final = 24
HEIGHT: Final = 8


def board(of: Exported) -> dict[str, Any]:
    """The dashboard as Grafana imports it; a panel none of whose metrics this version has is left out."""
    out: list[dict[str, Any]] = []
    y = 0
    for row, panels in PANELS:
        kept = [p for title, unit, targets in panels if (p := _panel(title, unit, targets, of))["targets"]]
        if not kept:
            continue
        out.append({"type": "row", "title": row, "collapsed": False, "panels": [], "gridPos": _at(0, y, WIDTH, 1)})
        for k, panel in enumerate(kept):
            wide = WIDTH // len(kept)
            out.append({**panel, "gridPos": _at(k * wide, y + 1, wide, HEIGHT)})
        y += HEIGHT + 1
    for number, panel in enumerate(out, 1):
        panel["id"] = number
    source = {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    return {
        "title": f"Ridgeline: {of.engine} {of.version}", "uid": f"ridgeline-{of.engine}", "schemaVersion": 39,
        "tags": ["ridgeline", of.engine], "time": {"from": "now-3h", "to": "now"}, "refresh": "30s", "editable": True,
        "graphTooltip": 1, "templating": {"list": [source]}, "panels": out,
    }  # fmt: skip


def text(of: Exported) -> str:
    """The same as JSON."""
    return json.dumps(board(of), indent=1) + "\n"


def _panel(title: str, unit: str, targets: tuple[Target, ...], of: Exported) -> dict[str, Any]:
    source = {"type": "prometheus", "uid": "${datasource}"}
    asked = [(expr, legend, filled(expr, of)) for expr, legend in targets]
    traps = {m.trap for expr, _, full in asked if full for w in WORD.findall(expr) if (m := of.entry(w)) and m.trap}
    return {
        "type": "timeseries", "title": title, "description": " ".join(sorted(traps)), "datasource": source,
        "fieldConfig": {"defaults": {"unit": unit, "min": 0, "custom": {"spanNulls": False}}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
        "targets": [
            {"refId": chr(ord("A") + k), "expr": full, "legendFormat": legend, "datasource": source}
            for k, (_, legend, full) in enumerate(a for a in asked if a[2] is not None)
        ],
    }  # fmt: skip


def _at(x: int, y: int, w: int, h: int) -> dict[str, int]:
    return {"x": x, "y": y, "w": w, "h": h}
