"""What the hardware cannot beat: floors under the time model's coefficients, from figures typed with their units.

A forward pass reads the weights once (weights / bandwidth for a step), reads the KV of what it attends to (kv /
bandwidth for a context token), and multiplies by every parameter (2 parameters / flops for a prefill token; attention
on top, 2 layers hidden / flops for a half-pair). Figures are those of one accelerator; `devices` share one replica.
A floor is never a prediction: kernels reach part of these rates, so a fit stands above them.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

import numpy as np

from ridgeline.scenario.traffic import Traffic
from ridgeline.sim.fit.run import FEATURES, Floats
from ridgeline.sim.settings import SettingError, Settings
from ridgeline.sim.timing import PS, TimeModel

BYTES: Final = {"B": 1.0, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 2.0**10, "MiB": 2.0**20,
                "GiB": 2.0**30, "TiB": 2.0**40}  # fmt: skip
RATES: Final = {f"{name}/s": size for name, size in BYTES.items() if size > 1e3}
FLOPS: Final = {f"{lead}{name}": size for lead, size in (("G", 1e9), ("T", 1e12), ("P", 1e15))
                for name in ("FLOP/s", "FLOPS", "flop/s", "flops")}  # fmt: skip
COUNTS: Final = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
UNITS: Final[dict[str, tuple[dict[str, float], str]]] = {
    "bandwidth": (RATES, "bandwidth=3.35TB/s (memory of one accelerator)"),
    "flops": (FLOPS, "flops=989TFLOP/s (dense, at the weights' precision)"),
    "weights": (BYTES, "weights=16GB (bytes that a step reads, of all devices)"),
    "kv": (BYTES, "kv=128KiB (bytes of one token, over all layers and devices)"),
    "parameters": (COUNTS, "parameters=8B (those a token passes through)"),
    "layers": (COUNTS, "layers=32"),
    "hidden": (COUNTS, "hidden=4096 (query heads times head size)"),
    "devices": (COUNTS, "devices=4 (accelerators that share one replica)"),
}
NEEDS: Final = (
    ("weights", "bandwidth"), ("kv", "bandwidth"), ("parameters", "flops"), ("layers", "flops"), ("hidden", "flops"),
    ("layers", "hidden"), ("hidden", "layers"),
)  # fmt: skip
SHAPE: Final = re.compile(r"([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z/]*)")
SLACK: Final = 1.02
"""A step that is measured this much faster than its floor refutes the figures."""
QUICK: Final = 0.1
"""Quantile of observed times per token that stands for steps which had little else to do."""


@dataclass(frozen=True)
class Hardware:
    """Bytes, bytes per second, operations per second, counts; None: not given."""

    bandwidth: float | None = None
    flops: float | None = None
    weights: float | None = None
    kv: float | None = None
    parameters: float | None = None
    layers: float | None = None
    hidden: float | None = None
    devices: float = 1.0


def hardware_of(texts: Sequence[str]) -> Hardware:
    """``KEY=VALUE`` texts, each with its unit; one text may hold several, parted by commas.

    Raises:
        SettingError: an unknown key, a value without its unit, or figures of which none bounds anything.
    """
    given: dict[str, float] = {}
    for text in (part.strip() for whole in texts for part in whole.split(",")):
        key, _, value = text.partition("=")
        if key not in UNITS:
            raise SettingError(f"--hardware {text}: want {'; '.join(example for _, example in UNITS.values())}")
        units, example = UNITS[key]
        shape = SHAPE.fullmatch(value.strip())
        if shape is None or shape[2] not in units or not 0 < float(shape[1]) < math.inf:
            raise SettingError(f"--hardware {text}: want a number above 0 with its unit, such as {example}")
        given[key] = float(shape[1]) * units[shape[2]]
    for name, other in NEEDS:
        if name in given and other not in given:
            raise SettingError(f"--hardware: {name} bounds nothing without {other}: {UNITS[other][1]}")
    found = Hardware(**given)
    if texts and not floors_of(found).any():
        raise SettingError("--hardware: nothing is bounded; weights or kv with bandwidth, parameters with flops")
    return found


def floors_of(hardware: Hardware) -> Floats:
    """Seconds per unit of each of `FEATURES` (shape 7) below which no coefficient can lie; 0 where nothing is known."""
    out = np.zeros(len(FEATURES))
    reads = (hardware.bandwidth or 0.0) * hardware.devices
    works = (hardware.flops or 0.0) * hardware.devices
    if reads:
        out[FEATURES.index("steps")] = (hardware.weights or 0.0) / reads
        out[FEATURES.index("context_tokens")] = (hardware.kv or 0.0) / reads
    if works:
        out[FEATURES.index("prefill_tokens")] = 2 * (hardware.parameters or 0.0) / works
        out[FEATURES.index("attention_half_pairs")] = 2 * (hardware.layers or 0.0) * (hardware.hidden or 0.0) / works
    return out


def refute(floors: Floats, traffic: Traffic, settings: Settings) -> None:
    """Refuse figures that the evidence contradicts: tokens came faster than a step could have made them.

    With speculation a step makes several tokens: nothing is refuted then.

    Raises:
        SettingError: with both figures.
    """
    seen = traffic.observed["tpot_s"][traffic.known("tpot_s")]
    if not len(seen) or settings.speculative_num_draft_tokens:
        return
    step, quick = float(floors[FEATURES.index("steps")]), float(np.quantile(seen, QUICK))
    if step > SLACK * quick:
        raise SettingError(f"--hardware: a step would take at least {step:.4g} s, but a tenth of the requests got a "
                           f"token every {quick:.4g} s or faster: check weights, bandwidth and devices")  # fmt: skip


def at_least(model: TimeModel, floors: Floats) -> TimeModel:
    """A model that is not fitted, raised to the floors."""
    names = [f.name for f in fields(TimeModel) if f.name not in ("label", "draft_request_ps")]
    least = dict(zip(names, (round(float(v) * PS) for v in floors), strict=False))
    raised = {name: max(getattr(model, name), value) for name, value in least.items()}
    return replace(model, label=f"{model.label}; no less than the hardware allows", **raised)
