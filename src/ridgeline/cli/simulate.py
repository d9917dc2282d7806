"""`ridgeline simulate S --vary k=a,b`: what other settings would have done to the same traffic."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from ridgeline.cli.options import Format, Hardware, Label, Quiet, Seed, Year, Zone

if TYPE_CHECKING:
    from ridgeline.sim.timing import TimeModel, Way
    from ridgeline.sim.whatif.basis import Basis
    from ridgeline.sim.whatif.pool import OnDone
    from ridgeline.sim.whatif.result import Comparison


def simulate(
    *sources: str | Path,
    set_: Annotated[tuple[str, ...], Parameter(name=["--set"])] = (),
    vary: tuple[str, ...] = (),
    repeat: int = 1,
    slo: tuple[str, ...] = (),
    by: str | None = None,
    search: Literal["goodput", "ttft", "tpot", "e2e"] | None = None,
    bounds: tuple[str, ...] = (),
    trials: int = 40,
    policy: tuple[str, ...] = (),
    unpin: bool = False,
    time_model: str | None = None,
    save_time_model: Path | None = None,
    hardware: Hardware = (),
    output: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    seed: Seed = 0,
    jobs: int | None = None,
    on: str | None = None,
    label: Label = (),
    tz: Zone = None,
    year: Year = None,
    lang: Literal["en", "zh"] = "en",
    format: Format = "text",
    quiet: Quiet = False,
) -> int:
    """Run traffic through one configuration of the scheduler, router and cache, or compare several.

    Beside a scenario of `ridgeline sample` lies SCENARIO.json: its settings and step times hold unless given here, and
    the baseline is first compared with what was observed.

    Parameters
    ----------
    sources
        What `ridgeline scenario` or `ridgeline sample` wrote; or files, a folder or a bundle to sample at once.
    set_
        KEY=VALUE: the server's own arguments with underscores (SGLang's, or vLLM's for vLLM), and
        max_total_num_tokens (KV pool of one rank), router (the gateway's policy), workers (servers behind it).
    vary
        KEY=A,B: beside the base, one run for each value; repeated, one for each combination.
    repeat
        Runs of each setting: the same load on so many days (near neighbours change places, the server's speed varies as
        it did). Intervals are paired: all settings see the same days.
    slo
        METRIC_pNN=TIME, such as ttft_p99=2s; METRIC is ttft, tpot, e2e or queue. Goodput counts what keeps every limit.
    by
        What to rank by: goodput, or such as ttft_p99; by default goodput with --slo, else e2e_mean.
    search
        Look for the best setting within --bounds instead of trying given ones (search extra).
    bounds
        KEY=LOW:HIGH, or KEY=A,B,C for words, of a setting to search over.
    trials
        Settings that a search tries.
    policy
        FILE.py:NAME, a routing or ordering policy of your own; its name begins with route or order.
    unpin
        Forget which rank each request asked for, so that the balancing method decides.
    time_model
        A named step-time preset (default, large) or a JSON file that --save-time-model wrote.
    save_time_model
        Write the step times used to this file.
    output
        Write the simulated run as a bundle that diagnose reads: the recommended or best one, the base to DIR.base.
    jobs
        Processes; by default one for each core. The figures do not depend on it.
    on
        local-ray, or ray://HOST:PORT: runs become tasks of that cluster (ray extra). The figures are the same.
    lang
        Language of the sentences: en or zh.
    """
    from ridgeline.model.errors import InputError
    from ridgeline.scenario.model import ScenarioError
    from ridgeline.sim.settings import SettingError
    from ridgeline.sim.warm import warm
    from ridgeline.sim.whatif.compare import compare, objective_of
    from ridgeline.sim.whatif.contract import to_json, to_text
    from ridgeline.sim.whatif.slo import limits_of
    from ridgeline.sim.whatif.variants import changed, variants
    from ridgeline.words.catalogue import say

    checked(repeat, jobs, trials, seed, search, bounds, vary)
    try:
        limits = limits_of(slo)
        objective = objective_of(by if search is None or by else objective_named(search), limits)
        warm(say=not quiet)
        basis = grounded([str(s) for s in sources], label, tz, year, quiet, hardware=hardware, lang=lang)
        basis = basis.unpinned() if unpin else basis
        basis = timed(basis, time_model, hardware)
        base = with_policies(changed(basis.settings, set_), policy)
        ways = variants(base, vary)
        if save_time_model is not None:
            save(basis, save_time_model)
        with counting(quiet) as on_done:
            if search is not None:
                from ridgeline.sim.whatif.search import searched

                ways = searched(basis, ways[0], bounds, limits, objective, trials, seed, policy, on_done)
            found = compare(basis, ways, repeats=repeat, seed=seed, jobs=jobs, limits=limits, objective=objective,
                            policies=policy, on_done=on_done, on=on)  # fmt: skip
        if output is not None:
            write(found, output, policy, seed)
    except (ScenarioError, SettingError) as error:
        raise InputError(str(error)) from error
    except OSError as error:
        raise InputError(f"{error.filename or output or save_time_model}: {error.strerror or error}") from error
    if not quiet:
        if format == "json":
            print(json.dumps(to_json(found, lang), indent=1, ensure_ascii=False, allow_nan=False))
        else:
            print(to_text(found, format == "md", lang), end="")
            if output is not None:
                print(say("run.bundle", {"path": str(output)}, lang))
    return 130 if found.interrupted else 0


def checked(
    repeat: int, jobs: int | None, trials: int, seed: int, search: str | None, bounds: Sequence[str],
    vary: Sequence[str],
) -> None:  # fmt: skip
    """Refuse counts that are none, and a search without bounds. Raises InputError."""
    from ridgeline.model.errors import InputError

    for name, value, most in (("--repeat", repeat, 1000), ("--jobs", jobs or 1, 1024), ("--trials", trials, 100_000)):
        if not 1 <= value <= most:
            raise InputError(f"{name} {value}: want 1 to {most}")
    if jobs is not None and jobs < 1:
        raise InputError(f"--jobs {jobs}: want at least 1")
    if not 0 <= seed < 2**31:
        raise InputError(f"--seed {seed}: want 0 to {2**31 - 1}")
    if search is not None and not bounds:
        raise InputError("--search: name what may change, such as --bounds chunked_prefill_size=1024:16384")
    if search is None and bounds:
        raise InputError("--bounds: is for --search goodput (or ttft, tpot, e2e)")
    if search is not None and vary:
        raise InputError("--vary and --search: give one of them")


def objective_named(search: str) -> str:
    """What a search is ranked by."""
    return search if search == "goodput" else f"{search}_mean"


def grounded(
    sources: Sequence[str], label: Sequence[str], tz: str | None, year: int | None, quiet: bool, check: bool = True,
    hardware: Sequence[str] = (), lang: str = "en",
) -> Basis:  # fmt: skip
    """A scenario file with what lies beside it, or evidence that is sampled now, its step times no faster than the
    ``hardware`` allows. Raises InputError, ScenarioError, SettingError."""
    import sys

    from ridgeline.cli.evidence import watched
    from ridgeline.model.errors import InputError
    from ridgeline.sim.hardware import floors_of, hardware_of
    from ridgeline.sim.settings import SettingError
    from ridgeline.sim.whatif.basis import read_basis
    from ridgeline.sim.whatif.ground import basis_of
    from ridgeline.words.phrases import phrase

    if not sources:
        raise InputError("name a scenario of `ridgeline sample` or `ridgeline scenario`, or evidence to sample")
    if any(source.startswith(("http://", "https://")) for source in sources):
        raise InputError("simulate reads recorded runs: give a scenario, files, a folder or a bundle")
    path, floors = Path(sources[0]), floors_of(hardware_of(hardware))
    if len(sources) == 1 and (is_parquet(path) or not path.exists()):
        found = read_basis(path)
        if floors.any() and found.fitted:
            raise SettingError("--hardware: the step times of a sample are fitted already; give the evidence itself")
        return found
    tell = None if quiet else lambda text: print(f"{phrase(text, lang)} …", file=sys.stderr, flush=True)
    with watched(sources, for_="60s", label=label, tz=tz, year=year, quiet=quiet) as view:
        return basis_of(view, check, tell, floors)


def is_parquet(path: Path) -> bool:
    """Whether the file begins as Parquet does; a folder does not."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def timed(basis: Basis, text: str | None, hardware: Sequence[str] = ()) -> Basis:
    """The basis with the given time model instead of its own; one that is not fitted is raised to what the ``hardware``
    allows. Raises SettingError."""
    from dataclasses import replace

    from ridgeline.sim.hardware import at_least, floors_of, hardware_of

    if text is not None:
        model, way, named = model_of(text)
        basis = replace(basis, model=model, way=way, fitted=basis.fitted and not named, pace_spread=0.0, held_out=None)
    if hardware and (text is not None or not basis.fitted):
        basis = replace(basis, model=at_least(basis.model, floors_of(hardware_of(hardware))))
    return basis


def model_of(text: str) -> tuple[TimeModel, Way, bool]:
    """A time model, the times beside it, and whether it is a preset. Raises SettingError."""
    from ridgeline.sim.settings import SettingError
    from ridgeline.sim.timing import NO_WAY, PRESETS, TimeModel, Way

    if text in PRESETS:
        return PRESETS[text], NO_WAY, True
    path = Path(text)
    if not path.is_file():
        raise SettingError(f"--time-model {text}: neither a file nor one of {', '.join(PRESETS)}")
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(read, dict):
            raise SettingError(f"--time-model {path}: is no JSON object; give what --save-time-model wrote")
        way = read.pop("way", {})
        read.pop("schema", None)
        return TimeModel(**read), Way(**way), False
    except RecursionError as error:
        raise SettingError(f"--time-model {path}: nested too deep; give what --save-time-model wrote") from error
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise SettingError(f"--time-model {path}: {error}") from error


def save(basis: Basis, path: Path) -> None:
    """The step times of a basis as `--time-model` reads them. Raises OSError."""
    from dataclasses import asdict

    told = {"schema": "ridgeline.time-model/1", **asdict(basis.model), "way": asdict(basis.way)}
    path.write_text(json.dumps(told, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def with_policies(base: Any, policies: Sequence[str]) -> Any:
    """The settings with the user's policies in place of the built-in ones. Raises SettingError."""
    from ridgeline.sim.policies import load_policy
    from ridgeline.sim.settings import with_changes

    kinds = {load_policy(reference)[0] for reference in policies}
    if "order" in kinds:
        base = with_changes(base, {"schedule_policy": "user"})
    if "route" in kinds:
        base = with_changes(base, {"router" if base.workers > 1 else "load_balance_method": "user"})
    return base


@contextmanager
def counting(quiet: bool) -> Iterator[OnDone | None]:
    """A line on standard error that counts runs, on a terminal and once it takes a moment."""
    import sys
    import time

    if quiet or not sys.stderr.isatty():
        yield None
        return
    began, shown = time.monotonic(), False

    def tell(done: int, count: int) -> None:
        nonlocal shown
        if time.monotonic() - began > 0.7 and count > 1:
            shown = True
            print(f"\r{done} of {count} runs (Ctrl-C keeps what is done)", end="", file=sys.stderr, flush=True)

    try:
        yield tell
    finally:
        if shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def write(found: Comparison, output: Path, policies: Sequence[str], seed: int) -> None:
    """The recommended (or best) run as a bundle, and the base beside it where there is another."""
    from ridgeline.sim.whatif.advise import advise
    from ridgeline.sim.whatif.bundle import write_run

    best = advise(found).chosen or found.ranked[0]
    write_run(found.basis, best.variant.settings, output, policies, seed)
    if len(found.runs) > 1:
        write_run(found.basis, found.base.variant.settings, output.with_name(f"{output.name}.base"), policies, seed)
