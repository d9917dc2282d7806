"""The English catalogue: key → template with named figures. Another language is another file with the same keys."""

from typing import Final

from ridgeline.words.messages_asks_en import MESSAGES as ASKS
from ridgeline.words.messages_causes_en import CAUSES
from ridgeline.words.messages_compare_en import COMPARE
from ridgeline.words.messages_decide_en import DECIDE
from ridgeline.words.messages_measures_en import MEASURES
from ridgeline.words.messages_memory_en import MEMORY
from ridgeline.words.messages_page_en import PAGE
from ridgeline.words.messages_places_en import PLACES
from ridgeline.words.messages_report_en import REPORT
from ridgeline.words.messages_verbs_en import VERBS

FATES: Final = (
    "({unfinished} never finished[[, {refused} refused]][[, {told} ended because someone told the server to]])"
)
SEEN: Final = {
    "both": "{points:#load point}[[ over {span_s:.4g} s]] and {requests:#request} " + FATES,
    "points": "{points:#load point}[[ over {span_s:.4g} s]] and no single requests",
    "requests": "{requests:#request} " + FATES + " and no load points",
    "nothing": "neither load points nor requests",
}
WINDOWS: Final = {
    "given": "windows as given[[; changes in the ten minutes before: {changes:word}]]",
    "change-point": (
        "{signal:word} marks the onset, the time before it is the baseline[[; changes near the onset: {changes:word}]]"
    ),
    "none": "no moment stands out, so there is no time before to compare with",
}

RUNGS: Final[dict[str, str]] = {
    "question.A0": "What is seen, over which time, and what can its figures not see?",
    "question.A1": "Global or local: everyone, or some ranks, replicas and keys?",
    "question.A1b": "Which regime does the queue stand in?",
    "question.A2": "Which slice of a request's time is it?",
    "question.A2b": "How does the stream feel, and what does the client see?",
    "question.A3": "Which requests are slow?",
    "question.A4": "Which offline route?",
    "question.A5": "What does the offline route say?",
    "question.B0": "What is configured, and do the sides agree?",
    "question.B1": "Placement: do arrivals explain the backlog?",
    "question.B2": "Which stage, on which side?",
    "question.B3": "Which queue of the pair grows or stands still?",
    "question.B4": "And the transfer backend itself?",
    "question.D0": "Was the cache emptied or switched off, or does only the gauge mislead?",
    "question.D1": "Are the prompts really the same where they should share?",
    "question.D2": "Is the pool so full that cached prefixes have to give way?",
    "question.D3": "What do whole pages lose?",
    "question.D4": "Are the requests of one key spread over more ranks than before?",
    "rung.cannot-tell": "cannot tell without: {asks:each ask.*.signal}",
    **{f"a0.{seen}.{how}": f"{SEEN[seen]}; {WINDOWS[how]}" for seen in SEEN for how in WINDOWS},
    "a1.local": "local: {place} has {most:.3g} waiting while {free} of {places} ranks or replicas have no queue",
    "a1.slow-rank": "local: a decode step on {slow_place} takes {slow:.3g} s, on the others {usual:.3g} s",
    "a1.global": (
        "not local: no rank or replica stands out by its backlog (the longest: {most:.3g} waiting at {place}; "
        "{free} of "
        "{places} have no queue)"
    ),
    "a1.arrivals": "the busiest of the ranks gets {skew:.2g} times its share of the requests",
    "a1.alone": "one server and one rank: no other to compare it with, so nothing can be local",
    "a1b.cap": (
        "{waiting:#request} wait beside {busy:.3g} running (medians of the {queued} of {n} load points with a queue); "
        "running "
        "stands at its limit at {capped:.0%} of them[[, the pool {usage:.0%} full]][[: {named}]]"
    ),
    "a1b.pool": (
        "{waiting:#request} wait beside {busy:.3g} running (medians of the {queued} of {n} load points with a queue), "
        "and the "
        "pool is full[[ ({usage:.0%})]][[: {named}]]"
    ),
    "a1b.slack": (
        "{waiting:#request} wait beside {busy:.3g} running (medians of the {queued} of {n} load points with a queue), "
        "and at "
        "{slack} of {slack_of} neither the pool nor the batch is full[[ (pool {usage:.0%})]][[: {named}]]"
    ),
    "a1b.queued": (
        "{waiting:#request} wait beside {busy:.3g} running (medians of the {queued} of {n} load points with a queue)"
        "[[, the pool {usage:.0%} full]][[: {named}]]"
    ),
    "a1b.frozen": "frozen: nothing moves while requests arrive[[: {named}]]",
    "a1b.calm": "no queue worth the name: requests waited at {queued} of {n} load points",
    "a1b.unfelt": "no queue worth the name: hardly a request waits, and not for long",
    "a2.slices": (
        "most time goes to {largest:word} (slower requests; of TTFT:[[, {queue:.0%} the queue]][[, {pre_queue:.0%} "
        "before "
        "the queue]][[, {prefill:.0%} prefill]]; of E2E:[[, {decode:.0%} decode]][[, {return:.0%} the way back]]"
        "[[, {unaccounted:.0%} without any stamp]])"
    ),
    "a2.queue": "{queue:.0%} of the slower requests' whole time is the queue[[ (median E2E {e2e_s:.3g} s)]]",
    "a2.times": "[[median TTFT {ttft_s:.3g} s]][[; median E2E {e2e_s:.3g} s]]; no slice of them is stamped",
    "a2b.stream": (
        "[[; a stream's longest gap is {gaps:.3g} times its usual one ({gap_s:.3g} s)]]"
        "[[; {train:#token} prefilled in one row of batches past running streams]]"
        "[[; no long row of prefill batches past running streams ({no_train:#prefill line} seen)]]"
        "[[; {backlog:#stream was|streams were} read too slowly]]"
        "[[; {client:.0%} of the client's TTFT lies outside the engine]]"
        "[[; the load generator sends {lag:.3g} s later than planned]]"
    ),
    "a3.class": (
        "{value} marks them: {coverage:.0%} of the {slow:#slow request} have it, {lift:.3g} times as often as "
        "chance would"
        "[[; see {rid}]][[ beside its normal twin {twin}]]"
    ),
    "a3.none": "no attribute marks the {slow:#slow request} among {n}[[; see {rid}]][[ beside its normal twin {twin}]]",
    "a3.calm": "none of {n:#request} is clearly slower than the others",
    "b0.clash": "the sides do not fit together[[: {text}]][[ (KV is let go after {lease_s} s, read {late_s} s later)]]",
    "b0.settings": "no setting is named as clashing ({settings})",
    "b1.skewed": (
        "{place} gets [[{requests:.3g} times its share of requests and ]]{tokens:.3g} times that of tokens, and "
        "{most:.3g} wait there: placement[[. Mind: {guards:each guard.*}]]"
    ),
    "b1.slow": (
        "{most:.3g} wait at {place} although arrivals are even ({requests:.3g} times the fair share by requests"
        "[[, {tokens:.3g} by tokens]]): that place is slow[[. Mind: {guards:each guard.*}]]"
    ),
    "b1.backlog": "{most:.3g} wait at {place}; whether it got more to do is not known[[. Mind: {guards:each guard.*}]]",
    "b1.even": (
        "no place has a backlog of its own[[; arrivals at most {requests:.3g} times the fair share by requests]]"
        "[[, {tokens:.3g} by tokens]][[; load figures {age:.3g} s old]][[. Mind: {guards:each guard.*}]]"
    ),
    "b.no-sides": "no prefill or decode side is in the evidence",
    "b2.stage": (
        "[[; saturated side: {side:word}]][[; {wait:.3g} s before the transfer]][[; {moved:.3g} s in the transfer]]"
        "[[; {queue_s:.3g} s in the waiting queue]][[; decode's pool {usage:.0%} full]] (medians)"
        "[[. Mind: {guards:each guard.*}]]"
    ),
    "b3.queues": (
        "[[; bootstrap {bootstrap_first:.3g} to {bootstrap_last:.3g} (peak {bootstrap_peak:.3g})]]"
        "[[; inflight {inflight_first:.3g} to {inflight_last:.3g} (peak {inflight_peak:.3g})]]"
        "[[; prealloc {prealloc_first:.3g} to {prealloc_last:.3g} (peak {prealloc_peak:.3g})]]"
        "[[; transfer {transfer_first:.3g} to {transfer_last:.3g} (peak {transfer_peak:.3g})]]"
        "[[; retracted {retracted_first:.3g} to {retracted_last:.3g} (peak {retracted_peak:.3g})]]"
        "[[; {stuck:#transfer stands|transfers stand} still]][[. Mind: {guards:each guard.*}]]"
    ),
    "b4.none": "the logs name no failed transfer, no lost peer and no mixed-up room",
    "b4.backend": (
        "[[; {failed:#transfer or handshake|transfers or handshakes} failed]][[; {lost:#line} of lost peers]]"
        "[[; {mixed:#line} of mixed-up rooms]][[; {speed:.3g} GB/s]][[; {mb:.3g} MB a request]]"
        "[[; {slowed:.3g} times the speed of before]][[. Mind: {guards:each guard.*}]]"
    ),
    "guard.uneven": "uneven loads alone do not prove routing: arrivals are not known",
    "guard.old": "load figures are old: a dead scheduler's snapshot still answers",
    "guard.small": "few requests are a small sample",
    "guard.contains": "decode's transfer time contains prefill's queue and compute: it is not the link",
    "guard.short": "decode is short of KV, which shows as a bootstrap backlog on prefill",
    "guard.retracted": (
        "requests are retracted on decode: nothing is allocated or polled, a flat transfer queue is memory"
    ),
    "guard.placement": "a stage that stands in transfer may be placement",
    "guard.bytes": "requests move few bytes: GB/s is not the link's speed",
    "d0.off": "the prefix cache is switched off",
    "d0.flushed": "the cache was emptied, and that accounts for the loss",
    "d0.emptied": "the cache was emptied; only hits before and after it would tell whether that accounts for the loss",
    "d0.misread": "only the gauge misleads: tokens do hit",
    "d0.neither": "no flush, restart or weight update accounts for a loss, and no setting seen switches the cache off",
    "d1.keys": "equal prompts carry different keys or adapters",
    "d1.drift": "the prompts no longer share their head",
    "d1.same": "prompts that should share their head do",
    "d1.grew": "each request finds as many cached tokens as before: prompts only grew (told by the tokens that hit)",
    "d2.full": "running requests take up to {peak:.0%} of the pool: cached prefixes have to give way",
    "d2.room": "running requests take {peak:.0%} of the pool at most; the rest is free for cached prefixes",
    "d3.bites": "whole pages lose what is shared",
    "d3.little": "whole pages lose little",
    "d4.spread": "requests of one key are spread over more ranks or servers than before",
    "d4.one": "one rank serves everything",
    "d4.kept": "requests of one key stay where they were",
    "a4.simulate": "{cause} is scheduling, placement or capacity: sample the traffic and simulate other settings",
    "a4.replay": "{cause} is functional: send the same requests to a clean server of the same version",
    "a4.profile": "{cause} lies in execution: compare with the version before; a profile only if that is not enough",
    "a4.config": "{cause} is a setting: change it, then compare before and after",
    "a4.none": "{cause}: neither replay nor simulation would add anything",
    "a4.no-cause": "no cause is named that a replay or a simulation could try",
    "a5.not-reached": "not run: the command under next starts the route",
    "a5.decided": "{sentence}",
    "summary.finding": "{cause} ({confidence} confidence), and {more}",
    "summary.one": "{cause} ({confidence} confidence)",
    "summary.stopped": (
        "something died or stood still: {stopped} ({stopped_confidence} confidence); before or beside it "
        "{cause} ({confidence} confidence)"
    ),
    "summary.healthy": "nothing wrong in what was read",
    "summary.inconclusive": "cannot tell; likeliest layer {layer}",
    "summary.inconclusive.unknown": "cannot tell, and no layer is likelier than another",
    "missing": "{signal} not measured (needs {how})",
    "cause.unknown": (
        "Not enough to name a cause[[ ({why:each why.*})]][[ (seen: {kinds})]][[, first at {at}]]; likeliest {layer}; "
        "it can still be: {layers}."
    ),
    "cause.unknown.any": (
        "Not enough to name a cause[[ ({why:each why.*})]][[ (seen: {kinds})]][[, first at {at}]]; it can still be: "
        "{layers}."
    ),
    "cause.unknown.outside": (
        "What was read of the engine shows nothing out of the ordinary; what users suffer, if they do, may lie outside "
        "of it: likeliest {layer}; it can still be: {layers}."
    ),
    "cause.unknown.hang": (
        "[[; /health does not answer ({mute:#poll})]][[; the scheduler's figures are {age:.3g} s old]]: suspect a "
        "hang, and py-spy dump the scheduler before you restart it; that alone proves none, it can still be: {layers}."
    ),
    "why.hang": "a hang is likely and not proven",
    "why.few-points": "fewer than five load points",
    "why.no-rate": "no throughput over time",
    "why.queue": "requests wait",
    "why.pool-full": "the pool runs full",
    "why.events": "the log shows events of trouble",
    "why.unread-errors": "error-like lines nobody could read",
    "why.worse": "times got clearly worse",
    "why.rush": "requests that came in a crowded ten seconds started late",
    "why.slow-start": "the first requests after a boot were slower than an empty cache explains",
    "why.pd-queues": "queues of the pair hold many requests",
    "why.errors": "requests fail",
    "why.told-to-stop": "the log shows an orderly end: somebody told the server to stop",
    "why.backlog": "chunks pile up because they are read slowly",
    "why.standing-queue": "somebody waits at all times while the running count stands still",
    "why.late-tokens": "tokens reach the client far more slowly than the engine makes them",
    "why.symptom-unseen": "the evidence could not have shown the complaint",
    "why.open-cause": "a cause is half shown and neither proven nor excluded",
}

MESSAGES: Final[dict[str, str]] = {
    **RUNGS, **MEMORY, **MEASURES, **PLACES, **CAUSES, **ASKS, **PAGE, **REPORT, **DECIDE, **COMPARE, **VERBS,
}  # fmt: skip
