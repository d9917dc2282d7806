"""``--search goodput --bounds chunked_prefill_size=1024:16384``: settings found by Optuna's seeded sampler.

Each trial is one run of the traffic as it was; what is found is then compared with the base in all repeats, so that the
luck of one run is not taken for a gain.
"""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, get_type_hints

import numpy as np

from ridgeline.model.errors import InputError
from ridgeline.sim.settings import SettingError, Settings
from ridgeline.sim.whatif.basis import Basis
from ridgeline.sim.whatif.compare import span_s, work_of
from ridgeline.sim.whatif.flags import own_name
from ridgeline.sim.whatif.paired import statistic
from ridgeline.sim.whatif.pool import OnDone
from ridgeline.sim.whatif.result import Objective
from ridgeline.sim.whatif.run import Outcome, hooks_of, run
from ridgeline.sim.whatif.slo import Limit, within
from ridgeline.sim.whatif.variants import Variant, changed, plain, variant_of

KEPT: Final = 3
"""Best settings that go on to the comparison."""
WIDE: Final = 8.0
"""From this ratio of its bounds on a number is searched in its logarithm."""
HOPELESS: Final = 1e12
LEAN: Final = 0.005
"""A change that improves the figure by less than this share is left out of what is found."""
POWERS: Final = frozenset({"chunked_prefill_size", "max_prefill_tokens", "page_size"})


@dataclass(frozen=True)
class Bound:
    """One setting to search over: words to choose from, or a range."""

    key: str
    words: tuple[str, ...]
    low: float = 0.0
    high: float = 0.0
    whole: bool = True


def bounds_of(texts: Sequence[str], base: Settings) -> list[Bound]:
    """``KEY=LOW:HIGH`` and ``KEY=A,B`` texts. Raises SettingError."""
    kinds = get_type_hints(Settings)
    out: list[Bound] = []
    for text in texts:
        name, equals, values = text.partition("=")
        low, colon, high = values.partition(":")
        key = own_name(name, low.split(",")[0].strip(), base.engine, base.page_size)[0]
        if not equals or key not in kinds:
            raise SettingError(f"--bounds {text}: want KEY=LOW:HIGH or KEY=A,B,C with a setting's name")
        if not colon:
            words = tuple(word.strip() for word in values.split(","))
            if len(words) < 2 or not all(words):
                raise SettingError(f"--bounds {text}: want KEY=LOW:HIGH or KEY=A,B,C")
            out.append(Bound(key, words))
            continue
        if kinds[key] not in (int, float):
            raise SettingError(f"--bounds {text}: {key} is no number; give its values, such as {key}=A,B")
        try:
            ends = (float(low), float(high))
        except ValueError:
            raise SettingError(f"--bounds {text}: {low}:{high} are not two numbers") from None
        if not (np.isfinite(ends).all() and ends[0] < ends[1]):
            raise SettingError(f"--bounds {text}: want a low end below the high end")
        out.append(Bound(key, (), *ends, kinds[key] is int))
    return out


def suggested(trial: Any, bound: Bound) -> str:
    """The value that the sampler wants tried, as the command line takes it."""
    if bound.words:
        return str(trial.suggest_categorical(bound.key, bound.words))
    wide = bound.low > 0 and bound.high / bound.low >= WIDE
    if bound.whole:
        number = int(trial.suggest_int(bound.key, round(bound.low), round(bound.high), log=wide))
        return str(rounded_to(number, bound))
    return plain(float(f"{trial.suggest_float(bound.key, bound.low, bound.high, log=wide):.3g}"))


def rounded_to(number: int, bound: Bound) -> int:
    """A number that a person would type: chunks in steps of 256, within the bounds."""
    if bound.key in POWERS and bound.low >= 256:
        number = round(number / 256) * 256
    return min(max(number, round(bound.low)), round(bound.high))


def searched(
    basis: Basis, base: Variant, texts: Sequence[str], limits: Sequence[Limit], objective: Objective, trials: int,
    seed: int, policies: Sequence[str] = (), on_done: OnDone | None = None,
) -> list[Variant]:  # fmt: skip
    """The base and the best settings found.

    An interrupt ends the search; what it found by then is kept.

    Raises:
        InputError: optuna is not installed.
        SettingError: bounds that are none, or no trial that could be run.
    """
    bounds = bounds_of(texts, base.settings)
    try:
        optuna: Any = importlib.import_module("optuna")
    except ImportError:
        raise InputError("--search needs optuna: pip install 'ridgeline[search]'") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    work, hooks = work_of(basis, seed, policies), hooks_of(policies)
    known: dict[Settings, float] = {}
    refused: list[str] = []
    try:
        for number in range(trials):
            trial = study.ask()
            texts_now = [f"{bound.key}={suggested(trial, bound)}" for bound in bounds]
            try:
                settings = changed(base.settings, texts_now, "--bounds")
            except SettingError as error:
                refused.append(str(error))
                study.tell(trial, HOPELESS)
                continue
            if settings not in known:
                known[settings] = cost(basis, run(work, Variant((), settings), 0, hooks), limits, objective)
            study.tell(trial, known[settings])
            if on_done is not None:
                on_done(number + 1, trials)
    except KeyboardInterrupt:
        if not known:
            raise SettingError("interrupted before anything was simulated") from None
    if not known:
        raise SettingError(f"--bounds: no setting within them can be run ({refused[0] if refused else 'none tried'})")
    best = sorted(known, key=lambda s: (known[s], distance(s, base.settings)))[:KEPT]
    lean: list[Settings] = []
    for found in best:
        for key, _ in variant_of(base.settings, found).changes:
            # what changes nothing is left as it is
            without = replace(found, **{key: getattr(base.settings, key)})
            if without not in known:
                known[without] = cost(basis, run(work, Variant((), without), 0, hooks), limits, objective)
            if known[without] <= known[found] + LEAN * abs(known[found]):
                found = without
        lean.append(found)
    return [base, *(variant_of(base.settings, s) for s in dict.fromkeys(lean) if s != base.settings)]


def cost(basis: Basis, outcome: Outcome, limits: Sequence[Limit], objective: Objective) -> float:
    """What a trial is told: smaller is better. Requests that do not finish weigh as heavily as nothing else does."""
    values: Mapping[str, Any] = outcome.values
    n = max(1, basis.scenario.n)
    if objective.metric == "goodput":
        # among settings that keep the limits equally the faster one is better
        mean = statistic(values["e2e_s"], "mean")
        return -float(within(values, limits).sum()) / span_s(basis.scenario) + (0.0 if mean != mean else 1e-6 * mean)
    lost = float(np.isnan(values["e2e_s"]).sum()) / n
    value = statistic(values[objective.metric], objective.statistic)
    return HOPELESS if value != value else value * (1 + 100 * lost)


def distance(settings: Settings, base: Settings) -> int:
    """How many settings differ."""
    return len(variant_of(base, settings).changes)
