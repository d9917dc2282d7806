"""Figures a benchmark gives for the whole run → `series` and `samples` named `client_*`, one per statistic."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from ridgeline.signals.client.record import number
from ridgeline.signals.rows import Reading, Rows, rows_of

# A statistic's name → its label. Quantiles carry the label `quantile`, the others `stat`.
STATS: Final = {
    "mean": ("stat", "mean"),
    "avg": ("stat", "mean"),
    "std": ("stat", "std"),
    "std_dev": ("stat", "std"),
    "min": ("stat", "min"),
    "max": ("stat", "max"),
    "median": ("quantile", "0.5"),
}
# Latencies by the names the tools use → (series, seconds per unit is the caller's).
LATENCIES: Final = {
    "ttft": "client_ttft_s",
    "time_to_first_token": "client_ttft_s",
    "tpot": "client_tpot_s",
    "time_per_output_token": "client_tpot_s",
    "itl": "client_itl_s",
    "inter_token_latency": "client_itl_s",
    "e2e_latency": "client_e2e_s",
    "e2el": "client_e2e_s",
    "request_latency": "client_e2e_s",
}


@dataclass
class Figures:
    """Series and samples while they are collected."""

    reading: Reading
    series: dict[tuple[str, str], int] = field(default_factory=dict)
    samples: list[tuple[int, float, int, float | None]] = field(default_factory=list)

    def add(self, name: str, labels: dict[str, str], value: Any, line: int, ts: float | None = None) -> bool:
        """Keep one figure; False where it is no finite number."""
        found = number(value)
        if found is None:
            return False
        key = (name, json.dumps(labels, sort_keys=True))
        at = self.series.setdefault(key, len(self.series) + 1)
        self.samples.append((at, found, line, ts))
        return True

    def rows(self) -> Iterator[Rows]:
        """Everything kept, once."""
        if not self.samples:
            return
        source = self.reading.source
        names = list(self.series)
        yield rows_of(
            "series",
            {
                "series": list(self.series.values()),
                "name": [name for name, _ in names],
                "raw": [name for name, _ in names],
                "kind": ["gauge"] * len(names),
                "labels": [labels for _, labels in names],
                "source": [source] * len(names),
            },
        )
        yield rows_of(
            "samples",
            {
                "series": [at for at, *_ in self.samples],
                "value": [value for _, value, _, _ in self.samples],
                "ts": [ts for *_, ts in self.samples],
                "scrape": [line for _, _, line, _ in self.samples],
                "source": [source] * len(self.samples),
                "line": [line for _, _, line, _ in self.samples],
            },
        )


def statistic(name: str) -> tuple[str, str] | None:
    """The label of a statistic (`mean`, `p99`, `p99.9`, `median` …); None for another word."""
    word = name.lower()
    if word in STATS:
        return STATS[word]
    if word.isascii() and word.startswith("p") and word[1:].replace(".", "", 1).replace("_", "", 1).isdigit():
        share = float(word[1:].replace("_", "."))
        return ("quantile", f"{share / 100:g}") if share <= 100 else None
    return None
