"""English sentences of the measures of one engine: what one fact says. Figures are those the measure gives.

A key ending in `.zero` is said where the value is 0 or no.
"""

from typing import Final

MEASURES: Final[dict[str, str]] = {
    "waiting_share": "requests waited at {queued} of {n} load points, {value:.0%} of the time, {peak:.3g} at most",
    "waiting_share.zero": "no request waited at any of {n:#load point}",
    "queue_pressure": (
        "{waiting:#request} wait beside {busy:.3g} running (medians of the {queued} of {n} load points with a queue)"
    ),
    "queue_pressure.none": "nobody waited at any of {n:#load point}",
    "pool_queue.prealloc": "{waiting:.3g} wait on the decode server for room in its pool ({busy:.3g} run)",
    "pool_queue.felt": (
        "one request in twenty waits {seconds:.3g} s or more while the pool is full; waiting is {share:.0%} of the "
        "slower starts' TTFT"
    ),
    "queued.felt": (
        "one slow start in ten waits {seconds:.3g} s or more; waiting is {share:.0%} of the slower starts' TTFT"
    ),
    "queued.chunks": (
        "prefill batches are full ({typical:g} of {budget:g} tokens) and requests wait for the next one "
        "{share:.0%} of the time"
    ),
    "arrival_spike": "ten seconds brought {most:#request}, {usual:.3g} are usual",
    "arrival_spike.zero": "no ten seconds brought many more than the usual {usual:.3g} requests ({most} at most)",
    "rush_felt": (
        "{many} requests that came in crowded ten seconds take {rushe"
        "d:.3g} s to the first token, the others {usual:.3g} s"
    ),
    "ends_together": "{together:.3g} answers ended together after {silence:.3g} s without an end, {stalls:.3g} times",
    "group_ratio.nobody": "no request has {attribute} output",
    "plain_answers": "{value:#answer} came back that no parser is known to have touched",
    "burst.waits": "one request in a hundred waited {seconds:.3g} s or more",
    "queue_motion": (
        "the queue of all ranks is {value:word}: {first:.3g} at first, {last:.3g} at the end, {peak:.3g} at its "
        "peak over {n:#load point}"
    ),
    "queue_motion.none": "there is no queue at any of {n:#load point}",
    "queue_peak": "the longest queue was {value:.3g} over {n:#load point}",
    "at_cap_share": "running stood at its limit of {cap} ({basis}) at {hits} of {n} load points with a queue",
    "at_cap_share.zero": "running stood at its limit of {cap} ({basis}) at none of {n:#load point} with a queue",
    "running_cap": "the running limit of a rank is {value}",
    "slack_share": (
        "at {hits} of {n} load points with a queue the pool was under {usage_below:.0%} full and the batch not full"
    ),
    "slack_share.zero": (
        "at none of {n:#load point} with a queue was the pool under {usage_below:.0%} full and the batch not full"
    ),
    "usage_when_queued": "the pool is {usage:.0%} full (median of {n} load points with a queue, at most {peak:.0%})",
    "backlog_s": "{seconds:.3g} s of prefill work are pending (at {tps:.4g} tokens/s, over {n:#prefill line})",
    "priority_gap": (
        "priority {slow_class} waits {slow_s:.3g} s, priority {fast_class} {fast_s:.3g} s ({ratio:.3g} times)"
    ),
    "overload.arrivals": "{now:.3g} requests/s arrive against {then:.3g} before ({ratio:.3g} times)",
    "overload.backlog": (
        "{seconds:.3g} s of prefill work are pending at {tps:.4g} tokens/s, and the queue is {motion:word}"
    ),
    "giants.waits": "{behind} of {slow} slow starts overlap the prefill of one of {giants} giant prompts",
    "giants.chunks": "a giant prompt ({tokens:#token}) is prefilled alone, batch after batch, while others wait",
    "refused": "{value:#request was|requests were} refused for a full queue",
    "refused.zero": "no request was refused for a full queue",
    "device_busy": "the device ran forward passes {value:.0%} of the time (median of {n})",
    "usage": (
        "pool usage: {value:.0%} ({stat:word} of {n:#load point}; {first:.0%} at first, {last:.0%} at the end, "
        "{peak:.0%} at the peak)"
    ),
    "retractions": "{value:#retraction} of {requests:#request}",
    "retractions.zero": "no retraction",
    "retractions_per_min": "{events:#retraction}[[ in {span_s:.3g} s]]",
    "retractions_per_min.zero": "no retraction[[ in {span_s:.3g} s]]",
    "tokens_per_running": "each running request holds {each:.4g} tokens; the pool is about {pool:.4g}",
    "pool_tokens": "the pool holds {pool:.4g} tokens ({basis})",
    "pool.small": "the pool holds {pool:.4g} tokens ({basis}); one long context is {bound}",
    "runaway_outputs": (
        "{running:.3g} running hold {per_request:.4g} tokens each, the pool {usage:.0%} full; {own} of {steps} "
        "steps grew by their own decode only"
    ),
    "outputs.runaway": (
        "{running:.3g} running hold {per_request:.4g} tokens each, the pool {usage:.0%} full; {own} of {steps} "
        "steps grew by their own decode only"
    ),
    "outputs.unlimited": (
        "{cut} of {n} requests ended by length, {unset} without max_new_tokens[[ (longest {longest})]]"
    ),
    "outputs.identical": "{cut} of {n} requests ended by length, all at {common} tokens: an explicit limit",
    "pool.shrunk": "the last start brought a pool of {pool} tokens; it was {before} before",
    "unowned_share": (
        "{tokens:.4g} tokens are locked, and all requests in flight together could hold {could:.4g} (pool {pool:.4g})"
    ),
    "idle_usage": "{value:.0%} of the pool is locked after {span_s:.3g} s without work[[ (first {first:.0%})]]",
    "evictable_share": "{share:.0%} of the pool is evictable cache ({evictable:.4g} tokens)",
    "allocation_failures": (
        "{value:#failed allocation}[[: {asked:#token} asked, {free} free]][[ ({free_pages} pages of {page})]][[, "
        "{evictable} more evictable]]"
    ),
    "prefill_s": "median prefill {seconds} s over {n:#request}",
    "prompt_tokens": "{value:.0f} prompt tokens a request on average ({n} requests)",
    "fresh_tokens": "{value:.0f} uncached prompt tokens a request on average ({n} requests)",
    "prefill_cost": "{per_token} s for each uncached token over {n} requests",
    "switched_on": "{setting} is {now}",
    "prefill_over_step": "prefill takes {prefill} times what it took before, a decode step {step} times",
    "prefill_excess": "prefill takes {ratio} times what the baseline's fit gives for the same tokens",
    "giant_prefill": "longest row of one-request prefill batches while others waited: {value:#token}",
    "giant_prefill.zero": "no row of one-request prefill batches while others waited",
    "waits_behind_giants": "{behind} of {slow} slow starts overlap the prefill of one of {giants} giant prompts",
    "waits_behind_giants.zero": "no slow start overlaps the prefill of a giant prompt",
    "cold_start_ratio.tokens": "first requests after the boot take {first:.3g} s for a token, later ones {later:.3g} s",
    "cold_start_ratio": "first requests after the boot take {first:.3g} s to the first token, later ones {later:.3g} s",
    "step_s": "a decode step takes {step:.3g} s at {running:.3g} running (median of {n})",
    "step_excess": "a decode step at {running:.3g} running takes {step:.3g} s, by the baseline's fit {expected:.3g} s",
    "batch_size": "median decode batch {value:.3g} over {n:#point}",
    "graph_lost": "{missed} of {n} decode lines without a CUDA graph[[, largest batch with one {largest}]]",
    "graph_lost.beyond": (
        "{missed} of {n} decode lines without a CUDA graph, beyond the largest captured batch of {captured}: "
        "{beyond:.3g} token/s for each request, {below:.3g} with one"
    ),
    "graph_lost.zero": "no decode line ran without a CUDA graph at a size that had one ({n:#line})",
    "graph_miss_share": "{missed} of {n} decode lines without a CUDA graph[[ (largest batch with one {largest_with})]]",
    "accept_length": "{accept:.3g} tokens accepted in each verify step (median of {n})",
    "stalled_points": "{hits:#load point} with running requests and under one token a second for each",
    "stalled_points.zero": "no lasting stretch with under one token a second for each running request",
    "prefill_train": "{value:#token} prefilled in one row of prefill batches past running streams",
    "prefill_train.zero": "no long row of prefill batches past running streams",
    "prefill_train.none": "no long row of prefill batches past running streams",
    "halts": (
        "the scheduler was silent for longer than its steps and prefills account for (worst {worst:.3g} s; "
        "{n:#batch line})"
    ),
    "halts.zero": "no repeated silence that neither steps nor prefills account for ({n:#batch line})",
    "flush.none": "no flush, restart or weight update",
    "flush.seen": "the cache was emptied {events:#time} ({kinds})",
    "flush.back": "the cache was emptied ({kinds}); at the end {end:.0%} of prompt tokens hit again",
    "flush.again": "the cache was emptied {events:#time} ({kinds}), to the end of the window",
    "flush.lasting": "the loss outlasts the flush ({kinds}): at the end only {end:.0%} of prompt tokens hit",
    "setting.same": "{setting} is {now} all along",
    "setting.changed": "{setting} is {now} since a restart, {then} before",
    "page.grew": "pages hold {now} tokens since a restart, {then} before",
    "keys.none": "no extra key or adapter in any of {n} requests",
    "keys.same": "{keys:#extra key or adapter|extra keys or adapters} in {n} requests[[, {keys_then} before]]",
    "keys.split": (
        "{keys:#extra key or adapter|extra keys or adapters} in {n} requests, {keys_then} before: {hit:.0%} of "
        "their tokens hit, {without:.0%} of the others'"
    ),
    "cached_each": "{value:.4g} cached tokens a request on average ({n} requests)",
    "drift.none": "prompts that should share their head do",
    "drift.other": (
        "the hit ratio fell to {ratio:.0%}, yet each request finds as many cached tokens as before: its prompt "
        "only grew"
    ),
    "drift.left": (
        "hits fell to {ratio:.0%} with no flush, setting, key, placement or full pool to account for it: the "
        "prompts themselves are left"
    ),
    "places.one": "one rank serves everything",
    "places.spread": "requests of one key are served by {places:.3g} ranks or servers on average, {then:.3g} before",
    "prefill_pause": "a long prefill batch of {tokens:.0f} tokens halts running streams for {pause:.3g} s",
    "prefill_pause.grew": (
        "a long prefill batch of {tokens:.0f} tokens halts running streams for {pause:.3g} s, before {then:.3g} s"
    ),
    "prefill_excess.steps": (
        "1,000 uncached tokens take {actual:.3g} s between decode reports, {expected:.3g} s by the baseline's fit"
    ),
    "stream_gap_ratio": "longest gap of a stream {typical:.3g} s against {usual:.3g} s usually (medians)",
    "slow_rank_ratio": "{place}: a decode step takes {slow:.3g} s against {usual:.3g} s on the others",
    "seconds": "{what:word}: {q:quantile} {seconds:.3g} s over {n:#request}[[; {censored} of them never finished]]",
    "observed": (
        "{what:word}: {q:quantile} between {at_least:.3g} and {at_most:.3g} s over {n:#observation} (histogram)"
    ),
    "slice.observed": "{part:word}: {spent_s:.4g} s of {of_s:.4g} s over {n:#observation} (sums of histograms)",
    "slice_share": "{part:word}: {spent_s:.4g} s of {of_s:.4g} s, summed over the {n} slower requests",
    "outcome_share": "{hits} of {n:#request} ended {what:word}",
    "outcome_share.zero": "none of {n:#request} ended {what:word}",
    "arrival_rate": "{rate:.3g} requests/s received",
    "reserve_ratio": "requests reserve {asked:.4g} output tokens on average and produce {got:.4g} ({ratio:.3g} times)",
    "reserve_pressure": (
        "what admission sets aside comes to {value:.2g} times what is free, by typical figures[[: {needed:.4g} tokens "
        "for the head of the queue and what the running ones may still write, {free:.4g} free]]"
    ),
    "reserve.prefill-bound": (
        "prefill batches are full ({typical:.4g} of {budget:.4g} tokens): prefill is the limit, not what is reserved"
    ),
    "prefill_fill": "prefill batches hold {typical:.4g} of {budget:.4g} tokens while requests wait",
    "output_tokens": "mean output {value:.0f} tokens over {n} requests",
    "typical_return": "the way back takes {value:.0%} of a typical request (median {return_s:.3g} s of {n:#request})",
    "return_follows_length": "correlation of the way back with output length: {value_3} (median {return_s:.3g} s)",
    "group_ratio": (
        "{what:word} with {attribute} {with_s:.3g} s, without {without_s:.3g} s at equal length ({members} of "
        "{n} requests)"
    ),
    "adapters.off": "adapters are off",
    "adapters.limit": (
        "{busy:.3g} running with at most {limit:#adapter} in a batch ({stated}), {waiting:.3g} waiting[[, the "
        "pool {usage:.0%} full]]"
    ),
    "grammar.queue": "{queue:.3g} in the grammar queue (peak {peak:.3g}), {waiting:.3g} in the waiting queue",
    "link.moved": "moving the KV of a request takes {now:.3g} s on average, {then:.3g} s before",
    "policy_spread": "the gateway picks workers by {now}[[, by {then} before]]",
    "places.policy": (
        "the gateway picks one of {places} workers by {now}, by {then} before: no prefix is kept in one place"
    ),
    "drift.class": (
        "requests with {value} found {then:.0%} of their prompts in the cache before and {now:.0%} since, the others "
        "as much as ever"
    ),
    "affected": "{hits} of {n:#request} were hit ({who})[[; what sets them apart: {value}]]",
    "class.best": (
        "{value}: {hits} of its {members} requests are slow (lift {lift:.3g}), {coverage:.0%} of the {slow} slow ones"
    ),
    "class.none": "no attribute marks the {slow} slow requests among {n}",
    "class.outlier": "one request is slow among {n}: an outlier, no class",
    "event_count": "{value:#line} of {kinds:word}[[: {text}]]",
    "event_count.zero": "no line of {kinds:word}",
    "event_count.none": "no line of {kinds:word}",
    "orphan_outputs": "{lines:#output} for {rids:#request} whose client is gone",
    "orphan_outputs.zero": "no output for a request whose client is gone",
    "orphans.outputs": "{lines:#output} for {rids:#request} whose client is gone",
    "orphans.none": "no output for a request whose client is gone",
    "ceiling_loss": "the most that runs at once went from {early:.3g} to {late:.3g}",
    "ceiling.fell": "the most that runs at once went from {early:.3g} to {late:.3g}[[, the pool {usage:.0%} full]]",
    "ceiling.fell.zero": "the most that runs at once did not sink for want of slots ({early:.3g}, then {late:.3g})",
    "corrupt_outputs.zero": "nothing says that output cannot be trusted",
    "corrupt_outputs": "{value:#sign} that output cannot be trusted[[: {text}]]",
    "frozen_s": "longest time without any motion while work was present: {value:.0f} s",
    "silent_arrivals": "{value:#request} received after the last batch line, none finished[[ ({silent_s:.3g} s)]]",
    "silent_arrivals.zero": "no sign of requests left behind after the last batch line",
    "hang.watchdog": "a watchdog fired[[ after {seconds:.3g} s without progress]]",
    "hang.frozen": (
        "{place}: nothing moved for {still_s:.3g} s with {running:.3g} running and {waiting:.3g} waiting, "
        "{arrived} arrived"
    ),
    "hang.alive": (
        "no batch line for {silent_s:.3g} s while requests arrived, yet the scheduler goes on counting its queue"
    ),
    "head_blocked": (
        "for {span_s:.3g} s nothing ran and the pool stood empty while {least:.3g} to {most:.3g} requests waited[[ on "
        "{place}]]"
    ),
    "head_blocked.zero": "requests were admitted whenever nothing ran",
    "head.none": "requests were admitted whenever nothing ran",
    "short_share": (
        "{hits} of {n} answers stopped by themselves after one or two tokens[[, {inside} of the {of} with {name}]][[; "
        "{then:.2%} before]]"
    ),
    "short_share.zero": "hardly an answer stops by itself after one or two tokens",
    "decode_demand": "{rate:.3g} requests/s of {length:.4g} output tokens each are asked for",
    "decode_demand.given": "{given:.4g} tokens/s are decoded",
    "leak.check": "the engine's own idle check does not find all tokens of the pool: {text}",
    "leak.each": (
        "each running request seems to hold {now:.4g} tokens against {then:.4g} before ({ratio:.3g} times), though "
        "prompts and answers are no longer"
    ),
    "tier.off": "no server keeps KV behind its device (--enable-hierarchical-cache is not set)",
    "tier_lost": (
        "host and storage tiers give {now:.3g} tokens a request against {then:.3g} before, the device {device:.3g} "
        "against {device_then:.3g}"
    ),
    "hang.unanswered": (
        "/health does not answer[[ and the scheduler's figures are {age:.3g} s old]][[ and nothing moved for "
        "{still_s:.3g} s]], with {running:.3g} running and {waiting:.3g} waiting"
    ),
    "hang.stale": (
        "the scheduler's figures have been the same for {held_s:.3g} s ({age:.3g} s old) with {running:.3g} running "
        "and {waiting:.3g} waiting"
    ),
    "snapshot_held_s": "{n} load answers of one and the same moment, {age:.3g} s old",
    "snapshot_held_s.zero": "load figures are renewed",
    "unanswered": "{value:#poll} of /health failed or went unanswered, the last ones among them",
    "unanswered.zero": "/health answers",
    "hang.silent": "no batch line for {silent_s:.3g} s while requests arrived and none finished",
    "hang.none": "no watchdog line and nothing frozen",
}
