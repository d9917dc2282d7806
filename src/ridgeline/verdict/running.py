"""How much is in service on each side, and whether that alone could be what changed.

Near its limit a service needs a few per cent more work to queue for minutes, and a few per cent less to be quick: two
windows of one process then differ tenfold. Where all that changed is the wait (each request, once in service, takes
what it took), a difference in work of that size explains it, and neither a fix nor a harm is proven.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ridgeline.model.comparison import Check, Eases, Figure
from ridgeline.verdict.comparable import histogram_mean, rate_of
from ridgeline.verdict.evidence import Evidence

ALIKE: Final = 0.04  # more or less work than this share can be the whole of a change in waiting
QUEUED: Final = 0.8  # of the change in a time must be the wait, where the wait is known
ROOM: Final = 1.15  # the most in service at once by this factor is other room than before
BUSIEST: Final = 0.99  # share of the time in which no more than the peak is in service
SERVED: Final = 0.05  # time per token within this share is the same service


def running_of(figures: Sequence[Figure], incident: Evidence, after: Evidence) -> Check:
    """Requests in service at once (rate times the time each is served, Little's law), else tokens per second."""
    for of, unit in ((in_service, "in service"), (tokens_per_s, "tokens/s")):
        a, b = of(incident), of(after)
        if a is not None and b is not None and a > 0:
            return _check(a, b, unit, lies_in_the_wait(figures), peaks=(peak(incident), peak(after)))
    return Check("running", "unknown", "none", "not known", "not known", "how much was in service is not known")


def _check(a: float, b: float, unit: str, waited: bool, peaks: tuple[float | None, float | None]) -> Check:
    """``peaks``: the most in service on either side; other room than before is no matter of the work."""
    said, ratio = (f"{a:.3g} {unit}", f"{b:.3g} {unit}"), b / a
    if abs(ratio - 1) <= ALIKE:
        return Check("running", "same", "none", *said, "about as much is in service")
    if not waited:
        return Check("running", "differs", "none", *said, f"{ratio:.2g} times as much is in service")
    most, now = peaks
    if most and now and (now >= ROOM * most if ratio < 1 else now * ROOM <= most):
        how = "more" if ratio < 1 else "fewer"
        return Check(
            "running", "differs", "none", *said, f"AFTER served {how} at once than INCIDENT: {now:g}, {most:g}"
        )
    eases: Eases = "easier" if ratio < 1 else "harder"
    why = f"AFTER carried {ratio:.2g} times the work, and only the wait changed: near the limit so little decides that"
    return Check("running", "differs", eases, *said, why, "capture AFTER for longer, or under the incident's traffic")


def in_service(side: Evidence) -> float | None:
    """Mean number of requests in service: rate times E2E less the wait."""
    rate = rate_of(side)
    if rate is None:
        return None
    if side.requests is not None:
        served = side.requests.columns["e2e_s"] - side.requests.columns["queue_s"]
        served = served[~np.isnan(served)]
        return rate * float(served.mean()) if served.size >= 10 else None
    whole, waited = histogram_mean(side, "e2e_s"), histogram_mean(side, "queue_s")
    return rate * max(0.0, whole - waited) if whole is not None and waited is not None else None


def peak(side: Evidence) -> float | None:
    """The most requests in service at once, but for the busiest hundredth of the time; None without their rows."""
    if side.requests is None or not side.requests.ordered:
        return None
    c = side.requests.columns
    begin, end = side.requests.at + c["queue_s"], side.requests.at + c["e2e_s"]
    known = ~np.isnan(begin) & ~np.isnan(end) & (end > begin)
    if int(known.sum()) < 10:
        return None
    at = np.concatenate([begin[known], end[known]])
    step = np.concatenate([np.ones(int(known.sum())), -np.ones(int(known.sum()))])
    order = np.argsort(at, kind="stable")
    inside, spans = np.cumsum(step[order])[:-1], np.diff(at[order])
    rank = np.argsort(inside, kind="stable")
    share = np.cumsum(spans[rank]) / spans.sum()
    return float(inside[rank][min(int(np.searchsorted(share, BUSIEST)), rank.size - 1)])


def tokens_per_s(side: Evidence) -> float | None:
    """Generated tokens asked for per second."""
    rate = rate_of(side)
    if rate is None:
        return None
    if side.requests is not None:
        said = side.requests.columns["completion_tokens"]
        said = said[~np.isnan(said)]
        return rate * float(said.mean()) if said.size >= 10 else None
    mean = histogram_mean(side, "completion_tokens")
    return None if mean is None else rate * mean


def lies_in_the_wait(figures: Sequence[Figure]) -> bool:
    """Whether all that moved is the wait; False where neither the wait nor the time per token is known."""
    known = {f.name: f for f in figures}
    token, waited = known.get("tpot_mean"), known.get("queue_mean")
    if token is not None:
        ratio = token.after.value / token.incident.value if token.incident.value > 0 else 1.0
        if token.change in ("better", "worse") or abs(ratio - 1) > SERVED:
            return False
    times = [f for name in ("ttft_mean", "e2e_mean") if (f := known.get(name)) is not None]
    if waited is None:
        return token is not None and bool(times)
    moved = waited.after.value - waited.incident.value
    return any(abs(step := f.after.value - f.incident.value) > 0 and moved / step >= QUEUED for f in times)
