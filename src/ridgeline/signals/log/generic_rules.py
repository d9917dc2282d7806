"""Lines of programs around the engine (transfer engines, stores, gateways, kernels, libraries) → event kinds.

Only wordings that mean one thing: a wrong reading is worse than none. What no rule fits stays unread, and its
error-like lines keep a verdict of healthy from being given. First rule that fits wins.
"""

from typing import Final

from ridgeline.signals.log.rules import Rule

_RID: Final = r"(?P<rid>[\w.:@-]{0,299}[\w@-])"
_ADDR: Final = r"(?P<peer>(?:\w{1,8}://)?[\w.-]{1,200}:\d{1,5})"

RULES: Final[tuple[Rule, ...]] = (
    # Mooncake's transfer engine (glog) and vllm-ascend's transport in it
    Rule(
        "transfer-failed",
        "batch data transfer timeout after ",
        r"transfer timeout after (?P<value_ns>\d{1,18}) ?ns\b",
        "warning",
        {"backend": "mooncake", "why": "timeout"},
    ),
    Rule(
        "transfer-failed",
        "Failed to complete transfers after ",
        r"transfers after (?P<value>\d+(?:\.\d+)?) sec",
        "error",
        {"backend": "mooncake", "why": "timeout"},
    ),
    Rule(
        "session-failed",
        "transport retry counter exceeded",
        r"(?:peer_nic: (?P<peer>[\w.:@-]{1,200}).{0,200})?transport retry counter exceeded",
        "error",
        {"backend": "mooncake"},
    ),
    Rule("handshake-failed", "Failed to modify QP to RTR", r"QP to RTR(?:.{0,200}: (?P<why>[A-Z][\w ]+) \[)?", "error"),
    Rule(
        "peer-unreachable",
        "Failed to connect to ",
        r"Failed to connect to (?:target|segment): " + _ADDR + r"(?:, status: (?P<status>\d+))?",
        "error",
        {"backend": "mooncake"},
    ),
    Rule("storage", "Failed to mount segment", severity="error"),
    Rule("", "Connected to segment: ", r"^Connected to segment: \S+, cost: ?\d+ ?us"),
    # Mooncake's store: puts and gets of pooled KV, no request's own transfer
    Rule("storage", "Transfer failed for key ", r"Transfer failed for key (?P<key>\S{1,200}): (?P<why>\w+)", "error"),
    Rule(
        "storage",
        "Successfully revoked failed put for key ",
        r"failed put for key (?P<key>\S{1,200})",
        "info",
        {"rolled_back": True},
    ),
    Rule("storage", "Operation for key ", r"Operation for key (?P<key>\S{1,200}) failed: (?P<why>\w+)", "error"),
    Rule(
        "storage",
        "Failed to put key",
        r"Failed to put keys? \['(?P<key>[^']{1,200})'.{0,400}?res:\[(?P<why>-?\d+)",
        "error",
    ),
    Rule("storage", "Failed to put key", severity="error"),
    Rule("storage", "Failed to get key", severity="error"),
    # Dynamo
    Rule(
        "routing",
        "Selected worker: ",
        r"Selected worker: (?:worker_id=)?(?P<peer>[\w-]{1,80})(?: dp_rank=(?P<dp>\d+))?, logit: "
        r"(?:(?P<value>-?[\d.]+\d)(?=,))?"
        r"(?:, cached blocks: (?P<cached_blocks>\d+))?(?:, tree size: (?P<tree_size>\d+))?",
    ),
    Rule(
        "routing",
        "Formula for ",
        r"Formula for (?:worker_id=)?(?P<peer>[\w-]{1,80})(?: dp_rank=(?P<dp>\d+))? with "
        r"(?P<cached_blocks>\d+) cached blocks: (?P<value>-?[\d.]+\d) = ",
        attrs={"step": "score"},
    ),
    Rule("worker-out", "no instances found", severity="error"),
    Rule("worker-out", "No instances found", severity="error"),
    Rule("worker-out", "no endpoints available to route work", severity="error"),
    # gateways and proxies
    Rule(
        "routing",
        "PROXY_REQUEST ",
        r"request_id="
        + _RID
        + r".{0,400}?prefiller=(?P<prefiller>\S{1,100}).{0,200}?prefill_http_s=(?P<value>\d+\.\d+)(?=\s)"
        r"(?:.{0,400}?decoder=(?P<decoder>\S{1,100}))?",
        attrs={"value_is": "prefill_http_s"},
    ),
    Rule("worker-out", "no live upstreams while connecting", severity="error"),
    Rule("worker-out", "o healthy workers", r"[Nn]o healthy workers", "error"),
    Rule("worker-out", "o available workers", r"[Nn]o available workers", "error"),
    Rule("worker-out", "no_available_workers", severity="error"),
    Rule("worker-out", "emoved worker", r"[Rr]emoved worker:? " + _ADDR, "warning"),
    Rule("worker-out", "emoving worker", r"[Rr]emoving worker:? " + _ADDR, "warning"),
    Rule(
        "worker-out",
        "unhealthy",
        r"[Ww]orker:? " + _ADDR + r" (?:is |was |became |marked )(?:now )?(?:as )?unhealthy",
        "warning",
    ),
    Rule(
        "worker-out",
        "ircuit breaker",
        r"[Cc]ircuit breaker (?:opened|open|tripped) for (?:worker )?" + _ADDR,
        "warning",
    ),
    Rule("health-fail", "ealth check", r"[Hh]ealth check (?:for|of|on) (?:worker )?" + _ADDR + r" failed", "warning"),
    Rule("health-fail", "health check failed", r"[Ww]orker " + _ADDR + r" health check failed", "warning"),
    Rule("health-fail", "probe failed: ", r"(?P<probe>Readiness|Liveness|Startup) probe failed: ", "warning"),
    Rule("request-timeout", "upstream timed out", severity="error"),
    Rule("request-timeout", "upstream request timeout", severity="error"),
    Rule("request-error", "upstream prematurely closed connection", severity="error"),
    Rule("client-disconnect", "client prematurely closed connection", severity="info"),
    # crashes of other languages (memory and C crashes: deaths.py; hung collectives: sglang_events.py)
    Rule("crash", "panicked at ", r"thread '(?P<thread>[^']{0,80})'.{0,20} panicked at (?P<why>\S{1,200})", "fatal"),
    # NVIDIA's kernel driver: codes after which a GPU is lost to the process that used it
    Rule(
        "crash",
        "NVRM: Xid",
        r"Xid \((?P<device>[^)]{1,40})\): (?P<xid>48|62|79|9[45]|1(?:19|20|40))\b(?P<why>.{0,200})",
        "fatal",
    ),
    Rule("other-error", "NVRM: Xid", r"Xid \((?P<device>[^)]{1,40})\): (?P<xid>\d{1,4})\b", "error"),
    Rule("peer-unreachable", "onnection refused", r"(?:" + _ADDR + r".{0,200})?[Cc]onnection refused", "error"),
)

# Library chatter without time or meaning for serving; anchored where it can be.
KNOWN: Final = "|".join(
    (
        r" NCCL INFO ",
        r"^(?:Transfer Engine (?:starting|RPC using)|Auto-discovering topology|Topology discovery complete)",
        r"^Metrics reporting (?:thread started|is disabled)",
        r"^\s*\d{1,3}%\|[^|]{0,200}\| *\d+/\d+ \[",  # a progress bar
        r"\| \d+/\d+ \[\d\d:\d\d<[^\]]{0,60}(?:it/s|s/it)",
        r"^/[^ ]{1,300}\.py:\d+: \w*Warning: ",
        r"^  warnings\.warn\(",
        r"^[-=*#_~ ]{3,}$",
    )
)
