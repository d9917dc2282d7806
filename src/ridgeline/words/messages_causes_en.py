"""English statements of the findings. Figures are named `measure__figure`, from the facts of the cause's signs."""

from typing import Final

CAUSES: Final[dict[str, str]] = {
    "cause.queue.arrival-overload": (
        "More arrives than is served: {queued__waiting:.3g} wait beside {queued__busy:.3g} running, although neither "
        "the running limit nor the pool holds them."
    ),
    "cause.queue.burst": (
        "A burst queued up to {queue_peak__value} requests and drained by itself while nothing else changed."
    ),
    "cause.queue.running-cap": (
        "{queued__waiting:.3g} requests wait while running stands at its limit of {at_cap_share__cap} "
        "({at_cap_share__basis}) and the pool is only {usage_when_queued__usage:.0%} full."
    ),
    "cause.queue.over-reservation": (
        "{queued__waiting:.3g} requests wait although at {slack_share__hits} of {slack_share__n} points "
        "neither the "
        "pool nor the batch was full: requests reserve {over_reserved__asked} output tokens and produce "
        "{over_reserved__got}; "
        "the head and the running ones reserve {over_reserved__needed} tokens beside {over_reserved__free} free."
    ),
    "cause.queue.head-of-line": "Others wait behind a giant prompt ({giant_prefill__value} tokens prefilled alone).",
    "cause.queue.priority-starvation": (
        "Priority {priority_gap__slow_class} waits {priority_gap__slow_s:.3g} s, priority "
        "{priority_gap__fast_class} only {priority_gap__fast_s:.3g} s, at similar lengths."
    ),
    "cause.queue.slot-leak": (
        "Slots stay taken by requests nobody waits for ({slots_held__lines} outputs for {slots_held__rids} "
        "requests without "
        "a client; the most that runs at once went from {ceiling_loss__early} to {ceiling_loss__late})."
    ),
    "cause.queue.never-fits": "{event_count__value} requests can never be admitted: {event_count__text}",
    "cause.queue.limit-rejected": "{refused__value} requests were refused because the queue stood at its limit.",
    "cause.queue.scheduler-overhead": "The device is busy {device_busy__busy:.0%} of the time while requests run.",
    "cause.prefill.prompt-mix": (
        "A request brings {change_fresh_tokens__now:.0f} uncached tokens on average, {change_fresh_tokens__then:.0f} "
        "before; the cost of a token is about the same ({prefill_excess__ratio:.2f} times)."
    ),
    "cause.prefill.regression": (
        "Prefill takes {prefill_excess__ratio:.2f} times what it took for the same uncached tokens."
    ),
    "cause.prefill.cold-start": (
        "The first requests after a boot take {cold_start_ratio__first} s to a token, later ones "
        "{cold_start_ratio__later} s."
    ),
    "cause.prefill.grammar": (
        "Structured-output requests wait for their grammar ({grammar_wait__with_s} s with, {grammar_wait__without_s} s "
        "without; grammar queue {grammar_wait__queue})."
    ),
    "cause.prefill.multimodal": (
        "Multimodal requests take {group_ratio_multimodal_before_prefill__with_s} s before prefill, text of "
        "the same length "
        "{group_ratio_multimodal_before_prefill__without_s} s."
    ),
    "cause.prefill.lora": (
        "Requests wait for adapters: {adapter_wait__busy} running at a limit of {adapter_wait__limit} "
        "adapters in a batch "
        "({adapter_wait__stated}), {adapter_wait__waiting} waiting, usage {adapter_wait__usage}."
    ),
    "cause.decode.batch-growth": (
        "Batches are {change_batch_size__ratio:.2f} times the baseline's, and steps longer in step with that: at the "
        "same batch a step takes {step_excess__ratio:.2f} times what it took."
    ),
    "cause.decode.regression": (
        "A decode step at the same batch takes {step_excess__step:.3g} s, {step_excess__expected:.3g} s before "
        "({step_excess__ratio:.2f} times)."
    ),
    "cause.decode.graph-miss": (
        "{graph_lost__missed} of {graph_lost__n} decode lines ran without a graph at sizes that had one "
        "(up to {graph_lost__largest})."
    ),
    "cause.decode.spec-acceptance": (
        "Speculation accepts {change_accept_length__now} tokens a step against {change_accept_length__then} before."
    ),
    "cause.decode.slow-rank": (
        "{slow_rank_ratio__place} takes {slow_rank_ratio__slow} s a step, the others {slow_rank_ratio__usual} s."
    ),
    "cause.decode.prefill-interference": (
        "Long prefill batches ran while streams were decoding, and the streams stood still meanwhile."
    ),
    "cause.decode.token-stall": "Requests stay in the batch and get no tokens for seconds at a time.",
    "cause.memory.saturation": (
        "The pool is {usage_when_queued__usage:.0%} full while {queued__waiting:.3g} requests wait beside "
        "{queued__busy:.3g} running."
    ),
    "cause.memory.retraction-storm": (
        "{retractions__value} retractions put {retractions__requests} requests back within "
        "{retractions_per_min__span_s:.3g} s."
    ),
    "cause.memory.leak": "The pool holds KV that no request owns: it is not given back.",
    "cause.memory.oom-crash": (
        "An allocation failed: {allocation_failures__asked} tokens asked, {allocation_failures__free} free "
        "({allocation_failures__free_pages} pages of {allocation_failures__page}), "
        "{allocation_failures__evictable} evictable. {event_count_cuda_oom_pool_full__text}"
    ),
    "cause.memory.slots-exhausted": "Request slots ran out: {event_count__text}",
    "cause.memory.host-oom": "A process was killed, most likely for host memory: {killed__text}",
    "cause.memory.no-token-limit": (
        "Outputs run on without a limit: {unlimited_outputs__running} running hold "
        "{unlimited_outputs__per_request} tokens "
        "each; {unlimited_outputs__unset} requests ended by length with no max_new_tokens set."
    ),
    "cause.memory.retained-cache": (
        "Memory holds cache on purpose: {evictable_share__share:.0%} of the pool is evictable at a hit ratio of "
        "{hit_ratio__ratio:.0%}."
    ),
    "cause.memory.pool-misconfigured": (
        "The pool holds only {pool_too_small__pool} tokens ({pool_too_small__basis}); usage "
        "{usage_when_queued__usage:.0%} while "
        "{queued__waiting:.3g} requests wait."
    ),
    "cause.cache.flushed": (
        "Only {change_hit_ratio__now:.0%} of prompt tokens hit, {change_hit_ratio__then:.0%} before: the cache was "
        "emptied ({flush_explains__kinds}, {flush_explains__events} times)."
    ),
    "cause.cache.prompt-drift": ("Prompts that should share their head no longer do."),
    "cause.cache.eviction": (
        "Only {change_hit_ratio__now:.0%} of prompt tokens hit, {change_hit_ratio__then:.0%} before, while running "
        "requests take up to {usage__value:.0%} of the pool: cached prefixes are evicted before they return."
    ),
    "cause.cache.page-misaligned": "Only whole pages match, and what prompts share ends within one.",
    "cause.cache.scattered-routing": (
        "Requests of one key are spread over more ranks or servers than before, and each computes the prefix: "
        "{change_hit_ratio__now:.0%} of prompt tokens hit, {change_hit_ratio__then:.0%} before."
    ),
    "cause.cache.key-split": "Equal prompts carry different keys or adapters and cannot share.",
    "cause.cache.disabled": "Not one prompt token is reused: the prefix cache is off, or never matches.",
    "cause.cache.metric-artefact": (
        "The printed rate misleads (from {misread_rate__first} to {misread_rate__last}; "
        "real ratio {misread_rate__real})."
    ),
    "cause.routing.hot-key": (
        "{free_places__place} has {free_places__most} waiting while {free_places__free} of "
        "{free_places__places} ranks or "
        "replicas have no queue (key {top_key_share__routing_key}: {top_key_share__share:.0%} of the work)."
    ),
    "cause.routing.token-skew": (
        "Requests are spread evenly, tokens are not: {arrival_skew_tokens__place} gets "
        "{arrival_skew_tokens__ratio} times its share."
    ),
    "cause.routing.worker-out": "A worker gets nothing while others are loaded ({missing_workers__worker}).",
    "cause.routing.stale-load": "Placement follows load figures {snapshot_age_s__age} s old.",
    "cause.disagg.bootstrap": (
        "Requests wait for a handshake that does not come ({handshake_stuck__state} {handshake_stuck__waited} s; "
        "bootstrap queue {handshake_stuck__first} to {handshake_stuck__last})."
    ),
    "cause.disagg.prealloc": (
        "Requests pile up for decode's KV: {prealloc_backlog__queue} queue up to {prealloc_backlog__peak}, "
        "decode usage {decode_usage__usage}."
    ),
    "cause.disagg.transfer-slow": ("KV moves at {transfer_slowed__now} GB/s against {transfer_slowed__then} before."),
    "cause.disagg.transfer-stuck": (
        "KV never came: {stuck_transfers__value} timed out ({stuck_transfers__state} after "
        "{stuck_transfers__waited} s); "
        "the wait began that long before the line."
    ),
    "cause.disagg.ratio": "The {sides__value} side is saturated while the other has room.",
    "cause.disagg.abort-hold": "Aborted requests hold decode KV until a timeout: {event_count__text}",
    "cause.disagg.peer-lost": "The other side was lost: {event_count_peer_lost__text}",
    "cause.disagg.room-mismatch": "Rooms and data do not match: {event_count__text}",
    "cause.disagg.config-mismatch": (
        "A setting is at fault: {settings_clash__text} (lease {settings_clash__lease_s} s, "
        "read {settings_clash__late_s} s later)."
    ),
    "cause.disagg.staging": "The staging buffer is too small: {event_count__text}",
    "cause.frontend.tokenizer": "Tokenizing takes {tokenize_s__seconds:.3g} s of a request.",
    "cause.frontend.detokenizer": (
        "The way back takes {slice_share_return__spent_s:.4g} s of the slower requests' "
        "{slice_share_return__of_s:.4g} s, whatever they ask for."
    ),
    "cause.frontend.output-parser": (
        "Responses that are parsed (tools, schema, reasoning) take {group_ratio_parsed_return__with_s:.3g} s to "
        "come back, plain ones {group_ratio_parsed_return__without_s:.3g} s."
    ),
    "cause.frontend.blocked-loop": (
        "{aligned_stalls__held} requests were held before the scheduler and let go together in "
        "{aligned_stalls__stalls} moments (worst {aligned_stalls__worst} s)."
    ),
    "cause.frontend.gateway": (
        "The client sees {client_gap_share__seen_s:.3g} s to a token, the engine {client_gap_share__engine_s:.3g} s."
    ),
    "cause.frontend.slow-client": "{backlogged_streams__value} streams were read too slowly.",
    "cause.storage.tier-stall": "Waiting for a slower tier takes {slice_share_storage__spent_s} s of TTFT.",
    "cause.storage.tier-miss": "{event_count_storage__value} failures of the external tier, and fewer hits.",
    "cause.fault.hang": (
        "A scheduler stood still ({stands_still__seconds} s to the watchdog; nothing moved for "
        "{stands_still__still_s} s); the stall began that long before the line."
    ),
    "cause.fault.crash": "A process died: {event_count_crash__text}",
    "cause.fault.wrong-output": "Output is not to be trusted: {corrupt_outputs__text}",
    "cause.fault.abort": "{server_aborts__hits} of {server_aborts__n} requests ended by an error of the server: "
    "{server_aborts__message}",
    "cause.client.request-config": "{outcome_share_invalid__hits} of {outcome_share_invalid__n} requests "
    "were refused as "
    "malformed.",
    "cause.client.cancelled": "{told_aborts__value} requests ended because someone told the server to abort them.",
    "cause.client.load-generator": "Requests leave the client {generator_lag_s__lag:.3g} s later than planned.",
}
