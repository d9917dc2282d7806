"""Prefill and decode lines of three releases (SIGNALS §6.2, §6.3) and retractions (§6.4)."""

from ridgeline.lab.emit.model import Batch, Line, Retraction, Server
from ridgeline.lab.emit.stamp import prefix


def usage(server: Server, tokens: int) -> str:
    """Pool share as the lines print it: two decimals."""
    return f"{tokens / server.pool_tokens:.2f}"


def prefill_text(server: Server, b: Batch) -> str:
    """The body of a prefill line."""
    head = f"#new-seq: {b.new_seq}, #new-token: {b.new_tokens}, #cached-token: {b.cached_tokens}, "
    head += f"token usage: {usage(server, b.used_tokens)}, #running-req: {b.running}, #queue-req: {b.waiting}, "
    apart = server.role == "prefill"
    if server.at == 0:
        return f"Prefill batch. {head}" + (
            f"#prealloc-req: {b.bootstrap}, #inflight-req: {b.inflight}, " if apart else ""
        )
    if server.at == 1:
        sides = f"#prealloc-req: {b.bootstrap}, #inflight-req: {b.inflight}, " if apart else ""
        return f"Prefill batch, {head}{sides}input throughput (token/s): {b.tps:.2f}, cuda graph: False"
    sides = f"#bootstrap-req: {b.bootstrap}, #inflight-req: {b.inflight}, #optimistic-req: 0, " if apart else ""
    return (
        f"Prefill batch, {head}#pending-token: {b.pending_tokens}, {sides}"
        f"cuda graph: False, input throughput (token/s): {b.tps:.2f}"
    )


def decode_text(server: Server, b: Batch) -> str:
    """The body of a decode line."""
    dot = "." if server.at == 0 else ","
    text = f"Decode batch{dot} #running-req: {b.running}, #token: {b.used_tokens}, "
    text += f"token usage: {usage(server, b.used_tokens)}, "
    if b.accept_length is not None:
        text += f"accept len: {b.accept_length:.2f}, "
        if server.at > 0:
            rate = max(0.0, b.accept_length - 1) / max(1, b.draft_tokens - 1)
            text += f"accept rate: {min(rate, 1.0):.2f}, "
    if server.role == "decode":
        text += f"pre-allocated usage: {usage(server, b.prealloc_tokens)}, #prealloc-req: {b.prealloc}, "
        text += f"#transfer-req: {b.transfer}, #retracted-req: {b.retracted}, "
    text += f"cuda graph: {b.graph}, gen throughput (token/s): {b.tps:.2f}, #queue-req: {b.waiting}"
    if b.occupancy is not None:
        text += f", fwd occupancy: {b.occupancy:.2f}%"
    return text + (", " if server.at == 0 else "")


def batch_line(server: Server, b: Batch) -> Line:
    """The log line of one batch."""
    body = prefill_text(server, b) if b.kind == "prefill" else decode_text(server, b)
    return Line(b.ts, prefix(server, b.ts, b.rank) + body)


def retraction_line(server: Server, r: Retraction) -> Line:
    """The line of one round of retractions."""
    between = ", #aborted_retracted_reqs: 0" if server.at == 0 else f", #new_tokens_gained: {r.gained}"
    return Line(
        r.ts,
        f"{prefix(server, r.ts, r.rank)}KV cache pool is full. Retract requests. #retracted_reqs: {r.count}{between}, "
        f"#new_token_ratio: {r.before:.4f} -> {r.after:.4f}",
    )
