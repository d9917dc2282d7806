"""`ridgeline scenario KIND … -o S`: make traffic, from figures or from a file."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from ridgeline.scenario.model import Scenario

MOST_S: Final = 1e6
MOST_REQUESTS: Final = 20_000_000
"""Longest traffic, in seconds."""

Kind = Literal["poisson", "gamma", "bursts", "diurnal", "sessions", "mooncake", "azure", "request-log", "edit"]


def scenario(
    kind: Kind,
    *files: Path,
    output: Annotated[Path, Parameter(name=["--out", "-o"])],
    requests: int = 1000,
    rate: float = 8.0,
    input: str = "1:2047",
    output_tokens: Annotated[str, Parameter(name=["--output"])] = "1:511",
    seed: int = 0,
    shape: float = 0.5,
    period: float = 600.0,
    prefix_groups: int = 0,
    prefix_tokens: int = 0,
    routing_keys: int = 0,
    turns: int = 4,
    think: float = 20.0,
    start: Annotated[float, Parameter(name=["--from"])] = 0.0,
    end: Annotated[float | None, Parameter(name=["--to"])] = None,
    scale: float = 1.0,
    repeat: int = 1,
    quiet: bool = False,
) -> int:
    """Make a scenario: traffic without content, as one Parquet file.

    Parameters
    ----------
    kind
        Generated: poisson, gamma, bursts, diurnal, sessions. From a file: mooncake, azure, request-log.
        edit: scenario files, merged where there are several. All kinds can be cut, scaled and repeated.
    files
        What to read, for the kinds that read.
    output
        Where to write the scenario.
    requests
        How many requests (sessions: how many conversations).
    rate
        Requests (sessions: conversations) per second over the whole service.
    input
        Prompt tokens, LOW:HIGH, both included (sessions: what each turn adds).
    output_tokens
        Output tokens, LOW:HIGH, both included.
    seed
        The same seed gives the same file.
    shape
        gamma: its shape. bursts: how many times the mean rate. diurnal: how far above and below the mean.
    period
        Seconds per burst or day.
    prefix_groups
        Open each prompt with one of so many shared prefixes.
    prefix_tokens
        Tokens of such a prefix.
    routing_keys
        Spread so many routing keys over the requests.
    turns
        sessions: turns per conversation.
    think
        sessions: mean seconds between turns.
    start
        Keep what arrives from this second on.
    end
        Keep what arrives before this second.
    scale
        Arrivals so many times as fast.
    repeat
        The whole so many times over, with contents of their own.
    quiet
        Print nothing but errors.
    """
    from ridgeline.model.errors import InputError
    from ridgeline.scenario import edit, generate
    from ridgeline.scenario.files import write_scenario
    from ridgeline.scenario.model import ScenarioError

    if requests < 1 or seed < 0 or min(prefix_groups, prefix_tokens, routing_keys) < 0:
        raise InputError("--requests must be at least 1; --seed and the --prefix and --routing figures not negative")
    if max(requests, requests * turns if kind == "sessions" else 0) > MOST_REQUESTS:
        raise InputError(f"--requests {requests}: want at most {MOST_REQUESTS:,} in one scenario")
    if not 0 <= start < MOST_S or not (end is None or start < end <= MOST_S):
        raise InputError(f"--from {start:g} --to {end}: want seconds from 0 to {MOST_S:g}, the first before the second")
    try:
        if kind == "sessions":
            made = generate.sessions(requests, turns, rate, think, generate.parse_lengths(input),
                                     generate.parse_lengths(output_tokens), seed)  # fmt: skip
        elif kind in ("poisson", "gamma", "bursts", "diurnal"):
            made = generate.generated(kind, requests, rate, generate.parse_lengths(input),
                                      generate.parse_lengths(output_tokens), seed, shape, period, prefix_groups,
                                      prefix_tokens, routing_keys)  # fmt: skip
        else:
            made = read(kind, files)
        if start > 0 or end is not None:
            made = edit.cut(made, start, MOST_S if end is None else end)
        if scale != 1.0:
            made = edit.scaled(made, scale)
        if repeat != 1:
            made = edit.repeated(made, repeat)
        write_scenario(made, output)
    except OSError as error:
        said = os.strerror(error.errno) if error.errno else str(error)
        raise InputError(f"{output}: cannot be written ({said}); give another file") from error
    except ScenarioError as error:
        raise InputError(str(error)) from error
    if not quiet:
        span = made["arrival_ps"][-1] / 1e12 if made.n else 0.0
        print(f"{output}: {made.n} requests over {span:.1f} s, {int(made['input_tokens'].sum())} prompt and "
              f"{int(made['output_tokens'].sum())} output tokens")  # fmt: skip
    return 0


def read(kind: str, files: tuple[Path, ...]) -> "Scenario":
    """The scenario of the given files; several are merged, contents apart. Raises ScenarioError."""
    from ridgeline.scenario import edit, traces
    from ridgeline.scenario.files import read_scenario
    from ridgeline.scenario.model import ScenarioError

    readers = {"mooncake": traces.mooncake, "azure": traces.azure, "request-log": traces.request_log,
               "edit": read_scenario}  # fmt: skip
    if not files:
        raise ScenarioError(f"scenario {kind}: name the file to read")
    return edit.merged([readers[kind](path) for path in files]) if len(files) > 1 else readers[kind](files[0])
