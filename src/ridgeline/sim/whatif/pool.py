"""Runs on all cores: the same outcomes in the same order whatever the number of processes."""

import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from typing import Final

from ridgeline.sim.service import Hooks
from ridgeline.sim.whatif.run import Outcome, Work, hooks_of, run
from ridgeline.sim.whatif.variants import Variant
from ridgeline.spread.tasks import over

Task = tuple[int, int]  # which variant, which repeat
WORTH_PROCESSES_S: Final = 3.0
"""Below so many seconds of work left, starting processes costs more than it saves."""
OnDone = Callable[[int, int], None]

HELD: list[tuple[Work, Sequence[Variant], Hooks]] = []
"""In a worker process: what its tasks refer to."""


def begin(work: Work, variants: Sequence[Variant]) -> None:
    """First thing in a worker process."""
    import signal

    # an interrupt is the parent's to handle: it keeps what is done
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    HELD.append((work, variants, hooks_of(work.policies)))


def one(task: Task) -> Outcome:
    """One run in a worker process."""
    work, variants, hooks = HELD[0]
    return run(work, variants[task[0]], task[1], hooks)


def far(shared: tuple[Work, Sequence[Variant]], task: Task) -> Outcome:
    """One run as a task of a cluster."""
    work, variants = shared
    return run(work, variants[task[0]], task[1], hooks_of(work.policies))


def run_all(
    work: Work, variants: Sequence[Variant], repeats: int, jobs: int | None = None, on_done: OnDone | None = None,
    on: str | None = None,
) -> tuple[dict[Task, Outcome], bool]:  # fmt: skip
    """Every setting in every repeat, repeat by repeat; and whether an interrupt cut it short (what is done is kept).

    ``on``: a Ray cluster instead of processes of this machine; the outcomes are the same.
    """
    tasks = [(which, repeat) for repeat in range(repeats) for which in range(len(variants))]
    tell = on_done or (lambda _done, _all: None)
    done: dict[Task, Outcome] = {}
    if on is not None:
        try:
            for place, outcome in over(on, far, tasks, (work, tuple(variants)), jobs):
                done[tasks[place]] = outcome
                tell(len(done), len(tasks))
        except KeyboardInterrupt:
            return ordered(done), True
        return ordered(done), False
    hooks = hooks_of(work.policies)
    processes = min(jobs or os.cpu_count() or 1, len(tasks))
    try:
        while tasks:
            started = time.monotonic()
            done[tasks[0]] = run(work, variants[tasks[0][0]], tasks[0][1], hooks)
            took = time.monotonic() - started
            tell(len(done), len(done) + len(tasks) - 1)
            tasks = tasks[1:]
            if processes > 1 and len(tasks) > 1 and took * len(tasks) > WORTH_PROCESSES_S:
                spread(work, variants, tasks, processes, done, tell)
                break
    except KeyboardInterrupt:
        return ordered(done), True
    return ordered(done), False


def spread(
    work: Work, variants: Sequence[Variant], tasks: Sequence[Task], processes: int, done: dict[Task, Outcome],
    tell: OnDone,
) -> None:  # fmt: skip
    """The tasks over processes; outcomes go into ``done`` as they come."""
    count = len(done) + len(tasks)
    # spawned, not forked: this process has threads of other libraries
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(processes, context, begin, (work, variants))
    try:
        waiting: dict[Future[Outcome], Task] = {executor.submit(one, task): task for task in tasks}
        while waiting:
            ready, _rest = wait(waiting, return_when=FIRST_COMPLETED)
            for future in ready:
                done[waiting.pop(future)] = future.result()
                tell(len(done), count)
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def ordered(done: dict[Task, Outcome]) -> dict[Task, Outcome]:
    """By setting and repeat, not by who was ready first."""
    return {task: done[task] for task in sorted(done)}
