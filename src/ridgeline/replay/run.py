"""One replay from its options to its report: send, write the rows, compare, make the bundle."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from ridgeline.model.errors import InputError
from ridgeline.replay import result
from ridgeline.replay.body import Manner, json_of, path_of
from ridgeline.replay.clock import Clock
from ridgeline.replay.compare import Comparison, Pair
from ridgeline.replay.player import Drain, OnDone, Pace, play, still_memory
from ridgeline.replay.rows import RowFile
from ridgeline.replay.shot import Load, Outcome, Shot
from ridgeline.replay.tally import LATE_S, Tally, unsent
from ridgeline.replay.target import Target

SCHEMA: Final = "ridgeline.replay/1"
SECOND_LEAD_S: Final = 0.5


@dataclass(frozen=True)
class Plan:
    """What to send, where, how fast and what to hold it against (a second target, the record, or nothing)."""

    load: Load
    target: Target
    manner: Manner
    pace: Pace
    out: Path
    other: Target | None = None
    other_manner: Manner | None = None
    against_record: bool = False
    whole: bool = True  # neither windowed nor filtered, at the recorded speed
    keep_text: bool = False
    force: bool = False


def run(plan: Plan, say: Callable[[str], None]) -> dict[str, Any]:
    """Replay and write DIR. Returns the report (`ridgeline.replay/1`).

    Raises InputError where DIR cannot be used or nothing can be sent.
    """
    shots, notes = sendable(plan)
    result.begin(plan.out, plan.force)
    raw, other_raw = result.raw_of(plan.out), result.raw_of(plan.out, f"-{result.OTHER}")
    tally, comparison = Tally(len(shots)), _comparison(plan)
    other_tally = Tally(len(shots)) if plan.other is not None else None
    with _writing(raw), ExitStack() as files:
        rows = files.enter_context(RowFile(raw, plan.manner))
        differing = _Differing(plan.out) if plan.keep_text and comparison is not None else None
        met = _Met(shots, comparison, plan.load.synthetic, differing)

        def done(at: int, shot: Shot, outcome: Outcome) -> None:
            tally.add(at, outcome)
            rows.add(shot, outcome)
            if plan.against_record:
                met.against_record(shot, outcome)
            elif plan.other is not None:
                met.side(at, 0, outcome)

        sides: list[tuple[Target, Manner, OnDone]] = [(plan.target, plan.manner, done)]
        if plan.other is not None and plan.other_manner is not None and other_tally is not None:
            other_rows = files.enter_context(RowFile(other_raw, plan.other_manner))

            def other_done(at: int, shot: Shot, outcome: Outcome) -> None:
                other_tally.add(at, outcome)
                other_rows.add(shot, outcome)
                met.side(at, 1, outcome)

            sides.append((plan.other, plan.other_manner, other_done))
        asyncio.run(_send(shots, sides, plan.pace, say))
    if not tally.outcomes:
        raw.unlink()
        raise InputError("interrupted before anything was sent; nothing was written")
    result.finish(raw, plan.out, plan.keep_text)
    report = _report(plan, shots, tally, notes)
    if plan.other is not None and other_tally is not None and other_tally.outcomes:
        result.finish(other_raw, plan.out / result.OTHER, plan.keep_text)
        report["other"] = {"target": plan.other.base, **other_tally.summary()}
    report["comparison"] = comparison.report() if comparison is not None else None
    result.write_report(plan.out, report)
    return report


def sendable(plan: Plan) -> tuple[list[Shot], list[str]]:
    """The shots the endpoint can carry, and notes. Raises InputError where it can carry none."""
    notes = list(plan.load.notes)
    shots = list(plan.load.shots)
    if plan.manner.as_ == "chat":
        kept = [s for s in shots if s.text is not None or s.drawn is not None]
        if len(kept) < len(shots):
            notes.append(f"{len(shots) - len(kept)} requests are kept as token ids only, a chat needs text: not sent")
        shots = kept
        if plan.load.synthetic:
            notes.append("lengths of chat prompts are near the recorded ones only: a word stands for a token")
        else:
            notes.append("a dump holds the finished prompt: as a chat the target puts its template around it once more")
    if plan.manner.as_ != "generate":
        kept = [s for s in shots if s.endpoint == "/generate" and (s.text or s.ids or s.drawn)]
        if len(kept) < len(shots):
            notes.append(f"{len(shots) - len(kept)} requests are batches or embeddings: sent --as generate only")
        shots = kept
    if not shots:
        raise InputError("no request can be sent so; " + "; ".join(notes))
    first = shots[0].at_s
    return [replace(s, at_s=s.at_s - first) for s in shots] if first else shots, notes


async def _send(
    shots: list[Shot], sides: list[tuple[Target, Manner, OnDone]], pace: Pace, say: Callable[[str], None]
) -> None:
    """Send the same to every side at the same moments."""
    drain, clock = Drain(), Clock()
    with _interrupts(drain, say), still_memory():
        start_s = asyncio.get_running_loop().time() + SECOND_LEAD_S if len(sides) > 1 else None
        await asyncio.gather(*(play(shots, *side[:2], pace, side[2], drain, clock, start_s) for side in sides))


@contextmanager
def _interrupts(drain: Drain, say: Callable[[str], None]) -> Iterator[None]:
    """Ctrl-C stops sending and waits for what is open; a second one cuts it."""
    loop = asyncio.get_running_loop()

    def asked() -> None:
        if not drain.stop:
            say(f"stopping: waiting for {len(drain.tasks)} open requests; Ctrl-C again to cut them")
        drain.ask()

    with suppress(NotImplementedError, RuntimeError, ValueError):  # not in the main thread: nothing to catch
        loop.add_signal_handler(signal.SIGINT, asked)
    try:
        yield
    finally:
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.remove_signal_handler(signal.SIGINT)


def _comparison(plan: Plan) -> Comparison | None:
    if plan.other is not None:
        found = Comparison(plan.other.base, judge_latency=True)
        found.notes.append(f"a is {plan.target.base}, b is {plan.other.base}; both got the same at the same moments")
        return found
    if not plan.against_record:
        return None
    found = Comparison("the record", judge_latency=False)
    found.notes.append("a is the record, b is the target; latency is shown, not judged (the record's is the server's)")
    if plan.load.synthetic:
        found.notes.append("prompts are drawn, so outputs are not compared")
    if not plan.whole:
        found.notes.append("the load is not the recorded one (window, filter, speed or cap)")
    return found


@contextmanager
def _writing(raw: Path) -> Iterator[None]:
    """A disk that is full or closed to us is one line; the rows written so far stay."""
    try:
        yield
    except OSError as e:
        raise InputError(f"{e.filename or raw}: cannot be written ({e.strerror or e}); the rows so far are kept") from e


class _Met:
    """Brings the two sides of each request together."""

    def __init__(
        self, shots: list[Shot], comparison: Comparison | None, synthetic: bool, differing: "_Differing | None"
    ) -> None:
        self.shots, self.comparison, self.synthetic, self.differing = shots, comparison, synthetic, differing
        self.first: dict[int, tuple[int, Outcome]] = {}

    def against_record(self, shot: Shot, outcome: Outcome) -> None:
        """A request beside its recorded outcome, where it has one."""
        assert self.comparison is not None
        if shot.recorded is None:
            self.comparison.unpaired += 1
            return
        self._paired(shot, shot.recorded, outcome, not self.synthetic)

    def side(self, at: int, number: int, outcome: Outcome) -> None:
        """A request of one side; compared once the other one is in."""
        other = self.first.pop(at, None)
        if other is None:
            self.first[at] = (number, outcome)
            return
        a, b = (other[1], outcome) if other[0] == 0 else (outcome, other[1])
        self._paired(self.shots[at], a, b, True)

    def _paired(self, shot: Shot, a: Outcome, b: Outcome, with_output: bool) -> None:
        assert self.comparison is not None
        pair = self.comparison.add(shot, a, b, with_output)
        if pair is not None and pair.differs and self.differing is not None:
            self.differing.add(pair, a, b)


class _Differing:
    """`differences.jsonl`: both outputs of what differs, readable by the owner only (--keep-text)."""

    def __init__(self, out: Path) -> None:
        self.path = result.differences_of(out)

    def add(self, pair: Pair, a: Outcome, b: Outcome) -> None:
        """Append one pair."""
        row = {**asdict(pair), "a": {"text": a.text, "ids": a.output_ids}, "b": {"text": b.text, "ids": b.output_ids}}
        with os.fdopen(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as f:
            f.write(json_of(row) + b"\n")


def _report(plan: Plan, shots: list[Shot], tally: Tally, notes: list[str]) -> dict[str, Any]:
    summary = tally.summary()
    drift = summary["send_drift_s"]
    if drift is not None and drift["p99"] > LATE_S and not plan.pace.concurrency:
        notes.append(f"the player itself fell behind (p99 {drift['p99']:.3f} s late): lower --speed or replay fewer")
    if summary["errors"].get("http-404") == summary["sent"]:
        notes.append(f"the target knows no {path_of(shots[0], plan.manner)}: another --as may be what it speaks")
    if ours := summary["errors"].get("local"):
        notes.append(
            f"{ours} requests could not be sent from here (open files, ports): a limit of this host, not the target"
        )
    if plan.pace.concurrency:
        notes.append(f"at most {plan.pace.concurrency} open at a time: sends beyond that waited and are late")
    if (left := unsent(shots, tally)) > 0:
        notes.append(f"interrupted: {left} requests were not sent")
    return {
        "schema": SCHEMA,
        "source": plan.load.source,
        "target": plan.target.base,
        "as": plan.manner.as_,
        "synthetic": plan.load.synthetic,
        "speed": plan.pace.speed,
        "rid_prefix": plan.manner.prefix,
        **summary,
        "messages": [{"message": message, "count": count} for message, count in tally.messages()],
        "notes": notes,
    }
