"""Generated traffic: arrivals, length mixes, shared prefixes, sessions. Everything from one seed.

Segment ids are non-zero 31-bit numbers: 0 means "none" in a scenario and negative ids belong to the outputs of
requests that name none.
"""

from dataclasses import dataclass

import numpy as np

from ridgeline.scenario.model import PS, Ints, Scenario, ScenarioError, make


@dataclass(frozen=True)
class Lengths:
    """Whole numbers from ``low`` to ``high``, both included, all equally likely."""

    low: int
    high: int

    def __post_init__(self) -> None:
        """Refuse an empty range or lengths below one.

        Raises:
            ScenarioError: saying which.
        """
        if self.low < 1 or self.high < self.low:
            raise ScenarioError(f"lengths {self.low}:{self.high}: want 1 <= low <= high")

    def draw(self, rng: np.random.Generator, n: int) -> Ints:
        """``n`` lengths."""
        return rng.integers(self.low, self.high + 1, n)


def parse_lengths(text: str) -> Lengths:
    """``1:2047`` or ``512``.

    Raises:
        ScenarioError: anything else.
    """
    low, _, high = text.partition(":")
    if not low.isdigit() or (high and not high.isdigit()):
        raise ScenarioError(f"lengths {text!r}: want LOW:HIGH or one number, for example 1:2047")
    return Lengths(int(low), int(high or low))


def positive(name: str, value: float) -> None:
    """Raise ScenarioError unless ``value`` is a finite number above 0."""
    if not (np.isfinite(value) and value > 0):
        raise ScenarioError(f"{name} {value:g}: must be a number above 0")


def gaps_to_arrivals(gaps_s: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Ints:
    """Arrival times in picoseconds from the gaps before each request, in seconds."""
    return np.cumsum(np.round(gaps_s * PS).astype(np.int64))


def arrivals(kind: str, n: int, rate: float, rng: np.random.Generator, shape: float, period_s: float) -> Ints:
    """``n`` arrivals at ``rate`` requests per second on average.

    ``poisson``; ``gamma`` with the given ``shape`` (below 1: burstier than Poisson); ``bursts``: the rate is
    ``shape`` times higher in the first tenth of every period and lower in the rest; ``diurnal``: the rate
    follows a sine over the period, from ``1 - shape`` to ``1 + shape`` times the mean (shape up to 1).

    Raises:
        ScenarioError: an unknown kind, or figures that give no traffic.
    """
    positive("rate", rate)
    positive("shape", shape)
    positive("period", period_s)
    if n < 0:
        raise ScenarioError(f"requests {n}: must not be negative")
    if kind == "poisson":
        return gaps_to_arrivals(rng.exponential(1 / rate, n))
    if kind == "gamma":
        return gaps_to_arrivals(rng.gamma(shape, 1 / (rate * shape), n))
    unit = np.cumsum(rng.exponential(1.0, n))
    # a non-homogeneous Poisson process: unit-rate arrivals through the inverse of the summed rate
    grid = np.linspace(0.0, period_s, 2049)
    if kind == "bursts":
        high = min(shape, 10.0)
        low = (1.0 - 0.1 * high) / 0.9
        level = np.where(grid[:-1] < 0.1 * period_s, high, low)
    elif kind == "diurnal":
        level = 1.0 + min(shape, 1.0) * np.sin(2 * np.pi * grid[:-1] / period_s)
    else:
        raise ScenarioError(f"{kind}: not one of poisson, gamma, bursts, diurnal")
    summed = np.concatenate([[0.0], np.cumsum(level * np.diff(grid))]) * rate
    rounds, rest = np.divmod(unit, summed[-1])
    return np.round((rounds * period_s + np.interp(rest, summed, grid)) * PS).astype(np.int64)


def generated(
    kind: str,
    requests: int,
    rate: float,
    input_tokens: Lengths,
    output_tokens: Lengths,
    seed: int,
    shape: float = 0.5,
    period_s: float = 600.0,
    prefix_groups: int = 0,
    prefix_tokens: int = 0,
    routing_keys: int = 0,
) -> Scenario:
    """Single-turn traffic. ``prefix_groups`` above 0 opens each prompt with one of so many shared prefixes of
    ``prefix_tokens``, on top of its own ``input_tokens``; ``routing_keys`` spreads so many keys over it.

    Raises:
        ScenarioError: figures that make no traffic.
    """
    rng = np.random.default_rng(seed)
    when = arrivals(kind, requests, rate, rng, shape, period_s)
    own = input_tokens.draw(rng, requests)
    out = output_tokens.draw(rng, requests)
    columns = {"arrival_ps": when, "input_tokens": own, "output_tokens": out}
    parts = None
    if prefix_groups > 0:
        if prefix_tokens < 1:
            raise ScenarioError("prefix groups need a prefix of at least one token")
        group = rng.integers(1, prefix_groups + 1, requests)
        columns["input_tokens"] = own + prefix_tokens
        ids = np.column_stack([group, prefix_groups + 1 + np.arange(requests)]).ravel()
        tokens = np.column_stack([np.full(requests, prefix_tokens), own]).ravel()
        parts = (np.arange(0, 2 * requests + 1, 2, dtype=np.int64), ids, tokens)
    if routing_keys > 0:
        columns["routing_key"] = rng.integers(1, routing_keys + 1, requests)
    return make(columns, parts, f"{kind} seed {seed}")


def sessions(
    count: int,
    turns: int,
    rate: float,
    think_s: float,
    input_tokens: Lengths,
    output_tokens: Lengths,
    seed: int,
) -> Scenario:
    """Conversations: each turn's prompt is all that was said, plus something new; ``rate`` sessions per second.

    Turn times are open loop: each follows the previous one after an exponential pause of mean ``think_s``.

    Raises:
        ScenarioError: figures that make no traffic.
    """
    positive("rate", rate)
    positive("think", think_s)
    if count < 0 or turns < 1:
        raise ScenarioError(f"requests {count}, turns {turns}: want conversations of at least one turn")
    rng = np.random.default_rng(seed)
    begin = np.cumsum(rng.exponential(1 / rate, count))
    pause = rng.exponential(think_s, (count, turns))
    pause[:, 0] = 0.0
    new = input_tokens.draw(rng, count * turns).reshape(count, turns)
    out = output_tokens.draw(rng, count * turns).reshape(count, turns)
    when = np.round((begin[:, None] + np.cumsum(pause, axis=1)) * PS).astype(np.int64)
    said = np.cumsum(new, axis=1) + np.cumsum(out, axis=1) - out
    first = 1 + 2 * turns * np.arange(count)[:, None] + 2 * np.arange(turns)[None, :]
    # turn t of a session lists prompt and answer segments of all turns before it, then its own prompt
    lengths = np.tile(2 * np.arange(turns) + 1, count)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    ids = np.concatenate([np.arange(first[s, 0], first[s, t] + 1) for s in range(count) for t in range(turns)])
    both = np.stack([new, out], axis=2).reshape(count, 2 * turns)
    tokens = np.concatenate([both[s, : 2 * t + 1] for s in range(count) for t in range(turns)])
    columns = {
        "arrival_ps": when.ravel(), "input_tokens": said.ravel(), "output_tokens": out.ravel(),
        "output_segment": (first + 1).ravel(), "routing_key": np.repeat(np.arange(1, count + 1), turns),
    }  # fmt: skip
    return make(columns, (offsets, ids, tokens), f"sessions seed {seed}")
