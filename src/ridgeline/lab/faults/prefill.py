"""Faults of the prefill layer."""

from typing import Final

from ridgeline.lab.faults.model import SGLANG, Change, Fault, Host, Traffic

FAULTS: Final = (
    Fault(
        "prefill.prompt-mix", "prefill.prompt-mix",
        "Prompts grew longer; each token still costs what it did.",
        "prefill_forward", "simulate", scope=("prompt_tokens",), by="prompt_tokens",
        traffic=(Traffic("input_times", (2.5, 3.5, 5.0)),),
        settings=(("max_total_num_tokens", 200_000),), rules_out=("prefill.regression", "cache.prompt-drift"),
    ),
    Fault(
        "prefill.regression", "prefill.regression",
        "A new build computes every prompt token more slowly, at every length.",
        "prefill_forward", "profile",
        changes=(Change("prefill_token", times=(2.0, 2.4, 3.0)),), host=(Host("deploy-note"),),
        rules_out=("prefill.prompt-mix", "queue.arrival-overload"),
    ),
    Fault(
        "prefill.cold-start", "prefill.cold-start",
        "After a restart the first requests compile kernels; the slowness decays by itself.",
        "prefill_forward", "replay", deploy=(("random_seed", 2),),
        changes=(Change("step_base", plus=(0.25, 0.6, 1.2), shape="decay"),), lasts_s=100.0,
        rules_out=("prefill.regression",),
    ),
    Fault(
        "prefill.grammar", "prefill.grammar",
        "Each request of one application brings a schema never seen before; compiling it takes seconds.",
        "request_process", "replay", scope=("schema_set",), by="schema",
        traffic=(Traffic("fresh_schemas", (2.0, 5.0, 12.0)),), versions=SGLANG,
        rules_out=("frontend.tokenizer", "queue.arrival-overload"),
    ),
    Fault(
        "prefill.multimodal", "prefill.multimodal",
        "Image requests arrive; decoding and resizing them holds each one up before the scheduler.",
        "tokenize", "replay", scope=("modality",), by="modality",
        traffic=(Traffic("images", (0.4, 0.8, 1.5)),),
        changes=(Change("tokenize", plus=(1.5, 3.0, 6.0), where="class"),),
        settings=(("tokenizer_worker_num", 8),), versions=SGLANG, rules_out=("frontend.tokenizer",),
    ),
    Fault(
        "prefill.lora", "prefill.lora",
        "More adapters are in use than fit at once; they are swapped in and out in front of prefill.",
        "prefill_forward", "simulate", scope=("lora",), by="lora",
        traffic=(Traffic("adapters", (24, 32, 48)),),
        settings=(("enable_lora", True), ("max_loras_per_batch", 4), ("lora_load_s", 0.5)),
        versions=SGLANG, rules_out=("prefill.regression", "cache.key-split"),
    ),
)  # fmt: skip
