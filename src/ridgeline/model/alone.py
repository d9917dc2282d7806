"""One process at a time on a folder: an advisory lock on an open file, released when the file is closed."""

from typing import IO

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    CAN_HOLD = False
else:
    CAN_HOLD = True


def hold(file: IO[bytes], wait: bool) -> None:
    """Lock the file for this process until it is closed; where the system has no such lock, nothing is held.

    Raises:
        BlockingIOError: another process holds it and `wait` is not set.
    """
    if CAN_HOLD:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
