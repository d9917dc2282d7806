"""A simulated service that takes requests and moves through time: `push`, `advance`, `results`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline.scenario.model import Scenario, ScenarioError, take
from ridgeline.sim.engine import params as p
from ridgeline.sim.engine import state as tables
from ridgeline.sim.engine.native import load
from ridgeline.sim.engine.tables import handle
from ridgeline.sim.settings import Settings
from ridgeline.sim.tables import Perturbation, build
from ridgeline.sim.timing import DEFAULT, TimeModel


@dataclass(frozen=True)
class Hooks:
    """A user's compiled policies (see `policies.compiled`); 0 where there is none."""

    order: Any = 0
    route: Any = 0


class Service:
    """State of one simulation. Deterministic: the same pushes and settings give the same bytes."""

    def __init__(
        self,
        settings: Settings,
        model: TimeModel = DEFAULT,
        perturbations: Sequence[Perturbation] = (),
        seed: int = 0,
        hooks: Hooks | None = None,
        logging: bool = False,
        room: int = 1024,
        steps: bool = False,
    ) -> None:
        """``room``: how many requests to expect; ``logging``: keep a row per batch, ``steps``: one per stretch of steps
        (`drain_log`).

        Raises:
            SettingError: a perturbation that names no parameter.
        """
        self.settings = settings
        self.hooks = hooks or Hooks()
        self.each = 2 if settings.decode_workers else 1
        self.state = build(settings, model, perturbations, seed, max(room, 1) * self.each, logging or steps)
        self.state.g[p.G_LOGGING] = 1 if logging else 2 if steps else 0
        self.state.g[p.G_STEPS] = steps
        self.entries = load()
        self.segments = 0
        self.drained: list[NDArray[Any]] = []

    @property
    def now_ps(self) -> int:
        """Everything before this moment is final."""
        return int(self.state.g[p.G_NOW])

    @property
    def pushed(self) -> int:
        """Requests taken so far."""
        return int(self.state.g[p.G_PUSHED]) // self.each

    def push(self, scenario: Scenario) -> None:
        """Append requests; none may arrive before `now_ps` or before one pushed earlier.

        Raises:
            ScenarioError: it arrives in the past.
        """
        n = scenario.n
        if n == 0:
            return
        st = self.state
        done = int(st.g[p.G_PUSHED])
        floor = max(self.now_ps, int(st.req[done - 1].arrival) if done else 0)
        if scenario["arrival_ps"][0] < floor:
            raise ScenarioError(f"a request arrives at {scenario['arrival_ps'][0]} ps, before {floor} ps")
        need = done + n * self.each
        if need > len(st.req):
            st = st._replace(req=tables.grown(st.req, max(need, 2 * len(st.req))))
        total = self.segments + len(scenario.segment_id)
        if total > len(st.seg):
            st = st._replace(seg=tables.grown(st.seg, max(total, 2 * len(st.seg))))
        if self.settings.engine == "vllm":
            longest = int((scenario["input_tokens"] + scenario["output_tokens"]).max()) // self.settings.page_size + 2
            if longest > st.blocks.shape[1]:
                wider = np.zeros((len(st.slot), max(longest, 2 * st.blocks.shape[1])), np.int32)
                wider[: len(st.blocks), : st.blocks.shape[1]] = st.blocks
                st = st._replace(blocks=wider)
        self.state = st
        for part in range(self.each):
            self._fill(scenario, done, part)
        lengths = np.diff(scenario.offsets)
        ends = np.cumsum(scenario.segment_tokens)
        before = np.concatenate([[0], ends])[scenario.offsets[:-1]]
        st.seg["id"][self.segments : total] = scenario.segment_id
        st.seg["end"][self.segments : total] = ends - np.repeat(before, lengths)
        self.segments = total
        st.g[p.G_PUSHED] = need

    def _fill(self, scenario: Scenario, done: int, part: int) -> None:
        """Write the rows of one role (``part`` 1: the decode side)."""
        n = scenario.n
        rows = self.state.req[done + part : done + n * self.each : self.each]
        index = np.arange(done, done + n * self.each, self.each) + part
        rows["arrival"] = scenario["arrival_ps"]
        rows["cancel"] = scenario["cancel_ps"]
        rows["prompt"] = scenario["input_tokens"]
        rows["out"] = np.minimum(scenario["output_tokens"], scenario["max_new_tokens"])
        rows["max_new"] = scenario["max_new_tokens"]
        for field, column in (("lora", "lora"), ("key", "routing_key"), ("space", "namespace"), ("kind", "kind"),
                              ("priority", "priority"), ("asked", "dp_rank"), ("grammar_us", "grammar_us"),
                              ("storage_us", "storage_us")):  # fmt: skip
            rows[field] = scenario[column]
        rows["extra"] = scenario["work_us"] * 1_000_000
        rows["seg_lo"] = scenario.offsets[:-1] + self.segments
        rows["seg_hi"] = scenario.offsets[1:] + self.segments
        own = -1 - index // self.each
        rows["out_seg"] = np.where(scenario["output_segment"] != 0, scenario["output_segment"], own)
        rows["bits"] = np.where(scenario["ignore_eos"] > 0, p.IGNORE_EOS, 0) + np.where(
            scenario["grammar_us"] > 0, p.HAS_GRAMMAR, 0
        )
        rows["worker"] = -1
        rows["rank"] = -1
        rows["peer"] = index + (1 - 2 * part) if self.each == 2 else -1
        if self.each == 2:
            rows["answer"] = p.FOREVER
            if part == 0:
                rows["out"] = 1
                rows["max_new"] = 1

    def advance(self, until_ps: int) -> None:
        """Process everything before ``until_ps``; resumable at any moment."""
        while True:
            at, _header = handle(self.state)
            short = self.entries["advance"](at, until_ps, self.hooks.order, self.hooks.route)
            if short == p.RAN:
                return
            self._grow(short)

    def _grow(self, short: int) -> None:
        """Give the named table twice the room."""
        st = self.state
        if short == p.NEED_NODES:
            node = tables.grown(st.node, 2 * len(st.node))
            table = np.full(4 * len(node), -1, np.int32)
            st.g[p.G_MASK] = len(table) - 1
            self.state = st._replace(node=node, table=table)
            at, _header = handle(self.state)
            self.entries["rehash"](at)
        elif short == p.NEED_LOG:
            if int(st.g[p.G_LOG]) > len(st.log) // 2:
                self.drained.append(st.log[: int(st.g[p.G_LOG])].copy())
                st.g[p.G_LOG] = 0
            else:
                self.state = st._replace(log=tables.grown(st.log, 2 * len(st.log)))
        else:
            width = 2 * st.scratch.shape[1]
            self.state = st._replace(scratch=np.zeros((st.scratch.shape[0], width), np.int64))

    def run(self) -> None:
        """Process everything there is."""
        self.advance(p.FOREVER)

    def drain_log(self) -> NDArray[Any]:
        """Log rows since the last call, in the order they were written (per rank in order of time)."""
        st = self.state
        rows = [*self.drained, st.log[: int(st.g[p.G_LOG])].copy()]
        self.drained = []
        st.g[p.G_LOG] = 0
        return np.concatenate(rows)

    def requests(self) -> NDArray[Any]:
        """The request rows as they stand (a view; dtype `engine.state.REQUEST`)."""
        rows: NDArray[Any] = self.state.req[: int(self.state.g[p.G_PUSHED])]
        return rows

    def gaps(self) -> NDArray[np.int64]:
        """Inter-token gaps so far, counted per bin over all ranks (edges: `engine.batch.gap_edge`)."""
        counts: NDArray[np.int64] = self.state.wide[: int(self.state.g[p.G_RANKS]), : tables.BINS].sum(axis=0)
        return counts


def simulate(
    scenario: Scenario,
    settings: Settings,
    model: TimeModel = DEFAULT,
    perturbations: Sequence[Perturbation] = (),
    seed: int = 0,
    hooks: Hooks | None = None,
    logging: bool = False,
    steps: bool = False,
) -> Service:
    """Run a whole scenario through one configuration.

    Raises:
        SettingError: see `Service`.
    """
    service = Service(settings, model, perturbations, seed, hooks, logging, scenario.n, steps)
    service.push(scenario)
    service.run()
    return service


def simulate_in_pieces(scenario: Scenario, settings: Settings, cuts: Sequence[int], **more: Any) -> Service:
    """The same run, pushed and advanced piece by piece: each cut takes what arrives from there on."""
    service = Service(settings, **more)
    arrivals = scenario["arrival_ps"]
    at = 0
    for cut in [*sorted(cuts), p.FOREVER]:
        stop = int(np.searchsorted(arrivals, cut))
        service.push(take(scenario, np.arange(at, stop)))
        service.advance(cut)
        at = stop
    return service
