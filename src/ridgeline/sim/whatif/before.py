"""What users got in the good time, as the evidence has it: also of a life of the server that is not simulated."""

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.sim.whatif.choose import Good

SEEN: Final = """
    SELECT
        quantile_disc(ttft_s, 0.9), quantile_disc(ttft_s, 0.99), quantile_disc(tpot_s, 0.9),
        quantile_disc(tpot_s, 0.99), quantile_disc(e2e_s, 0.9), quantile_disc(e2e_s, 0.99)
    FROM requests
    WHERE received_ts >= $since AND received_ts < $until AND state = 'finished' AND NOT coalesce(probe, false)
        AND (role IS NULL OR role IN ('unified', 'decode'))
    HAVING count(*) >= $fewest
"""
FEWEST: Final = 30


def seen_between(view: View, window: tuple[float, float] | None) -> Good | None:
    """The 90th and 99th percentile of each metric (s) of the requests of a window (wall seconds); None: too few."""
    if window is None:
        return None
    rows = view.query(SEEN, {"since": window[0], "until": window[1], "fewest": FEWEST})
    if not rows:
        return None
    pairs = zip(("ttft_s", "tpot_s", "e2e_s"), (rows[0][k : k + 2] for k in (0, 2, 4)), strict=True)
    return {name: (float(p90), float(p99)) for name, (p90, p99) in pairs if p90 is not None} or None
