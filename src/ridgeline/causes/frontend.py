"""Causes of the layer `frontend`: before the scheduler has the request, or after it has finished with it."""

from __future__ import annotations

from typing import Final

from ridgeline.causes.sign import helps, must, never
from ridgeline.model.cause import Cause, Remedy, Twin

CAUSES: Final = (
    Cause(
        id="frontend.tokenizer",
        looks_like="Requests are late before the scheduler because tokenizing takes long.",
        differs="The time lies in tokenizing itself and follows prompt length; a blocked loop holds everyone at once.",
        required=(must("tokenize_s", ">=", 0.1), must("slice_share", ">=", 0.3, part="pre_queue")),
        supporting=(helps("slice_share", "<", 0.3, part="queue"), helps("change", ">=", 1.5, of="tokenize_s")),
        absent=(
            never("group_ratio", ">=", 3, attribute="multimodal", what="before_prefill"),
            never("aligned_stalls", ">=", 0.8),
        ),
        twins=(Twin("frontend.blocked-loop", must("tokenize_s", ">=", 0.1)),),
        remedies=(Remedy("fix", "run more tokenizer workers, or send token ids", "--tokenizer-worker-num", True),),
        source_entry=("managers/tokenizer_manager.py",),
        route="replay",
        statement="cause.frontend.tokenizer",
    ),
    Cause(
        id="frontend.detokenizer",
        looks_like="The scheduler finishes early, the response comes late.",
        differs="The way back grows with output length and every stage on the device is normal.",
        required=(
            must("slice_share", ">=", 0.12, part="return"),
            must("typical_return", ">=", 0.05),
            # Where every answer is parsed, a parser cannot be told from it.
            must("plain_answers", ">=", 3),
        ),
        supporting=(
            helps("return_follows_length", ">=", 0.5),
            helps("event_count", ">=", 1, kinds="detokenizer"),
            helps("change", ">=", 1.5, of="seconds", what="return_s"),
            helps("slice_share", "<", 0.3, part="queue"),
        ),
        absent=(
            never("group_ratio", ">=", 3, attribute="parsed", what="return"),
            never("loop_blocked", "is", True),
            never("backlogged_streams", ">=", 3),
        ),
        twins=(Twin("decode.batch-growth", must("slice_share", ">=", 0.12, part="return")),),
        remedies=(
            Remedy("mitigate-now", "stream in larger intervals", "--stream-interval", True, "smoothness of the stream"),
            Remedy("fix", "run more detokenizer or API workers", None, True),
        ),
        source_entry=("managers/detokenizer_manager.py",),
        route="replay",
        statement="cause.frontend.detokenizer",
    ),
    Cause(
        id="frontend.output-parser",
        looks_like="Only responses with tools or reasoning come back late.",
        differs="Plain responses of the same length come back at once.",
        required=(must("group_ratio", ">=", 3, attribute="parsed", what="return"),),
        supporting=(
            helps("slice_share", ">=", 0.15, part="return"),
            helps("slice_share", "<", 0.4, part="queue"),
        ),
        twins=(Twin("frontend.detokenizer", must("group_ratio", ">=", 3, attribute="parsed", what="return")),),
        explains=("frontend.detokenizer",),
        scope_by=("tools_set",),
        remedies=(
            Remedy("mitigate-now", "serve such requests without the parser, or parse at the client", None, False),
        ),
        source_entry=("function_call/", "entrypoints/openai/serving_chat.py"),
        route="replay",
        statement="cause.frontend.output-parser",
    ),
    Cause(
        id="frontend.blocked-loop",
        looks_like="Requests of all kinds are held before the scheduler and let go together.",
        differs="The holds end at the same moments: one event loop stood still for everyone.",
        required=(must("loop_blocked", "is", True),),
        supporting=(
            helps("slice_share", ">=", 0.3, part="pre_queue"),
            helps("event_count", ">=", 1, kinds="loop-blocked"),
            helps("slice_share", "<", 0.4, part="queue"),
        ),
        absent=(
            never("grammar_wait", "is", True),
            never("tokens_stop", "is", True),
            never("streams_paused", "is", True),
        ),
        twins=(
            Twin("queue.arrival-overload", must("loop_blocked", "is", True)),
            Twin("frontend.tokenizer", must("loop_blocked", "is", True)),
        ),
        explains=("frontend.tokenizer", "queue.burst"),
        remedies=(Remedy("fix", "move long work off the API server's loop; run more API workers", None, True),),
        source_entry=("managers/tokenizer_manager.py", "entrypoints/http_server.py"),
        route="replay",
        statement="cause.frontend.blocked-loop",
    ),
    Cause(
        id="frontend.gateway",
        looks_like="The engine answers in time and the client sees it late.",
        differs="Most of the client's TTFT lies outside the engine, and the client sent on time.",
        required=(must("client_gap_share", ">=", 0.5),),
        absent=(never("generator_lag_s", ">=", 0.2),),
        supporting=(helps("slice_share", "<", 0.4, part="queue"), helps("event_count", ">=", 1, kinds="routing")),
        twins=(Twin("client.load-generator", must("generator_lag_s", "<", 0.2)),),
        remedies=(
            Remedy("fix", "measure at the gateway: connection pools, buffering of streams, retries", None, False),
        ),
        source_entry=("the gateway",),
        route="none",
        statement="cause.frontend.gateway",
    ),
    Cause(
        id="frontend.slow-client",
        looks_like="Chunks pile up because a reader takes them slowly.",
        differs="The engine produced them in time; only some clients' streams coalesce.",
        required=(must("backlogged_streams", ">=", 3),),
        supporting=(helps("slice_share", "<", 0.3, part="queue"), helps("stream_gap_ratio", ">=", 4)),
        twins=(Twin("frontend.detokenizer", must("backlogged_streams", ">=", 3)),),
        scope_by=("client",),
        remedies=(Remedy("fix", "read the stream faster or ask for a larger stream interval", None, False),),
        source_entry=("managers/tokenizer_manager.py",),
        route="none",
        statement="cause.frontend.slow-client",
    ),
)
