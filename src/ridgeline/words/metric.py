"""The shape of one metric's entry in the vocabulary (the entries are in `metrics_*`, look-ups in `metrics`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ridgeline.words.versions import ALWAYS, Engine, Span

MetricKind = Literal["gauge", "counter", "histogram", "gaugehistogram", "summary", "info"]


@dataclass(frozen=True, slots=True)
class OldName:
    """Another name of the same thing: in other releases, in `/v1/loads`, or after a pipeline renamed it."""

    raw: str
    span: Span = ALWAYS
    kind: MetricKind | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: `name` has no prefix and no `_total`; `word` is what engines and tables share.

    `unit` is one of requests, tokens, tokens/s, s, ms, us, GB/s, MB, GB, bytes, share (0..1), percent, count, slots,
    pages, keys, flag, steps, flops. `labels` are those that split the series beyond the collector's own.
    `trap` says how the signal lies. `old_kind` is the kind it had up to and including `old_kind_until`.
    """

    name: str
    engine: Engine
    kind: MetricKind
    unit: str
    word: str | None
    meaning: str
    span: Span = ALWAYS
    names: tuple[OldName, ...] = ()
    labels: tuple[str, ...] = ()
    trap: str = ""
    old_kind: MetricKind | None = None
    old_kind_until: str | None = None

    def kind_in(self, version: str | None) -> MetricKind | None:
        """The kind in that version; None where the version is unknown and the kind changed."""
        if self.old_kind is None:
            return self.kind
        old = Span(until=self.old_kind_until).has(version, self.engine)
        return None if old is None else self.old_kind if old else self.kind
