"""When does the recorder seal: an SLO missed, a jump, a line of the watchdog, a standstill, retractions, silence.

A trigger only decides that evidence is worth keeping; what it was is the diagnosis' business. Rules need no settings:
a jump is when the last few readings but one lie beyond nearly everything before, by a factor and an amount.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ridgeline.live.figures import Scraped, least_quantile, mean_between, speed_between

HISTORY_S: Final = 300.0
RECENT: Final = 5  # readings that must agree
BEFORE: Final = 20  # readings that must be there to compare with
FROZEN_S: Final = 10.0
FROZEN_READINGS: Final = 6
SLO_S: Final = 10.0
SLO_REQUESTS: Final = 10.0
BURST: Final = 8.0  # of one counter within `BURST_S`
BURST_S: Final = 10.0
BURSTS: Final = (("retracted", "retractions"), ("aborted", "aborts"))
HELD: Final = ("bootstrap", "inflight", "prealloc", "transfer")
SILENT: Final = 3
STUCK: Final = 2.0  # requests that arrived since anything moved; one alone may be a long prompt
NEVER_WELL: Final = 3  # failed health probes in a row of a server that was never seen well: it may be starting
GAPS: Final = 50.0  # token gaps within one look that are enough to speak of a tenth of them
FACTOR: Final = 2.0
GAP_FACTOR: Final = 1.4  # the slowest tenth of token gaps is far steadier than queues: less of a jump is one
JUMPS: Final = {
    "waiting": (8.0, FACTOR, "requests wait"),
    "held": (8.0, FACTOR, "requests in the queues of disaggregation"),
    "ttft": (0.2, FACTOR, "s to the first token"),
    "gap": (0.005, GAP_FACTOR, "s and more between tokens for a tenth of them"),
}  # figure → (least rise, factor over all of the time before, its words)
USUAL: Final = 0.9  # share of the looks before that count as usual
WATCHED: Final = re.compile(
    rb"watchdog timeout|Scheduler hit an exception|TokenizerManager hit an exception|SIGQUIT received"
    rb"|CUDA out of memory|torch\.OutOfMemoryError|Health check failed\. Server couldn't"
    rb"|timed out after [\d.]+s in KVPoll|Lost connection with prefill|EngineDeadError"
    rb"|EngineCore encountered a fatal error|Out of memory: Killed process",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Alarm:
    """Why to seal. `kind`: slo | jump | line | frozen | unwell | retractions | aborts | silent; `since_ts`: seen to
    begin."""

    kind: str
    where: str
    detail: str
    ts: float
    since_ts: float


@dataclass
class Watcher:
    """What one server showed lately, and what is remarkable about it."""

    where: str
    slo: Mapping[str, float] = field(default_factory=dict)
    history: deque[Scraped] = field(default_factory=deque)
    gaps: int = 0
    first_gap: float = 0.0
    jumps: dict[str, deque[tuple[float, float]]] = field(default_factory=dict)
    well_ts: float | None = None  # when /health last answered 200
    unwell: int = 0

    def missed(self, ts: float, why: str) -> list[Alarm]:
        """The server gave no answer."""
        self.gaps += 1
        if self.gaps == 1:
            self.first_gap = ts
        if self.gaps == SILENT and self.history:
            return [Alarm("silent", self.where, f"no answer {SILENT} times in a row: {why}", ts, self.first_gap)]
        return []

    def health(self, ts: float, status: int, why: str) -> list[Alarm]:
        """A health probe: failing while the metrics answer is the scheduler's trouble, not the network's.

        `status` 0: nothing came. A server that was never seen well may be starting: there it takes `NEVER_WELL`.
        """
        if 0 < status < 500:
            self.unwell = 0
            if status == 200:
                self.well_ts = ts
            return []
        self.unwell += 1
        if not self.history or self.gaps or self.unwell != (1 if self.well_ts is not None else NEVER_WELL):
            return []
        still = self._still()
        since = max(still[0], self.well_ts or still[0]) if still is not None else ts
        said = f"/health answers HTTP {status}" if status else f"/health: {why}"
        return [Alarm("unwell", self.where, f"{said}, while /metrics answers", ts, min(since, ts))]

    def seen(self, now: Scraped) -> list[Alarm]:
        """A scrape: what it, with those before, gives reason to seal for."""
        self.gaps = 0
        if self.history and (now.ts <= self.history[-1].ts or _restarted(self.history[-1], now)):
            self.history.clear()  # the clock was stepped back, or the counters began anew
            self.jumps.clear()
        self.history.append(now)
        while now.ts - self.history[0].ts > HISTORY_S:
            self.history.popleft()
        bursts = [self._burst(now, *burst) for burst in BURSTS]
        found = [self._slo(now), self._frozen(now), *bursts, *self._jumps(now)]
        return [alarm for alarm in found if alarm is not None]

    def _back(self, now: Scraped, seconds: float) -> Scraped | None:
        """The newest scrape that is at least so old; None where there is none."""
        return next((s for s in reversed(self.history) if now.ts - s.ts >= seconds), None)

    def _slo(self, now: Scraped) -> Alarm | None:
        before = self._back(now, SLO_S)
        if before is None:
            return None
        for name, bound in self.slo.items():
            quantity, _, statistic = name.partition("_")
            if statistic == "mean":
                value = mean_between(before, now, quantity)
                n = now.counts.get(quantity, 0.0) - before.counts.get(quantity, 0.0)
            else:
                known = least_quantile(before, now, quantity, float(statistic[1:]) / 100)
                value, n = known if known is not None else (None, 0.0)
            if value is not None and value > bound and n >= SLO_REQUESTS:
                return Alarm("slo", self.where, f"{name} is over {value:.3g} s against {bound:g} s", now.ts, before.ts)
        return None

    def _frozen(self, now: Scraped) -> Alarm | None:
        """Requests are there, and nothing a scheduler reports has moved (SIGNALS §1.1: gauges freeze with it)."""
        still = self._still()
        if still is None or not now.counters:
            return None
        since, same = still
        work = (now.total("running") or 0.0) + (now.total("waiting") or 0.0)
        moved_before = same < len(self.history)
        if work <= 0:  # the gauges may have stopped at nothing: requests that arrived since tell
            stretch = list(self.history)[-same:]
            before, work = _taken(stretch[0]), _taken(now) - _taken(stretch[0])
            first = next((s for s in stretch if _taken(s) > before), None)
            if first is None or work < STUCK or not now.counters.get("finished"):
                return None
            # the look before the first of them is the last good one
            since, same, moved_before = first.ts, sum(s.ts >= first.ts for s in stretch), True
        if moved_before and now.ts - since >= FROZEN_S and same >= FROZEN_READINGS:
            inside = f"{work:.0f} requests" if work >= 2 else "1 request"
            detail = f"no progress for {now.ts - since:.0f} s with {inside} inside"
            return Alarm("frozen", self.where, detail, now.ts, since)
        return None

    def _still(self) -> tuple[float, int] | None:
        """(since when nothing has moved, in how many looks); None before the first look."""
        if not self.history:
            return None
        mark, since, same = _progress(self.history[-1]), self.history[-1].ts, 0
        for s in reversed(self.history):
            if _progress(s) != mark:
                break
            since, same = s.ts, same + 1
        return since, same

    def _burst(self, now: Scraped, counter: str, kind: str) -> Alarm | None:
        before = self._back(now, BURST_S)
        if before is None or counter not in now.counters:
            return None
        n = now.counters[counter] - before.counters.get(counter, 0.0)
        if n < BURST:
            return None
        detail = f"{n:.0f} requests {counter} in {now.ts - before.ts:.0f} s"
        return Alarm(kind, self.where, detail, now.ts, before.ts)

    def _jumps(self, now: Scraped) -> list[Alarm]:
        last = self.history[-2] if len(self.history) > 1 else None
        busy = (now.total("running") or 0.0) + (now.total("waiting") or 0.0) > 0
        readings = {
            "waiting": now.total("waiting"),
            "held": _held(now),
            "ttft": mean_between(last, now, "ttft") if last is not None else None,
            "gap": _slow_gap(last, now) if last is not None else None,
            "gen_tps": speed_between(last, now) if busy and last is not None else None,
        }
        found = []
        for name, value in readings.items():
            if value is None:
                continue
            kept = self.jumps.setdefault(name, deque(maxlen=300))
            kept.append((now.ts, value))
            alarm = self._jump(name, list(kept))
            if alarm is not None:
                found.append(alarm)
        return found

    def _jump(self, name: str, looks: list[tuple[float, float]]) -> Alarm | None:
        """``looks``: (time, reading), oldest first. One odd look, late or empty, must not hide what goes on."""
        if len(looks) < BEFORE + RECENT:
            return None
        last = looks[-RECENT:]
        before, recent = sorted(v for _, v in looks[:-RECENT]), sorted(v for _, v in last)
        usual = int(USUAL * len(before))
        if name == "gen_tps":
            limit = before[len(before) - 1 - usual] / FACTOR
            odd = [at for at, value in last if value < limit]
            detail = f"throughput fell from {_middle(before):.0f} to {_middle(recent):.0f} tokens/s"
        else:
            least, factor, unit = JUMPS[name]
            limit = max(factor * before[usual], before[usual] + least)
            odd = [at for at, value in last if value > limit]
            detail = f"{_middle(recent):.3g} {unit}, {_middle(before):.3g} before"
        return Alarm("jump", self.where, detail, last[-1][0], odd[0]) if len(odd) >= RECENT - 1 else None


def alarm_in(where: str, data: bytes, ts: float) -> Alarm | None:
    """A line of a log that is reason enough."""
    found = WATCHED.search(data)
    if found is None:
        return None
    start = data.rfind(b"\n", 0, found.start()) + 1
    line = data[start : data.find(b"\n", found.end())][:200].decode("utf-8", "replace")
    return Alarm("line", where, line, ts, ts)


def _restarted(before: Scraped, now: Scraped) -> bool:
    return any(now.counters.get(name, value) < value for name, value in before.counters.items())


def _taken(s: Scraped) -> float:
    """Requests that were taken in so far; those turned away with an error are not inside."""
    return s.counters.get("arrived", 0.0) - s.counters.get("turned_away", 0.0)


def _progress(s: Scraped) -> tuple[object, ...]:
    moving = tuple(sorted((rank, values.get("gen_tps"), values.get("usage")) for rank, values in s.ranks.items()))
    return (*(s.counters.get(name) for name in ("finished", "generated", "computed")), s.counts.get("gap"), moving)


def _held(s: Scraped) -> float | None:
    """Requests in the queues of disaggregation; None where there are no such queues."""
    known = [total for queue in HELD if (total := s.total(queue)) is not None]
    return sum(known) if known else None


def _slow_gap(a: Scraped, b: Scraped) -> float | None:
    """What the slowest tenth of token gaps exceeds for certain; None where too few tokens came."""
    known = least_quantile(a, b, "gap", 0.9)
    return known[0] if known is not None and known[1] >= GAPS else None


def _middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]
