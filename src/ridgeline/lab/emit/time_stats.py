"""The once-per-request timing line (SIGNALS §2.4): three releases, three roles."""

from ridgeline.lab.emit.model import Line, Request, Server
from ridgeline.lab.emit.stamp import prefix

MONOTONIC_EPOCH: float = 1_792_000_000.0
"""What the host's monotonic clock reads zero at (wall seconds): releases before 0.5.23 print that clock."""


def gap(start: float | None, end: float | None) -> float:
    """Milliseconds between two stamps, 0 where one was never reached (as the server prints it)."""
    return (end - start) * 1e3 if start is not None and end is not None else 0.0


def mono(ts: float) -> float:
    """The monotonic reading at wall time ``ts``."""
    return ts - MONOTONIC_EPOCH


def head(server: Server, r: Request) -> str:
    """The part in front of the colon."""
    if server.at < 2:
        # releases up to 0.5.9 name the room even where there is none, except 0.5.9's unified lines
        room = f", bootstrap_room={r.room}" if r.room is not None else ""
        return (
            f"Req Time Stats(rid={r.rid}{room}, input len={r.prompt_tokens}, output len={r.completion_tokens}, "
            f"type={r.role}): "
        )
    room = f", bootstrap_room={r.room}" if r.room is not None else ""
    return (
        f"ReqTimeStats(rid={r.rid}{room}, input_len={r.prompt_tokens}, cached_input_len={r.cached_tokens}, "
        f"output_len={r.completion_tokens}, attempts=0, type={r.role}): "
    )


def body(server: Server, r: Request) -> str:
    """The durations, in the order of the release and role."""
    queue = f"{r.queue_s * 1e3:.2f}ms"
    forward = f"{gap(r.scheduled_ts, r.completed_ts):.2f}ms"
    tail = f"queue_duration={queue}, forward_duration={forward}"
    if r.role == "unified":
        at = r.queued_ts or r.received_ts
        return f"{tail}, " + (f"entry_time={at:.3f}" if server.at == 2 else f"start_time={mono(at):.3f}")
    if r.role == "prefill":
        entry = r.bootstrap_entry_ts or r.received_ts
        wait = gap(r.bootstrap_entry_ts, r.bootstrap_done_ts)
        if server.at == 0:
            return f"bootstrap_duration={wait:.2f}ms, {tail}, start_time={mono(entry):.3f}"
        speed, total = r.transfer_gb_s or 0.0, r.transfer_mb or 0.0
        if server.at == 1:
            return (
                f"bootstrap_queue_duration({wait:.2f}ms) = alloc_wait(0.00ms) + bootstrap({wait:.2f}ms) + "
                f"other(0.00ms); {tail}, start={mono(entry):.3f}, transfer_speed={speed:.2f}GB/s, "
                f"transfer_total={total:.2f}MB, #retries=0"
            )
        return (
            f"bootstrap_duration={wait:.2f}ms, {tail}, entry_time={entry:.3f}, "
            f"transfer_speed={speed:.2f} GB/s, transfer_total={total:.2f} MB"
        )
    entry = r.bootstrap_entry_ts or r.received_ts
    boot = gap(r.bootstrap_entry_ts, r.bootstrap_done_ts)
    alloc = gap(r.bootstrap_done_ts, r.alloc_done_ts)
    moved = gap(r.alloc_done_ts, r.transfer_done_ts)
    if server.at == 0:
        return (
            f"prealloc_duration={boot + alloc:.2f}ms, transfer_duration={moved:.2f}ms, {tail}, "
            f"start_time={mono(entry):.3f}"
        )
    if server.at == 1:
        return (
            f"prealloc_queue_duration({boot + alloc:.2f}ms) = alloc_wait({alloc:.2f}ms) + bootstrap({boot:.2f}ms) + "
            f"other(0.00ms); transfer_duration={moved:.2f}ms; {tail}, start={mono(entry):.3f}"
        )
    return (
        f"bootstrap_duration={boot:.2f}ms, alloc_wait_duration={alloc:.2f}ms, transfer_duration={moved:.2f}ms, "
        f"{tail}, entry_time={entry:.3f}"
    )


def time_stats_line(server: Server, r: Request) -> Line:
    """The line of a finished request; written when the scheduler completes it."""
    assert r.completed_ts is not None
    return Line(r.completed_ts, prefix(server, r.completed_ts, r.rank or 0) + head(server, r) + body(server, r))
