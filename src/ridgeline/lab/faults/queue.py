"""Faults of the queue layer."""

from typing import Final

from ridgeline.lab.faults.model import SGLANG, Change, Fault, Traffic

COMPUTE: Final = (
    ("enable_mixed_chunk", True),
    ("chunked_prefill_size", 2048),
    ("max_running_requests", 512),
    ("max_total_num_tokens", 400_000),
)
"""A service limited by prefill compute: neither the cap nor the pool binds, and decoding goes on beside prefill."""

SHORT: Final = Traffic("output_times", (0.25, 0.25, 0.25), always=True)

FAULTS: Final = (
    Fault(
        "queue.arrival-overload", "queue.arrival-overload",
        "Requests arrive faster than prefill can compute them; the pool and the running cap are not the limit.",
        "prefill_waiting", "simulate",
        traffic=(SHORT, Traffic("rate", (3.2, 3.6, 4.2))), settings=COMPUTE,
        rules_out=("queue.running-cap", "memory.saturation", "prefill.regression"),
    ),
    Fault(
        "queue.burst", "queue.burst",
        "A short burst of requests builds a queue that drains by itself within the window.",
        "prefill_waiting", "none",
        traffic=(SHORT, Traffic("burst", (50, 80, 120))), settings=COMPUTE, lasts_s=60.0,
        rules_out=("queue.arrival-overload", "queue.running-cap"),
    ),
    Fault(
        "queue.running-cap", "queue.running-cap",
        "The cap on running requests is too low for the traffic: requests wait while the pool has room.",
        "prefill_waiting", "simulate",
        traffic=(Traffic("rate", (1.25, 1.45, 1.8)),),
        settings=(("max_total_num_tokens", 120_000), ("max_running_requests", 12)),
        rules_out=("memory.saturation", "queue.over-reservation"),
    ),
    Fault(
        "queue.running-cap/deploy", "queue.running-cap",
        "A restart brought a lower max-running-requests than the traffic needs.",
        "prefill_waiting", "simulate",
        settings=(("max_total_num_tokens", 120_000),), deploy=(("max_running_requests", (7, 6, 5)),),
        rules_out=("memory.saturation", "queue.over-reservation"),
    ),
    Fault(
        "queue.over-reservation", "queue.over-reservation",
        "Clients began to ask for far more new tokens than they use; admission reserves memory that stays empty.",
        "prefill_waiting", "simulate",
        traffic=(Traffic("rate", (1.2, 1.2, 1.2), always=True), Traffic("max_new", (4000, 6000, 8000))),
        settings=(("max_total_num_tokens", (24_000, 22_000, 20_000)), ("schedule_conservativeness", 2.0)),
        versions=SGLANG, rules_out=("memory.saturation", "queue.running-cap"),
    ),
    Fault(
        "queue.head-of-line", "queue.head-of-line",
        "Giant prompts stand at the head of the queue; short ones behind them wait until they fit or are computed.",
        "prefill_waiting", "simulate", scope=("prompt_tokens",), by="prompt_tokens",
        traffic=(Traffic("giant", (18_000, 24_000, 30_000)),),
        settings=(("max_total_num_tokens", 60_000), ("chunked_prefill_size", 4096)),
        rules_out=("queue.arrival-overload", "prefill.regression"),
    ),
    Fault(
        "queue.priority-starvation", "queue.priority-starvation",
        "High-priority traffic takes the slots; low-priority requests of the same shape wait.",
        "prefill_waiting", "simulate", scope=("priority",), by="priority",
        traffic=(Traffic("priorities", always=True), Traffic("high_priority_rate", (1.25, 1.45, 1.8))),
        settings=(("enable_priority_scheduling", True), ("max_running_requests", 14),
                  ("max_total_num_tokens", 120_000), ("disable_priority_preemption", True)),
        versions=SGLANG, rules_out=("queue.arrival-overload",),
    ),
    Fault(
        "queue.slot-leak", "queue.slot-leak",
        "Request slots are not given back: the running count that can be reached falls step by step.",
        "prefill_waiting", "replay",
        changes=(Change("max_running_requests", plus=(-18, -20, -22), shape="ramp"),),
        settings=(("max_running_requests", 24), ("max_total_num_tokens", 120_000)),
        versions=SGLANG, rules_out=("queue.running-cap", "memory.saturation"),
    ),
    Fault(
        "queue.never-fits", "queue.never-fits",
        "A request that can never fit in the pool stands at the head of the queue; nothing behind it is admitted.",
        "prefill_waiting", "config", traffic=(Traffic("never_fits"),),
        settings=(("max_total_num_tokens", 40_000),), versions=SGLANG, rules_out=("fault.hang", "memory.saturation"),
    ),
    Fault(
        "queue.limit-rejected", "queue.limit-rejected",
        "A queue limit far too low for the bursts that come: what the server could serve a moment later is refused.",
        "prefill_waiting", "simulate",
        traffic=(SHORT, Traffic("bursts", (22, 28, 36))), settings=(*COMPUTE, ("max_queued_requests", 6)),
        versions=SGLANG, rules_out=("fault.abort", "client.cancelled"),
    ),
    Fault(
        "queue.scheduler-overhead", "queue.scheduler-overhead",
        "The scheduler's own loop takes long between steps; the forward passes themselves do not.",
        "prefill_waiting", "profile",
        changes=(Change("step_base", plus=(0.012, 0.025, 0.05)),),
        versions=("0.5.23",), rules_out=("decode.regression", "prefill.regression"),
    ),
)  # fmt: skip
