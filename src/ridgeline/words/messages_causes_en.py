"""English statements of the findings. Figures are named `measure__figure`, from the facts of the cause's signs."""

from typing import Final

CAUSES: Final[dict[str, str]] = {
    "cause.queue.arrival-overload": (
        "More arrives than is served: {queued__waiting:#request} wait beside {queued__busy:.3g} running, although "
        "neither the running limit nor the pool holds them."
    ),
    "cause.queue.burst": (
        "A burst queued up to {queue_peak__value:#request} and drained by itself while nothing else changed."
    ),
    "cause.queue.running-cap": (
        "{queued__waiting:#request} wait while running stands at its limit of {at_cap_share__cap} "
        "({at_cap_share__basis})[[ and running requests fill only {usage_when_queued__usage:.0%} of the pool]]."
    ),
    "cause.queue.over-reservation": (
        "{queued__waiting:#request} wait although at {slack_share__hits} of {slack_share__n} load points with a queue "
        "neither the pool nor the batch was full[[: requests reserve {over_reserved__asked:.0f} output tokens on "
        "average and produce {over_reserved__got:.0f}]][[; admission needs {over_reserved__needed:.0f} tokens "
        "for the head of the queue and what the running ones may still write, and {over_reserved__free:.0f} are "
        "free]]."
    ),
    "cause.queue.head-of-line": (
        "Others wait behind a giant prompt[[ ({giant_prefill__value:#token} prefilled alone)]]."
    ),
    "cause.queue.priority-starvation": (
        "Priority {priority_gap__slow_class} waits {priority_gap__slow_s:.3g} s, priority "
        "{priority_gap__fast_class} only {priority_gap__fast_s:.3g} s, at similar lengths."
    ),
    "cause.queue.slot-leak": (
        "Slots stay taken by requests nobody waits for[[ ({slots_held__lines:#output} for "
        "{slots_held__rids:#request} whose client is gone)]][[ (the most that runs at once fell from "
        "{ceiling_loss__early:.3g} to {ceiling_loss__late:.3g})]]."
    ),
    "cause.queue.never-fits": (
        "A request can never be admitted[[: {unfittable__text}]][[, so that nothing ran for {unfittable__span_s:.3g} s "
        "while {unfittable__most:.3g} waited beside an empty pool]]."
    ),
    "cause.queue.limit-rejected": (
        "{refused__value:#request was|requests were} refused because the queue stood at its limit."
    ),
    "cause.queue.scheduler-overhead": "The device is busy only {device_busy__busy:.0%} of the time while requests run.",
    "cause.prefill.prompt-mix": (
        "A request brings {change_fresh_tokens__now:.0f} uncached tokens on average, "
        "{change_fresh_tokens__then:.0f} before[[; the cost of a token is about the same "
        "({prefill_excess__ratio:.2f} times)]]."
    ),
    "cause.prefill.regression": (
        "Prefill takes {prefill_excess__ratio:.2f} times what it took for the same uncached tokens."
    ),
    "cause.prefill.cold-start": (
        "The first requests after a boot take {cold_start_ratio__ratio:.3g} times as long as later ones "
        "({cold_start_ratio__first:.3g} s against {cold_start_ratio__later:.3g} s)."
    ),
    "cause.prefill.grammar": (
        "Structured-output requests wait for their grammar[[ ({grammar_wait__with_s:.3g} s with a grammar, "
        "{grammar_wait__without_s:.3g} s without)]][[ (grammar queue {grammar_wait__queue:.3g})]]."
    ),
    "cause.prefill.multimodal": (
        "Multimodal requests take {group_ratio_multimodal_before_prefill__with_s:.3g} s before prefill, text of "
        "the same length {group_ratio_multimodal_before_prefill__without_s:.3g} s."
    ),
    "cause.prefill.lora": (
        "Requests wait for adapters: {adapter_wait__busy:.3g} running with at most "
        "{adapter_wait__limit:#adapter} in a batch ({adapter_wait__stated}), {adapter_wait__waiting:.3g} "
        "waiting[[, the pool {adapter_wait__usage:.0%} full]]."
    ),
    "cause.decode.batch-growth": (
        "Batches are {change_batch_size__ratio:.2f} times the baseline's, and steps longer in step with that[[: "
        "at the same batch a step takes {step_excess__ratio:.2f} times what it took]]."
    ),
    "cause.decode.regression": (
        "A decode step at the same batch takes {step_excess__step:.3g} s, {step_excess__expected:.3g} s before "
        "({step_excess__ratio:.2f} times)."
    ),
    "cause.decode.graph-miss": (
        "{graph_lost__missed} of {graph_lost__n} decode lines ran without a graph[[ at sizes that had one (up to "
        "{graph_lost__largest})]][[: batches beyond the largest captured one of {graph_lost__captured}, where each "
        "request gets {graph_lost__beyond:.3g} token/s instead of {graph_lost__below:.3g}]]."
    ),
    "cause.decode.spec-acceptance": (
        "Speculation accepts {change_accept_length__now:.3g} tokens a step against "
        "{change_accept_length__then:.3g} before."
    ),
    "cause.decode.slow-rank": (
        "{slow_rank_ratio__place} takes {slow_rank_ratio__slow:.3g} s a decode step, the others "
        "{slow_rank_ratio__usual:.3g} s."
    ),
    "cause.decode.prefill-interference": (
        "Long prefill batches ran while streams were decoding, and the streams stood still meanwhile[[ "
        "({prefill_train__value:#token} in one row of prefill batches)]]."
    ),
    "cause.decode.token-stall": "Requests stay in the batch and get no tokens for seconds at a time.",
    "cause.memory.saturation": (
        "The pool is {usage_when_queued__usage:.0%} full[[ ({usage_when_queued__which})]] while "
        "{pool_queue__waiting:#request} wait beside {pool_queue__busy:.3g} running."
    ),
    "cause.memory.retraction-storm": (
        "{retractions__requests:#request was|requests were} put back (retracted, or preempted in vLLM's word) and "
        "computed anew[[, within {retractions_per_min__span_s:.3g} s]]."
    ),
    "cause.memory.leak": (
        "The pool's KV does not add up with the requests there are[[: {leaked__missing:#token} of {leaked__total} are "
        "missing]][[: {leaked__surplus:#token} more than the pool of {leaked__total} are counted]][[ (the engine's own "
        "idle check: {leaked__text})]]."
    ),
    "cause.memory.oom-crash": (
        "An allocation failed[[: {allocation_failures__asked:#token} asked, {allocation_failures__free} free]][[ "
        "({allocation_failures__free_pages} pages of {allocation_failures__page})]][[, "
        "{allocation_failures__evictable} more evictable]].[[ The log says: "
        "{event_count_cuda_oom_pool_full__text}]]"
    ),
    "cause.memory.slots-exhausted": "Request slots ran out[[: {event_count__text}]]",
    "cause.memory.host-oom": "A process was killed, most likely for host memory[[: {killed__text}]]",
    "cause.memory.no-token-limit": (
        "Outputs run on without a limit[[: {unlimited_outputs__running:.3g} running hold "
        "{unlimited_outputs__per_request:.4g} tokens each]][[; {unlimited_outputs__unset:#request} ended by "
        "length with no max_new_tokens set]]."
    ),
    "cause.memory.retained-cache": (
        "Memory holds cache on purpose: {evictable_share__share:.0%} of the pool is evictable at a hit ratio of "
        "{hit_ratio__ratio:.0%}."
    ),
    "cause.memory.pool-misconfigured": (
        "The pool holds only {pool_too_small__pool} tokens ({pool_too_small__basis})[[; it is "
        "{pool_pinches__usage:.0%} full]][[ while {pool_queue__waiting:#request} wait beside "
        "{pool_queue__busy:.3g} running]][[; {pool_pinches__now:.0%} of prompt tokens hit, "
        "{pool_pinches__then:.0%} before]]."
    ),
    "cause.cache.flushed": (
        "Only {change_hit_ratio__now:.0%} of prompt tokens hit, {change_hit_ratio__then:.0%} before: the cache "
        "was emptied ({flush_explains__kinds}, {flush_explains__events:#time})."
    ),
    "cause.cache.prompt-drift": (
        "Prompts that should share their head no longer do[[: {content_changed__kind}]][[ (told by what is left: hits "
        "fell to {content_changed__ratio:.0%} with no flush, setting, key, placement or full pool to account for it; "
        "the prompts themselves were not seen)]]."
    ),
    "cause.cache.eviction": (
        "Only {change_hit_ratio__now:.0%} of prompt tokens hit, {change_hit_ratio__then:.0%} before, while "
        "running requests take up to {evicting__peak:.0%} of the pool: cached prefixes are evicted before they "
        "return."
    ),
    "cause.cache.page-misaligned": (
        "Only whole pages match, and what prompts share ends within one[[ (of a typical prompt of "
        "{pages_bite__prompt:#token} whole pages of {pages_bite__page} can match {pages_bite__usable} at most)]]."
    ),
    "cause.cache.scattered-routing": (
        "Requests of one key are spread over more ranks or servers than before, and each computes the prefix: "
        "{change_hit_ratio__now:.0%} of prompt tokens hit, {change_hit_ratio__then:.0%} before."
    ),
    "cause.cache.key-split": "Equal prompts carry different keys or adapters and cannot share.",
    "cause.cache.disabled": "Not one prompt token is reused: the prefix cache is off, or never matches.",
    "cause.cache.metric-artefact": (
        "The printed hit rate misleads[[ (printed from {misread_rate__first:.0%} to {misread_rate__last:.0%}, a "
        "running total since the start)]][[; {misread_rate__real:.0%} of prompt tokens were really cached]]."
    ),
    "cause.routing.hot-key": (
        "{free_places__place} has {free_places__most:.3g} waiting (mean) while {free_places__free} of "
        "{free_places__places} ranks or replicas have no queue[[ (routing key {top_key_share__routing_key} "
        "brings {top_key_share__share:.0%} of the work)]]."
    ),
    "cause.routing.token-skew": (
        "Requests are spread evenly, tokens are not: {arrival_skew_tokens__place} gets "
        "{arrival_skew_tokens__ratio:.3g} times its share of tokens."
    ),
    "cause.routing.worker-out": (
        "Requests do not reach every worker[[ (the evidence names {missing_workers__worker})]]."
    ),
    "cause.routing.stale-load": "Placement follows load figures {snapshot_age_s__age:.3g} s old.",
    "cause.disagg.bootstrap": (
        "Requests wait for a handshake that does not come[[ ({handshake_stuck__state} for "
        "{handshake_stuck__waited} s, then given up)]][[ (bootstrap queue {handshake_stuck__first:.3g} to "
        "{handshake_stuck__last:.3g})]][[: {handshake_stuck__text}]]."
    ),
    "cause.disagg.prealloc": (
        "Requests pile up for decode's KV: {prealloc_backlog__queue} queue up to {prealloc_backlog__peak:.3g}[[, "
        "decode usage {decode_usage__usage:.0%}]]."
    ),
    "cause.disagg.transfer-slow": (
        "KV moves at {transfer_slowed__now:.3g} GB/s against {transfer_slowed__then:.3g} before."
    ),
    "cause.disagg.transfer-stuck": (
        "KV never came[[: {stuck_transfers__given_up:#transfer|transfers} given up]][[: {stuck_transfers__length:.3g} "
        "stand in the transfer queue, unmoved for {stuck_transfers__span_s:.3g} s]][[ (in state "
        "{stuck_transfers__state} after {stuck_transfers__waited} s; the wait began that long before the line)]]."
    ),
    "cause.disagg.ratio": "The {sides__value} side is saturated while the other has room.",
    "cause.disagg.abort-hold": "Aborted requests hold decode KV until a timeout[[: {event_count__text}]]",
    "cause.disagg.peer-lost": "The other side was lost[[: {event_count_peer_lost__text}]]",
    "cause.disagg.room-mismatch": "Rooms and data do not match[[: {event_count__text}]]",
    "cause.disagg.config-mismatch": (
        "A setting is at fault[[: {settings_clash__text}]][[: KV is let go after {settings_clash__lease_s} s, "
        "decode reads it {settings_clash__late_s} s later]]."
    ),
    "cause.disagg.staging": "The staging buffer is too small[[: {event_count__text}]]",
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
        "One loop stood still in {loop_blocked__stalls:#moment}[[: "
        "{loop_blocked__held:#request was|requests were} held "
        "before the scheduler and let go together (worst {loop_blocked__worst:.3g} s)]]"
        "[[: {loop_blocked__together:#answer} ended together after a silence]]."
    ),
    "cause.frontend.gateway": (
        "The client sees {client_gap_share__seen_s:.3g} s to the first token, the engine "
        "{client_gap_share__engine_s:.3g} s."
    ),
    "cause.frontend.slow-client": "{backlogged_streams__value:#stream was|streams were} read too slowly.",
    "cause.storage.tier-stall": (
        "Waiting for a slower tier takes time before the first token[[: {slice_share_storage__spent_s:.4g} s of "
        "the slower requests' {slice_share_storage__of_s:.4g} s of TTFT]][[: TTFT went from "
        "{hits_cost_time__ttft_first:.3g} s to {hits_cost_time__ttft_last:.3g} s although the hit ratio rose "
        "from {hits_cost_time__hit_first:.0%} to {hits_cost_time__hit_last:.0%}]]."
    ),
    "cause.storage.tier-miss": (
        "The tiers behind the device no longer give what they did[[: {tier_lost__now:.3g} tokens a request, "
        "{tier_lost__then:.3g} before]][[: {event_count_storage__value:#failure} of the store]]."
    ),
    "cause.fault.hang": (
        "A scheduler stood still[[ ({stands_still__seconds:.3g} s without progress when its watchdog fired)]][[ "
        "(/health does not answer, {stands_still__mute:#poll} of it)]][[ "
        "(its figures are {stands_still__age:.3g} s old)]][[ "
        "(nothing moved for {stands_still__still_s:.3g} s)]][[ (no line for {stands_still__silent_s:.3g} s while "
        "requests arrived)]]; the stall began that long before."
    ),
    "cause.fault.crash": "A process died[[: {event_count_crash__text}]]",
    "cause.fault.wrong-output": (
        "Output is not to be trusted[[: {wrong_outputs__text}]][[: {wrong_outputs__hits} of {wrong_outputs__n} answers "
        "stopped by themselves after one or two tokens ({wrong_outputs__name})]]."
    ),
    "cause.fault.abort": (
        "{server_aborts__hits} of {server_aborts__n} requests ended by an error of the server[[: "
        "{server_aborts__message}]]"
    ),
    "cause.client.request-config": (
        "{outcome_share_invalid__hits} of {outcome_share_invalid__n} requests were refused as malformed."
    ),
    "cause.client.cancelled": (
        "{told_aborts__value:#request} ended because someone told the server to abort[[ "
        "({told_share__value:.0%} of the known requests)]]."
    ),
    "cause.client.load-generator": "Requests leave the client {generator_lag_s__lag:.3g} s later than planned.",
}
