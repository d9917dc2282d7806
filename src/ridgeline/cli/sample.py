"""`ridgeline sample SRC… -o S`: the traffic of an incident as a scenario, with the settings and times it ran under."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from cyclopts import Parameter

if TYPE_CHECKING:
    from ridgeline.bundle.view import View
    from ridgeline.scenario.traffic import Traffic

ATTRIBUTES: Final = """
SELECT rid, role, routing_key, lora, priority, dp_rank, dp_rank_asked, worker, endpoint, stream, modality,
    finish_reason, state
FROM requests
WHERE rid IS NOT NULL
ORDER BY rid
"""
PLACES: Final = "SELECT count(DISTINCT server), count(*) FILTER (WHERE role IN ('prefill', 'decode')) FROM servers"
FITTED_AT_MOST: Final = 4000
"""Requests the time model is fitted on: the first of them."""


def sample(
    *sources: str,
    output: Annotated[Path, Parameter(name=["--out", "-o"])],
    class_: Annotated[tuple[str, ...], Parameter(name=["--class"])] = (),
    unpin: bool = False,
    label: tuple[str, ...] = (),
    tz: str | None = None,
    year: int | None = None,
    quiet: bool = False,
) -> int:
    """Take the traffic of recorded evidence as a scenario; settings and step times go to S.json beside it.

    Parameters
    ----------
    sources
        Files, folders, globs, - for standard input, or one bundle.
    output
        Where to write the scenario; `ridgeline simulate` reads S.json by itself.
    class_
        NAME=VALUE, keep only such requests: routing_key, lora, priority, dp_rank, endpoint and others.
    unpin
        Forget which rank each request asked for, so that the balancing method decides.
    label
        ROLE=FILE or ROLE:NAME=FILE where content does not tell.
    tz
        Zone of log times that name none, such as Asia/Shanghai or +08:00.
    year
        Year of log times that name none.
    quiet
        Print nothing but errors.
    """
    import numpy as np

    from ridgeline.cli.evidence import watched
    from ridgeline.model.errors import InputError
    from ridgeline.scenario.files import write_scenario
    from ridgeline.scenario.from_bundle import traffic_of
    from ridgeline.scenario.model import Scenario, ScenarioError, take
    from ridgeline.sim.settings import SettingError, as_dict

    if any(source.startswith(("http://", "https://")) for source in sources):
        raise InputError("sample reads recorded runs: give files, a folder or a bundle")
    with watched(sources, for_="60s", label=label, tz=tz, year=year, quiet=quiet) as view:
        try:
            traffic = traffic_of(view)
            settings, model, notes = fitted(view, traffic, quiet)
            kept = chosen(view, traffic, class_)
            made = take(traffic.scenario, kept)
            if unpin:
                columns = {**made.columns, "dp_rank": np.full(made.n, -1, np.int64)}
                made = Scenario(columns, made.offsets, made.segment_id, made.segment_tokens, made.source)
            write_scenario(made, output)
            beside = Path(f"{output}.json")
            read = {"schema": "ridgeline.sample/1", "settings": as_dict(settings), "time_model": model, "notes": notes}
            beside.write_text(json.dumps(read, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        except (ScenarioError, SettingError, OSError) as error:
            raise InputError(str(error)) from error
    if not quiet:
        print(f"{output}: {made.n} of {traffic.n} requests; settings and step times in {beside}")
        for note in notes:
            print(f"note: {note}")
    return 0


def chosen(view: View, traffic: Traffic, classes: tuple[str, ...]) -> Any:
    """Rows of the traffic whose request has every NAME=VALUE. Raises InputError for a bad name, or where none is left.

    A rid seen by several servers has a value where any of them names it.
    """
    import numpy as np

    from ridgeline.model.errors import InputError

    rows = view.arrow(ATTRIBUTES).to_pylist()
    keep = np.ones(traffic.n, bool)
    for text in classes:
        name, equals, value = text.partition("=")
        if not equals or (rows and name not in rows[0]):
            names = ", ".join(k for k in (rows[0] if rows else {}) if k != "rid")
            raise InputError(f"--class {text}: want NAME=VALUE with one of {names}")
        having = {row["rid"] for row in rows if row[name] is not None and str(row[name]).lower() == value.lower()}
        keep &= np.array([rid in having for rid in traffic.rids])
    if not keep.any():
        raise InputError(f"no request of the traffic has {' and '.join(classes) or 'an arrival'}")
    return np.flatnonzero(keep)


def fitted(view: View, traffic: Traffic, quiet: bool) -> tuple[Any, dict[str, Any] | None, list[str]]:
    """(settings as read, fitted coefficients of the time model or None, notes). Raises SettingError."""
    import numpy as np

    from ridgeline.sim.fit.choices import choices_of
    from ridgeline.sim.fit.configured import configured
    from ridgeline.sim.fit.engine import engine_run
    from ridgeline.sim.fit.fit import fit
    from ridgeline.sim.warm import warm

    setup = configured(view)
    notes = [*traffic.notes, *setup.assumed]
    servers, sided = view.one(PLACES)
    if servers > 1 or sided:
        return setup.settings, None, [*notes, "several servers: step times are not fitted, the default ones hold"]
    warm(say=not quiet)
    rows = np.arange(min(traffic.n, FITTED_AT_MOST))
    found = fit(traffic, choices_of(setup, traffic, rows), rows, engine_run)
    if found is None:
        return setup.settings, None, [*notes, "too few requests with times: step times are not fitted"]
    return found.settings, asdict(found.model), notes
