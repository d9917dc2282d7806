"""Nothing wrong (seven ways), two things wrong, and what the catalogue does not know."""

from typing import Final

from ridgeline.lab.faults.model import SGLANG, Change, Fault, Front, Host, Traffic

HEALTHY: Final = (
    Fault("healthy/steady", "healthy", "Steady traffic within what the service can do.", "none", harmless=True),
    Fault("healthy/diurnal", "healthy", "Traffic rises slowly within what the service can do.", "none",
          traffic=(Traffic("rise", (1.1, 1.15, 1.2)),), harmless=True),
    Fault("healthy/outlier", "healthy", "One request asked for very much and took long; nothing else did.", "none",
          traffic=(Traffic("outlier", (1, 1, 1)),), harmless=True),
    Fault("healthy/mix", "healthy", "The mix of prompts shifts a little, without consequence.", "none",
          traffic=(Traffic("input_times", (1.1, 1.15, 1.2)),), harmless=True),
    Fault("healthy/idle", "healthy", "Hardly any traffic.", "none",
          traffic=(Traffic("thin", (0.03, 0.03, 0.03), always=True),), harmless=True),
    Fault("healthy/restart", "healthy", "A planned restart in a quiet moment; counters begin anew.", "none",
          traffic=(Traffic("quiet", (45, 45, 45)),), deploy=(("random_seed", 3),), harmless=True),
    Fault("healthy/identical", "healthy", "The incident window looks exactly like the one before.", "none",
          traffic=(Traffic("repeat"),), harmless=True),
)  # fmt: skip

DOUBLE: Final = (
    Fault(
        "prefill.regression/and-cancelled",
        "prefill.regression",
        "A slower build makes prefill slow, and a client with a short timeout leaves because of it.",
        "prefill_forward",
        "profile",
        by="client",
        changes=(Change("prefill_token", times=(2.2, 2.6, 3.2)),),
        traffic=(Traffic("cancel", (0.5, 0.6, 0.7)),),
        host=(Host("deploy-note"),),
        second=("client.cancelled",),
        versions=SGLANG,
    ),
    Fault(
        "frontend.detokenizer/and-prompt-drift",
        "frontend.detokenizer",
        "The return path is slow, and at the same time a template change broke prefix sharing.",
        "return",
        "replay",
        by="client",
        front=(Front("return_token", (0.0036, 0.0046, 0.006)),),
        traffic=(
            Traffic("prefix_tokens", (1500, 1500, 1500), always=True),
            Traffic("few_groups", (6, 6, 6), always=True),
            Traffic("drift", (1, 1, 1)),
        ),
        settings=(("max_total_num_tokens", 200_000),),
        second=("cache.prompt-drift",),
        versions=SGLANG,
    ),
    Fault(
        "memory.leak/and-tokenizer",
        "memory.leak",
        "KV tokens leak while tokenizing has become slow as well.",
        "prefill_waiting",
        "replay",
        changes=(
            Change("stolen_tokens", plus=(26_000, 28_000, 30_000), shape="ramp"),
            Change("tokenize", plus=(0.3, 0.36, 0.42)),
        ),
        settings=(("max_total_num_tokens", 36_000),),
        second=("frontend.tokenizer",),
        versions=("0.5.9", "0.5.23"),
    ),
)

OUTSIDE: Final = (
    Fault(
        "unknown/length-band", "unknown",
        "Prompts whose length falls in a narrow band take seconds in prefill; a bad kernel tile, nothing else.",
        "prefill_forward", "replay", scope=("prompt_tokens",), by="band",
        changes=(Change("request_work", plus=(0.6, 0.9, 1.3), where="class"),), answerable="coarse",
    ),
    Fault(
        "unknown/one-endpoint", "unknown",
        "Requests of one endpoint are held for seconds between tokenizing and the queue.",
        "request_process", "none", scope=("endpoint",), by="endpoint",
        front=(Front("held", (2.0, 4.0, 8.0)),), versions=("0.5.9", "0.5.23"), answerable="coarse",
    ),
)  # fmt: skip
