"""What a scheduler reports as it runs: batch lines, gauges, load snapshots."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from numpy.typing import NDArray

from ridgeline.lab.emit.batches import batch_line, retraction_line
from ridgeline.lab.emit.model import Batch, Line, Retraction
from ridgeline.lab.people import DECODE_LOG_INTERVAL
from ridgeline.lab.serve.hosts import Host
from ridgeline.lab.serve.world import World
from ridgeline.scenario.model import PS
from ridgeline.sim.engine import params as p

GRAPH_SIZE: Final = 64
"""Largest batch with a captured graph."""


@dataclass
class RankReport:
    """One rank's last reports. Times in virtual seconds."""

    decode: Batch | None = None
    prefill: Batch | None = None
    decode_at_s: float = 0.0
    prefill_at_s: float = 0.0
    tokens: int = 0
    tokens_before: int = 0
    used_before: int = 0


@dataclass
class Reports:
    """The reports of one server."""

    world: World
    host: Host
    ranks: list[RankReport] = field(default_factory=list)

    def __post_init__(self) -> None:
        """One record per DP rank."""
        self.ranks = [RankReport() for _ in range(self.host.server.dp_size)]

    def take(self, rows: NDArray[Any]) -> list[Line]:
        """The lines of new engine rows, in their order."""
        lines: list[Line] = []
        first = self.host.first_rank
        for row in rows:
            rank = int(row["rank"]) - first
            if not 0 <= rank < len(self.ranks):
                continue
            kind = int(row["kind"])
            report = self.ranks[rank]
            if kind == p.LOG_PREFILL:
                lines.append(batch_line(self.host.server, self.prefill_batch(report, rank, row)))
            elif kind == p.LOG_DECODE:
                report.tokens += int(row["v1"])
                if int(row["v4"]) % DECODE_LOG_INTERVAL == 0:
                    lines.append(batch_line(self.host.server, self.decode_batch(report, rank, row)))
            elif kind == p.LOG_RETRACT and row["v0"]:
                after = int(row["v1"]) / 1e9
                gained = max(0, report.used_before - int(row["v8"]))
                at = self.world.wall(int(row["t"]) / PS)
                what = Retraction(at, rank, int(row["v0"]), gained, max(0.0001, after * 0.6), after)
                lines.append(retraction_line(self.host.server, what))
            report.used_before = int(row["v8"])
        return lines

    def prefill_batch(self, report: RankReport, rank: int, row: Any) -> Batch:
        """A prefill row as its log line tells it; throughput is since the last prefill."""
        now, new = int(row["t"]) / PS, int(row["v1"])
        apart = self.queues(rank)
        batch = Batch(
            self.world.wall(now), rank, "prefill", int(row["v3"]), int(row["v6"]), int(row["v8"]),
            new / max(now - report.prefill_at_s, 1e-3), False, new_seq=int(row["v0"]), new_tokens=new,
            cached_tokens=int(row["v2"]), pending_tokens=int(row["v7"]), bootstrap=apart["bootstrap"],
            inflight=apart["inflight"],
        )  # fmt: skip
        report.prefill, report.prefill_at_s = batch, now
        return batch

    def decode_batch(self, report: RankReport, rank: int, row: Any) -> Batch:
        """A decode row as its log line tells it; throughput is since the last such line."""
        now, running = int(row["t"]) / PS, int(row["v0"])
        apart = self.queues(rank)
        tps = (report.tokens - report.tokens_before) / max(now - report.decode_at_s, 1e-3)
        batch = Batch(
            self.world.wall(now), rank, "decode", running, int(row["v6"]), int(row["v8"]), tps, running <= GRAPH_SIZE,
            prealloc=apart["prealloc"], transfer=apart["transfer"], retracted=apart["retracted"],
        )  # fmt: skip
        report.decode, report.decode_at_s, report.tokens_before = batch, now, report.tokens
        return batch

    def queues(self, rank: int) -> dict[str, int]:
        """Lengths of every queue of a rank now."""
        base = (self.host.first_rank + rank) * p.QUEUES
        queue = self.world.service.state.queue
        names = (("waiting", p.WAIT), ("grammar", p.GRAMMARS), ("bootstrap", p.BOOTS), ("inflight", p.FLIGHTS),
                 ("prealloc", p.PREALLOCS), ("transfer", p.TRANSFERS), ("retracted", p.RETRACTS))  # fmt: skip
        return {name: int(queue[base + code].n) for name, code in names}

    def gauges(self) -> tuple[dict[str, float], ...]:
        """Per rank, concept to value: the scheduler's state at this moment."""
        return tuple(self.rank_gauges(rank) for rank in range(len(self.ranks)))

    def rank_gauges(self, rank: int) -> dict[str, float]:
        """Gauges of one rank; what this model does not have is left out."""
        server, report = self.host.server, self.ranks[rank]
        rk = self.world.service.state.rank[self.host.first_rank + rank]
        queues = self.queues(rank)
        used = max(0, server.pool_tokens - int(rk.free) - int(rk.evictable))
        running = int(rk.running)
        decode, prefill = report.decode, report.prefill
        looked = (prefill.new_tokens + prefill.cached_tokens) if prefill is not None else 0
        hit = prefill.cached_tokens / looked if prefill is not None and looked else 0.0
        if server.at < 2 and decode is not None and prefill is not None and decode.ts >= prefill.ts:
            hit = 0.0  # every decode report overwrites the gauge in these releases
        return {
            "running": float(running),
            "used_tokens": float(used),
            "usage": used / server.pool_tokens,
            "swa_usage": 0.0,
            "mamba_usage": 0.0,
            "sequence_tokens": float(rk.ctx),
            "gen_tps": decode.tps if decode is not None and running else 0.0,
            "waiting": float(queues["waiting"]),
            "grammar_waiting": float(queues["grammar"]),
            "offline": 0.0,
            "hit_rate": hit,
            "pool_tokens": float(server.pool_tokens),
            "page_size": float(server.page_size),
            "pages": float(server.pool_tokens // server.page_size),
            "context_len": float(server.context_len),
            "available_tokens": float(rk.free),
            "evictable_tokens": float(rk.evictable),
            "accept_length": 0.0,
            "accept_rate": 0.0,
            "bootstrap": float(queues["bootstrap"]),
            "inflight": float(queues["inflight"]),
            "prealloc": float(queues["prealloc"]),
            "transfer": float(queues["transfer"]),
            "utilization": -1.0 if server.role == "prefill" else 0.0,
            "new_token_ratio": int(rk.ratio) / 1e9,
            "graph": float(running <= GRAPH_SIZE),
            "retracted_now": 0.0,
            "paused": 0.0,
        }

    def snapshots(self) -> tuple[Mapping[str, float], ...]:
        """Per rank, what ``/v1/loads`` answers; its time is that of the scheduler's last publication."""
        out: list[Mapping[str, float]] = []
        for rank in range(len(self.ranks)):
            rk = self.world.service.state.rank[self.host.first_rank + rank]
            values = self.rank_gauges(rank)
            queues = {name: float(n) for name, n in self.queues(rank).items()}
            idle = int(rk.kind) == 0 and not rk.hold
            ts = self.world.wall(self.world.now_s() if idle else int(rk.snap_at) / PS)
            out.append({
                "ts": ts, "running": values["running"], "used_tokens": values["used_tokens"],
                "total_tokens": values["used_tokens"] + float(rk.wtokens), "uncached_waiting": float(rk.wtokens),
                "gen_tps": values["gen_tps"], "hit_rate": values["hit_rate"],
                "prefilled_tokens": float(rk.prefill_tokens), "prefill_us": float(rk.busy) / 1e6, **queues,
            })  # fmt: skip
        return tuple(out)
