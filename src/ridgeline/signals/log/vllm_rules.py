"""vLLM and vllm-ascend lines about failures, transfers, adapters and shutdown → event kinds.

Wording: vLLM 0.6 to 0.32, vllm-ascend's and NIXL's connectors, LMCache. First rule that fits wins.
"""

from typing import Final

from ridgeline.signals.log.rules import Rule

_RID: Final = r"(?P<rid>[\w.:@-]{0,299}[\w@-])"

RULES: Final[tuple[Rule, ...]] = (
    # the engine's death
    Rule("crash", "EngineCore encountered a fatal error", severity="fatal", attrs={"what": "engine core"}),
    Rule("crash", "EngineCore failed to start", severity="fatal", attrs={"what": "engine core"}),
    Rule("crash", "Engine core initialization failed", severity="fatal", attrs={"what": "engine core"}),
    Rule("crash", "died unexpectedly", r"(?P<what>(?:Engine core|Worker) proc \S{1,80}) died unexpectedly", "fatal"),
    Rule("crash", "WorkerProc hit an exception", severity="fatal", attrs={"what": "worker"}),
    Rule("crash", "WorkerProc failed to start", severity="fatal", attrs={"what": "worker"}),
    Rule("crash", "Engine background task failed", severity="fatal", attrs={"what": "engine loop"}),
    Rule("crash", "Engine loop is not running", severity="fatal", attrs={"what": "engine loop"}),
    Rule("crash", "AsyncLLM output_handler failed", severity="fatal", attrs={"what": "output handler"}),
    Rule("request-error", "EngineDeadError", r"EngineDeadError\b", "error", {"why": "engine dead"}),
    Rule(
        "watchdog",
        "RPC call to ",
        r"RPC call to (?P<call>\w{1,60}) timed out",
        "error",
        {"name": "worker call", "soft": False},
    ),
    Rule(
        "watchdog",
        "No available shared memory broadcast block found in ",
        r"block found in (?P<value>\d+(?:\.\d+)?) ?second",
        "warning",
        {"name": "broadcast block", "soft": True},
    ),
    # memory
    Rule("preemption", " is preempted by ", r"[Ss]equence group " + _RID + r" is preempted by", "warning"),
    Rule("preemption", " is preempted in ", r"[Ss]equence group " + _RID + r" is preempted in", "warning"),
    Rule("preemption", "Preempting request ", r"Preempting request " + _RID, "warning"),
    Rule(
        "preemption",
        "Preempted request ",
        r"Preempted request " + _RID + r"(?: has been (?P<then>resumed))?",
        "warning",
    ),
    Rule("", "Resumed request ", r"Resumed request \S+ has \d+ computed tokens"),
    Rule("cuda-oom", "out of memory", r"(?:CUDA|HIP|NPU|XPU)(?: error:)? out of memory", "error"),
    Rule("cuda-oom", "OutOfMemoryError", r"OutOfMemoryError\b", "error"),
    # KV between prefill and decode
    Rule(
        "kv-released",
        "Releasing expired KV blocks for request ",
        r"KV blocks for request " + _RID + r" which were retrieved by (?P<readers>\d+) decode worker\(s\) within "
        r"(?P<value>\d+(?:\.\d+)?) second",
        "warning",
    ),
    Rule(
        "kv-released",
        "Potentially invalid KV blocks for ",
        r"Potentially invalid KV blocks for (?:un\w+ )?request " + _RID,
        "error",
        {"late_read": True},
    ),
    Rule("config-mismatch", "engine ID mismatch", severity="error"),
    Rule("handshake-failed", "handshake_setup_failed", severity="error"),
    Rule("handshake-failed", "Handshake failed for request", r"Handshake failed for request " + _RID, "error"),
    Rule("handshake-failed", "NIXL handshake failed", severity="error"),
    Rule(
        "transfer-failed",
        "NIXL transfer failure",
        r"NIXL transfer failure: (?P<why>[\w-]{1,80})(?:.{0,400}?'request_id': '(?P<rid>[\w.:@-]{1,300})')?",
        "error",
        {"backend": "nixl"},
    ),
    Rule(
        "transfer-failed",
        "Failed to transfer KV",
        r"Failed to transfer KV(?: cache)?(?: for request " + _RID + r")?(?:: (?P<why>[\w ,-]{1,80}))?",
        "error",
    ),
    Rule(
        "transfer-failed",
        "pulling kv_caches for ",
        r"kv_caches for \['?" + _RID + r"'?[\],].{0,400}? failed(?:: (?P<why>[^\n]{1,80}))?",
        "error",
        {"backend": "mooncake", "side": "decode"},
    ),
    Rule(
        "transfer-failed",
        "Mooncake transfer failed",
        r"Mooncake transfer failed(?: for request " + _RID + r")?",
        "error",
        {"backend": "mooncake"},
    ),
    Rule(
        "transfer-failed",
        "KV cache transfer for request ",
        r"KV cache transfer for request " + _RID + r" failed",
        "error",
    ),
    Rule(
        "scheduler-status",
        "WAITING_FOR_REMOTE_KVS",
        _RID + r" is still in (?P<state>WAITING_FOR_REMOTE_KVS) state",
    ),
    Rule(
        "scheduler-status",
        "completed KV cache send requests",
        r"completed KV cache send requests: (?P<sent>\d+), receive requests: (?P<received>\d+)",
    ),
    Rule("", "Delaying free of ", r"Delaying free of \d+ blocks for request"),
    # adapters and cache
    Rule(
        "lora", "LoRA adapter", r"(?:Loaded|Added|Removed|Unloaded)(?: new)? LoRA adapter[: '\"]*(?P<adapter>[\w./-]*)"
    ),
    Rule("cache-flushed", "Successfully reset prefix cache"),
    # requests
    Rule("request-too-large", "is too long and exceeds", severity="error"),
    Rule("request-invalid", "maximum context length is ", r"maximum context length is (?P<limit>\d+) tokens", "error"),
    # shutdown
    Rule("shutdown", "[shutdown] ", r"trigger received signal=(?P<signal>\w+)"),
    Rule("", "[shutdown] ", r"^\[shutdown\] "),
    Rule("", "Parent process exited, terminating worker"),
)
