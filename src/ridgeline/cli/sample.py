"""`ridgeline sample SRC… -o S`: the traffic of an incident as a scenario, with the settings and times it ran under."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from cyclopts import Parameter

from ridgeline.cli.options import Evidence, Label, Quiet, Year, Zone

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


def sample(
    *sources: Evidence,
    output: Annotated[Path, Parameter(name=["--out", "-o"])],
    class_: Annotated[tuple[str, ...], Parameter(name=["--class"])] = (),
    unpin: bool = False,
    check: bool = True,
    label: Label = (),
    tz: Zone = None,
    year: Year = None,
    quiet: Quiet = False,
) -> int:
    """Take the traffic of recorded evidence as a scenario; settings and step times go to S.json beside it.

    Parameters
    ----------
    output
        Where to write the scenario; `ridgeline simulate` reads S.json by itself.
    class_
        NAME=VALUE, keep only such requests: routing_key, lora, priority, dp_rank, endpoint and others.
    unpin
        Forget which rank each request asked for, so that the balancing method decides.
    check
        Measure on held-out requests how true the simulator is; --no-check saves the time.
    """
    import sys
    from dataclasses import replace

    from ridgeline.cli.evidence import watched
    from ridgeline.model.errors import InputError
    from ridgeline.scenario.model import ScenarioError
    from ridgeline.sim.settings import SettingError
    from ridgeline.sim.warm import warm
    from ridgeline.sim.whatif.basis import write_basis
    from ridgeline.sim.whatif.ground import basis_of

    if any(source.startswith(("http://", "https://")) for source in sources):
        raise InputError("sample reads recorded runs: give files, a folder or a bundle")
    warm(say=not quiet)
    with watched(sources, for_="60s", label=label, tz=tz, year=year, quiet=quiet) as view:
        try:
            tell = None if quiet else lambda text: print(f"{text} …", file=sys.stderr, flush=True)
            basis = basis_of(view, check, tell)
            count = basis.scenario.n
            if class_ and basis.traffic is not None:
                basis = basis.only(chosen(view, basis.traffic, class_))
                part = f"only {' and '.join(class_)}: {basis.scenario.n} of {count} requests, a part of the load"
                basis = replace(basis, notes=(*basis.notes, part))
            if unpin:
                basis = basis.unpinned()
            beside = write_basis(basis, output)
        except OSError as error:
            said = os.strerror(error.errno) if error.errno else str(error)
            raise InputError(f"{output}: cannot be written ({said}); give another file") from error
        except (ScenarioError, SettingError) as error:
            raise InputError(str(error)) from error
    if not quiet:
        print(f"{output}: {basis.scenario.n} of {count} requests; settings and step times in {beside}")
        for note in basis.notes:
            print(f"note: {note}")
        if basis.pinned:
            print(
                f"note: {basis.pinned} requests ask for a rank of their own; --unpin lets the balancing method decide"
            )
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
