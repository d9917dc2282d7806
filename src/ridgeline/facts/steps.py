"""What a decode step costs, taken apart: the step itself, and the prefill that ran between two reports.

A report's throughput is tokens over the time since the report before, prefill batches in between included. So the
seconds of a step, running x accepted / throughput, are fitted as

    base + each x running + context x tokens held + token x prefilled tokens + batch x prefill batches

(the last two for each step), no term negative (non-negative least squares, rows weighted by 1 / seconds so that
a stall does not outweigh the rest). The first three are what decoding costs, the last two what prefilling costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from ridgeline.bundle.view import View
from ridgeline.facts.make import bounds
from ridgeline.facts.points import ready

Floats = npt.NDArray[np.float64]

# One row for each report: what ran, and what was prefilled since the report before on the same rank. Steps between two
# reports are unknown (a setting), but equal in number but for the time scale: tokens given = throughput x time, so
# the share of a step is prefilled / (throughput x seconds / running); seconds need wall-clock stamps of lines, which
# have a resolution of one second, so the usual forty steps are assumed; the unit cancels in every ratio.
ROWS: Final = """
WITH picked AS (
    SELECT CASE WHEN count(*) FILTER (WHERE class = 'steps') > 0 THEN 'steps'
                WHEN count(*) FILTER (WHERE class = 'stats') > 0 THEN 'stats'
                WHEN count(*) FILTER (WHERE class = 'scrape') > 0 THEN 'scrape' ELSE 'loads' END AS class
    FROM points WHERE gen_tps > 0 AND running > 0
),
reports AS (
    SELECT *, lag(busy) OVER w AS before, lag(line) OVER w AS line_before, lag(source) OVER w AS source_before
    FROM points WHERE class = (SELECT class FROM picked) WINDOW w AS (PARTITION BY place ORDER BY ord)
),
prefills AS (
    SELECT source, line, server, dp_rank, new_tokens FROM batches WHERE kind = 'prefill' AND new_tokens IS NOT NULL
),
marks AS (
    SELECT source, line, server, dp_rank, NULL AS new_tokens, true AS report FROM reports
    UNION ALL SELECT source, line, server, dp_rank, new_tokens, false FROM prefills
),
stretches AS (
    SELECT *, count(*) FILTER (WHERE report) OVER (PARTITION BY server, dp_rank, source ORDER BY line, report
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS stretch FROM marks
),
between_reports AS (
    SELECT source, server, dp_rank, max(line) FILTER (WHERE report) AS line, sum(new_tokens) AS tokens,
        count(new_tokens) AS batches FROM stretches GROUP BY source, server, dp_rank, stretch
),
held AS (SELECT source, line, any_value(tokens) AS tokens, any_value(input_tps) AS input_tps FROM batches
         WHERE kind IN ('decode', 'stats') GROUP BY source, line)
SELECT r.running::DOUBLE, r.running * coalesce(r.accept_length, 1) / r.gen_tps AS step_s, coalesce(h.tokens, 0)::DOUBLE,
    coalesce(b.tokens / 40.0, h.input_tps * r.running / r.gen_tps, 0)::DOUBLE, coalesce(b.batches / 40.0, 0)::DOUBLE,
    r.place, r.source, r.line
FROM reports r LEFT JOIN between_reports b ON b.source = r.source AND b.line = r.line
    AND b.server IS NOT DISTINCT FROM r.server AND b.dp_rank IS NOT DISTINCT FROM r.dp_rank
LEFT JOIN held h ON h.source = r.source AND h.line = r.line
WHERE r.gen_tps > 0 AND r.running > 0 AND r.before > 0
    AND ($since::DOUBLE IS NULL OR r.ts >= $since) AND ($until::DOUBLE IS NULL OR r.ts <= $until)
ORDER BY r.ord
"""
FEWEST: Final = 5  # fewer reports give no fit
FARTHEST: Final = 2.5  # a curve is read at most about half so far beyond its figures
LEAST_LEFT: Final = 0.05  # share of a step that prefilling leaves to decoding, at least
STEPS_OF_A_REPORT: Final = 40  # SGLang's decode_log_interval unless set


@dataclass(frozen=True)
class Steps:
    """Reports of one window and the fit of their steps; `cites` are (source, line) of the rows.

    `costs`: base s, s for each running request, s for each 1,000 tokens held, s for each 1,000 tokens prefilled,
    s for each prefill batch.
    """

    running: Floats
    step_s: Floats
    held: Floats
    prefilled: Floats
    batches: Floats
    costs: Floats
    cites: tuple[tuple[int, int], ...]

    @property
    def n(self) -> int:
        """How many reports."""
        return int(self.running.size)

    def decode_s(self, running: float, held: float) -> float:
        """Seconds of a step with this batch and so many tokens held, no prefill in between."""
        return float(self.costs[:3] @ (1.0, running, held / 1000))

    def prefill_s(self, tokens: float, batches: float) -> float:
        """Seconds that prefilling takes."""
        return float(self.costs[3:] @ (tokens / 1000, batches))

    def gives(self, other: Steps) -> Floats:
        """What this fit gives for the work of other reports, seconds of a step."""
        return np.asarray(_features(other.running, other.held, other.prefilled, other.batches) @ self.costs, np.float64)

    def gives_paced(self, other: Steps) -> Floats:
        """The same where as many prompt tokens come in each second, not for each step: a longer step meets more."""
        decode = _features(other.running, other.held, other.prefilled, other.batches)[:, :3] @ self.costs[:3]
        share = self.costs[3] * other.prefilled / 1000 / other.step_s
        return np.asarray(decode / np.maximum(1 - share, LEAST_LEFT), np.float64)

    @property
    def expected_s(self) -> Floats:
        """What the fit gives for each report."""
        return np.asarray(_features(self.running, self.held, self.prefilled, self.batches) @ self.costs, np.float64)


def steps(view: View) -> Steps | None:
    """The reports of the view's window with their fit; None where fewer than five say how fast tokens came."""
    return _fitted(ready(view).query(ROWS, bounds(view)))


def steps_by_place(view: View, fewest: int = FEWEST) -> dict[str, Steps]:
    """The same for each rank or replica that has `fewest` reports, by its name."""
    rows = ready(view).query(ROWS, bounds(view))
    places = sorted({row[5] for row in rows})
    fits = {place: _fitted([row for row in rows if row[5] == place], fewest) for place in places}
    return {place: fit for place, fit in fits.items() if fit is not None}


def _fitted(rows: list[tuple[Any, ...]], fewest: int = FEWEST) -> Steps | None:
    if len(rows) < fewest:
        return None
    running, step_s, held, prefilled, batches = np.asarray([row[:5] for row in rows], np.float64).T
    features = _features(running, held, prefilled, batches)
    weights = 1.0 / step_s
    costs, _rest = nnls(features * weights[:, None], np.ones_like(step_s))
    return Steps(
        running, step_s, held, prefilled, batches, np.asarray(costs, np.float64), tuple((r[6], r[7]) for r in rows)
    )


def _features(running: Floats, held: Floats, prefilled: Floats, batches: Floats) -> Floats:
    return np.column_stack([np.ones_like(running), running, held / 1000, prefilled / 1000, batches])


def shared_batch(now: Steps, then: Steps) -> float | None:
    """A batch size both windows have seen, so that neither curve is read far outside its own figures.

    None where the sizes lie apart by more than `FARTHEST`.
    """
    low = max(float(np.quantile(s.running, 0.1)) for s in (now, then))
    high = min(float(np.quantile(s.running, 0.9)) for s in (now, then))
    if low <= high:
        return (low + high) / 2
    low = max(float(s.running.min()) for s in (now, then))
    high = min(float(s.running.max()) for s in (now, then))
    return (low + high) / 2 if low <= FARTHEST * high else None
