"""The server under test: whether it is up, whether a try killed it, and how it is started again."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ridgeline.model.errors import SourceUnavailable
from ridgeline.replay.target import Health, Target, health

POLL_S: Final = 0.02
PROBE_S: Final = 25.0
GRACE_S: Final = 30.0
"""A scheduler that died takes the API process with it within seconds; one that stays unhealthy for so long is dead."""
RECENT_S: Final = 1.0
SETTLE_S: Final = 0.2
STOP_S: Final = 20.0
GONE_S: Final = 30.0
"""How long a restart command may take to end the server that runs."""


class Server:
    """Restarts by a command of the user's, whose process is ended with ours if it is the server itself."""

    def __init__(
        self, target: Target, restart: str | None, log: Path, ready_s: float, say: Callable[[str], None]
    ) -> None:
        self.target, self.command, self.log, self.ready_s, self.say = target, restart, log, ready_s, say
        self.up_at = -RECENT_S
        self.child: subprocess.Popen[bytes] | None = None
        self.restarts = 0

    def died(self, abnormal: bool) -> bool:
        """Whether the server is gone after a try; `abnormal` where an outcome gives reason to look twice."""
        until = time.monotonic() + GRACE_S
        self.up_at = -RECENT_S
        ups = 0
        while True:
            seen = health(self.target, PROBE_S)
            if seen.refused:
                return True
            ups = ups + 1 if seen.up else 0
            if ups > (1 if abnormal else 0):
                self.up_at = time.monotonic()
                return False
            if time.monotonic() > until:
                return True
            time.sleep(SETTLE_S if seen.up else POLL_S)

    def ensure_up(self, fresh: bool = False) -> None:
        """Return with a healthy server, started again where it is down (or where a `fresh` one is wanted).

        Raises SourceUnavailable where it does not come up; what was tried so far is kept.
        """
        # /health of SGLang takes a second: it is not asked again right behind the try before
        recent = time.monotonic() - self.up_at < RECENT_S
        if not (fresh and self.command) and (recent or health(self.target, PROBE_S).up):
            return
        if self.command is not None:
            self._start()
            return
        self.say(f"{self.target.base} is down: waiting up to {self.ready_s:g} s for it to come back")
        if not self._wait(self.ready_s, lambda: True).up:
            raise SourceUnavailable(
                f"{self.target.base}: is down and did not come back in {self.ready_s:g} s; start it again and run the "
                "same command: it goes on where it stopped (or give --restart CMD)"
            )

    def _start(self) -> None:
        assert self.command is not None
        self.end()
        self.restarts += 1
        watch = self._connected()
        with self.log.open("ab") as log:
            self.child = subprocess.Popen(
                self.command, shell=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        child = self.child
        if watch is not None and not self._gone(watch):
            raise SourceUnavailable(
                f"--restart {self.command}: the server that ran before is still there after {GONE_S:g} s; the command "
                "must end it, for every try now needs a server of its own"
            )
        went_wrong_at: float | None = None

        def hopeful() -> bool:
            nonlocal went_wrong_at
            if child.poll() not in (None, 0) and went_wrong_at is None:
                went_wrong_at = time.monotonic()
            return went_wrong_at is None or time.monotonic() - went_wrong_at < 1.0

        if not self._wait(self.ready_s, hopeful).up:
            code = child.poll()
            why = f"ended with {code}" if code not in (None, 0) else f"no healthy server after {self.ready_s:g} s"
            raise SourceUnavailable(f"--restart {self.command}: {why}; see {self.log}")

    def _connected(self) -> socket.socket | None:
        """A connection to the server that still runs: it closes when that one ends, so that the old is not taken for
        the new one.
        """
        try:
            return socket.create_connection((self.target.addresses[0], self.target.port), 1.0)
        except OSError:
            return None

    def _gone(self, watch: socket.socket) -> bool:
        """Whether the server at the other end of a connection ended within `GONE_S`."""
        with watch:
            watch.settimeout(GONE_S)
            try:
                watch.recv(1)
            except TimeoutError:
                return False
            except OSError:
                return True
            return True

    def _wait(self, most_s: float, hopeful: Callable[[], bool]) -> Health:
        until = time.monotonic() + most_s
        while True:
            seen = health(self.target, PROBE_S)
            if seen.up or time.monotonic() > until or not hopeful():
                return seen
            time.sleep(POLL_S if most_s - (until - time.monotonic()) < 2.0 else 0.5)

    def end(self) -> None:
        """End the process that the restart command left running, if it did: with all that it started."""
        child, self.child = self.child, None
        if child is None or child.poll() is not None:
            return
        try:
            os.killpg(child.pid, signal.SIGTERM)
            child.wait(STOP_S)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
