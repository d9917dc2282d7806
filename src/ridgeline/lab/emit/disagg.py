"""Failure lines of disaggregated servers (SIGNALS §6.7)."""

from ridgeline.lab.emit.model import Line, Server
from ridgeline.lab.emit.stamp import prefix


def failure(server: Server, ts: float, rank: int, what: str, rid: str, room: int, reason: str | None) -> Line:
    """``what``: Prefill bootstrap | Prefill transfer | Decode handshake | Decode transfer."""
    own = "req" if what.startswith("Prefill") else "decode_req.req"
    text = f"{what} failed for request rank={rank} {own}.rid='{rid}' {own}.bootstrap_room={room}"
    if reason:
        text += f" with exception KVTransferError(bootstrap_room={room}): {reason}"
    return Line(ts, prefix(server, ts, rank) + text)


def timed_out(room: int, after_s: float, state: str) -> str:
    """The reason text of a timeout in a KVPoll state."""
    return f"Request {room} timed out after {after_s:.1f}s in KVPoll.{state}"


def peer_lost(server: Server, ts: float, peer: str, count: int) -> Line:
    """The decode side gave up on a prefill server after missed heartbeats."""
    return Line(
        ts,
        f"{prefix(server, ts, 0)}Lost connection with prefill instance (bootstrap_addr: {peer}), "
        f"{count} requests affected",
    )


def down_reason(peer: str) -> str:
    """Why a request of a lost peer failed."""
    return (
        f"Prefill server with bootstrap_addr: {peer} is healthy before, but now it is down. "
        "Request (bootstrap_room) failed."
    )


def unreachable(server: Server, ts: float, peer: str) -> Line:
    """The decode side cannot ask the bootstrap server."""
    return Line(ts, f"{prefix(server, ts, 0)}Could not fetch prefill parallel info from {peer} after 5 attempts")


def session_failed(server: Server, ts: float, peer: str) -> Line:
    """A transfer session of the prefill side is dead."""
    return Line(ts, f"{prefix(server, ts, 0)}Session {peer} failed.")


def context_corruption(server: Server, ts: float, rid: str, room: int, other: int) -> Line:
    """Metadata of another room arrived."""
    return Line(
        ts,
        f"{prefix(server, ts, 0)}Context corruption detected: Request {rid} (bootstrap_room={room}) received metadata "
        f"from bootstrap_room={other}. Metadata buffer index: 17.",
    )


def page_mismatch(server: Server, ts: float, prefill_page: int, decode_page: int) -> Line:
    """The two sides disagree on the page size."""
    return Line(
        ts,
        f"{prefix(server, ts, 0)}Page size mismatch: prefill server has page_size={prefill_page}, but decode server "
        f"has page_size={decode_page}. Both must be the same.",
    )


def deferred_release(server: Server, ts: float, room: int, after_s: float) -> Line:
    """The KV of a request that was aborted was held until its time was up."""
    return Line(ts, f"{prefix(server, ts, 0)}Deferred KV release for room {room} timed out after {after_s:.1f}s")


def staging_failed(server: Server, ts: float, room: int, chunk: int, need: int, total: int) -> Line:
    """The staging ring is too small for a chunk."""
    return Line(
        ts,
        f"{prefix(server, ts, 0)}[STAGING_REQ] alloc failed room={room} chunk={chunk} (need {need} bytes, "
        f"buffer total={total} bytes), will retry",
    )


def staging_late(server: Server, ts: float, room: int, after_s: float) -> Line:
    """The staging copies of a room are not complete though every rank reported success."""
    return Line(ts, f"{prefix(server, ts, 0)}[STAGING] room={room} not complete {after_s:.1f}s after all-ranks Success")
