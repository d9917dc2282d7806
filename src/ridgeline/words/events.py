"""The kinds an `events` row may have, one literal list: kind → what happened, in one line.

Readers map each engine's wording to a kind; rungs and causes ask for kinds only.
"""

from typing import Final

EVENTS: Final[dict[str, str]] = {
    # memory
    "retraction": "running requests put back because the KV pool was full; count = requests",
    "preemption": "vLLM's word for the same; count = requests",
    "pool-full": "an allocation from the KV pool failed (value = tokens asked, attrs: available, evictable)",
    "cuda-oom": "CUDA out of memory or an allocator error outside the pool",
    "slots-exhausted": "request slots (req_to_token rows) ran out",
    "host-oom": "the kernel or the container runtime killed a process for memory",
    "disk-full": "disk or shared memory full",
    "request-too-large": "one request can never fit",
    "pool-status": "the engine's own account of a pool (attrs: pool, total, available, evictable, …)",
    "pool-leak-check": "the engine's own idle check found tokens missing",
    "kv-released": "KV was released or expired before the peer had read it",
    # requests
    "abort": "a request ended by abort (client or server; attrs.by says which where known)",
    "client-disconnect": "the client went away",
    "queue-full": "a request was refused because the queue limit was reached",
    "request-timeout": "waiting or running timeout of one request",
    "request-invalid": "a request was refused as malformed (HTTP 400)",
    "request-error": "a request failed with an error of the server",
    "grammar": "a grammar failed to compile, was rejected or timed out",
    "lora": "an adapter was loaded, unloaded or waited for",
    "streaming-backlog": "chunks were coalesced because the client or API server was slow",
    # disaggregation and transfer
    "bootstrap-failed": "prefill bootstrap (handshake) failed",
    "handshake-failed": "decode handshake failed",
    "transfer-failed": "a KV transfer failed (attrs.side = prefill | decode)",
    "kvpoll-timeout": "a room timed out in a KVPoll state (attrs.state; value = seconds)",
    "peer-lost": "the other side's server was lost",
    "peer-unreachable": "the bootstrap server or its info could not be reached",
    "session-failed": "a transfer session or agent failed",
    "room-mismatch": "metadata of another room, or a room conflict",
    "staging": "the staging buffer was too small or not complete",
    "config-mismatch": "the two sides disagree (page size, dtype, layout, parameters)",
    "storage": "an external KV store or tier failed or stalled",
    "transfer-rate": "a transport's own throughput (value = MB/s over its window): what moved, not what the link can",
    "transfer-config": "PD parameters missing from a request",
    # life of the server
    "ready": "the server is up",
    "startup": "a start-up fact (attrs)",
    "restart": "a new boot seen inside the evidence",
    "shutdown": "an orderly end (SIGTERM)",
    "crash": "a process died of an exception or a child's death",
    "traceback": "an exception with its last line as text",
    "watchdog": "a watchdog fired (attrs.name, attrs.soft; value = seconds)",
    "health-fail": "a health check failed",
    "health-ok": "a health check passed",
    "crash-dump": "requests were dumped before a crash",
    "cache-flushed": "the prefix cache was flushed",
    "weights-updated": "weights were loaded or updated at run time",
    "config-changed": "a setting was changed at run time",
    "http": "an access line (value = seconds where given; attrs: method, path, status)",
    "routing": "a gateway's choice, circuit breaker or worker change",
    "worker-out": "a worker was removed, ejected or marked unhealthy",
    "loop-blocked": "an event loop or thread was reported blocked or slow",
    "detokenizer": "the detokenizer reported a backlog or an eviction of its state",
    "tokenizer": "the tokenizer or API server reported a problem",
    "warmup": "warm-up or compilation of graphs or kernels",
    "compile": "a kernel or graph was compiled while serving",
    "scheduler-status": "running and queued rids (attrs)",
    # anything else that looks like trouble
    "other-error": "a line of severity error or worse that no reader knows; template kept",
    "other-warning": "a warning that no reader knows; template kept",
}
