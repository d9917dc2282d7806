"""The step-time model: integer picoseconds from what a step computes.

    t = a + b P + c A + d B + e S + g B [the step also prefills]

``P`` prefill tokens, ``A`` attention half-pairs (sum of n (2 ctx + n)), ``B`` decoding requests, ``S`` their
summed context. The same form the fit of `docs` uses; coefficients are never negative.
"""

from dataclasses import dataclass, fields

PS = 1_000_000_000_000
"""Picoseconds per second."""


@dataclass(frozen=True)
class TimeModel:
    """Coefficients in picoseconds (per token, half-pair or request); ``label`` says where they come from."""

    label: str
    base_ps: int
    prefill_token_ps: int
    attention_half_pair_ps: int
    decode_request_ps: int
    context_token_ps: int
    mixed_request_ps: int = 0
    draft_request_ps: int = 0

    def __post_init__(self) -> None:
        """Refuse what would let time run backwards or stand still.

        Raises:
            ValueError: a coefficient is negative, or ``base_ps`` is not positive.
        """
        for field in fields(self):
            if field.name != "label" and getattr(self, field.name) < 0:
                raise ValueError(f"time model: {field.name} is negative")
        if self.base_ps <= 0:
            raise ValueError("time model: base_ps must be positive")


@dataclass(frozen=True)
class Way:
    """Seconds beside the engine's steps: from arrival to the scheduler, of the first and last token back to the caller,
    and the host work of a request whose prefill begins."""

    front_s: float = 0.0
    back_first_s: float = 0.0
    back_s: float = 0.0
    request_s: float = 0.0


NO_WAY = Way()

DEFAULT = TimeModel(
    label="default: 8B dense model on one 80 GB accelerator, orders of magnitude only; fit your own",
    base_ps=6_000_000_000,
    prefill_token_ps=30_000_000,
    attention_half_pair_ps=250,
    decode_request_ps=40_000_000,
    context_token_ps=40_000,
    draft_request_ps=20_000_000,
)

LARGE = TimeModel(
    label="large: 70B dense model on four 80 GB accelerators, orders of magnitude only; fit your own",
    base_ps=14_000_000_000,
    prefill_token_ps=70_000_000,
    attention_half_pair_ps=500,
    decode_request_ps=60_000_000,
    context_token_ps=30_000,
    draft_request_ps=40_000_000,
)

PRESETS = {"default": DEFAULT, "large": LARGE}
