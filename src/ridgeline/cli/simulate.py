"""`ridgeline simulate S --set k=v`: a scenario under one configuration."""

import json
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from cyclopts import Parameter

SPANS: Final = (("ttft_s", "time to first token"), ("queue_s", "queue"), ("tpot_s", "per output token"),
                ("itl_s", "gap between tokens"), ("e2e_s", "whole request"))  # fmt: skip


def simulate(
    scenario: Path,
    *,
    set_: Annotated[tuple[str, ...], Parameter(name=["--set"])] = (),
    vary: tuple[str, ...] = (),
    policy: tuple[str, ...] = (),
    time_model: str | None = None,
    seed: int = 0,
    format: Literal["text", "json", "md"] = "text",
    quiet: bool = False,
) -> int:
    """Run a scenario through one configuration of the scheduler, router and cache, or through several.

    Beside a scenario of `ridgeline sample` lies SCENARIO.json: its settings and step times hold unless given here.

    Parameters
    ----------
    scenario
        What `ridgeline scenario` or `ridgeline sample` wrote.
    set_
        KEY=VALUE: SGLang's server arguments with underscores, and max_total_num_tokens (KV pool of one rank),
        router (the gateway's policy), workers (servers behind it).
    vary
        KEY=A,B: one run for each value; repeated, one for each combination.
    policy
        FILE.py:NAME, a routing or ordering policy of your own; its name begins with route or order.
    time_model
        A named step-time model (default, large) or a JSON file with its coefficients.
    seed
        Of every random draw.
    format
        text for a terminal, json for programs, md for a ticket.
    quiet
        Print nothing but errors.
    """
    from ridgeline.model.errors import InputError
    from ridgeline.scenario.model import ScenarioError
    from ridgeline.sim.settings import SettingError
    from ridgeline.sim.warm import warm

    try:
        from ridgeline.scenario.files import read_scenario

        traffic = read_scenario(scenario)
        base, fitted = beside(scenario)
        ways = [configured((*set_, *changes), policy, base) for changes in combinations(vary)]
        model = fitted if time_model is None and fitted is not None else model_of(time_model or "default")
        warm(say=not quiet)
        results = [timed_run(traffic, chosen, model, hooks, seed) for chosen, hooks in ways]
    except (ScenarioError, SettingError) as error:
        raise InputError(str(error)) from error
    if quiet:
        return 0
    if format == "json":
        print(json.dumps({"schema": "ridgeline.simulation/1", "runs": results}, indent=1))
    else:
        print("\n\n".join(said(result, format) for result in results))
    return 0


def combinations(vary: tuple[str, ...]) -> list[tuple[str, ...]]:
    """``KEY=A,B`` texts → the cross product as tuples of ``KEY=VALUE``; one empty tuple where nothing varies.

    Raises SettingError.
    """
    from itertools import product

    from ridgeline.sim.settings import SettingError

    axes: list[list[str]] = []
    for text in vary:
        key, equals, values = text.partition("=")
        if not equals or not all(value.strip() for value in values.split(",")):
            raise SettingError(f"--vary {text}: want KEY=A,B")
        axes.append([f"{key}={value.strip()}" for value in values.split(",")])
    return [tuple(one) for one in product(*axes)]


def beside(scenario: Path) -> tuple[Any, Any]:
    """(settings, time model) that `ridgeline sample` wrote beside the scenario; None for what it did not.

    Raises SettingError.
    """
    from ridgeline.sim.settings import SettingError, Settings
    from ridgeline.sim.timing import TimeModel

    path = Path(f"{scenario}.json")
    if not path.is_file():
        return None, None
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        return Settings(**read["settings"]), TimeModel(**read["time_model"]) if read["time_model"] else None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise SettingError(f"{path}: {error}") from error


def configured(changes: tuple[str, ...], policies: tuple[str, ...], base: Any = None) -> tuple[Any, Any]:
    """Settings and hooks from ``KEY=VALUE`` and ``FILE.py:NAME`` texts. Raises SettingError."""
    from ridgeline.sim.policies import load_policy
    from ridgeline.sim.service import Hooks
    from ridgeline.sim.settings import SettingError, Settings, with_changes

    texts: dict[str, str] = {}
    for change in changes:
        key, equals, text = change.partition("=")
        if not equals:
            raise SettingError(f"--set {change}: want KEY=VALUE")
        texts[key.strip().removeprefix("--").replace("-", "_")] = text.strip()
    chosen = with_changes(base or Settings(), texts)
    found: dict[str, Any] = {}
    for reference in policies:
        kind, function = load_policy(reference)
        found[kind] = function
    if "order" in found:
        chosen = with_changes(chosen, {"schedule_policy": "user"})
    if "route" in found:
        chosen = with_changes(chosen, {"router" if chosen.workers > 1 else "load_balance_method": "user"})
    return chosen, Hooks(**found)


def model_of(text: str) -> Any:
    """A named time model, or the one in a JSON file of its coefficients. Raises SettingError."""
    from ridgeline.sim.settings import SettingError
    from ridgeline.sim.timing import PRESETS, TimeModel

    if text in PRESETS:
        return PRESETS[text]
    path = Path(text)
    if not path.is_file():
        raise SettingError(f"--time-model {text}: neither a file nor one of {', '.join(PRESETS)}")
    try:
        return TimeModel(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise SettingError(f"--time-model {path}: {error}") from error


def timed_run(traffic: Any, chosen: Any, model: Any, hooks: Any, seed: int) -> dict[str, Any]:
    """One run's figures, with the processor seconds of the engine alone."""
    import time

    from ridgeline.sim.service import Service
    from ridgeline.sim.summary import summary

    service = Service(chosen, model, (), seed, hooks, room=traffic.n)
    service.push(traffic)
    begin = time.process_time()
    service.run()
    return summary(service, model, time.process_time() - begin)


def said(result: dict[str, Any], format: str) -> str:
    """The figures for a reader."""
    from dataclasses import asdict

    from ridgeline.sim.settings import Settings

    plain = asdict(Settings())
    changed = [f"{key}={value}" for key, value in result["settings"].items() if value != plain[key]]
    lines = [f"{result['requests']} requests, {result['span_s']:.1f} s simulated in {result['cpu_s']:.2f} CPU s "
             f"({', '.join(changed) or 'default settings'}; time model: {result['time_model']})"]  # fmt: skip
    head = ("seconds", "mean", "p50", "p90", "p99")
    table = [[words, *(f"{result[key][name]:.4f}" for name in head[1:])] for key, words in SPANS if result[key]]
    if format == "md":
        lines += ["", "| " + " | ".join(head) + " |", "|---|" + "---:|" * 4]
        lines += ["| " + " | ".join(row) + " |" for row in table] + [""]
    else:
        lines += [f"{row[0]:<22}" + "".join(f"{cell:>10}" for cell in row[1:]) for row in [list(head), *table]]
    hit = result["cache_hit_ratio"]
    lines.append(f"outcomes: {', '.join(f'{n} {name}' for name, n in result['outcomes'].items())}; "
                 f"cache hits: {'unknown' if hit is None else f'{100 * hit:.1f} %'}; "
                 f"retractions: {result['retractions']}; "
                 f"most KV in use: {max(result['peak_kv_tokens'])} tokens")  # fmt: skip
    return "\n".join(lines)
