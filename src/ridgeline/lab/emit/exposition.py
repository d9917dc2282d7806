"""Metric families of a server in virtual or real time, written by prometheus-client."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import cast

from prometheus_client import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

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


class Scrape(Collector):
    """The state of one server at one moment, as prometheus-client asks for it: what record and serve both write."""

    def __init__(self, families: Iterable[Family]) -> None:
        """Of families as `families` of `sglang_metrics`, `vllm_metrics` and `gateway` give them."""
        self.families = families

    def collect(self) -> Iterator[Metric]:
        """Each family that has a sample, with buckets cumulative and in the multi-process collector's order."""
        for family in self.families:
            if not family.samples:
                continue
            # The library adds `_total` to a counter's name itself.
            metric = Metric(family.name.removesuffix("_total"), family.help, family.kind)
            for labels, value in family.samples:
                told = dict(labels)
                if isinstance(value, Histogram):
                    metric.add_sample(f"{family.name}_sum", told, value.total)
                    for bound, so_far in zip(_ends(family.bounds), accumulate(value.counts), strict=True):
                        metric.add_sample(f"{family.name}_bucket", {**told, "le": bound}, float(so_far))
                    metric.add_sample(f"{family.name}_count", told, float(sum(value.counts)))
                else:
                    metric.add_sample(family.name, told, value)
            yield metric


@lru_cache(maxsize=256)
def _ends(bounds: tuple[float, ...]) -> tuple[str, ...]:
    """The label `le` of each bucket."""
    written = cast("Callable[[float], str]", floatToGoString)
    return tuple(written(bound) for bound in (*bounds, float("inf")))


def page(families: Iterable[Family]) -> str:
    """One scrape's body."""
    return generate_latest(Scrape(families)).decode()


def scrape(ts: float, took_s: float, status: int, url: str, body: str) -> str:
    """One answer behind the line a poller puts in front of it."""
    return f"#### scrape ts={ts:.6f} took={took_s:.4f} status={status} url={url}\n{body}"
