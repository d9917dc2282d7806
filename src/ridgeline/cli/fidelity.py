"""`ridgeline fidelity`: how far the simulator can be trusted on this traffic."""

from ridgeline.cli.options import Evidence, Format, Hardware, Label, Quiet, Year, Zone


def fidelity(
    *sources: Evidence,
    split: float = 0.5,
    hardware: Hardware = (),
    label: Label = (),
    tz: Zone = None,
    year: Year = None,
    format: Format = "text",
    quiet: Quiet = False,
) -> int:
    """Fit on the first part of the requests, predict the rest, compare with what was observed.

    Parameters
    ----------
    split
        Share of the requests, by arrival, that the fit may see.
    """
    import json

    from ridgeline.cli.evidence import watched
    from ridgeline.model.errors import InputError
    from ridgeline.scenario.from_bundle import traffic_of
    from ridgeline.scenario.model import ScenarioError
    from ridgeline.sim.fidelity.contract import to_json, to_text
    from ridgeline.sim.fidelity.measure import fidelity as run
    from ridgeline.sim.fit.configured import configured
    from ridgeline.sim.fit.engine import engine_run
    from ridgeline.sim.fit.lines import decode_lines
    from ridgeline.sim.fit.one_rank import one_rank
    from ridgeline.sim.hardware import floors_of, hardware_of, refute
    from ridgeline.sim.settings import SettingError
    from ridgeline.sim.warm import warm

    if not 0.05 <= split <= 0.95:
        raise InputError(f"--split {split}: give a share between 0.05 and 0.95")
    if any(source.startswith(("http://", "https://")) for source in sources):
        raise InputError("fidelity reads recorded runs: capture the server first, then give the folder")
    try:
        floors = floors_of(hardware_of(hardware))
    except SettingError as error:
        raise InputError(str(error)) from error
    warm(say=not quiet)
    with watched(sources, for_="60s", label=label, tz=tz, year=year, quiet=quiet) as view:
        try:
            traffic, setup = one_rank(traffic_of(view), configured(view))
            refute(floors, traffic, setup.settings)
            answer = run(traffic, setup, engine_run, split, decode_lines(view), floors=floors)
        except (ScenarioError, SettingError) as error:
            raise InputError(f"the evidence describes what cannot be simulated: {error}") from error
    if not quiet:
        if format == "json":
            print(json.dumps(to_json(answer), indent=1, ensure_ascii=False, allow_nan=False))
        else:
            print(to_text(answer, format == "md"), end="")
    return 0 if answer.observed_any else 3
