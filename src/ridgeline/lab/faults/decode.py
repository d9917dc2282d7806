"""Faults of the decode layer."""

from typing import Final

from ridgeline.lab.faults.model import SGLANG, Change, Fault, Host, Traffic

FAULTS: Final = (
    Fault(
        "decode.batch-growth", "decode.batch-growth",
        "More requests run at once; each step takes as long as a batch of that size always did.",
        "decode_forward", "simulate",
        traffic=(Traffic("output_times", (3.0, 4.0, 5.0)), Traffic("max_new", (2000, 2000, 2000))),
        settings=(("max_total_num_tokens", 400_000), ("max_running_requests", 256)),
        rules_out=("decode.regression", "memory.saturation"),
    ),
    Fault(
        "decode.regression", "decode.regression",
        "A new build decodes more slowly at the same batch and context.",
        "decode_forward", "replay", changes=(Change("step_base", times=(1.8, 2.4, 3.2)),), host=(Host("deploy-note"),),
        rules_out=("decode.batch-growth", "decode.spec-acceptance"),
    ),
    Fault(
        "decode.graph-miss", "decode.graph-miss",
        "The batch has outgrown the captured graphs: steps run without one and each launch is paid for.",
        "decode_forward", "config", host=(Host("graph-off"),), changes=(Change("step_base", times=(1.8, 2.4, 3.2)),),
        versions=SGLANG, rules_out=("decode.regression",),
    ),
    Fault(
        "decode.spec-acceptance", "decode.spec-acceptance",
        "The draft model's tokens are accepted less often; steps per second stay the same.",
        "decode_forward", "replay", changes=(Change("accept_length", times=(0.62, 0.5, 0.37)),),
        settings=(("speculative_num_draft_tokens", 4), ("speculative_accept_length", 2.9)),
        versions=SGLANG, rules_out=("decode.regression", "decode.batch-growth"),
    ),
    Fault(
        "decode.slow-rank", "decode.slow-rank",
        "One rank's accelerator is throttled: every step there takes longer, with the same work as its peers.",
        "decode_forward", "profile", scope=("dp_rank",), changes=(Change("step_time", times=(1.6, 2.0, 2.6), where="rank"),),
        needs=("ranks",), versions=SGLANG, rules_out=("routing.hot-key", "routing.token-skew"),
    ),
    Fault(
        "decode.prefill-interference", "decode.prefill-interference",
        "Long prompts are computed between the steps of running streams: all streams pause together.",
        "decode_forward", "simulate", traffic=(Traffic("long_prompts", (3_500, 5_500, 8_000)),),
        settings=(("max_total_num_tokens", 240_000), ("chunked_prefill_size", 16_384), ("max_prefill_tokens", 16_384)),
        versions=SGLANG, rules_out=("decode.token-stall", "decode.regression"),
    ),
    Fault(
        "decode.token-stall", "decode.token-stall",
        "The whole scheduler stands still for seconds at a time, without a prefill in between.",
        "decode_forward", "profile", changes=(Change("hang", plus=(1, 1, 1), shape="pulses", width_s=4.0, every_s=24.0),),
        versions=SGLANG, rules_out=("decode.prefill-interference", "decode.regression"),
    ),
)  # fmt: skip
