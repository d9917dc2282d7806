"""Time as logs write it, and the record prefix of the SGLang server log (SIGNALS §6.1)."""

from datetime import UTC, datetime

from ridgeline.lab.emit.model import Server


def clock(ts: float) -> str:
    """``2026-11-30 03:41:02``."""
    return datetime.fromtimestamp(ts, UTC).strftime("%Y-%m-%d %H:%M:%S")


def iso(ts: float) -> str:
    """``2026-11-30T03:41:02.118734``: naive, as the request logger writes it."""
    return datetime.fromtimestamp(round(ts, 6), UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")


def iso_zone(ts: float) -> str:
    """``2026-11-30T03:41:02.118734+00:00``."""
    return iso(ts) + "+00:00"


def file_clock(ts: float) -> str:
    """``2026-11-30_03-41-02``, as dump files are named."""
    return datetime.fromtimestamp(ts, UTC).strftime("%Y-%m-%d_%H-%M-%S")


def hour(ts: float) -> str:
    """``20261130_03``, as exporter files are named."""
    return datetime.fromtimestamp(ts, UTC).strftime("%Y%m%d_%H")


def ranks(server: Server, rank: int | None, tp: int = 0) -> str:
    """The rank tokens of a scheduler's lines: only dimensions that are active, DP before TP."""
    if rank is None:
        return ""
    text = f" DP{rank}" if server.dp_size > 1 else ""
    return text + (f" TP{tp}" if server.tp_size > 1 else "")


def prefix(server: Server, ts: float, rank: int | None = None) -> str:
    """``[2026-11-30 03:41:02 DP1 TP0] ``; ``rank`` None: the API server, which has no rank tokens."""
    return f"[{clock(ts)}{ranks(server, rank)}] "
