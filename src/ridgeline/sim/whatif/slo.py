"""``--slo ttft_p99=2s``: what a request must keep to count, and how a run does by it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.sim.settings import SettingError

METRICS: Final = ("ttft", "tpot", "e2e", "queue")
LIMIT: Final = re.compile(r"(ttft|tpot|e2e|queue)(?:_p(\d{1,2}(?:\.\d+)?))?=(\d+(?:\.\d+)?)\s*(ms|s|m)?")
UNITS: Final = {"ms": 0.001, "s": 1.0, None: 1.0, "m": 60.0}


@dataclass(frozen=True)
class Limit:
    """At most ``limit_s`` for ``metric`` (a name such as ttft_s), in ``share`` of the requests."""

    metric: str
    share: float
    limit_s: float

    @property
    def text(self) -> str:
        """As it is written."""
        return f"{self.metric.removesuffix('_s')}_p{100 * self.share:g}={self.limit_s:g}s"


def limits_of(texts: Sequence[str]) -> tuple[Limit, ...]:
    """Limits from texts; without a percentile p99 is meant. Raises SettingError."""
    out: list[Limit] = []
    for text in (one.strip() for given in texts for one in given.split(",")):
        read = LIMIT.fullmatch(text)
        limit_s = float(read[3]) * UNITS[read[4]] if read else 0.0
        share = float(read[2] or 99) / 100 if read else 0.0
        if limit_s <= 0 or share <= 0:
            raise SettingError(f"--slo {text}: want METRIC_pNN=TIME above 0, such as ttft_p99=2s; METRIC is one of "
                               f"{', '.join(METRICS)}")  # fmt: skip
        out.append(Limit(f"{read[1]}_s" if read else "", share, limit_s))
    return tuple(out)


def within(values: Mapping[str, NDArray[np.floating]], limits: Sequence[Limit]) -> NDArray[np.bool_]:
    """Which requests finished and kept every limit. A request of one token has no time per token and keeps that one."""
    done: NDArray[np.bool_] = ~np.isnan(values["e2e_s"])
    for one in limits:
        mine = values[one.metric]
        kept = mine <= one.limit_s
        done &= kept | np.isnan(mine) if one.metric == "tpot_s" else kept
    return done


def met(values: Mapping[str, NDArray[np.floating]], limits: Sequence[Limit]) -> bool:
    """Whether each limit is kept by its share of all requests; what did not finish keeps none."""
    n = len(values["e2e_s"])
    return all(float(within(values, (one,)).sum()) >= one.share * n - 1e-9 for one in limits) if n else False
