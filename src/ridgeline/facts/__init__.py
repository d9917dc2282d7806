"""The measures: one question, one SQL, one `Fact`. `MEASURES` is the literal list by which evidence recomputes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from ridgeline.bundle.view import View
from ridgeline.facts import (
    backlog,
    cache,
    change,
    classes,
    client,
    decode,
    disagg,
    events,
    evidence,
    groups,
    leak,
    memory,
    prefill,
    prefix,
    prompts,
    queue,
    ranks,
    requests,
    reuse,
    streams,
)
from ridgeline.facts.points import ready
from ridgeline.model.fact import Fact, Statement
from ridgeline.words.messages_en import MESSAGES

MEASURES: Final[dict[str, Callable[..., Fact]]] = {
    # the queue and its regime
    "waiting_share": queue.waiting_share,
    "queue_pressure": queue.queue_pressure,
    "queue_motion": queue.queue_motion,
    "queue_peak": queue.queue_peak,
    "at_cap_share": queue.at_cap_share,
    "running_cap": queue.running_cap,
    "slack_share": queue.slack_share,
    "usage_when_queued": queue.usage_when_queued,
    "pool_full": queue.pool_full,
    "backlog_s": backlog.backlog_s,
    "queued": backlog.queued,
    "burst_felt": backlog.burst_felt,
    "priority_gap": backlog.priority_gap,
    "overload": backlog.overload,
    "behind_giants": backlog.behind_giants,
    "refused": backlog.refused,
    "reserve_pressure": backlog.reserve_pressure,
    "prefill_fill": backlog.prefill_fill,
    "over_reserved": backlog.over_reserved,
    "reservation_regime": backlog.reservation_regime,
    "device_busy": backlog.device_busy,
    # the pool
    "usage": memory.usage,
    "retractions": memory.retractions,
    "retractions_per_min": memory.retractions_per_min,
    "tokens_per_running": memory.tokens_per_running,
    "pool_tokens": memory.pool_tokens,
    "pool_too_small": memory.pool_too_small,
    "runaway_outputs": memory.runaway_outputs,
    "unlimited_outputs": memory.unlimited_outputs,
    "idle_usage": memory.idle_usage,
    "unowned_share": leak.unowned_share,
    "leaked": leak.leaked,
    "killed": events.killed,
    "evictable_share": memory.evictable_share,
    "allocation_failures": memory.allocation_failures,
    # prefill and decode
    "prefill_s": prefill.prefill_s,
    "prompt_tokens": prefill.prompt_tokens,
    "fresh_tokens": prefill.fresh_tokens,
    "prefill_cost": prefill.prefill_cost,
    "prefill_excess": prefill.prefill_excess,
    "giant_prefill": prefill.giant_prefill,
    "waits_behind_giants": prefill.waits_behind_giants,
    "cold_start_ratio": prefill.cold_start_ratio,
    "step_s": decode.step_s,
    "step_excess": decode.step_excess,
    "batch_size": decode.batch_size,
    "graph_lost": decode.graph_lost,
    "graph_miss_share": decode.graph_miss_share,
    "accept_length": decode.accept_length,
    "stalled_points": streams.stalled_points,
    "halts": streams.halts,
    "tokens_stop": streams.tokens_stop,
    "prefill_pause": streams.prefill_pause,
    "streams_paused": streams.streams_paused,
    "prefill_train": streams.prefill_train,
    "stream_gap_ratio": streams.stream_gap_ratio,
    "slow_rank_ratio": decode.slow_rank_ratio,
    # requests
    "seconds": requests.seconds,
    "slice_share": requests.slice_share,
    "outcome_share": requests.outcome_share,
    "arrival_rate": requests.arrival_rate,
    "reserve_ratio": requests.reserve_ratio,
    "output_tokens": requests.output_tokens,
    "return_follows_length": requests.return_follows_length,
    "typical_return": requests.typical_return,
    "group_ratio": groups.group_ratio,
    "slow_class": classes.slow_class,
    "adapters_limit": groups.adapters_limit,
    "adapter_wait": groups.adapter_wait,
    "grammar_wait": groups.grammar_wait,
    # happenings
    "event_count": events.event_count,
    "orphan_outputs": events.orphan_outputs,
    "ceiling_loss": events.ceiling_loss,
    "slots_held": events.slots_held,
    "corrupt_outputs": events.corrupt_outputs,
    "frozen_s": events.frozen_s,
    "silent_arrivals": events.silent_arrivals,
    "stands_still": events.stands_still,
    # ranks and routing
    "free_places": ranks.free_places,
    "arrival_skew": ranks.arrival_skew,
    "top_key_share": ranks.top_key_share,
    "snapshot_age_s": ranks.snapshot_age_s,
    "missing_workers": ranks.missing_workers,
    # the prefix cache
    "hit_ratio": cache.hit_ratio,
    "cache_off": cache.cache_off,
    "sequences_without_hit": cache.sequences_without_hit,
    "cumulative_rate": cache.cumulative_rate,
    "gauge_against_hits": cache.gauge_against_hits,
    "page_loss": cache.page_loss,
    "written_never_read": prompts.written_never_read,
    "drifting_head": prompts.drifting_head,
    "evicted_tokens": cache.evicted_tokens,
    "places_per_key": cache.places_per_key,
    "no_reuse": cache.no_reuse,
    "hits_cost_time": cache.hits_cost_time,
    "misread_rate": cache.misread_rate,
    "split_by_key": prompts.split_by_key,
    "flush_explains": reuse.flush_explains,
    "setting_changed": reuse.setting_changed,
    "pages_bite": reuse.pages_bite,
    "keys_split": reuse.keys_split,
    "cached_each": reuse.cached_each,
    "content_changed": reuse.content_changed,
    "scattered": reuse.scattered,
    "prefix_loss": prefix.prefix_loss,
    "first_difference": prefix.first_difference,
    # disaggregation
    "pd_queue": disagg.pd_queue,
    "pd_queue_frozen": disagg.pd_queue_frozen,
    "real_prefills": disagg.real_prefills,
    "kvpoll_timeouts": disagg.kvpoll_timeouts,
    "transfer_failures": disagg.transfer_failures,
    "stuck_transfers": disagg.stuck_transfers,
    "transfer_speed": disagg.transfer_speed,
    "transfer_slowed": disagg.transfer_slowed,
    "entry_wait_s": disagg.entry_wait_s,
    "kv_released_early": disagg.kv_released_early,
    "sides": disagg.sides,
    "decode_usage": disagg.decode_usage,
    "handshake_stuck": disagg.handshake_stuck,
    "prealloc_backlog": disagg.prealloc_backlog,
    "settings_clash": disagg.settings_clash,
    # the client and the front end
    "client_gap_share": client.client_gap_share,
    "generator_lag_s": client.generator_lag_s,
    "aligned_stalls": client.aligned_stalls,
    "tokenize_s": client.tokenize_s,
    "told_aborts": client.told_aborts,
    "told_share": client.told_share,
    "server_aborts": client.server_aborts,
    "backlogged_streams": client.backlogged_streams,
    # the evidence itself
    "load_points": evidence.load_points,
    "rated_points": evidence.rated_points,
    "error_lines": evidence.error_lines,
    "bad_events": evidence.bad_events,
    "changes_near_onset": evidence.changes_near_onset,
    "change": change.change,
}

Args = tuple[tuple[str, Any], ...]


def ask(view: View, measure: str, args: Args = ()) -> Fact:
    """One measure's fact, named, so that (measure, args) give it again. Raises KeyError for an unknown measure."""
    fact = MEASURES[measure](ready(view), **dict(args))
    key = fact.statement.key or measure
    if fact.value == 0 and f"{key}.zero" in MESSAGES:
        key = f"{key}.zero"
    return replace(fact, measure=measure, args=args, statement=Statement(key, fact.statement.figures))
