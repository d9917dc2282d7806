"""English sentences of the measures: what one fact says. Figures are those the measure gives."""

from typing import Final

# What the short names of measures and times mean to a reader.
NAMES: Final[dict[str, str]] = {
    "arrival_rate": "the arrival rate",
    "batch_size": "the decode batch",
    "step_s": "a decode step",
    "ttft_s": "the first token",
    "tpot_s": "each further token",
    "e2e_s": "a request",
    "return_s": "the way back",
    "transfer_s": "a KV transfer",
    "prefill_s": "a prefill",
    "tokenize_s": "tokenizing",
    "fresh_tokens": "the uncached prompt (tokens)",
    "prompt_tokens": "the prompt (tokens)",
    "prefill_cost": "prefill for each token (s)",
    "accept_length": "the accepted length (tokens)",
    "transfer_speed": "the transfer speed (GB/s)",
    "hit_ratio": "the hit ratio",
    "places_per_key": "the number of ranks that serve a key",
    "evicted_tokens": "evicted tokens",
}

MEASURES: Final[dict[str, str]] = {
    "waiting_share": "requests waited at {queued} of {n} load points, {value:.0%} of the time, {peak} at most",
    "queue_pressure": (
        "{waiting:.3g} wait beside {busy:.3g} running (median of the {queued} of {n} load points with a queue)"
    ),
    "queue_pressure.none": "nobody waited at any of {n} load points",
    "queued.felt": (
        "one slow start in ten waits {seconds:.3g} s or more; waiting is {share:.0%} of the slower starts' TTFT"
    ),
    "queued.chunks": (
        "prefill batches are full ({typical:g} of {budget:g} tokens) and requests wait for the next one "
        "{share:.0%} of the time"
    ),
    "burst.waits": "one request in a hundred waited {seconds:.3g} s or more",
    "queue_motion": (
        "the queue of all ranks is {value}: {first} at first, "
        "{last} at the end, {peak} at its peak over {n} load points"
    ),
    "queue_motion.none": "there is no queue at any of {n} load points",
    "queue_peak": "the longest queue was {value} over {n} load points",
    "at_cap_share": "running stood at its limit of {cap} ({basis}) at {hits} of {n} load points with a queue",
    "running_cap": "the running limit of a rank is {value}",
    "slack_share": (
        "at {hits} of {n} load points with a queue the pool was under {usage_below:.0%} full and the batch not full"
    ),
    "usage_when_queued": "the pool is {usage:.0%} full (median of {n} load points with a queue, at most {peak:.0%})",
    "backlog_s": "{seconds:.3g} s of prefill work are pending (at {tps:g} tokens/s, over {n} prefill lines)",
    "priority_gap": (
        "priority {slow_class} waits {slow_s:.3g} s, priority {fast_class} {fast_s:.3g} s ({ratio:.3g} times)"
    ),
    "overload.arrivals": "{now:.3g} requests/s arrive against {then:.3g} before ({ratio:.3g} times)",
    "overload.backlog": "{seconds:.3g} s of prefill work are pending at {tps:g} tokens/s, and the queue is {motion}",
    "giants.waits": "{behind} of {slow} slow starts overlap the prefill of one of {giants} giant prompts",
    "giants.chunks": "a giant prompt ({tokens} tokens) is prefilled alone, batch after batch, while others wait",
    "refused": "{value} requests were refused for a full queue",
    "device_busy": "the device ran forward passes {value:.0%} of the time (median of {n})",
    "usage": (
        "pool usage ({stat}) {value:.0%} over {n} load points (first {first:.0%}, last {last:.0%}, peak {peak:.0%})"
    ),
    "retractions": "{value} distinct retractions put {requests} requests back",
    "retractions_per_min": "{events} distinct retractions in {span_s:.3g} s",
    "tokens_per_running": "each running request holds {each:g} tokens; the pool is about {pool:g}",
    "pool_tokens": "the pool holds {pool:g} tokens ({basis})",
    "pool.small": "the pool holds {pool:g} tokens ({basis}); one long context is {bound}",
    "runaway_outputs": (
        "{running} running hold {per_request} tokens each at usage {usage}; "
        "{own} of {steps} steps grew by their own decode only"
    ),
    "outputs.runaway": (
        "{running} running hold {per_request} tokens each at usage {usage}; "
        "{own} of {steps} steps grew by their own decode only"
    ),
    "outputs.unlimited": "{cut} of {n} requests ended by length, {unset} without max_new_tokens (longest {longest})",
    "outputs.identical": "{cut} of {n} requests ended by length, all at {common} tokens: an explicit limit",
    "pool.shrunk": "the last start brought a pool of {pool} tokens; it was {before} before",
    "unowned_share": (
        "{tokens:g} tokens are locked where all requests in flight together could hold {could:g} (pool {pool:g})"
    ),
    "idle_usage": "{value:.0%} of the pool is locked after {span_s:.3g} s without work (first {first:.0%})",
    "evictable_share": "{share:.0%} of the pool is evictable cache ({evictable:g} tokens)",
    "allocation_failures": (
        "{value} failed allocations: {asked} tokens asked, {free} free ({free_pages} pages of {page}), "
        "{evictable} evictable"
    ),
    "prefill_s": "median prefill {seconds} s over {n} requests",
    "prompt_tokens": "{value:.0f} prompt tokens a request on average ({n} requests)",
    "fresh_tokens": "{value:.0f} uncached prompt tokens a request on average ({n} requests)",
    "prefill_cost": "{per_token} s for each uncached token over {n} requests",
    "prefill_excess": "prefill takes {ratio} times what the baseline's fit gives for the same tokens",
    "giant_prefill": "longest run of one-request prefill batches while others waited: {value} tokens",
    "waits_behind_giants": "{behind} of {slow} slow starts overlap the prefill of one of {giants} giant prompts",
    "cold_start_ratio": "first requests after the boot take {first} s to a token, later ones {later} s",
    "step_s": "a decode step takes {step} s at {running} running (median of {n})",
    "step_excess": "a decode step at {running:.3g} running takes {step:.3g} s, by the baseline's fit {expected:.3g} s",
    "batch_size": "median decode batch {value} over {n} points",
    "graph_lost": "{missed} of {n} decode lines without a graph, largest batch with one {largest}",
    "graph_miss_share": "{missed} of {n} decode lines without a graph (largest batch with one {largest_with})",
    "accept_length": "{accept} tokens accepted for each verify step (median of {n})",
    "stalled_points": "{hits} load points with running requests and under one token a second for each",
    "prefill_train": "{value:,} tokens prefilled in one train of batches past running streams",
    "prefill_train.none": "no long train of prefill batches past running streams",
    "halts": "{n} batch lines with {value} silences that neither steps nor prefills account for (worst {worst:.3g} s)",
    "flush.none": "no flush, restart or weight update",
    "flush.seen": "the cache was emptied {events} times ({kinds})",
    "flush.back": "the cache was emptied ({kinds}); at the end {end:.0%} of prompt tokens hit again",
    "flush.again": "the cache was emptied {events} times ({kinds}), to the end of the window",
    "flush.lasting": "the loss outlasts the flush ({kinds}): at the end only {end:.0%} of prompt tokens hit",
    "setting.same": "{setting} is {now} all along",
    "setting.changed": "{setting} is {now} since a restart, {then} before",
    "page.grew": "pages hold {now} tokens since a restart, {then} before",
    "keys.none": "no extra key or adapter in any of {n} requests",
    "keys.same": "{keys} extra keys or adapters in {n} requests, {keys_then} before",
    "keys.split": (
        "{keys} extra keys or adapters in {n} requests, {keys_then} before: {hit:.0%} of their tokens hit, "
        "{without:.0%} of the others'"
    ),
    "cached_each": "{value:.4g} cached tokens a request on average ({n} requests)",
    "drift.none": "prompts that should share their head do",
    "drift.other": "the fall to {ratio:.0%} has another reason than the prompts",
    "drift.left": (
        "hits fell to {ratio:.0%} with no flush, setting, key, placement or full pool to account for it: "
        "the prompts themselves are left"
    ),
    "places.one": "one rank serves everything",
    "places.spread": "requests of one key are spread over more ranks than before ({then:.3g} on average then)",
    "prefill_pause": "a long prefill batch of {tokens:.0f} tokens halts running streams for {pause:.3g} s",
    "prefill_pause.grew": (
        "a long prefill batch of {tokens:.0f} tokens halts running streams for {pause:.3g} s, before {then:.3g} s"
    ),
    "prefill_excess.steps": (
        "1,000 uncached tokens take {actual:.3g} s between decode reports, {expected:.3g} s by the baseline's fit"
    ),
    "stream_gap_ratio": "longest gap of a stream {typical} s against {usual} s usually",
    "slow_rank_ratio": "{place}: a step takes {slow} s against {usual} s on the others",
    "seconds": "{what} at the {q:.0%} quantile: {seconds:.3g} s over {n} requests; {censored} never finished",
    "observed": "{what} at quantile {q}: between {at_least} and {at_most} s over {n} observations (histogram)",
    "slice.observed": "{part}: {spent_s} s of {of_s} s over {n} observations (sums of histograms)",
    "slice_share": "{part}: {spent_s:.4g} s of {of_s:.4g} s over the {n} slower requests",
    "outcome_share": "{hits} of {n} requests {what}",
    "arrival_rate": "{rate:.3g} requests/s received",
    "reserve_ratio": "requests reserve {asked:g} output tokens on average and produce {got:g} ({ratio:.3g} times)",
    "reserve_pressure": "the head of the queue and the running ones reserve {needed:g} tokens; {free:g} are free",
    "reserve.prefill-bound": (
        "prefill batches are full ({typical} of {budget} tokens): prefill is the limit, not reserves"
    ),
    "prefill_fill": "prefill batches hold {typical} of {budget} tokens while requests wait",
    "output_tokens": "mean output {value:.0f} tokens over {n} requests",
    "typical_return": "the way back takes {value:.0%} of a typical request (median {return_s:.3g} s of {n})",
    "return_follows_length": "the way back follows output length (correlation {value_3}, median {return_s} s)",
    "group_ratio": (
        "{what} with {attribute} {with_s} s, without {without_s} s at equal length ({members} of {n} requests)"
    ),
    "adapters.off": "adapters are off",
    "adapters.limit": (
        "{busy} running at a limit of {limit} adapters in a batch ({stated}), {waiting} waiting, usage {usage}"
    ),
    "grammar.queue": "{queue} requests in the grammar queue (peak {peak}), {waiting} in the waiting queue",
    "class.best": (
        "{value}: {hits} of its {members} requests are slow (lift {lift:.3g}), {coverage:.0%} of the {slow} slow ones"
    ),
    "class.none": "no attribute marks the {slow} slow requests among {n}",
    "class.outlier": "one request is slow among {n}: an outlier, no class",
    "event_count": "{value} events ({kinds}) of {requests} requests: {text}",
    "event_count.none": "no event of {kinds}",
    "orphan_outputs": "{lines} outputs for {rids} requests whose client is gone",
    "orphans.outputs": "{lines} outputs for {rids} requests whose client is gone",
    "orphans.none": "{lines} outputs without an owner",
    "ceiling_loss": "the most that runs at once went from {early} to {late}",
    "ceiling.fell": "the most that runs at once went from {early} to {late} while usage was {usage}",
    "corrupt_outputs": "{value} signs that output cannot be trusted: {text}",
    "frozen_s": "longest time without any motion while work was present: {value:.0f} s",
    "silent_arrivals": "{value} requests received after the last batch line, none finished ({silent_s} s)",
    "hang.watchdog": "a watchdog fired after {seconds} s without progress ({n} events)",
    "hang.frozen": (
        "{place}: nothing moved for {still_s} s with {running} running and {waiting} waiting, {arrived} arrived"
    ),
    "hang.silent": "{n} servers printed nothing for {silent_s} s while requests arrived and none finished",
    "hang.none": "no watchdog line and nothing frozen",
    "free_places": (
        "{free} of {places} ranks or replicas have no queue; {place} has {most:.3g} waiting, {busy:.3g} running (means)"
    ),
    "arrival_skew": "arrivals by {by} at {place}: {ratio} times the fair share of {places}",
    "top_key_share": (
        "routing key {routing_key} brings {share:.0%} of the work; {sticky:.0%} of its requests go to one rank "
        "({keys} keys)"
    ),
    "snapshot_age_s": "load answers are {age:.3g} s old (oldest {oldest:.3g} s)",
    "workers.named": "worker {worker} was taken out ({n} events)",
    "workers.one": "all {n} picks went to {worker}, the only candidate, with no cached block to bind it",
    "workers.empty": "{value} of {places} workers stood empty ({worker})",
    "workers.several": "picks went to {workers} workers",
    "hit_ratio": "{hit} of {all} prompt tokens were cached ({ratio}, from {basis})",
    "cache.off": "the prefix cache is switched off",
    "cache.on": "the prefix cache is on",
    "sequences_without_hit": (
        "{seqs} sequences of about {prompt} tokens found {hit} cached tokens (usage up to {usage})"
    ),
    "cumulative_rate": "the printed rate goes from {first} to {last} in ever smaller steps at {running} running",
    "gauge_against_hits": "the gauge read 0 in {zeros} of {n} scrapes while {real} of the tokens hit",
    "page_loss": "of {prompt} prompt tokens whole pages of {page} can match {usable}",
    "hits_cost_time": (
        "TTFT from {ttft_first} s to {ttft_last} s while the hit ratio went from {hit_first} to {hit_last}"
    ),
    "written_never_read": "{value} tokens written to the cache by {n} requests, {read} read",
    "drifting_head": "the head of prompts that should be equal differs: {value}",
    "evicted_tokens": "{value} tokens evicted",
    "places_per_key": "requests of one key are served by {value} ranks on average ({keys} keys)",
    "split_by_key": "{share} of {n} prompts have their nearest equal under another key",
    "prefix_loss": "{lost} of {of} prompt {counts} lost to {reason} ({share} of them; {hit} hit) over {n} prompts",
    "first_difference": (
        "{prompts} of {n} prompts that should share differ by {value} at {position}; {lost} {counts} behind "
        "it are equal"
    ),
    "first_difference.none": "{n} prompts: none differs from one it should share with",
    "pd_queue": "{queue} queue {value} (median of {n}; first {first}, last {last}, peak {peak})",
    "pd_queue_frozen": "{queue} queue at {length} over {span_s} s",
    "real_prefills": "prefill batches of at most {largest} tokens for each request, bootstrap queue up to {bootstrap}",
    "kvpoll_timeouts": "{value} rooms timed out in {state} after {waited} s (on {ranks} ranks)",
    "transfer_failures": "{failed} transfers or handshakes failed, {late} of them by timeout",
    "stuck.timeout": "{value} rooms timed out in {state} after {waited} s (on {ranks} ranks)",
    "stuck.copy": "{value} transfers given up after a timeout",
    "stuck.queue": "{queue} queue at {length} over {span_s} s",
    "stuck.none": "no transfer stands still",
    "entry_wait_s": "{hits} of {n} requests waited {typical} s before their transfer ({least} to {most} s)",
    "handshake.steady": "{hits} requests waited {typical} s for the handshake, each as long ({least} to {most} s)",
    "prealloc.waits": "{hits} of {n} requests waited {typical} s for decode's KV ({least} to {most} s)",
    "transfer_slowed": "transfers run at {now} GB/s against {then} before ({ratio} times)",
    "handshake.timeout": "{n} requests timed out in {state} after {waited} s",
    "handshake.probes": (
        "bootstrap queue {first} to {last} while prefill batches hold {largest} token each: probes only"
    ),
    "handshake.none": "no handshake timed out",
    "prealloc.queue": "{queue} queue from {first} to {last} (peak {peak})",
    "prealloc.bootstrap": "bootstrap queue {peak} on prefill although real prompts flow and none waits for prefill",
    "transfer_speed": "median transfer {speed} GB/s at {mb} MB over {n} requests",
    "kv_released_early": (
        "KV of {value} requests let go before decode had read it (lease {lease_s} s, read {late_s} s later)"
    ),
    "sides": (
        "saturated side: {value} (prefill {prefill_waiting} waiting, decode {decode_waiting}, its usage {decode_usage})"
    ),
    "decode_usage": "decode pool usage {usage} (median of {n})",
    "clash.said": "the servers say that their settings disagree: {text}",
    "clash.lease": "KV is let go after {lease_s} s, decode reads {late_s} s later",
    "clash.none": "no setting is named as clashing",
    "client_gap_share": "the client sees {seen_s} s to the first token, the engine {engine_s} s",
    "generator_lag_s": "requests leave {lag} s later than planned (95th percentile {p95} s)",
    "aligned_stalls": (
        "{held} requests held before the scheduler, released together in {stalls} moments (worst {worst} s)"
    ),
    "tokenize_s": "tokenizing takes {seconds} s (95th percentile {p95} s)",
    "told_aborts": "{value} requests told to end",
    "told_share": "{value:.0%} of the known requests were told to end",
    "server_aborts": "{hits} of {n} requests ended by an error of the server: {message}",
    "backlogged_streams": "{value} streams with chunks piled up (client {client})",
    "load_points": "{n} load points over {span_s:.4g} s of {places} ranks or replicas",
    "rated_points": "{value} points with a throughput ({basis})",
    "error_lines": "{value} error-like lines",
    "bad_events": "{value} events of trouble (most: {most})",
    "changes_near_onset": "{value} changes near the onset: {kinds}",
    "change": "{of} is {now:g} against {then:g} before ({ratio:.3g} times)",
    "change.tokenize_s": "{of} takes {now:.3g} s against {then:.3g} s before ({ratio:.3g} times)",
    "change.prefill_s": "{of} takes {now:.3g} s against {then:.3g} s before ({ratio:.3g} times)",
    "change.transfer_s": "{of} takes {now:.3g} s against {then:.3g} s before ({ratio:.3g} times)",
    "change.return_s": "{of} takes {now:.3g} s against {then:.3g} s before ({ratio:.3g} times)",
    "change.e2e_s": "{of} takes {now:.3g} s against {then:.3g} s before ({ratio:.3g} times)",
    "change.tpot_s": "{of} takes {now:.3g} s against {then:.3g} s before ({ratio:.3g} times)",
    "change.ttft_s": "{of} takes {now:.3g} s against {then:.3g} s before ({ratio:.3g} times)",
    "change.step_s": "{of} takes {now:.3g} s against {then:.3g} s before ({ratio:.3g} times)",
    "change.batch_size": "{now:.3g} requests share a decode batch against {then:.3g} before ({ratio:.3g} times)",
    "change.hit_ratio": "{now:.0%} of prompt tokens are cached against {then:.0%} before",
    "change.arrival_rate": "{now:.3g} requests/s arrive against {then:.3g} before ({ratio:.3g} times)",
    "change.none": "{of} is {now:g}, and was 0 before",
}
