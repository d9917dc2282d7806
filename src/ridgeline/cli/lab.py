"""`ridgeline lab`: the embedded serving system, its faults, and the score."""

import json
import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

lab = App(name="lab", help="A serving system in virtual time with faults on a switch, and how well diagnose sees them.")


@lab.command
def faults(*, format: Literal["text", "json"] = "text") -> int:
    """List the faults that can be recorded.

    Parameters
    ----------
    format
        text, or json (schema ridgeline.faults/1).
    """
    from ridgeline.lab.faults import FAULTS

    if format == "json":
        listed = [{"id": f.id, "cause": f.cause, "layer": f.layer, "parameters": list(f.parameters)} for f in FAULTS]
        print(json.dumps({"schema": "ridgeline.faults/1", "faults": listed}, indent=1))
    else:
        width = max(len(f.id) for f in FAULTS)
        for f in FAULTS:
            print(f"{f.id:<{width}}  {f.mechanism}")
    return 0


@lab.command
def record(
    fault: str,
    *,
    out: Annotated[Path, Parameter(name=["-o", "--out"])],
    seed: int = 1,
    version: Literal["0.5.3", "0.5.9", "0.5.23", "vllm"] | None = None,
    size: Literal["small", "large"] = "small",
    rate: float = 2.0,
    ranks: int | None = None,
    pd: bool | None = None,
    severity: int = 2,
    share: float | None = None,
    set_: Annotated[tuple[str, ...], Parameter(name=["--set"])] = (),
    quiet: bool = False,
) -> int:
    """Record ten virtual minutes of an incident; the truth goes to DIR.truth.json beside the folder.

    Parameters
    ----------
    fault
        A fault's id, as `ridgeline lab faults` lists them.
    out
        The new folder for the evidence.
    seed
        Everything drawn follows from it: same seed, same bytes.
    version
        Release whose formats and rules are used; by default 0.5.23 where the fault exists there.
    size
        How fast the modelled server is.
    rate
        Requests per second and rank.
    ranks
        DP ranks, or workers behind the gateway where the fault is about them.
    pd
        Prefill and decode on separate servers; by default as the fault needs it.
    severity
        1 mild, 2 clear, 3 severe.
    share
        Share of the requests in the affected class, 0.01 to 1.
    set_
        KEY=VALUE, a setting of the servers that holds whatever the fault says: a remedy to try.
    quiet
        Print nothing.
    """
    from ridgeline.lab.record import make_case
    from ridgeline.lab.record import record as write
    from ridgeline.model.errors import InputError
    from ridgeline.sim.engine.jit import is_compiled

    changes: dict[str, str] = {}
    for text in set_:
        key, equals, value = text.partition("=")
        if not equals or not value:
            raise InputError(f"lab record: --set {text}: want KEY=VALUE")
        changes[key.strip().removeprefix("--").replace("-", "_")] = value.strip()
    case = make_case(fault, seed, version, size, rate, ranks, pd, severity, share, changes)
    if not is_compiled():
        print("ridgeline: compiling the engine once, about half a minute", file=sys.stderr)
    truth = write(case, out)
    if not quiet:
        print(f"{out}: evidence of {fault} (seed {seed}, {case.version}); truth in {out}.truth.json")
        print(f"next: ridgeline diagnose {out}")
        if not truth["harm"]["admitted"] and not case.fault.harmless:
            print("note: this case harms no user-visible figure enough to be told from its healthy twin")
    return 0


@lab.command
def serve(
    *,
    port: int = 30000,
    version: Literal["0.5.3", "0.5.9", "0.5.23"] = "0.5.23",
    ranks: int = 1,
    pd: bool = False,
    size: Literal["small", "large", "fast"] = "small",
    pool: int = 400_000,
    max_running: int = 256,
    chunk: int = 8192,
    seed: int = 0,
    logs: Path | None = None,
    format: Literal["text", "json"] = "text",
) -> int:
    """Serve the modelled system in real time on loopback: OpenAI and /generate endpoints, metrics, a fault switch.

    Parameters
    ----------
    port
        First port: the server's, or with --pd the gateway's, then the prefill and the decode server's.
    version
        SGLang release whose formats and rules are used.
    ranks
        DP ranks.
    pd
        A prefill and a decode server behind a gateway.
    size
        How fast the modelled server is; fast: a core can stream thousands of tokens a second of it.
    pool
        KV pool of one rank, tokens.
    max_running
        max_running_requests of one rank.
    chunk
        chunked_prefill_size, tokens.
    seed
        What is answered follows from it and the prompt.
    logs
        Folder for the server logs.
    format
        How the servers and the faults that can be switched are printed once it is ready: text, or json.
    """
    import asyncio

    from ridgeline.model.errors import InputError
    from ridgeline.sim.engine.jit import is_compiled
    from ridgeline.sim.settings import SettingError

    try:
        from ridgeline.lab.serve.admin import described
        from ridgeline.lab.serve.hosts import SIZES, settings_of
        from ridgeline.lab.serve.run import serve as run
        from ridgeline.lab.serve.service import Running
    except ImportError as e:
        raise InputError("lab serve needs the live extra: pip install 'ridgeline[live]'") from e
    if not 1 <= port <= 65_533:
        raise InputError(f"lab serve: port {port} is not 1 to 65533")
    if not 1 <= ranks <= 64 or (pd and ranks > 1):
        raise InputError(f"lab serve: ranks {ranks} is not {'1 with --pd' if pd else '1 to 64'}")
    try:
        settings = settings_of(version, ranks, pd, pool, max_running, chunk)
    except SettingError as e:
        raise InputError(f"lab serve: {e}") from e
    if not is_compiled():
        print("ridgeline: compiling the engine once, about half a minute", file=sys.stderr)

    def ready(running: Running) -> None:
        found = described(running)
        if format == "json":
            print(json.dumps(found), flush=True)
            return
        if pd:
            print(f"gateway  http://127.0.0.1:{port}")
        for s in found["servers"]:
            print(f"{s['role']:<8} {s['url']}")
        first = f"http://127.0.0.1:{port}"
        print(f"faults to switch: {', '.join(found['faults'])}")
        name = "fault.hang" if "fault.hang" in found["faults"] else found["faults"][0]
        print(f'on:  curl -X POST {first}/lab/fault -d \'{{"fault": "{name}", "severity": 2, "rank": 0}}\'')
        print(f"off: curl -X DELETE {first}/lab/fault", flush=True)

    asyncio.run(run(settings, SIZES[size], port, seed, logs, ready))
    return 0


@lab.command
def score(
    *,
    seeds: str = "1:21",
    arm: tuple[str, ...] = (),
    only: tuple[str, ...] = (),
    jobs: int = 2,
    results: Path = Path(".lab-score/results.jsonl"),
    out: Annotated[Path, Parameter(name=["-o", "--out"])] = Path("docs/accuracy.md"),
    calibration: Path | None = None,
    report_only: bool = False,
    on: str | None = None,
    quiet: bool = False,
) -> int:
    """Measure diagnose on recorded incidents; a run that was stopped goes on where it left off.

    Parameters
    ----------
    seeds
        A:B, seeds A to B-1 of every fault (four times as many of the healthy controls).
    arm
        Also diagnose with evidence taken away: logs, one-scrape, exporter, metrics, tenth, one-missing, skew,
        truncated, no-baseline, or all.
    only
        Faults, causes or layers to score instead of all; not for a calibration.
    jobs
        Processes.
    results
        Where each case's outcome is kept.
    out
        The page to write; the confusion of layers goes to images/accuracy.svg beside it.
    calibration
        Write how often each cause was right per confidence word here, for diagnose to read; it can only lower. Take
        seeds that no score is made of.
    report_only
        Run nothing; write the page from the results there are.
    on
        local-ray, or ray://HOST:PORT: cells become tasks of that cluster (ray extra).
    quiet
        No line per case.
    """
    from ridgeline.lab.score.arms import NAMES
    from ridgeline.lab.score.whole import coverage, run_score, write_outcome
    from ridgeline.model.errors import InputError

    arms = NAMES if "all" in arm else ("full", *(a for a in arm if a != "full"))
    for name in arms:
        if name not in NAMES:
            raise InputError(f"lab score: arm {name!r} is not one of {', '.join(NAMES)}")
    if calibration is not None and only:
        raise InputError("lab score: --calibration needs every fault; leave --only away")
    if jobs < 1:
        raise InputError(f"lab score: --jobs {jobs}: want at least 1")
    found = run_score(seeds, tuple(arms), jobs, results, only, not quiet, report_only, on)
    write_outcome(found, out, calibration, seeds, coverage(found, seeds, only))
    if not quiet:
        print(f"{out}: {len(found)} results")
    return 0
