"""Faults that stop or break the server itself."""

from typing import Final

from ridgeline.lab.faults.model import SGLANG, Change, Fault, Front, Host

FAULTS: Final = (
    Fault(
        "fault.hang", "fault.hang",
        "A collective never returns: the scheduler makes no progress while requests keep arriving.",
        "decode_forward", "replay", changes=(Change("hang", plus=(1, 1, 1)),), host=(Host("watchdog"),),
        versions=SGLANG,
        rules_out=("queue.arrival-overload", "memory.saturation"),
    ),
    Fault(
        "fault.crash", "fault.crash",
        "The scheduler died of an exception in the model code.",
        "prefill_forward", "replay", host=(Host("exception"),), rules_out=("memory.oom-crash", "fault.hang"),
    ),
    Fault(
        "fault.wrong-output", "fault.wrong-output",
        "One class of requests gets output that stops at once or never; latency is normal.",
        "decode_forward", "replay", scope=("lora",), by="lora", front=(Front("wrong", (1.0, 1.0, 1.0)),),
        versions=SGLANG, rules_out=("client.cancelled",),
    ),
    Fault(
        "fault.abort", "fault.abort",
        "The server aborts requests of one class with an internal error.",
        "decode_forward", "replay", scope=("schema_set",), by="schema", front=(Front("abort", (0.5, 0.8, 1.0)),),
        versions=("0.5.9", "0.5.23"), rules_out=("client.cancelled", "queue.limit-rejected"),
    ),
)  # fmt: skip
