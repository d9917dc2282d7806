"""The English catalogue: key → template with named figures. Another language is another file with the same keys."""

from typing import Final

from ridgeline.words.messages_causes_en import CAUSES
from ridgeline.words.messages_measures_en import MEASURES
from ridgeline.words.messages_page_en import PAGE

FATES: Final = "({unfinished} never finished, {refused} refused, {told} told to end)"
SEEN: Final = {
    "both": "{points} load points over {span_s:.4g} s and {requests} requests " + FATES,
    "points": "{points} load points over {span_s:.4g} s and no single requests",
    "requests": "{requests} requests " + FATES + " and no load points",
    "nothing": "neither load points nor requests",
}
WINDOWS: Final = {
    "given": "windows as given; changes in the ten minutes before: {changes}",
    "change-point": "{signal} marks the onset, the time before it is the baseline; changes near the onset: {changes}",
    "none": "no moment stands out, so there is no time before to compare with",
}

RUNGS: Final[dict[str, str]] = {
    "question.A0": "What is seen, over which time, and what can its figures not see?",
    "question.A1": "Global or local: everyone, or some ranks, replicas and keys?",
    "question.A1b": "Which regime does the queue stand in?",
    "question.A2": "Which slice of a request's time is it?",
    "question.A2b": "How does the stream feel, and what does the client see?",
    "question.A3": "Which requests are slow?",
    "question.B0": "What is configured, and do the sides agree?",
    "question.B1": "Placement: do arrivals explain the backlog?",
    "question.B2": "Which stage, on which side?",
    "question.B3": "Which queue of the pair grows or stands still?",
    "question.B4": "And the transfer backend itself?",
    "b0.clash": "the sides do not fit together ({settings})",
    "b0.settings": "no setting is named as clashing ({settings})",
    "b1.skewed": (
        "{place} gets {requests} times its share of requests and {tokens} times that of tokens, and {most} wait there: "
        "placement{guards}"
    ),
    "b1.slow": (
        "{most} wait at {place} although arrivals are even ({requests} times by requests, {tokens} by tokens): "
        "that place is slow{guards}"
    ),
    "b1.even": (
        "no place has a backlog of its own (arrivals at most {requests} times the fair share by requests, {tokens} by "
        "tokens; load figures {age} s old){guards}"
    ),
    "b.no-sides": "no prefill or decode side is in the evidence",
    "b2.stage": "{told}{guards}",
    "b3.queues": "{lengths}; {stuck} transfers stand still{guards}",
    "b4.backend": "{told}{guards}",
    "question.A4": "Which offline route?",
    "question.A5": "What does the offline route say?",
    "question.D0": "Was the cache emptied or switched off, or does only the gauge mislead?",
    "question.D1": "Are the prompts really the same where they should share?",
    "question.D2": "Is the pool so full that cached prefixes have to give way?",
    "question.D3": "What do whole pages lose?",
    "question.D4": "Are the requests of one key spread over more ranks than before?",
    "d0.off": "the prefix cache is switched off",
    "d0.flushed": "the cache was emptied, and that accounts for the loss",
    "d0.misread": "only the gauge misleads: tokens do hit",
    "d0.neither": "no flush accounts for it and the cache is not known to be off",
    "d1.keys": "equal prompts carry different keys or adapters",
    "d1.drift": "the prompts no longer share their head",
    "d1.same": "nothing says that the prompts differ",
    "d2.full": "running requests take up to {peak:.0%} of the pool: prefixes have to give way",
    "d2.room": "running requests take {peak:.0%} of the pool at most: there is room for prefixes",
    "d3.bites": "whole pages lose what is shared",
    "d3.little": "whole pages lose little",
    "d4.spread": "requests of one key are spread over more ranks or servers than before",
    "d4.kept": "requests of one key stay where they were",
    "rung.cannot-tell": "cannot tell without {signals}",
    **{f"a0.{seen}.{how}": f"{SEEN[seen]}; {WINDOWS[how]}" for seen in SEEN for how in WINDOWS},
    "a1.local": ("local: {place} has {most:.3g} waiting while {free} of {places} ranks or replicas have no queue"),
    "a1.slow-rank": "local: a decode step on {slow_place} takes {slow:.3g} s, on the others {usual:.3g} s",
    "a1.global": "not local: of {places} ranks or replicas {free} have no queue, so none stands out by its backlog",
    "a1.arrivals": "the busiest of the ranks gets {skew:.2g} times its share of the requests",
    "a1.alone": "one server and one rank: there is nothing to hold it against",
    "a1b.cap": (
        "{waiting:.3g} wait beside {busy:.3g} running (median of {queued} of {n} load points); running stands at its "
        "limit at {capped:.0%} of them{usage}{reads}"
    ),
    "a1b.pool": (
        "{waiting:.3g} wait beside {busy:.3g} running (median of {queued} of {n} load points) with the pool full"
        "{usage}{reads}"
    ),
    "a1b.slack": (
        "{waiting:.3g} wait beside {busy:.3g} running (median of {queued} of {n} load points), and at {slack} of "
        "{slack_of} neither the pool nor the batch is full{usage}{reads}"
    ),
    "a1b.queued": (
        "{waiting:.3g} wait beside {busy:.3g} running (median of {queued} of {n} load points){usage}{reads}"
    ),
    "a1b.frozen": "frozen: nothing moves while requests arrive{reads}",
    "a1b.calm": "no queue worth the name: requests waited at {queued} of {n} load points",
    "a2.slices": "{largest} takes {share:.0%} ({parts})",
    "a2.part": "{part} {share:.0%} of {whole}",
    "a2.times": "median TTFT {ttft_s:.3g} s, E2E {e2e_s:.3g} s; no slice of them is stamped",
    "a2b.gaps": "a stream's longest gap is {gaps:.3g} times its usual one",
    "a2b.train": "prefill batches in a row past running streams: {train:,} tokens",
    "a2b.backlog": "{backlog} streams with chunks piled up",
    "a2b.client": "{client:.0%} of the client's TTFT lies outside the engine",
    "a2b.lag": "the generator sends {lag:.3g} s late",
    "a2b.stream": "{seen}",
    "a3.class": (
        "{value}: {coverage:.0%} of the {slow} slow requests are of it (lift {lift:.3g}); {rid} beside its twin {twin}"
    ),
    "a3.none": "no attribute marks the {slow} slow ones among {n}; {rid} beside its twin {twin}",
    "a4.simulate": "{cause} is scheduling, placement or capacity: sample the traffic and simulate",
    "a4.replay": "{cause} is functional: replay a dump on a clean target and minimise it",
    "a4.profile": "{cause} lies in execution: compare with the version before; a profile only if that is not enough",
    "a4.config": "{cause} is a setting: change it and compare before and after",
    "a4.none": "neither replay nor simulation would add anything here",
    "a5.not-reached": "not run: the command under next starts the route",
    "a5.decided": "{sentence}",
    "summary.finding": "{cause} ({confidence} confidence), and {more} more",
    "summary.one": "{cause} ({confidence} confidence)",
    "summary.healthy": "nothing wrong in what was read",
    "summary.inconclusive": "cannot tell; likeliest layer {layer}",
    "missing": "{signal} not measured (needs {how})",
    "cause.unknown": "Not enough to name a cause ({why}); likeliest {layer}; it can still be: {layers}.",
}

MESSAGES: Final[dict[str, str]] = {**RUNGS, **MEASURES, **CAUSES, **PAGE}
