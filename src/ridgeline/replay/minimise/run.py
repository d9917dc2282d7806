"""One minimisation from its options to its report."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import msgspec

from ridgeline.model.errors import InputError
from ridgeline.replay.body import Manner
from ridgeline.replay.minimise.curl import REQUESTS, SCRIPT, write_requests
from ridgeline.replay.minimise.inside import Inside
from ridgeline.replay.minimise.journal import Journal, Keys
from ridgeline.replay.minimise.oracle import Oracle, OutOfTries, Record
from ridgeline.replay.minimise.predicate import Predicate
from ridgeline.replay.minimise.search import CONFIRM, fewest_requests, starting_set
from ridgeline.replay.minimise.server import Server
from ridgeline.replay.minimise.trial import Trial
from ridgeline.replay.player import Pace
from ridgeline.replay.shot import Load, Shot
from ridgeline.replay.synth import ids_of
from ridgeline.replay.target import Target
from ridgeline.stats.intervals import wilson

SCHEMA: Final = "ridgeline.minimise/1"
FLAKY_CONFIRM: Final = 10
LOG: Final = "restart.log"
ROWS: Final = "outcomes.jsonl"


@dataclass(frozen=True)
class Task:
    """What to reduce, where to send it, what counts as the fault, and within which bounds."""

    load: Load
    target: Target
    predicate: Predicate
    manner: Manner
    pace: Pace
    out: Path
    restart: str | None
    budget: int
    repeat: int
    ready_s: float

    def fingerprint(self) -> str:
        """Names the task in the journal: tries of another one are not taken for this one's."""
        said = [
            Keys().of(self.load.shots), [shot.at_s for shot in self.load.shots], self.target.base,
            self.predicate.text, self.manner.as_, self.manner.seed, sorted(self.manner.drop), asdict(self.pace),
        ]  # fmt: skip
        return hashlib.blake2b(msgspec.json.encode(said), digest_size=12).hexdigest()


def minimise(task: Task, say: Callable[[str], None]) -> dict[str, Any]:
    """Reduce, write DIR, and return the report (`ridgeline.minimise/1`).

    `state`: `minimal`, `reduced` (tries ran out before it was minimal) or `not-reproduced`.

    Raises InputError where DIR cannot be used, SourceUnavailable where the server does not come up again (all tries are
    kept).
    """
    shots = [with_ids(shot, task.manner.seed) for shot in task.load.shots]
    journal = Journal(task.out, task.fingerprint())
    notes = [*task.load.notes]
    if journal.cut:
        notes.append("the last line of the former run was cut and is left out")
    if journal.resumed:
        say(f"goes on after {journal.resumed} tries of a former run")
    server = Server(task.target, task.restart, task.out / LOG, task.ready_s, say)
    trial = Trial(server, task.predicate, task.manner, task.pace, task.out / ROWS)
    oracle = Oracle(trial, journal, task.budget, task.repeat, say, task.restart is not None)
    state, proof = "not-reproduced", None
    try:
        proof = _reduced(task, shots, oracle, say)
        state = "minimal" if proof is not None else state
    except OutOfTries:
        state = "reduced" if oracle.best else state
        notes.append(f"all {task.budget} tries are used: it can perhaps be reduced further (--budget)")
    except OSError as e:
        raise InputError(
            f"{e.filename or task.out}: cannot be written ({e.strerror or e}); the tries so far are kept"
        ) from e
    finally:
        server.end()
        if oracle.best:  # also when interrupted: the smallest input so far
            commands = write_requests(
                task.out, oracle.best, _sent(task.manner), task.pace.due(oracle.best), task.target
            )
        journal.close()
    came = sum(bool(one["failed"]) for one in journal.tries)
    if state == "not-reproduced" and came:
        notes.append(
            f"it came in {came} tries, but not on a server that was started for it: it needs more than this dump"
        )
    return {
        "schema": SCHEMA,
        "source": task.load.source,
        "target": task.target.base,
        "fails": task.predicate.text,
        "state": state,
        "from": {"requests": len(shots), "size": sum(s.size for s in shots)},
        "to": _found(oracle.best) if oracle.best else None,
        "proof": _proof(proof),
        "tries": journal.tries,
        "spent": oracle.spent,
        "resumed": journal.resumed,
        "restarts": server.restarts,
        "curl": commands if oracle.best else [],
        "files": [REQUESTS, SCRIPT] if oracle.best else [],
        "notes": notes,
    }


def _reduced(task: Task, shots: list[Shot], oracle: Oracle, say: Callable[[str], None]) -> Record | None:
    """Requests, then their insides, then the proof; None where the fault never came."""
    start = starting_set(oracle, shots)
    if start is None:
        return None
    current, done = start
    while True:
        current = fewest_requests(oracle, current, done)
        inside = Inside(oracle, keep_stream=task.predicate.kind == "over" and task.predicate.value != "e2e")
        smaller = inside.all(current)
        oracle.best = tuple(smaller)
        proof = _proven(task, smaller, oracle)
        if proof is not None:
            return proof
        oracle.best = ()
        say("the fault needs what earlier tries left in the server: from here every try gets a fresh one")
        found = starting_set(oracle, shots)
        if found is None:
            return None
        current, done = found


def _proven(task: Task, shots: Sequence[Shot], oracle: Oracle) -> Record | None:
    """How often the result fails; None where it does not on a server that was started for it."""
    tries, most = (CONFIRM, FLAKY_CONFIRM) if oracle.rate() is None else (FLAKY_CONFIRM, FLAKY_CONFIRM)
    if oracle.may_refresh and not oracle.fresh:
        oracle.fresh = True
        least = oracle.enough_for(oracle.rate_of(False))
        came = oracle.fails(shots, "on a fresh server", least)
        if came is None:
            return None
        oracle.fresh = False
    return oracle.proof(shots, tries, most)


def with_ids(shot: Shot, seed: int) -> Shot:
    """A drawn prompt made real, so that it can be cut."""
    return shot if shot.drawn is None else replace(shot, ids=tuple(ids_of(shot.drawn, seed).tolist()), drawn=None)


def _sent(manner: Manner) -> Manner:
    return replace(manner, prefix="minimal-")


def _found(shots: Sequence[Shot]) -> dict[str, Any]:
    return {
        "requests": len(shots),
        "size": sum(s.size for s in shots),
        "each": [
            {
                "rid": s.rid,
                "unit": "tokens" if s.ids is not None else "characters",
                "prompt": s.size,
                "sampling": dict(s.sampling or {}),
                "fields": sorted(s.fields or {}),
                "stream": s.stream,
            }
            for s in shots
        ],
    }


def _proof(record: Record | None) -> dict[str, Any] | None:
    if record is None or not record.tries:
        return None
    rate = wilson(record.failed, record.tries)
    return {"failed": record.failed, "tries": record.tries, "rate_low": rate.low, "rate_high": rate.high}
