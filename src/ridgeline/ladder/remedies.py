"""Remedies as the server in the evidence takes them: its own flags, values legal in its version, what is set today."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ridgeline.bundle.view import View
from ridgeline.ladder.judge import Judgement
from ridgeline.ladder.served import Served
from ridgeline.model.cause import Remedy
from ridgeline.words.launch import Launch, choices_in, counterpart, launch_arg
from ridgeline.words.whatif import LET_GO

FLAG: Final = re.compile(r"(--[a-z][a-z0-9-]*)(?: (\S+))?")
NOW: Final = """
SELECT DISTINCT value FROM config
WHERE replace(lower(key), '-', '_') = $name AND value IS NOT NULL AND value NOT IN ('', 'None') ORDER BY value
"""
# Flags whose counterpart in vLLM is another remedy, not another spelling: flag → (what to do, vLLM's flag).
VLLM: Final[dict[str, tuple[str, str | None]]] = {
    "--schedule-conservativeness": ("admit less at once: lower the running limit", "--max-num-seqs"),
    "--crash-dump-folder": ("send the last requests to a clean server of the same version (vLLM dumps none)", None),
    "--kv-cache-dtype fp8_e5m2": ("a smaller KV type, or more replicas", "--kv-cache-dtype fp8"),
    "--speculative-num-steps": ("lower num_speculative_tokens, or leave speculation out", "--speculative-config"),
    "--disable-radix-cache": ("switch the prefix cache on", "--enable-prefix-caching"),
    "--schedule-policy shortest-prefill-first": (
        "let short prompts pass long ones by their priority",
        "--scheduling-policy priority",
    ),
    "--load-balance-method total_requests": ("balance by load at the router, affinity as a preference only", None),
    "--load-balance-method total_tokens": ("balance by tokens instead of requests at the router", None),
    "--policy cache_aware": ("route by prefix or key at the router", None),
}
# What vLLM does anyway, so that there is nothing to set.
NEEDLESS: Final = frozenset({"--enable-mixed-chunk"})
# A value that came late → what older versions have for it.
OLDER: Final = {
    "--load-balance-method total_requests": "--load-balance-method shortest_queue",
    "--load-balance-method total_tokens": "--load-balance-method shortest_queue",
}


# How many DP ranks the largest server has (as stated or seen), and how many servers take requests; null: not told.
SHAPE: Final = """
SELECT greatest((SELECT max(dp_size) FROM servers), (SELECT count(DISTINCT dp_rank) FROM batches)) AS ranks,
    (SELECT count(DISTINCT server) FROM servers WHERE coalesce(role, 'unified') = 'unified') AS servers
"""
# Requests, and those among them that name the DP rank they want.
PINNED: Final = """
SELECT count(*) AS requests, count(dp_rank_asked) AS asked FROM requests
WHERE role IS DISTINCT FROM 'client' AND NOT coalesce(probe, false)
"""
MOSTLY: Final = 0.5

# SIGKILL comes from outside the process: there is no request to look for until it is known who sent it.
KILLED: Final = (
    Remedy(
        "mitigate-now",
        "find out who killed it before anything else: dmesg -T of the host, OOMKilled in the container's last state, "
        "memory.events of its cgroup, the orchestrator's and the shell's history",
        None,
        False,
    ),
    Remedy("mitigate-now", "restart; keep the last lines of every process", None, True, "running requests"),
    Remedy("fix", "give the host or the container more memory where the kernel killed it", None, True),
)
SIGKILL: Final = re.compile(r"exit code -9\b|exit status 137\b|SIGKILL")


def suited(j: Judgement) -> tuple[Remedy, ...]:
    """The cause's remedies as far as this evidence supports them: none for a pool nobody measured, or a death's why."""
    if j.cause.id == "fault.crash":
        texts = [str(dict(f.statement.figures).get("text") or "") for f in j.facts("required")]
        return KILLED if any(SIGKILL.search(text) for text in texts) else j.cause.remedies
    if any(h.sign.measure == "usage_when_queued" and h.answer is None for h in j.heard):
        return tuple(
            replace(
                r, action="learn first how full the pool is (no working gauge tells it); where it has room, raise it"
            )
            if r.flag == "--max-running-requests"
            else r
            for r in j.cause.remedies
        )
    return j.cause.remedies


def fitting(remedies: Sequence[Remedy], of: Served, view: View) -> tuple[Remedy, ...]:
    """The remedies in the engine's own flags; where it has none for a thing, the action says so."""
    if of.vllm:
        return tuple(_stated(_for_vllm(r), view) for r in remedies if r.flag not in NEEDLESS)
    remedies = [_placing(r, view) for r in remedies]
    return tuple(_stated(_for_version(r, of.version), view) for r in remedies)


def _for_vllm(r: Remedy) -> Remedy:
    if r.flag is None:
        return r
    if r.flag in VLLM:
        action, flag = VLLM[r.flag]
        return replace(r, action=action, flag=flag)
    known = _argument(r.flag)
    other = counterpart(known) if known else None
    if other is None:
        return replace(r, action=f"{r.action} (vLLM: no counterpart known)", flag=None)
    value = r.flag.partition(" ")[2]
    return replace(r, flag=f"{other.flag} {value}".rstrip())


def _placing(r: Remedy, view: View) -> Remedy:
    """A remedy of placement where this service places: at the gateway between servers, or among one's ranks.

    No balancing method moves a request that asks for its rank.
    """
    if r.flag is None or not r.flag.startswith("--load-balance-method total"):
        return r
    ranks, servers = view.one(SHAPE)
    if ranks is not None and ranks < 2 and servers > 1:
        return replace(r, action=f"{r.action}, at the gateway", flag="--policy power_of_two")
    requests, asked = view.one(PINNED)
    if asked and asked > MOSTLY * requests:
        return replace(r, action=f"{LET_GO} ({asked} of {requests} requests do, and no method moves those); {r.action}")
    return r


def _for_version(r: Remedy, version: str | None) -> Remedy:
    """The remedy with a flag and a value this version of SGLang has."""
    if r.flag is None or version is None or (known := _argument(r.flag)) is None:
        return r
    value = r.flag.partition(" ")[2]
    if known.span.has(version) is False:
        return replace(r, action=f"{r.action} ({known.flag} came with {known.span.since})", flag=None)
    if known.choices and value and value not in choices_in(known, version):
        older = OLDER.get(r.flag)
        if older and older.partition(" ")[2] in choices_in(known, version):
            return replace(r, flag=older)
        return replace(r, action=f"{r.action} ({r.flag} came later than {version})", flag=None)
    return r


def _stated(r: Remedy, view: View) -> Remedy:
    """The remedy with what its flag is set to today, where the evidence states one value."""
    matched = FLAG.fullmatch(r.flag or "")
    if matched is None:
        return r
    now = [value for (value,) in view.query(NOW, {"name": matched[1].lstrip("-").replace("-", "_")})]
    if len(now) != 1 or now[0] == matched[2] or str(now[0]).lower() in ("true", "false"):
        return r
    return replace(r, action=f"{r.action} (set to {str(now[0])[:80]} today)")


def _argument(flag: str) -> Launch | None:
    matched = FLAG.fullmatch(flag)
    return launch_arg(matched[1], "sglang") if matched else None
