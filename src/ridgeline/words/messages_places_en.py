"""English sentences of the measures outside one engine: ranks and gateway, cache, pairs, clients, and what changed.

A key ending in `.zero` is said where the value is 0 or no.
"""

from typing import Final

PLACES: Final[dict[str, str]] = {
    "free_places": (
        "{free} of {places} ranks or replicas have no queue; {place} has {most:.3g} waiting, {busy:.3g} running (means)"
    ),
    "arrival_skew": "arrivals by {by:word} at {place}: {ratio:.3g} times the fair share of {places}",
    "top_key_share": (
        "routing key {routing_key} brings {share:.0%} of the work; {sticky:.0%} of its requests go to one rank "
        "({keys} keys)"
    ),
    "snapshot_age_s": "load answers are {age:.3g} s old (oldest {oldest:.3g} s)",
    "gateway_skew": (
        "the gateway counts {most:.3g} requests in flight at {worker} and next to none at {idle} of {workers} workers"
    ),
    "gateway_skew.zero": "no worker of the gateway stands idle beside a loaded one ({workers} workers)",
    "herds": (
        "at {uneven} of {n} moments with a queue one place had at most a quarter of the fullest one's, which changed "
        "{turns} times"
    ),
    "herds.zero": "no herds: where queues are uneven the same place is the fullest ({n} moments)",
    "inflight_piles": "the inflight queue of {place} goes from {first:.3g} to {last:.3g} requests (means of thirds)",
    "answered_share": "{hits} of {n} answers have a status like {status} ({value:.1%})",
    "answered_share.zero": "none of {n} answers has a status of failure",
    "unended_share": "{left:#answer} of {n} begun {left:#has|have} no line of {left:#its|their} end",
    "unended_share.zero": "each of {n} answers begun has a line of its end",
    "admission_stops": (
        "after the last prefill of {place} running goes from {first} to {last} while {waiting} wait, "
        "the pool {usage:.0%} full"
    ),
    "admission_stops.zero": "the log does not end with a queue beside an emptying batch",
    "boot_pace": (
        "the first ten requests after a boot took {first:.3g} s for a token, those of later {later:.3g} s "
        "({value:.3g} times)"
    ),
    "itl_over_step": (
        "a token reaches the client every {heard_s:.3g} s and the engine makes one every {made_s:.3g} s "
        "({value:.3g} times)"
    ),
    "pick_skew": (
        "{share:.0%} of {picks:#pick} among {candidates} workers went to {worker} ({value:.3g} times its even share)"
    ),
    "idle_places": (
        "{idle} of {places} ranks or replicas have next to nothing while {place} has {most:.3g} requests (means)"
    ),
    "idle_places.zero": "no rank or replica stands idle beside a loaded one ({places} seen)",
    "workers.away": (
        "the gateway holds {value} of {workers} workers for unhealthy or behind an open circuit[[: {worker}]]"
    ),
    "workers.away.zero": "the gateway counts each of {workers} workers as in rotation",
    "workers.named": "worker {worker} was taken out ({n:#line})",
    "workers.one": "all {n} picks went to {worker}, the only candidate, with no cached block to bind it",
    "workers.left": "{value} of {workers} servers had requests before and none since[[: {worker}]]",
    "workers.empty": "{value} of {places} workers stood empty[[ ({worker})]]",
    "workers.empty.zero": "none of {places} workers stood empty",
    "workers.several": "picks went to {workers} workers",
    "hit_ratio": "{hit:.6g} of {all:.6g} prompt tokens were cached ({ratio:.0%}, from {basis})",
    "hit_ratio.zero": "none of {all:.6g} prompt tokens was cached (from {basis})",
    "cache.off": "the prefix cache is switched off",
    "cache.on": "the prefix cache is on",
    "sequences_without_hit": (
        "{seqs} sequences of about {prompt:.4g} tokens found no cached token[[ (pool at most {usage:.0%} full)]]"
    ),
    "sequences_without_hit.zero": "{seqs} sequences of about {prompt:.4g} tokens found {hit:#cached token}",
    "cumulative_rate": (
        "the printed rate goes from {first:.0%} to {last:.0%} in ever smaller steps at {running:.3g} running"
    ),
    "cumulative_rate.zero": (
        "the printed rate ({first:.0%}, then {last:.0%}) does not behave like a total since the start"
    ),
    "gauge_against_hits": "the gauge read 0 in {zeros} of {n} scrapes while {real:.0%} of prompt tokens hit",
    "page.little": "whole pages of {page} can cost at most {most:#token} of a typical prompt of {prompt:#token}",
    "page_loss": "of a typical prompt of {prompt:#token} whole pages of {page} can match {usable}",
    "hits_cost_time": (
        "TTFT went from {ttft_first:.3g} s to {ttft_last:.3g} s while the hit ratio went from {hit_first:.0%} to "
        "{hit_last:.0%}"
    ),
    "written_never_read": "{value:#token} written to the cache by {n:#request}, {read} read",
    "drifting_head": "the head of prompts that should be equal differs: {value}",
    "evicted_tokens": "{value:#token} evicted",
    "evicted_tokens.zero": "no token was evicted",
    "places_per_key": "requests of one key are served by {value:#rank} on average ({keys:#key})",
    "split_by_key": "{share:.0%} of {n} prompts have their nearest equal under another key",
    "prefix_loss": (
        "{lost:.6g} of {of:.6g} prompt {counts} lost to {reason:word} ({share:.0%} of them; {hit:.0%} hit) over "
        "{n:#prompt}"
    ),
    "prefix_loss.zero": "no prompt {counts} lost to {reason:word} over {n:#prompt}",
    "first_difference": (
        "{prompts} of {n} prompts that should share differ by {value} at position {position:.6g}; {lost} "
        "{counts} behind it are equal"
    ),
    "first_difference.none": "of {n:#prompt} none differs from one it should share with",
    "pd_queue": (
        "{queue} queue: median {value:.3g} ({first:.3g} at first, {last:.3g} at the end, peak {peak:.3g}; {n:#point})"
    ),
    "pd_queue_frozen": "the {queue} queue stood at {length:.3g} for {span_s:.3g} s",
    "pd_queue_frozen.zero": "the {queue} queue did not stand still",
    "real_prefills": (
        "prefill batches of at most {largest:.4g} tokens for each request[[, bootstrap queue up to {bootstrap:.3g}]]"
    ),
    "kvpoll_timeouts": "{value:#room} timed out in {state}[[ after {waited:.4g} s]]",
    "kvpoll_timeouts.zero": "no room timed out in {state}",
    "transfer_failures": "{failed:#transfer or handshake|transfers or handshakes} failed, {late} of them by timeout",
    "transfer_failures.zero": "no transfer or handshake failed",
    "stuck.timeout": "{value:#room} timed out in {state}[[ after {waited:.4g} s]]",
    "stuck.copy": "{value:#transfer was|transfers were} given up after a timeout",
    "stuck.queue": "the {queue} queue stood at {length:.3g} for {span_s:.3g} s",
    "stuck.none": "no transfer stands still",
    "entry_wait_s": "{hits} of {n} requests waited {typical:.3g} s before their transfer ({least:.3g} to {most:.3g} s)",
    "entry_wait_s.zero": "too few requests waited before their transfer to matter ({hits} of {n})",
    "handshake.steady": (
        "{hits:#request} waited {typical:.3g} s for the handshake, each as long ({least:.3g} to {most:.3g} s)"
    ),
    "prealloc.waits": "{hits} of {n} requests waited {typical:.3g} s for decode's KV ({least:.3g} to {most:.3g} s)",
    "transfer_slowed": "transfers run at {now:.3g} GB/s against {then:.3g} before ({ratio:.3g} times)",
    "handshake.timeout": "{value:#request} timed out in {state}[[ after {waited:.4g} s]]",
    "standing_queue": (
        "on {standing} of {places} ranks or replicas somebody waits at every load point while {running:.3g} run"
    ),
    "grammar_queue": "{queue:#request} wait for a grammar (most: {peak:.3g})",
    "adapters_full": "all {slots:.3g} adapter slots are in use while {waiting:#request} wait",
    "adapters_full.zero": "{used:.3g} of {slots:.3g} adapter slots are in use",
    "tier_short": (
        "since the start the slower tiers did not keep or give back {share:.0%} of the tokens ({dropped:.4g} dropped, "
        "{missed:.4g} not fetched)[[, mostly: {reason}]]"
    ),
    "handshake.unreachable": "handshakes fail and the bootstrap server is out of reach[[: {text}]]",
    "handshake.probes": (
        "bootstrap queue {first:.3g} to {last:.3g} while prefill batches hold {largest:#token} each: only probes "
        "get through"
    ),
    "handshake.probes.zero": (
        "bootstrap queue {first:.3g} to {last:.3g} (peak {peak:.3g}): no handshake that holds requests back"
    ),
    "handshake.none": "no handshake timed out",
    "prealloc.queue": "{queue} queue from {first:.3g} to {last:.3g} (peak {peak:.3g})",
    "prealloc.bootstrap": (
        "bootstrap queue up to {peak:.3g} on prefill although real prompts flow and hardly one waits for prefill"
    ),
    "prealloc.bootstrap.zero": "bootstrap queue up to {peak:.3g} on prefill: no backlog for decode's KV to be seen",
    "transfer_speed": "median transfer {speed:.3g} GB/s[[ at {mb:.3g} MB each]] over {n:#request}",
    "kv_released_early": (
        "KV of {value:#request} let go before decode had read it[[ (lease {lease_s} s, read {late_s} s later)]]"
    ),
    "kv_released_early.zero": "no KV was let go before decode had read it",
    "sides": (
        "saturated side: {value:word} (prefill {prefill_waiting:.3g} waiting, decode {decode_waiting:.3g}[[, its "
        "pool {decode_usage:.0%} full]])"
    ),
    "decode_usage": "decode's pool is {usage:.0%} full (median of {n:#point})",
    "clash.said": "the servers say that their settings disagree[[: {text}]]",
    "clash.lease": "KV is let go before decode has read it[[ (after {lease_s} s, read {late_s} s later)]]",
    "clash.none": "no setting is named as clashing",
    "client_gap_share": "the client sees {seen_s:.3g} s to the first token, the engine {engine_s:.3g} s (medians)",
    "generator_lag_s": "requests leave {lag:.3g} s later than planned (95 % quantile {p95:.3g} s)",
    "aligned_stalls": (
        "{held:#request was|requests were} held before the scheduler and let go together in {stalls:#moment}[[ "
        "(worst {worst:.3g} s)]]"
    ),
    "aligned_stalls.zero": "no moment in which many requests held before the scheduler were let go together",
    "tokenize_s": "tokenizing takes {seconds:.3g} s (95 % quantile {p95:.3g} s)",
    "told_aborts": "someone told the server to end {value:#request}",
    "told_aborts.zero": "nobody told the server to end a request",
    "told_share": "{value:.0%} of the known requests ended because someone told the server to",
    "told_share.zero": "none of the known requests ended because someone told the server to",
    "server_aborts": "{hits} of {n:#request} ended by an error of the server[[: {message}]]",
    "server_aborts.zero": "none of {n:#request} ended by an error of the server",
    "backlogged_streams": "{value:#stream} with chunks piled up[[ (most of client {client})]]",
    "backlogged_streams.zero": "no line of chunks piled up for a slow reader",
    "load_points": "{n:#load point}[[ over {span_s:.4g} s]] of {places:#rank or replica|ranks or replicas}",
    "rated_points": "{value:#point} with a throughput",
    "error_lines": "{value:#error-like line} no finding accounts for",
    "error_lines.zero": "no error-like line was left unread",
    "bad_events": "{value:#event} of trouble (most: {most:word})",
    "bad_events.zero": "no event of trouble",
    "changes_near_onset": "{value:#change} near the onset: {kinds:word}",
    "changes_near_onset.zero": "no restart, setting, weight, flush or adapter change near the onset",
    "change": "{of:word} is {now:.4g} against {then:.4g} before ({ratio:.3g} times)",
    "change.tokenize_s": "{of:word} takes {now:.3g} s against {then:.3g} s before ({ratio:.3g} times)",
    "change.prefill_s": "{of:word} takes {now:.3g} s against {then:.3g} s before ({ratio:.3g} times)",
    "change.transfer_s": "{of:word} takes {now:.3g} s against {then:.3g} s before ({ratio:.3g} times)",
    "change.return_s": "{of:word} takes {now:.3g} s against {then:.3g} s before ({ratio:.3g} times)",
    "change.e2e_s": "{of:word} takes {now:.3g} s against {then:.3g} s before ({ratio:.3g} times)",
    "change.tpot_s": "{of:word} takes {now:.3g} s against {then:.3g} s before ({ratio:.3g} times)",
    "change.ttft_s": "{of:word} takes {now:.3g} s against {then:.3g} s before ({ratio:.3g} times)",
    "change.step_s": "{of:word} takes {now:.3g} s against {then:.3g} s before ({ratio:.3g} times)",
    "change.batch_size": "{now:.3g} requests share a decode batch against {then:.3g} before ({ratio:.3g} times)",
    "change.hit_ratio": "{now:.0%} of prompt tokens are cached against {then:.0%} before",
    "change.arrival_rate": "{now:.3g} requests/s arrive against {then:.3g} before ({ratio:.3g} times)",
    "change.none": "{of:word} is {now:.4g}, and was 0 before",
    "drift.differs": "the head of prompts that should be equal differs: {kind}",
}
