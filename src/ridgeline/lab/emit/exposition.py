"""Prometheus text: families with samples, and cumulative histograms as prometheus_client writes them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

Labels = tuple[tuple[str, str], ...]
"""Label pairs sorted by name."""


@dataclass(frozen=True)
class Histogram:
    """Observations per bucket (not cumulative; the last is +Inf) and their sum."""

    counts: tuple[int, ...]
    total: float


@dataclass(frozen=True)
class Family:
    """One metric. ``samples``: labels to a number, or to a `Histogram` over ``bounds``."""

    name: str
    kind: str  # gauge | counter | histogram
    help: str
    samples: tuple[tuple[Labels, float | Histogram], ...]
    bounds: tuple[float, ...] = ()


def labelled(pairs: Mapping[str, str]) -> Labels:
    """Pairs in the order they are written."""
    return tuple(sorted(pairs.items()))


def number(value: float) -> str:
    """A sample's value as prometheus_client prints it: always a float."""
    if value != value:
        return "NaN"
    if value == float("inf"):
        return "+Inf"
    return repr(float(value))


def braces(labels: Iterable[tuple[str, str]]) -> str:
    """``{a="b",c="d"}``, or nothing."""
    inside = ",".join(f'{k}="{v}"' for k, v in labels)
    return "{" + inside + "}" if inside else ""


@lru_cache(maxsize=4096)
def bucket_heads(name: str, labels: Labels, bounds: tuple[float, ...]) -> tuple[str, ...]:
    """What stands before the value of each bucket; the same at every scrape."""
    return tuple(f"{name}_bucket{braces(sorted((*labels, ('le', number(b)))))} " for b in (*bounds, float("inf")))


def histogram_lines(name: str, labels: Labels, h: Histogram, bounds: Sequence[float]) -> list[str]:
    """Sum, cumulative buckets, count (the multi-process collector's order)."""
    lines = [f"{name}_sum{braces(labels)} {number(h.total)}"]
    running = 0
    for head, count in zip(bucket_heads(name, labels, tuple(bounds)), h.counts, strict=True):
        running += count
        lines.append(head + number(running))
    lines.append(f"{name}_count{braces(labels)} {number(running)}")
    return lines


def page(families: Iterable[Family]) -> str:
    """One scrape's body."""
    lines: list[str] = []
    for family in families:
        if not family.samples:
            continue
        lines += [f"# HELP {family.name} {family.help}", f"# TYPE {family.name} {family.kind}"]
        for labels, value in family.samples:
            if isinstance(value, Histogram):
                lines += histogram_lines(family.name, labels, value, family.bounds)
            else:
                lines.append(f"{family.name}{braces(labels)} {number(value)}")
    return "\n".join(lines) + "\n"


def scrape(ts: float, took_s: float, status: int, url: str, body: str) -> str:
    """One answer behind the line a poller puts in front of it."""
    return f"#### scrape ts={ts:.6f} took={took_s:.4f} status={status} url={url}\n{body}"
