"""Lines about prefill-decode disaggregation and KV transfer → rows of `events` (SIGNALS §6.7).

A failure that names its reason is the event of that reason where the reason says more: a timeout in a KVPoll state,
a lost peer, an abort by the client. `attrs.side` is the server that printed the line.
"""

import re
from typing import Any, Final

import numpy as np

from ridgeline.signals.lines import LogLines, Parsed
from ridgeline.signals.log.copies import folded_events
from ridgeline.signals.log.rules import Rule, apply_rules, event, event_rows, in_turn, matching, searched
from ridgeline.signals.rows import Reading

FAILED: Final = re.compile(
    r"(?P<what>Prefill bootstrap|Prefill transfer|Decode handshake|Decode transfer) failed for request "
    r"(?:rank=(?P<failed_rank>\d+) )?\S{0,40}?req\.rid='?(?P<rid>[^'\s]{1,200})'?"
    r"(?: \S{0,40}?req\.bootstrap_room=(?P<room>\d+)(?=[\s,]|$))?(?: with exception (?P<reason>.*))?",
    re.DOTALL,
)
FAILED_NEEDLE: Final = r"(Prefill bootstrap|Prefill transfer|Decode handshake|Decode transfer) failed for request "
KINDS: Final = {
    "Prefill bootstrap": ("bootstrap-failed", "prefill"),
    "Prefill transfer": ("transfer-failed", "prefill"),
    "Decode handshake": ("handshake-failed", "decode"),
    "Decode transfer": ("transfer-failed", "decode"),
}
TIMEOUT: Final = re.compile(
    r"Request (?P<room>\d+) timed out after (?P<value>\d+(?:\.\d+)?)s in KVPoll\.(?P<state>\w+)"
)
ABORTED: Final = re.compile(r"Aborted by (?:AbortReq|decode-side abort notification)")
MIXED_UP: Final = re.compile(r"follow_bootstrap_room conflict|Context corruption detected|KV checksum mismatch")
PEER: Final = re.compile(r"bootstrap_addr: (?P<peer>[\w.:\[\]-]+)")
RULES: Final = (
    Rule(
        "kvpoll-timeout",
        " in KVPoll.",
        r"Request (?P<room>\d+) timed out after (?P<value>\d+(?:\.\d+)?)s in KVPoll\.(?P<state>\w+)",
        "error",
    ),
    Rule("", "Some requests fail to receive KV Cache transfer done signal"),
    Rule("", "Some requests timed out when bootstrapping"),
    Rule("", "timeout condition"),
    Rule(
        "peer-lost",
        "Lost connection with prefill instance",
        r"\(bootstrap_addr: (?P<peer>[^)\s]+)\)(?:, (?P<count>\d+) requests affected)?",
        "error",
        {"side": "decode"},
    ),
    Rule(
        "peer-lost",
        "is healthy before, but now it is down",
        r"bootstrap_addr: (?P<peer>\S+) is healthy",
        "error",
        {"side": "decode"},
    ),
    Rule("peer-lost", "Failed to get kvcache from prefill instance", severity="error", attrs={"side": "decode"}),
    Rule(
        "peer-lost",
        "Prefill instance with bootstrap_port=",
        r"bootstrap_port=(?P<port>\d+) is dead",
        "fatal",
        {"side": "prefill"},
    ),
    Rule(
        "peer-lost", "prefill bootstrap_thread died", r"engine_rank=(?P<engine_rank>\d+)", "fatal", {"side": "prefill"}
    ),
    Rule(
        "peer-unreachable",
        "Could not fetch prefill parallel info",
        r"from (?P<peer>\S+)(?: after (?P<attempts>\d+) attempts)?",
        "error",
        {"side": "decode"},
    ),
    Rule("peer-unreachable", "Could not fetch bootstrap info", severity="error", attrs={"side": "decode"}),
    Rule(
        "peer-unreachable",
        "failed to register to bootstrap server",
        r"to register(?:.{0,60}?after (?P<attempts>\d+) retries)?",
        "error",
        {"side": "prefill"},
    ),
    Rule("session-failed", "Session ", r"^Session (?P<peer>\S+) failed\b", "error"),
    Rule(
        "session-failed",
        "Decode instance could be dead",
        r"could be dead(?:.{0,60}?remote mooncake session (?P<peer>\S+))?",
        "error",
    ),
    Rule("transfer-failed", "NIXL transport error for room", r"room (?P<room>\d+)(?=\D)", "error", {"backend": "nixl"}),
    Rule("transfer-failed", "Mori transfer ", r"failed for room (?P<room>\d+)(?=\D|$)", "error", {"backend": "mori"}),
    Rule("transfer-failed", "KVTransferError", r"KVTransferError\(bootstrap_room=(?P<room>\d+)\)", "error"),
    Rule("abort", "Aborted by AbortReq", severity="info", attrs={"by": "client"}),
    Rule("abort", "Aborted by decode-side abort", severity="info", attrs={"by": "client"}),
    Rule("room-mismatch", "Context corruption detected", r"bootstrap_room=(?P<room>\d+)(?=\D|$)|corruption", "error"),
    Rule("room-mismatch", "follow_bootstrap_room conflict", severity="error"),
    Rule("room-mismatch", "KV checksum mismatch", severity="error"),
    Rule("", "KV checksum skipped"),
    Rule(
        "pool-full",
        "Eviction insufficient: needed",
        r"needed (?P<value>\d+) tokens, available (?P<available>\d+)\b",
        "error",
    ),
    Rule(
        "kv-released",
        "Deferred KV release for room",
        r"room (?P<room>\d+) timed out after (?P<value>\d+(?:\.\d+)?)s",
        "warning",
        {"side": "decode"},
    ),
    Rule(
        "transfer-failed",
        "PD rebootstrap prefill failed",
        r"rid=(?P<rid>\S+) status=(?P<status>\S+)",
        "error",
        {"side": "decode"},
    ),
    Rule(
        "staging",
        "[STAGING_REQ] alloc failed",
        r"room=(?P<room>\d+) chunk=(?P<chunk>\d+) "
        r"\(need (?P<need_bytes>\d+) bytes, buffer total=(?P<total_bytes>\d+) bytes\)",
        "error",
    ),
    Rule("staging", "[STAGING] room=", r"room=(?P<room>\d+) not complete (?P<value>\d+(?:\.\d+)?)s", "error"),
    Rule("staging", "a chunk does not fit the staging ring", severity="error"),
    Rule("staging", "staging too small", r"(?P<side>Prefill|Decode) staging too small", "warning"),
    Rule(
        "config-mismatch",
        "Page size mismatch",
        r"page_size=(?P<prefill>\d+), but decode server has page_size=(?P<decode>\d+)\b",
        "error",
        {"what": "page size"},
    ),
    Rule("config-mismatch", "KV cache dtype mismatch", severity="error", attrs={"what": "dtype"}),
    Rule("config-mismatch", "KV layout mismatch", severity="error", attrs={"what": "layout"}),
    Rule("warmup", "mode warmup with status", r"with status (?P<status>\d+)", "info"),
    Rule("warmup", "disaggregation warmup", severity="info"),
    Rule("startup", "KVBootstrapServer started", r"on (?P<peer>\S+)", "info"),
    Rule("startup", "disaggregation transfer backend", r"'(?P<transfer_backend>\w+)'", "info"),
    Rule(
        "transfer-rate",
        "Transfer Engine Throughput: ",
        r"Throughput: (?P<value>\d+(?:\.\d+)?) MB/s(?: \(over last (?P<over_s>\d+)s\))?",
        "info",
        {"backend": "mooncake"},
    ),
    Rule("", "Transfer Engine parseHostNameWithPort"),
    Rule("", "Transfer Engine RPC using"),
    Rule("", "TcpTransport: listen on"),
    Rule("", "MC_FORCE_TCP is set"),
    Rule("", "Local segment descriptor not found"),  # printed by every start over TCP
    Rule("", "No IB devices specified"),
    Rule("", "failed-session probe loop"),
    Rule("", "Radix cache is disabled for decode server"),
)


def parse(lines: LogLines, reading: Reading) -> Parsed:
    """Events of disaggregated servers; copies of other ranks of one request folded."""
    return folded_events(in_turn((_failures, _rest), lines, reading))


def _failures(lines: LogLines, reading: Reading) -> Parsed:
    understood = np.zeros(len(lines), np.bool_)
    rows: list[dict[str, Any]] = []
    for i in np.flatnonzero(matching(lines.body, FAILED_NEEDLE)).tolist():
        found = FAILED.search(searched(lines, i))
        if found is None:
            continue
        understood[i] = True
        kind, side = KINDS[found["what"]]
        groups = found.groupdict()
        reason = groups.pop("reason") or ""
        rank = groups.pop("failed_rank")
        attrs: dict[str, Any] = {"side": side, "what": groups.pop("what")}
        timeout, aborted, peer = TIMEOUT.search(reason), ABORTED.search(reason), PEER.search(reason)
        severity = "error"
        if timeout:
            kind, attrs["state"] = "kvpoll-timeout", timeout["state"]
            groups |= {"value": timeout["value"], "room": groups["room"] or timeout["room"]}
        elif aborted:
            kind, severity, attrs["by"] = "abort", "info", "client"
        elif MIXED_UP.search(reason):
            kind = "room-mismatch"
        elif "healthy before" in reason or "might be dead" in reason:
            attrs["peer_lost"] = True
        if peer:
            groups["peer"] = peer["peer"]
        row = event(lines, i, reading, kind, groups, severity, attrs)
        if rank is not None and row["tp_rank"] is None:
            row["tp_rank"] = int(rank) if len(rank) < 6 else None
        rows.append(row)
        reading.role = reading.role or side
    return Parsed(event_rows(rows), understood)


def _rest(lines: LogLines, reading: Reading) -> Parsed:
    return apply_rules(RULES, lines, reading)
