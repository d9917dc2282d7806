"""Decode batch lines as equations: what a step over B requests with a context of S tokens took.

SGLang writes a decode line every so many decode steps with the tokens per second since the line before (SIGNALS §6.3).
Where the line before it (of the same rank) is a decode line too and names as many running requests, every step between
them decoded B requests: a step took B / throughput seconds. The context is the mean of the two lines' token counts.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from ridgeline.bundle.view import View
from ridgeline.sim.fit.regress import Equations
from ridgeline.sim.fit.run import FEATURES, Floats

LINES_SQL: Final = """
    WITH ordered AS (
        SELECT
            ts, kind, running, tokens, gen_tps,
            lag(kind) OVER w AS kind_before,
            lag(running) OVER w AS running_before,
            lag(tokens) OVER w AS tokens_before
        FROM batches
        WHERE kind IN ('decode', 'prefill') AND role IS DISTINCT FROM 'prefill'
        WINDOW w AS (PARTITION BY server, dp_rank, source ORDER BY line)
    )

    SELECT ts, running, (tokens + tokens_before) / 2.0, running / gen_tps
    FROM ordered
    WHERE
        kind = 'decode' AND kind_before = 'decode' AND running = running_before AND running > 0 AND gen_tps > 0
        AND tokens IS NOT NULL AND tokens_before IS NOT NULL AND ts IS NOT NULL
    ORDER BY ts, running, tokens
"""
KIND: Final = 9
"""Number of this kind of equation (see `Equations.kind`)."""


@dataclass(frozen=True)
class Lines:
    """One row per usable line: when it was written (wall), requests, context tokens, seconds per step."""

    ts: Floats
    running: Floats
    context: Floats
    step_s: Floats

    def until(self, ts: float, steps: int) -> Equations | None:
        """Equations of the lines written before ``ts``, each over ``steps`` steps; None where there are none."""
        use = self.ts < ts
        count = int(use.sum())
        if count == 0:
            return None
        work = np.zeros((count, len(FEATURES)))
        work[:, 0] = 1
        work[:, 3] = self.running[use]
        work[:, 4] = self.context[use]
        nobody = np.full(count, -1, np.int64)
        return Equations(work * steps, self.step_s[use] * steps, nobody, np.full(count, KIND, np.int64))


def decode_lines(view: View) -> Lines:
    """The usable decode lines of a view (none for vLLM, which logs averages over ten seconds)."""
    table = np.array(view.query(LINES_SQL), np.float64).reshape(-1, 4)
    return Lines(table[:, 0], table[:, 1], table[:, 2], table[:, 3])
