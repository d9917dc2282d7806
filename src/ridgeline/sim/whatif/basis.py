"""What a what-if starts from: the traffic, the settings it ran under, its step times, and how far they are proven."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.scenario.files import read_both, write_scenario
from ridgeline.scenario.model import PS, Scenario, ScenarioError, take
from ridgeline.scenario.traffic import OBSERVED, Traffic
from ridgeline.sim.fit.one_rank import MOSTLY, everywhere
from ridgeline.sim.settings import SettingError, Settings, as_dict
from ridgeline.sim.tables import Perturbation
from ridgeline.sim.timing import DEFAULT, NO_WAY, TimeModel, Way
from ridgeline.sim.whatif.variants import free

SCHEMA: Final = "ridgeline.sample/1"
KEPT: Final = ("queue_s", "ttft_s", "tpot_s", "e2e_s", "cached_tokens", "retractions", "dp_rank", "server")
"""What is kept of each request to compare a simulated baseline with."""


@dataclass(frozen=True)
class Basis:
    """``traffic``: what was observed (None: a made-up scenario); ``fitted``: the step times come from the evidence;
    ``pace_spread``: how much the server's speed varied, as a share; ``held_out``: ridgeline.fidelity/1, if computed."""

    scenario: Scenario
    settings: Settings
    model: TimeModel = DEFAULT
    way: Way = NO_WAY
    traffic: Traffic | None = None
    fitted: bool = False
    sampled: bool = False
    pace_spread: float = 0.0
    pool_held: int = 0  # tokens that the effective pool is larger than the configured one (below 0: smaller)
    held_out: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()
    called: Mapping[str, Mapping[int, str]] = field(default_factory=dict)  # column → number → name in the evidence
    shaken: tuple[Perturbation, ...] = ()  # what the incident changed that no setting shows

    @property
    def placement(self) -> NDArray[np.int64] | None:
        """Which rank over all servers took each request; None: one place, or few seen.

        With it the present placement is simulated as it was: a gateway's hash or a balancer's counter is not known.
        """
        own = self.settings
        if self.traffic is None or own.decode_workers or own.workers * own.dp_size < 2:
            return None
        server = np.nan_to_num(self.traffic.observed["server"], nan=-1.0).astype(np.int64)
        rank = np.nan_to_num(self.traffic.observed["dp_rank"], nan=-1.0).astype(np.int64)
        if own.dp_size == 1:
            rank = np.zeros_like(rank)
        if own.workers == 1:
            server = np.zeros_like(server)
        seen = (server >= 0) & (server < own.workers) & (rank >= 0) & (rank < own.dp_size)
        counted = seen[self.traffic.measured]
        if counted.sum() < MOSTLY * max(1, len(counted)):
            return None
        return everywhere(self.traffic, np.where(seen, server * own.dp_size + rank, -1), own.workers * own.dp_size)

    @property
    def pinned(self) -> int:
        """Requests that name the rank they want: no balancing method moves them."""
        return int((self.scenario["dp_rank"] >= 0).sum())

    def unpinned(self) -> "Basis":
        """The same with nobody asking for a rank."""
        return replace(self, scenario=free(self.scenario))

    def only(self, rows: NDArray[np.int64]) -> "Basis":
        """The given requests alone."""
        traffic = self.traffic and parts_of(self.traffic, rows)
        return replace(self, scenario=take(self.scenario, rows), traffic=traffic)

    def burdened(self) -> Scenario:
        """The scenario as the scheduler sees it: later by the way in, each first prefill with its host work."""
        shift = round(self.way.front_s * PS)
        columns = dict(self.scenario.columns)
        columns["work_us"] = columns["work_us"] + round(self.way.request_s * 1e6)
        columns["arrival_ps"] = columns["arrival_ps"] + shift
        columns["cancel_ps"] = np.where(columns["cancel_ps"] > 0, columns["cancel_ps"] + shift, 0)
        return replace(self.scenario, columns=columns)


def parts_of(traffic: Traffic, rows: NDArray[np.int64]) -> Traffic:
    """The given requests of a traffic."""
    return replace(
        traffic, scenario=take(traffic.scenario, rows), rids=tuple(traffic.rids[i] for i in rows),
        observed={name: values[rows] for name, values in traffic.observed.items()}, measured=traffic.measured[rows],
        outcome=tuple(traffic.outcome[i] for i in rows),
    )  # fmt: skip


def seen_columns(traffic: Traffic) -> dict[str, NDArray[np.float64]]:
    """What `write_scenario` keeps of a traffic: NaN where a request does not count."""
    return {name: np.where(traffic.measured, traffic.observed[name], np.nan) for name in KEPT}


def write_basis(basis: Basis, path: Path) -> Path:
    """The scenario at ``path`` and settings, step times and fidelity in ``path``.json; the latter is returned.

    Raises OSError where either cannot be written.
    """
    write_scenario(basis.scenario, path, seen_columns(basis.traffic) if basis.traffic else None)
    beside = Path(f"{path}.json")
    told = {
        "schema": SCHEMA,
        "settings": as_dict(basis.settings),
        "time_model": asdict(basis.model) if basis.fitted else None,
        "way": asdict(basis.way),
        "pace_spread": basis.pace_spread,
        "pool_held": basis.pool_held,
        "prefix": basis.traffic.prefix if basis.traffic else None,
        "origin_ts": basis.traffic.origin_ts if basis.traffic else None,
        "fidelity": basis.held_out,
        "notes": list(basis.notes),
        "called": {column: {str(n): name for n, name in names.items()} for column, names in basis.called.items()},
    }
    beside.write_text(json.dumps(told, indent=1, sort_keys=True, allow_nan=False) + "\n", encoding="utf-8")
    return beside


def read_basis(path: Path) -> Basis:
    """A scenario with what lies beside it.

    Raises:
        ScenarioError: no scenario there.
        SettingError: what lies beside it is damaged.
    """
    scenario, seen = read_both(path)
    beside = Path(f"{path}.json")
    if not beside.is_file():
        return Basis(scenario, Settings())
    try:
        told = json.loads(beside.read_text(encoding="utf-8"))
        model, fitted = DEFAULT, told.get("time_model") is not None
        if fitted:
            model = TimeModel(**told["time_model"])
        basis = Basis(
            scenario, Settings(**told["settings"]), model, Way(**told.get("way", {})), None, fitted, True,
            float(told.get("pace_spread", 0.0)), int(told.get("pool_held", 0)), told.get("fidelity"),
            tuple(told.get("notes", ())),
            {str(c): {int(n): str(name) for n, name in names.items()} for c, names in told.get("called", {}).items()},
        )  # fmt: skip
        origin = float(told.get("origin_ts") or 0.0)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise SettingError(f"{beside}: {error}") from error
    return (
        replace(basis, traffic=traffic_from(scenario, seen, origin, str(told.get("prefix") or ""))) if seen else basis
    )


def traffic_from(scenario: Scenario, seen: Mapping[str, NDArray[np.float64]], origin_ts: float, prefix: str) -> Traffic:
    """The observed side of a scenario file. Raises ScenarioError where a column is missing."""
    lacking = [name for name in KEPT if name not in seen]
    if lacking:
        raise ScenarioError(f"scenario column observed_{lacking[0]} is missing; sample the evidence again")
    nothing = np.full(scenario.n, np.nan)
    observed = {name: seen.get(name, nothing) for name in OBSERVED}
    some = np.any([~np.isnan(observed[name]) for name in KEPT], axis=0)
    return Traffic(scenario, ("",) * scenario.n, origin_ts, observed, some, ("",) * scenario.n, prefix, ())
