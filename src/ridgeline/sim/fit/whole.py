"""A fit on all that a view shows: what a what-if starts from."""

import numpy as np

from ridgeline.bundle.view import View
from ridgeline.scenario.from_bundle import traffic_of
from ridgeline.scenario.traffic import Traffic
from ridgeline.sim.fit.choices import choices_of
from ridgeline.sim.fit.configured import Configured, configured
from ridgeline.sim.fit.fit import Fitted, fit
from ridgeline.sim.fit.lines import decode_lines
from ridgeline.sim.fit.run import Runner

FOREVER_TS = 1e18


def fitted_on(view: View, runner: Runner) -> tuple[Traffic, Configured, Fitted | None]:
    """The view's traffic, its configuration, and the time model that all of its evidence gives (None: too little).

    Raises:
        InputError: no request has both an arrival and lengths.
    """
    traffic, setup = traffic_of(view), configured(view)
    lines = decode_lines(view).until(FOREVER_TS, setup.settings.decode_log_interval)
    rows = np.flatnonzero(traffic.measured)
    return traffic, setup, fit(traffic, choices_of(setup, traffic, rows), rows, runner, lines=lines)
