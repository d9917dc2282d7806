"""A plain step-by-step model of vLLM's scheduler: what the fit is tested against. Shares no code with the engine.

Running requests first, in order, within the token budget; then the waiting queue, head first. Memory in blocks; who
cannot get a block makes the last running request start over. With `async_scheduling` the next step is planned when a
step begins to run, so what a step brings is known two steps later. A prompt's shared opening (its segments) is found
where another request has computed it before; it costs no compute, but its blocks all the same.
"""

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from ridgeline.scenario.model import PS, Scenario
from ridgeline.sim.fit.run import Run, Steps
from ridgeline.sim.settings import Settings
from ridgeline.sim.timing import TimeModel


@dataclass
class Seq:
    at: int
    prompt: int
    out: int
    opening: tuple[int, int]
    work_s: float
    computed: int = 0
    planned: int = 0
    got: int = 0
    blocks: int = 0
    epoch: int = 0
    moments: dict[str, float] = field(default_factory=dict)
    retractions: int = 0
    cached: int = 0


def plain_run(scenario: Scenario, settings: Settings, model: TimeModel) -> Run:
    n = scenario.n
    arrival = scenario["arrival_ps"] / PS
    page = settings.page_size
    free = settings.max_total_num_tokens // page
    depth = 2 if settings.async_scheduling else 1
    openings = [
        (int(scenario.segment_id[lo]), int(scenario.segment_tokens[lo])) if hi > lo else (0, 0)
        for lo, hi in zip(scenario.offsets[:-1], scenario.offsets[1:], strict=True)
    ]
    seqs = [
        Seq(i, int(scenario["input_tokens"][i]), int(scenario["output_tokens"][i]), openings[i],
            float(scenario["work_us"][i]) / 1e6)
        for i in range(n)
    ]  # fmt: skip
    known: set[int] = set()
    waiting: deque[Seq] = deque()
    running: list[Seq] = []
    flying: deque[tuple[float, list[tuple[Seq, int]]]] = deque()
    rows: list[tuple[float, float, list[float]]] = []
    now, busy_until, coming, left = 0.0, 0.0, 0, n
    while left:
        while coming < n and arrival[coming] <= now:
            seqs[coming].moments["queued"] = now
            waiting.append(seqs[coming])
            coming += 1
        step: list[tuple[Seq, int]] = []
        shape = [0.0] * 6
        extra = 0.0
        if len(flying) < depth:
            budget, put_back = settings.chunked_prefill_size, False
            for seq in running[:]:
                total = seq.prompt + seq.planned
                if seq not in running or budget <= 0 or seq.planned >= seq.out or total == seq.computed:
                    continue
                take = min(total - seq.computed, budget)
                while (need := -(-(seq.computed + take) // page) - seq.blocks) > free:
                    last = running.pop()
                    free += last.blocks
                    last.blocks = last.computed = 0
                    last.planned = last.got
                    last.epoch += 1
                    last.retractions += 1
                    put_back = True
                    waiting.appendleft(last)
                    if last is seq:
                        break
                if seq not in running:
                    break
                free -= need
                seq.blocks += need
                budget -= take
                plan(seq, take, total, shape, step)
            while not put_back and waiting and budget > 0 and len(running) < settings.max_running_requests:
                seq = waiting[0]
                total = seq.prompt + seq.planned
                found = 0
                if not settings.disable_radix_cache and seq.opening[0] in known:
                    found = min(seq.opening[1], total - 1) // page * page
                if -(-total // page) > free:
                    break
                take = min(total - found, budget)
                seq.blocks = -(-(found + take) // page)
                free -= seq.blocks
                waiting.popleft()
                running.append(seq)
                budget -= take
                if "scheduled" not in seq.moments:
                    seq.moments["scheduled"] = now
                    seq.cached = found
                    extra += seq.work_s
                seq.computed = found
                plan(seq, take, total, shape, step)
                known.add(seq.opening[0] or -seq.at - 1)
        if shape[0]:
            took = extra + (
                model.base_ps * shape[0] + model.prefill_token_ps * shape[1] + model.attention_half_pair_ps * shape[2]
                + model.decode_request_ps * shape[3] + model.context_token_ps * shape[4]
                + model.mixed_request_ps * (shape[3] if shape[1] else 0)
            ) / PS  # fmt: skip
            begin = max(now, busy_until)
            busy_until = begin + took
            shape[5] = shape[3] if shape[1] else 0.0
            rows.append((begin, busy_until, shape))
            flying.append((busy_until, step))
            if len(flying) < depth:
                continue
        if flying:
            now, ended = flying.popleft()
            for seq, epoch in ended:
                if epoch != seq.epoch:
                    continue
                seq.got += 1
                seq.moments.setdefault("first", now)
                if seq.got >= seq.out:
                    seq.moments["last"] = now
                    free += seq.blocks
                    running.remove(seq)
                    left -= 1
        elif coming < n:
            now = max(now, float(arrival[coming]))
        else:
            break

    def column(name: str) -> np.ndarray:
        return np.array([seq.moments.get(name, np.nan) for seq in seqs])

    steps = Steps(
        np.array([r[0] for r in rows]), np.array([r[1] for r in rows]), np.array([r[2] for r in rows]).reshape(-1, 6)
    )
    return Run(
        column("queued"), column("scheduled"), column("first"), column("last"),
        np.array([float(s.retractions) for s in seqs]), np.array([float(s.cached) for s in seqs]), steps,
    )  # fmt: skip


def plan(seq: Seq, take: int, total: int, shape: list[float], step: list[tuple[Seq, int]]) -> None:
    """Book ``take`` tokens of ``seq`` into the step that is being formed."""
    shape[0] = 1.0
    if take == 1 and seq.computed >= seq.prompt:
        shape[3] += 1
        shape[4] += seq.computed + 1
    else:
        shape[1] += take
        shape[2] += take * (2.0 * seq.computed + take)
    seq.computed += take
    if seq.computed == total:
        seq.planned += 1
        step.append((seq, seq.epoch))
