"""SGLang's lines about memory, requests and the life of the server → rows of `events` (SIGNALS §6.4, §6.5, §6.8)."""

from typing import Final

import numpy as np

from ridgeline.signals.lines import LogLines, Parsed
from ridgeline.signals.log import pool_check
from ridgeline.signals.log.copies import folded_events
from ridgeline.signals.log.rules import Rule, apply_rules, event, event_rows, in_turn, matching
from ridgeline.signals.rows import Reading

# A count is taken only with what stands behind it: the digits of a cut line are not a figure.
RETRACTED: Final = (
    r"#retracted_reqs: (?:(?P<count>\d+),)?(?: #aborted_retracted_reqs: (?:(?P<aborted>\d+),)?)?"
    r"(?: #new_tokens_gained: (?:(?P<gained_tokens>-?\d+),)?)?(?: #mamba_num_gained: (?:(?P<gained_mamba>-?\d+),)?)?"
    r"(?: #new_token_ratio: (?P<ratio_before>\d\.\d+) -> (?P<ratio_after>\d\.\d{4}))?"
)
LEAK: Final = r"(?:memory|pool) leak detected"
LORA: Final = r"o[rR][aA] adapter(?:.{0,200}?name='?(?P<lora>[^',\s]+))?"
MEMORY: Final = (
    Rule("retraction", "Testing retraction. #retracted_reqs", RETRACTED, "info", {"test": True}),
    Rule("retraction", "#retracted_reqs: ", RETRACTED, "warning"),
    Rule("request-too-large", "even after retracting all other requests", severity="error"),
    Rule(
        "request-too-large",
        "retract_decode: aborted last request",
        r"aborted last request (?P<rid>\S+) due to OOM",
        "error",
    ),
    Rule("abort", "retract_decode: aborted request", r"aborted request (?P<rid>[^\s:]+)", "error", {"by": "server"}),
    Rule("abort", "without a KV backup", severity="error", attrs={"by": "server"}),
    Rule("abort", "host KV pool exhausted", severity="error", attrs={"by": "server"}),
    Rule(
        "request-too-large",
        "exceeds the maximum number of tokens",
        r"Request (?P<rid>\S+) exceeds the maximum number of tokens: (?P<value>\d+) > (?P<limit_tokens>\d+)\b",
        "warning",
    ),
    Rule(
        "request-too-large",
        "longer than the model's context length",
        r"\((?P<value>\d+) tokens\) is longer than the model's context length \((?P<limit_tokens>\d+) tokens\)",
        "warning",
    ),
    Rule(
        "request-too-large",
        "exceeds the maximum allowed length",
        r"\((?P<value>\d+) tokens\) exceeds the maximum allowed length \((?P<limit_tokens>\d+) tokens\)",
        "warning",
    ),
    Rule(
        "pool-status",
        "available=",
        r"^\[?(?P<pool>[\w.]+)\]?:?\s+total=(?P<total>\d+), *available=(?P<available>\d+),"
        r" *evictable=(?P<evictable>\d+)(?=[,\s])(?:, *protected=(?P<protected>\d+)(?=,))?"
        r"(?:, *session_held=(?P<session_held>\d+)(?=,))?",
        "info",
    ),
    Rule(
        "pool-status",
        "available_size()=",
        r"available_size\(\)=(?P<available>\d+)(?=[,\s])(?:.{0,200}?evictable_size\(\)=(?P<evictable>\d+)(?=[,\s]))?",
        "info",
    ),
    Rule(
        "scheduler-status",
        "cur_batch.batch_size()=",
        r"batch_size\(\)=(?P<count>\d+)(?=[,\s])(?:.{0,4000}?available_size\(\)=(?P<available>\d+)(?=[,\s]))?"
        r"(?:.{0,200}?evictable_size\(\)=(?P<evictable>\d+)(?=[,\s]))?",
        "info",
    ),
)
REQUESTS: Final = (
    Rule("queue-full", "The request queue is full", severity="warning"),
    Rule("abort", "aborted by a higher priority request", severity="warning", attrs={"by": "server"}),
    Rule("request-timeout", "Request waiting timeout reached", severity="warning", attrs={"what": "waiting"}),
    Rule("request-timeout", "Request running timeout reached", severity="warning", attrs={"what": "running"}),
    Rule(
        "client-disconnect",
        "disconnected from the client side",
        r"disconnected from the client side(?:.{0,200}?(?:rid|request_id|request)[ =]+'?(?P<rid>[\w.:-]+))?",
        "info",
    ),
    Rule(
        "abort",
        "Abort ",
        r"^Abort (?P<where>queued|running|grammar queue|waiting|retracted|prealloc|transfer|bootstrap|inflight)\S* "
        r"request\w*\.? .{0,40}?rid='?(?P<rid>[^'\s,]+)",
        "info",
    ),
    Rule(
        "tokenizer",
        "but the state was deleted in TokenizerManager",
        r"rid='?(?P<rid>[^'\s]+)'? but",
        "warning",
        {"what": "state deleted"},
    ),
    Rule(
        "detokenizer",
        "Decode status not found for request",
        r"for request (?P<rid>[\w-]+)",
        "error",
        {"what": "state evicted"},
    ),
    Rule("detokenizer", "SGLANG_DETOKENIZER_MAX_STATES", severity="warning", attrs={"what": "state evicted"}),
    Rule(
        "streaming-backlog",
        "Streaming backlog: ",
        r"rid=(?P<rid>[^,\s]+), coalescing (?P<count>\d+) queued",
        "warning",
    ),
    Rule("request-invalid", "Invalid HTTP request received", severity="warning"),
    Rule("grammar", "Grammar compilation raised an exception", severity="error", attrs={"what": "compile"}),
    Rule("grammar", "Hit invalid ", r"Hit invalid (?P<type>json_schema|regex|ebnf|structural_tag)\b", "error"),
    Rule("grammar", "grammar containing a NUL byte", r"Rejecting (?P<type>\w+) grammar", "error"),
    Rule("grammar", "Grammar accept_token failed", r"for req (?P<rid>\S+) with token", "error"),
    Rule("grammar", "Grammar preprocessing timed out", r"timed out(?:.{0,80}?rid=?'?(?P<rid>[^'\s,]+))?", "error"),
    Rule("lora", "oRA adapter", LORA, "info"),
    Rule("lora", "ora adapter", LORA, "info"),
)
WATCHDOG: Final = (
    r"(?:(?P<name>\w+) )?watchdog timeout \(self\.watchdog_timeout=(?P<value>\d+(?:\.\d+)?)"
    r"(?:, self\.soft=(?P<soft>\w+))?\)"
)
SERVER: Final = (
    Rule("ready", "The server is fired up and ready to roll", severity="info"),
    Rule("watchdog", "self.soft=True", WATCHDOG, "warning"),  # only reports
    Rule(
        "watchdog",
        "watchdog timeout (self.watchdog_timeout=",
        WATCHDOG,
        "fatal",
    ),
    Rule("watchdog", "Watchdog timeout (self.watchdog_timeout=", r"timeout=(?P<value>\d+(?:\.\d+)?)\)", "fatal"),
    Rule(
        "watchdog",
        "Watchdog caught collective operation timeout",
        r"operation timeout(?:.{0,400}?ran for (?P<value_ms>\d+) milliseconds)?",
        "fatal",
        {"name": "NCCL"},
    ),
    Rule(
        "crash",
        " hit an exception",
        r"(?P<process>\w+) hit an exception",
        "fatal",
    ),
    Rule(
        "crash",
        "Scheduler or DataParallelController",
        r"DataParallelController (?P<pid>\d+) terminated with (?P<exit_code>-?\d+)",
        "fatal",
    ),
    Rule(
        "crash",
        " crashed with exit code ",
        r"Subprocess (?P<process>\S+) \(pid=(?P<pid>\d+)\) crashed with exit code (?P<exit_code>-?\d+)\b",
        "fatal",
    ),
    Rule("crash", "SIGQUIT received", severity="fatal", attrs={"what": "a child failed"}),
    Rule("crash", "Received sigquit from a child", severity="fatal", attrs={"what": "a child failed"}),
    Rule(
        "crash-dump",
        "Dumped ",
        r"Dumped (?P<finished>\d+) finished and (?P<unfinished>\d+) unfinished requests",
        "info",
    ),
    Rule("crash-dump", "Dumping requests before crash", severity="info"),
    Rule("", "crash dump already performed"),
    Rule("", "crash diagnostics"),
    Rule("", "skipping py-spy and CUDA coredump"),
    Rule("", "Pyspy failed to dump"),
    Rule("", "Scheduler debug info"),
    Rule("shutdown", "SIGTERM received", severity="info"),
    Rule(
        "shutdown", "Gracefully exiting", r"exiting(?:.{0,20}?Remaining number of requests (?P<count>\d+)\.)?", "info"
    ),
    Rule("", "kill_process_tree called"),
    Rule("", "SIGTERM/SIGQUIT/Exception triggered"),
    Rule(
        "health-fail",
        "Health check failed",
        r"failed(?:.{0,120}?last (?P<value>\d+) seconds)?"
        r"(?:.{0,40}tic start time: (?P<tic>[\d:]{8})\. last_heartbeat time: (?P<heartbeat>[\d:]{8}))?",
        "error",
    ),
    Rule("cache-flushed", "Cache flushed successfully", severity="info"),
    Rule("other-warning", "Cache not flushed because", severity="warning"),
    Rule("weights-updated", "weights online", severity="info"),
    Rule("weights-updated", "pdate weights", severity="info"),
    Rule("weights-updated", "update_weights_from", severity="info"),
    Rule("config-changed", "Config logging: obj=", severity="info", attrs={"what": "logging"}),
    Rule("config-changed", "set_internal_state", severity="info"),
    Rule("", "Dump ", r"^Dump \d+ requests to "),
    Rule(
        "loop-blocked",
        "event loop",
        r"(?i)event loop.{0,60}?(?:blocked|lag|slow|stall)(?:.{0,60}?(?P<value>\d+(?:\.\d+)?) ?s\b)?",
        "warning",
    ),
    Rule("storage", "icache", r"(?i)hicache.{0,200}(?:fail|error|timed? ?out|exception)", "error"),
    Rule("storage", "HiCache", r"HiCache.{0,200}(?:[Ff]ail|[Ee]rror|[Tt]imed? ?out|[Ee]xception)", "error"),
)


def parse(lines: LogLines, reading: Reading) -> Parsed:
    """Events of the unified server; the same happening printed by several ranks is one row with `copies`."""
    return folded_events(in_turn((_checks, _memory, _rest), lines, reading))


def _checks(lines: LogLines, reading: Reading) -> Parsed:
    understood = matching(lines.body, LEAK)
    told = [(i, pool_check.figures(lines.body[i].as_py()[:4000])) for i in np.flatnonzero(understood).tolist()]
    rows = [event(lines, i, reading, "pool-leak-check", figures, "error") for i, figures in told]
    return Parsed(event_rows(rows), understood)


def _memory(lines: LogLines, reading: Reading) -> Parsed:
    return apply_rules(MEMORY, lines, reading)


def _rest(lines: LogLines, reading: Reading) -> Parsed:
    return apply_rules(REQUESTS + SERVER, lines, reading)
