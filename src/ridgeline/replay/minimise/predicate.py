"""What counts as the fault: `--fails PREDICATE`, judged on the outcomes of one try."""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from ridgeline.model.errors import InputError
from ridgeline.replay.shot import Outcome

Kind = Literal["crash", "status", "finish", "error", "output", "over", "cmd"]
OVER: Final = re.compile(r"(ttft|e2e|itl)\s*>\s*(\d+(?:\.\d+)?)\s*(ms|s|m)?")
UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, None: 1.0}
FORMS: Final = (
    "crash, status:500, status:5xx, finish:length, error, error:disconnect, output:/regex/, ttft>2s, e2e>2s, itl>1s, "
    "cmd:COMMAND"
)
COMMAND_S: Final = 600.0


@dataclass(frozen=True)
class Predicate:
    """A parsed predicate. All but `crash` and `cmd` are judged request by request."""

    kind: Kind
    value: str = ""
    limit_s: float = 0.0
    pattern: re.Pattern[str] | None = None
    text: str = ""

    def matches(self, outcome: Outcome) -> bool:
        """Whether one request shows the fault; False for kinds that no single request shows."""
        if self.kind == "status":
            wanted = self.value
            said = str(outcome.status)
            return said == wanted or (wanted.endswith("xx") and len(said) == 3 and said[0] == wanted[0])
        if self.kind == "finish":
            return outcome.finish_reason == self.value
        if self.kind == "error":
            return outcome.failure not in (None, "cancelled", "local") and self.value in ("", outcome.error_class)
        if self.kind == "output":
            return self.pattern is not None and outcome.text is not None and bool(self.pattern.search(outcome.text))
        if self.kind == "over":
            seen = self.span(outcome)
            return seen is not None and seen > self.limit_s
        return False

    def span(self, outcome: Outcome) -> float | None:
        """The span that is asked about; a request cut by its timeout lasted at least that long."""
        open_s = outcome.e2e_s if outcome.failure == "timeout" else None
        if self.value == "ttft":
            return outcome.ttft_s if outcome.ttft_s is not None else open_s
        if self.value == "itl":
            return max(outcome.gaps_s) if outcome.gaps_s else None
        return outcome.e2e_s if outcome.fine else open_s

    def judge(self, outcomes: Sequence[Outcome], died: bool, rows: Path | None) -> bool:
        """Whether a whole try shows the fault. `rows` is the file handed to a command."""
        if self.kind == "crash":
            return died
        if self.kind == "cmd":
            assert rows is not None
            return command_agrees(self.value, rows)
        return any(self.matches(o) for o in outcomes)


def predicate_of(text: str) -> Predicate:
    """Parse `--fails`. Raises InputError, naming the forms."""
    name, colon, value = text.strip().partition(":")
    over = OVER.fullmatch(text.strip())
    if over is not None:
        return Predicate("over", over[1], float(over[2]) * UNITS[over[3]], text=text)
    if name in ("crash", "error") and not colon:
        return Predicate("crash" if name == "crash" else "error", text=text)
    if name == "status" and re.fullmatch(r"[1-5](\d\d|xx)", value):
        return Predicate("status", value, text=text)
    if name in ("finish", "error", "cmd") and value:
        kinds: dict[str, Kind] = {"finish": "finish", "error": "error", "cmd": "cmd"}
        return Predicate(kinds[name], value, text=text)
    if name == "output" and len(value) > 2 and value[0] == value[-1] == "/":
        try:
            return Predicate("output", value, pattern=re.compile(value[1:-1], re.DOTALL), text=text)
        except re.error as e:
            raise InputError(f"--fails {text}: is no regular expression ({e})") from e
    raise InputError(f"--fails {text}: want one of {FORMS}")


def command_agrees(command: str, rows: Path) -> bool:
    """Run a command with the path of the outcomes (JSON lines) behind it; exit status 0 means the fault is there.

    Raises InputError where the shell does not find it, or it takes longer than ten minutes.
    """
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", f'{command} "$@"', "ridgeline", str(rows)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=COMMAND_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired as e:
        raise InputError(f"--fails cmd:{command}: still running after {COMMAND_S:g} s; it was stopped") from e
    if done.returncode in (126, 127):
        raise InputError(f"--fails cmd:{command}: the shell cannot run it (exit status {done.returncode})")
    return done.returncode == 0
