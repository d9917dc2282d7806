"""Causes of the layer `decode`: the first token is in time, the following ones are not."""

from __future__ import annotations

from typing import Final

from ridgeline.causes.sign import helps, must, never
from ridgeline.model.cause import Cause, Remedy, Twin

ENTRY: Final = ("managers/scheduler.py", "model_executor/model_runner.py")

CAUSES: Final = (
    Cause(
        id="decode.batch-growth",
        looks_like="Tokens come slower because more requests share each step.",
        differs="The step time lies on the same curve over the batch size as before.",
        required=(
            must("change", ">=", 1.25, of="batch_size"),
            must("change", ">=", 1.2, of="step_s"),
            must("step_excess", "<", 1.25),
            # Batches also grow where requests merely stay longer for another reason: more must be asked of decode.
            must("change", ">=", 1.2, of="decode_demand"),
            # Prefill that takes longer holds steps up and fills batches as well: it must be known not to.
            must("prefill_excess", "<", 1.4),
        ),
        supporting=(helps("change", ">=", 1.2, of="seconds", what="tpot_s"),),
        absent=(
            never("change", "<=", 0.8, of="accept_length"),
            # More to prefill for each request makes stays longer and batches fuller: then that is the cause.
            never("change", ">=", 1.3, of="fresh_tokens"),
        ),
        twins=(Twin("decode.regression", must("step_excess", "<", 1.25)),),
        comparative=True,
        remedies=(
            Remedy(
                "mitigate-now",
                "lower the running limit to the step time you need",
                "--max-running-requests",
                True,
                "throughput; requests wait instead",
            ),
            Remedy("fix", "spread the load over more replicas", None, False, None, "cost"),
        ),
        source_entry=ENTRY,
        route="simulate",
        statement="cause.decode.batch-growth",
    ),
    Cause(
        id="decode.regression",
        looks_like="A decode step of the same batch takes longer than before.",
        differs="The curve itself moved: same batch, same context, more seconds.",
        required=(must("step_excess", ">=", 1.25), must("decode_slowed", "is", True)),
        supporting=(
            helps("change", ">=", 1.2, of="seconds", what="tpot_s"),
            helps("change", "<", 1.25, of="batch_size"),
            helps("changes_near_onset", ">=", 1),
        ),
        absent=(
            never("change", "<=", 0.8, of="accept_length"),
            never("graph_lost", ">=", 0.5),
            never("slow_rank_ratio", ">=", 1.3),
            never("stands_still", "is", True),
            never("tokens_stop", "is", True),
            never("streams_paused", "is", True),
        ),
        twins=(
            Twin("decode.batch-growth", must("step_excess", ">=", 1.25)),
            Twin("queue.scheduler-overhead", must("device_busy", ">", 0.75)),
        ),
        explains=(
            "queue.arrival-overload",
            "queue.burst",
            "queue.running-cap",
            "memory.saturation",
            "decode.batch-growth",
        ),
        comparative=True,
        remedies=(
            Remedy("mitigate-now", "go back to the version or arguments before the onset", None, True),
            Remedy(
                "fix", "profile decode steps of both and compare kernels", None, False, None, "a profile costs speed"
            ),
        ),
        source_entry=ENTRY,
        route="profile",
        statement="cause.decode.regression",
    ),
    Cause(
        id="decode.graph-miss",
        looks_like="Decode runs without a graph at batch sizes that had one.",
        differs="The graph flag on decode lines is off; past the largest captured size only where it halves the speed.",
        required=(must("graph_lost", ">=", 0.5),),
        supporting=(helps("step_excess", ">=", 1.2), helps("change", ">=", 1.2, of="step_s")),
        twins=(Twin("decode.regression", must("graph_lost", ">=", 0.5)),),
        explains=("decode.regression", "queue.arrival-overload", "queue.burst"),
        remedies=(
            Remedy(
                "fix", "capture graphs up to the batch sizes in use", "--cuda-graph-max-bs", True, "memory for graphs"
            ),
        ),
        source_entry=("model_executor/cuda_graph_runner.py",),
        route="config",
        statement="cause.decode.graph-miss",
    ),
    Cause(
        id="decode.spec-acceptance",
        looks_like="Speculation accepts fewer tokens for each verify step.",
        differs="Steps take as long as before; each just yields less.",
        required=(must("change", "<=", 0.8, of="accept_length"),),
        supporting=(
            helps("change", ">=", 1.15, of="seconds", what="tpot_s"),
            helps("change", "between", (0.75, 1.25), of="batch_size"),
            helps("step_excess", "<", 1.3),
        ),
        twins=(Twin("decode.regression", must("change", "<=", 0.8, of="accept_length")),),
        explains=("decode.regression", "queue.arrival-overload"),
        comparative=True,
        remedies=(
            Remedy(
                "mitigate-now",
                "draft fewer tokens, or switch speculation off for this traffic",
                "--speculative-num-steps",
                True,
                "speed of well-drafted traffic",
            ),
        ),
        source_entry=("speculative/eagle_worker.py",),
        route="replay",
        statement="cause.decode.spec-acceptance",
    ),
    Cause(
        id="decode.slow-rank",
        looks_like="One rank's steps take longer than the others' at the same load.",
        differs="Arrivals are even; the rank, not its share of work, is slow.",
        required=(must("slow_rank_ratio", ">=", 1.25),),
        supporting=(helps("arrival_skew", "<", 1.25, by="requests"), helps("arrival_skew", "<", 1.3, by="tokens")),
        absent=(
            never("arrival_skew", ">=", 1.4, by="requests"),
            never("arrival_skew", ">=", 1.5, by="tokens"),
            never("stands_still", "is", True),
        ),
        twins=(
            Twin("routing.hot-key", must("slow_rank_ratio", ">=", 1.25)),
            Twin("routing.token-skew", must("slow_rank_ratio", ">=", 1.25)),
        ),
        explains=(
            "routing.hot-key",
            "routing.token-skew",
            "queue.burst",
            "queue.running-cap",
            "queue.arrival-overload",
            "memory.saturation",
            "decode.regression",
            "decode.batch-growth",
        ),
        scope_by=("dp_rank",),
        remedies=(
            Remedy("mitigate-now", "take the rank out of rotation", None, False, "its share of capacity"),
            Remedy("fix", "check clocks, throttling, ECC and links of that device", None, False),
        ),
        source_entry=ENTRY,
        route="none",
        statement="cause.decode.slow-rank",
    ),
    Cause(
        id="decode.prefill-interference",
        looks_like="All running streams pause together while prompts are prefilled.",
        differs="Steps between the pauses are as fast as ever.",
        required=(must("streams_paused", "is", True),),
        supporting=(
            helps("stream_gap_ratio", ">=", 8),
            helps("usage", "<", 0.9),
            helps("step_excess", "<", 1.3),
        ),
        absent=(
            never("stands_still", "is", True),
            never("prefill_excess", ">=", 1.4),
            never("change", "<=", 0.8, of="cached_each"),
        ),
        twins=(
            Twin("decode.regression", must("streams_paused", "is", True)),
            Twin("prefill.prompt-mix", must("prompts_queue", "is", False)),
        ),
        explains=("queue.burst", "decode.regression", "decode.batch-growth", "prefill.prompt-mix"),
        remedies=(
            Remedy(
                "fix",
                "let decodes ride along with each prefill chunk",
                "--enable-mixed-chunk",
                True,
                "time to first token",
            ),
            Remedy(
                "fix",
                "give decode some steps between prefills",
                "--prefill-decode-interval 4",
                True,
                "time to first token",
            ),
            Remedy("fix", "cut prefill into smaller chunks", "--chunked-prefill-size", True, "prefill throughput"),
        ),
        source_entry=("managers/scheduler.py", "managers/schedule_policy.py"),
        route="simulate",
        statement="cause.decode.prefill-interference",
    ),
    Cause(
        id="decode.token-stall",
        looks_like="Requests are in the batch and hardly a token comes out.",
        differs="The scheduler still reports: it runs, but yields nothing (a hang reports nothing new).",
        required=(must("tokens_stop", "is", True),),
        supporting=(helps("queue_pressure", "<", 0.2),),
        absent=(never("stands_still", "is", True),),
        twins=(Twin("fault.hang", must("stands_still", "is", False)),),
        explains=("memory.saturation", "queue.arrival-overload", "queue.running-cap", "queue.burst"),
        remedies=(
            Remedy(
                "mitigate-now", "restart the server after a stack dump of all ranks", None, True, "running requests"
            ),
        ),
        source_entry=ENTRY,
        route="replay",
        statement="cause.decode.token-stall",
    ),
)
