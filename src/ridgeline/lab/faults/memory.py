"""Faults of the memory layer."""

from typing import Final

from ridgeline.lab.faults.model import SGLANG, Change, Fault, Host, Traffic

FAULTS: Final = (
    Fault(
        "memory.saturation", "memory.saturation",
        "The KV pool is full of running requests; arrivals wait for memory, hardly any request is retracted.",
        "prefill_waiting", "simulate", traffic=(Traffic("rate", (1.3, 1.6, 2.0)),),
        settings=(("max_total_num_tokens", 26_000), ("max_running_requests", 128), ("schedule_conservativeness", 1.3)),
        rules_out=("queue.running-cap", "memory.leak", "queue.over-reservation"),
    ),
    Fault(
        "memory.retraction-storm", "memory.retraction-storm",
        "Outputs run longer than admission assumed: running requests are put back and computed again.",
        "decode_forward", "simulate",
        traffic=(Traffic("output_times", (2.2, 3.0, 4.0)), Traffic("max_new", (2048, 2048, 2048))),
        settings=(("max_total_num_tokens", 30_000), ("max_running_requests", 128), ("schedule_conservativeness", 0.2)),
        rules_out=("memory.leak", "queue.running-cap"),
    ),
    Fault(
        "memory.leak", "memory.leak",
        "KV tokens are not given back: usage climbs whatever the traffic does and does not fall when idle.",
        "prefill_waiting", "replay", changes=(Change("stolen_tokens", plus=(26_000, 28_000, 30_000), shape="ramp"),),
        settings=(("max_total_num_tokens", 36_000),), versions=SGLANG,
        rules_out=("memory.saturation", "queue.running-cap"),
    ),
    Fault(
        "memory.oom-crash", "memory.oom-crash",
        "A forward pass ran out of device memory outside the pool; the scheduler died.",
        "prefill_forward", "replay", host=(Host("cuda-oom"),), versions=SGLANG,
        rules_out=("memory.saturation", "fault.hang"),
    ),
    Fault(
        "memory.slots-exhausted", "memory.slots-exhausted",
        "The table of request rows ran out; the scheduler died of it.",
        "prefill_waiting", "config", host=(Host("slots-exhausted"),), versions=SGLANG,
        rules_out=("memory.oom-crash",),
    ),
    Fault(
        "memory.host-oom", "memory.host-oom",
        "The kernel killed a scheduler because the host ran out of memory.",
        "decode_forward", "none", host=(Host("host-oom"),), versions=SGLANG, rules_out=("memory.oom-crash",),
    ),
    Fault(
        "memory.no-token-limit", "memory.no-token-limit",
        "Clients stopped sending a token limit and the model does not stop: outputs run to the context's end.",
        "decode_forward", "config", scope=("client",), by="client", traffic=(Traffic("no_limit"),),
        settings=(("max_total_num_tokens", (120_000, 100_000, 80_000)), ("max_running_requests", 128), ("context_length", 8192)),
        versions=("0.5.9", "0.5.23"), rules_out=("memory.leak",),
    ),
    Fault(
        "memory.pool-misconfigured", "memory.pool-misconfigured",
        "A restart brought a much smaller KV pool than the accelerator could hold.",
        "prefill_waiting", "config", deploy=(("max_total_num_tokens", (15_000, 13_000, 11_000)),),
        settings=(("max_total_num_tokens", 120_000), ("max_running_requests", 128)),
        rules_out=("memory.leak", "queue.running-cap"),
    ),
)  # fmt: skip
