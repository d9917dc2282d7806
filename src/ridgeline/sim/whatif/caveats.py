"""What a reader must know before the table: what was not simulated, what changes nothing, what is overloaded."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ridgeline.sim.settings import Settings
from ridgeline.sim.whatif.basis import Basis
from ridgeline.sim.whatif.gate import Gate
from ridgeline.sim.whatif.result import LOST_SHARE, Compared
from ridgeline.sim.whatif.variants import Variant

PLACING: Final = frozenset({"load_balance_method", "router", "dp_size"})
"""Settings that move only requests which ask for no rank."""
REUSE: Final = frozenset({"page_size", "disable_radix_cache", "radix_eviction_policy"})
REUSING: Final = frozenset({"lpm", "dfs-weight", "cache_aware"})
"""Settings, and values of others, whose effect depends on which prompts share a prefix."""
FURTHER: Final = 1.5
"""From so many times the base's KV in use on, step times are taken from outside of what was fitted."""


def too_large(basis: Basis, settings: Settings) -> str | None:
    """In words, the first request whose prompt alone is larger than the KV pool of one rank; None: all fit."""
    prompts = basis.scenario["input_tokens"]
    pool = settings.max_total_num_tokens // settings.page_size * settings.page_size
    over = np.flatnonzero(prompts >= pool)
    if len(over) == 0:
        return None
    return (f"request {over[0] + 1} has a prompt of {prompts[over[0]]} tokens, more than the KV pool of {pool} tokens "
            f"can ever hold (max_total_num_tokens; {len(over)} such requests)")  # fmt: skip


def without_gateway(basis: Basis, variants: Sequence[Variant]) -> str | None:
    """In words, that a gateway's policy is varied where no gateway is; None: there is one, or it is not varied."""
    moved = [one for one in variants if one.settings.router != basis.settings.router]
    if not moved or any(one.settings.workers > 1 for one in moved):
        return None
    return ("router: there is no gateway in this evidence (workers=1): its policy moves nothing; give --set workers=2 "
            "to try two servers behind one")  # fmt: skip


def warnings(basis: Basis, runs: Sequence[Compared], judged: Gate | None) -> list[str]:
    """What a reader must know before the table."""
    out: list[str] = []
    moved = {key for run in runs for key, _ in run.variant.changes}
    if basis.pinned and (moved & PLACING or "workers" in moved):
        freed = any(run.variant.unpin for run in runs)
        way = " unless the callers stop asking" if freed else "; --unpin lets it decide"
        out.append(f"{basis.pinned} of {basis.scenario.n} requests ask for a rank of their own: no balancing method "
                   f"moves them{way}")  # fmt: skip
    values = {value for run in runs for _, value in run.variant.changes}
    if (moved & REUSE or values & REUSING) and basis.traffic is not None and basis.traffic.prefix in ("cached", "none"):
        named = ", ".join(sorted(moved & REUSE) + sorted(str(v) for v in values & REUSING))
        out.append(
            f"which prompts share a prefix is not in the evidence: what {named} changes in reuse is not simulated"
        )
    if basis.fitted:
        most = max(runs[0].outcomes[0].summary["peak_kv_tokens"])
        far = [run for run in runs[1:] if max(run.outcomes[0].summary["peak_kv_tokens"]) > FURTHER * max(most, 1)]
        names = "; ".join(run.variant.name for run in far[:4])
        if far:
            out.append(f"step times are extrapolated (more than {FURTHER:g} times the base's {most} KV tokens in use): "
                       f"{names}")  # fmt: skip
    same = [run.variant.name for run in runs[1:] if alike(run, runs[0])]
    if same:
        out.append(f"changes nothing on this traffic: {'; '.join(same[:6])}")
    out += [f"{run.variant.name}: {told}" for run in runs if (told := run.outcomes[0].overloaded)]
    lost = [run for run in runs if run.lost - runs[0].lost > LOST_SHARE * max(1, basis.scenario.n)]
    out += [f"{run.variant.name}: {run.lost} requests do not finish ({outcomes_of(run)})" for run in lost]
    if judged is None and not basis.sampled:
        return out
    if judged is not None and not judged.trust and judged.figures["ttft_s"]["mean"].error is not None:
        error = judged.figures["ttft_s"]["mean"].error
        if error is not None and abs(error) > 0.2:
            out.append(f"the baseline's TTFT is not reproduced ({error:+.0%})")
    return out


def outcomes_of(run: Compared) -> str:
    """Counts of the outcomes other than finished."""
    told: dict[str, Any] = run.outcomes[0].summary["outcomes"]
    return ", ".join(f"{n} {name}" for name, n in told.items() if name != "finished") or "none"


def alike(one: Compared, other: Compared) -> bool:
    """Whether every request got the same in both."""
    return all(
        np.array_equal(a.values["e2e_s"], b.values["e2e_s"], equal_nan=True)
        and np.array_equal(a.values["ttft_s"], b.values["ttft_s"], equal_nan=True)
        for a, b in zip(one.outcomes, other.outcomes, strict=True)
    )
