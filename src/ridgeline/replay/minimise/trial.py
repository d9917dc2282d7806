"""One try: a set of requests sent to a healthy server, and whether the fault came."""

import asyncio
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ridgeline.replay.body import Manner, json_of
from ridgeline.replay.clock import Clock
from ridgeline.replay.minimise.predicate import Predicate
from ridgeline.replay.minimise.server import Server
from ridgeline.replay.player import Drain, Pace, play
from ridgeline.replay.rows import row_of
from ridgeline.replay.shot import Outcome, Shot

LEAD_S: Final = 0.01
ABNORMAL: Final = ("disconnect", "refused", "timeout", "http", "protocol", "abort", "stream-error")


@dataclass(frozen=True)
class Try:
    """The verdict. `suspects` are places in the set that the fault points at; empty where nothing does."""

    failed: bool
    suspects: tuple[int, ...]
    why: str
    took_s: float


class Trial:
    """Sends sets of requests and judges them."""

    def __init__(self, server: Server, predicate: Predicate, manner: Manner, pace: Pace, rows: Path) -> None:
        self.server, self.predicate, self.manner, self.pace, self.rows = server, predicate, manner, pace, rows
        self.count = 0

    def __call__(self, shots: Sequence[Shot], fresh: bool = False) -> Try:
        """One try. Raises SourceUnavailable where the server does not come up."""
        self.server.ensure_up(fresh)
        began = time.monotonic()
        self.count += 1
        outcomes = asyncio.run(self._send(shots))
        seen = [outcomes[i] for i in sorted(outcomes)]
        abnormal = any(o.failure in ABNORMAL for o in seen)
        died = self.server.died(abnormal) if self.predicate.kind == "crash" or abnormal else False
        rows = self._write(shots, outcomes) if self.predicate.kind == "cmd" else None
        failed = self.predicate.judge(seen, died, rows)
        suspects = self._suspects(outcomes, died) if failed else ()
        return Try(failed, suspects, self._why(outcomes, died, suspects), round(time.monotonic() - began, 3))

    async def _send(self, shots: Sequence[Shot]) -> dict[int, Outcome]:
        """Send them in their order; once the fault is seen nothing more is sent."""
        outcomes: dict[int, Outcome] = {}
        drain = Drain()
        manner = replace(self.manner, prefix=f"{self.manner.prefix}{os.getpid()}-{self.count}-")

        def done(at: int, _: Shot, outcome: Outcome) -> None:
            outcomes[at] = outcome
            if self.predicate.matches(outcome):
                drain.ask()
                drain.ask()
            elif outcome.failure in ("refused", "disconnect") and not drain.stop:
                drain.ask()

        start_s = asyncio.get_running_loop().time() + LEAD_S
        await play(shots, self.server.target, manner, self.pace, done, drain, Clock(), start_s)
        return outcomes

    def _suspects(self, outcomes: dict[int, Outcome], died: bool) -> tuple[int, ...]:
        if self.predicate.kind == "crash" or (self.predicate.kind == "cmd" and died):
            return tuple(sorted(i for i, o in outcomes.items() if o.failure in ("disconnect", "timeout")))
        return tuple(sorted(i for i, o in outcomes.items() if self.predicate.matches(o)))

    def _why(self, outcomes: dict[int, Outcome], died: bool, suspects: Sequence[int]) -> str:
        if died:
            return f"the server died with {len(suspects)} requests open" if suspects else "the server died"
        shown = [outcomes[i] for i in suspects[:1]] or [o for o in outcomes.values() if o.failure][:1]
        if not shown:
            return "all came back"
        one = shown[0]
        said = one.error_class or one.finish_reason or "no finish reason"
        return f"{said}: {one.message}"[:120] if one.message else said

    def _write(self, shots: Sequence[Shot], outcomes: dict[int, Outcome]) -> Path:
        """The outcomes with their outputs, for the user's own command; readable by the owner only."""
        with os.fdopen(os.open(self.rows, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as f:
            for i in sorted(outcomes):
                row = {**row_of(shots[i], outcomes[i], self.manner), "text": outcomes[i].text}
                row["output_ids"] = outcomes[i].output_ids
                f.write(json_of(row) + b"\n")
        return self.rows
