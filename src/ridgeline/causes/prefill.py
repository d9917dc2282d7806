"""Causes of the layer `prefill`: the request itself takes long to its first token."""

from __future__ import annotations

from typing import Final

from ridgeline.causes.sign import helps, hint, must, never
from ridgeline.model.cause import Cause, Remedy, Twin

ENTRY: Final = ("managers/schedule_batch.py", "model_executor/model_runner.py")

CAUSES: Final = (
    Cause(
        id="prefill.prompt-mix",
        looks_like="Prefill takes longer because there is more to compute for each request.",
        differs="The cost of one uncached token is unchanged; only their number grew.",
        required=(must("change", ">=", 1.3, of="fresh_tokens"), must("prefill_excess", "<", 1.25)),
        supporting=(
            helps("change", ">=", 1.25, of="prefill_s"),
            helps("change", ">=", 1.2, of="seconds", what="ttft_s"),
            helps("change", "<", 1.3, of="arrival_rate"),
        ),
        # Where one place gets the long prompts, it is a matter of who sends what where.
        absent=(never("arrival_skew", ">=", 1.4, by="tokens"),),
        twins=(
            Twin("prefill.regression", must("prefill_excess", "<", 1.25)),
            Twin("cache.prompt-drift", must("change", ">=", 1.2, of="prompt_tokens")),
        ),
        # longer stays reach the limit and fill the pool
        explains=(
            "queue.arrival-overload",
            "queue.burst",
            "queue.running-cap",
            "memory.saturation",
            "decode.batch-growth",
        ),
        comparative=True,
        remedies=(
            Remedy("mitigate-now", "send the long prompts to servers of their own", None, False, None, "cost"),
            Remedy("fix", "add prefill capacity in proportion to uncached tokens", None, False, None, "cost"),
        ),
        source_entry=ENTRY,
        route="simulate",
        statement="cause.prefill.prompt-mix",
    ),
    Cause(
        id="prefill.regression",
        looks_like="The same prompts take longer to compute than before.",
        differs="Seconds for one uncached token rose at every length.",
        required=(must("prefill_excess", ">=", 1.4),),
        supporting=(
            helps("change", ">=", 1.25, of="prefill_cost"),
            helps("slice_share", ">=", 0.4, part="prefill"),
            helps("changes_near_onset", ">=", 1),
        ),
        absent=(
            never("stands_still", "is", True),
            never("cold_start_ratio", ">=", 3),
            never("adapter_wait", "is", True),
            never("change", "<=", 0.8, of="accept_length"),
            never("slow_rank_ratio", ">=", 1.3),
        ),
        twins=(
            Twin("prefill.prompt-mix", must("prefill_excess", ">=", 1.4)),
            # A short prompt costs one step: where every step is slower, prefill is as well.
            Twin("decode.regression", must("prefill_over_step", ">=", 1.25)),
        ),
        explains=(
            "queue.arrival-overload",
            "queue.burst",
            "queue.running-cap",
            "memory.saturation",
            "decode.batch-growth",
            "decode.regression",  # what prompts cost more also lies between the tokens of others
        ),
        comparative=True,
        remedies=(
            Remedy("mitigate-now", "go back to the version or arguments before the onset", None, True, None, ""),
            Remedy(
                "fix", "profile one prefill of each and compare kernels", None, False, None, "a profile costs speed"
            ),
        ),
        source_entry=ENTRY,
        route="profile",
        statement="cause.prefill.regression",
    ),
    Cause(
        id="prefill.cold-start",
        looks_like="The first requests after a boot are slow, later ones are not.",
        differs="It decays by itself: first-seen shapes are compiled or captured once.",
        required=(must("cold_start_ratio", ">=", 3),),
        supporting=(
            helps("event_count", ">=", 1, kinds="compile,warmup"),
            helps("event_count", ">=", 1, kinds="ready"),
        ),
        # The first ones may also be slow because they came all at once.
        absent=(never("stands_still", "is", True), never("rush_explains", "is", True)),
        twins=(Twin("prefill.regression", must("cold_start_ratio", ">=", 3)),),
        explains=(
            "cache.flushed",
            "prefill.regression",
            "decode.regression",
            "decode.token-stall",
            "queue.burst",
            "queue.running-cap",
            "queue.arrival-overload",
            "memory.saturation",
            "decode.batch-growth",
            "frontend.blocked-loop",
        ),
        remedies=(
            Remedy("prevent", "warm the usual shapes before taking traffic; keep the compile cache", None, False),
        ),
        source_entry=ENTRY,
        route="replay",
        statement="cause.prefill.cold-start",
    ),
    Cause(
        id="prefill.grammar",
        looks_like="Requests with a schema or regex are late before they are even queued.",
        differs="Requests of the same length without one are as fast as ever.",
        required=(must("grammar_wait", "is", True),),
        supporting=(
            helps("group_ratio", ">=", 3, attribute="schema", what="before_prefill"),
            helps("slice_share", ">=", 0.2, part="grammar"),
            helps("slice_share", ">=", 0.3, part="pre_queue"),
        ),
        absent=(never("aligned_stalls", ">=", 0.8),),
        twins=(Twin("frontend.blocked-loop", must("grammar_wait", "is", True)),),
        explains=("queue.burst",),
        scope_by=("schema_hash",),
        remedies=(
            Remedy("mitigate-now", "reuse few schemas so that compiled grammars hit their cache", None, False),
            Remedy("fix", "use a faster grammar backend or simplify the schema", "--grammar-backend", True),
        ),
        source_entry=("constrained/base_grammar_backend.py", "managers/scheduler.py"),
        route="replay",
        statement="cause.prefill.grammar",
    ),
    Cause(
        id="prefill.multimodal",
        looks_like="Requests with images, audio or video are late before the scheduler sees them.",
        differs="Text requests of the same length are as fast as ever.",
        required=(must("group_ratio", ">=", 3, attribute="multimodal", what="before_prefill"),),
        supporting=(
            helps("slice_share", ">=", 0.3, part="pre_queue"),
            helps("group_ratio", ">=", 2, attribute="multimodal", what="ttft"),
        ),
        twins=(
            Twin("frontend.tokenizer", must("group_ratio", ">=", 3, attribute="multimodal", what="before_prefill")),
        ),
        scope_by=("modality",),
        remedies=(Remedy("fix", "scale preprocessing on its own, or cache processed items", None, True),),
        source_entry=("managers/multimodal_processor.py", "managers/tokenizer_manager.py"),
        route="replay",
        statement="cause.prefill.multimodal",
    ),
    Cause(
        id="prefill.lora",
        looks_like="Requests wait for their adapter while the engine has room.",
        differs="Requests for the base model, or for adapters already loaded, are not held.",
        required=(must("adapter_wait", "is", True),),
        supporting=(
            helps("usage_when_queued", "<", 0.5),
            helps("group_ratio", ">=", 3, attribute="lora", what="before_prefill"),
            helps("event_count", ">=", 1, kinds="lora"),
            hint("switched_on", "is", True, setting="enable_lora"),
        ),
        twins=(Twin("queue.running-cap", must("adapter_wait", "is", True)),),
        explains=(
            "queue.running-cap",
            "queue.over-reservation",
            "queue.burst",
            "queue.arrival-overload",
            "decode.batch-growth",
            "prefill.regression",
        ),
        scope_by=("lora",),
        remedies=(
            Remedy("fix", "allow more adapters in one batch", "--max-loras-per-batch", True, "KV pool"),
            Remedy("fix", "route one adapter's requests to the same server", None, False, None, "hot spots"),
        ),
        source_entry=("lora/lora_manager.py", "managers/schedule_policy.py"),
        route="simulate",
        statement="cause.prefill.lora",
    ),
)
