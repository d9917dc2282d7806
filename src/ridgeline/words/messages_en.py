"""The English catalogue: key → template with named figures. Another language is another file with the same keys."""

from typing import Final

from ridgeline.words.messages_causes_en import CAUSES
from ridgeline.words.messages_measures_en import MEASURES

RUNGS: Final[dict[str, str]] = {
    "question.A0": "What is seen, over which time, and what can its figures not see?",
    "question.A1": "Global or local: everyone, or some ranks, replicas and keys?",
    "question.A1b": "Which regime does the queue stand in?",
    "question.A2": "Which slice of a request's time is it?",
    "question.A2b": "How does the stream feel, and what does the client see?",
    "question.A3": "Which requests are slow?",
    "question.A4": "Which offline route?",
    "question.A5": "What does the offline route say?",
    "rung.cannot-tell": "cannot tell without {signals}",
    "a0.frame": (
        "{points} load points over {span_s} s and {requests} requests ({unfinished} never finished, {refused} refused, "
        "{told} told to end); windows: {windows}, first shown by {signal}; changes near the onset: {changes}"
    ),
    "a1.local": "local: {place} has {most} waiting while {free} of {places} ranks or replicas have no queue",
    "a1.global": "not local: no rank or replica stands out ({free} of {places} without a queue, arrivals skew {skew})",
    "a1b.named": (
        "{regime}: at {queued} of {n} load points {waiting} wait beside {busy} running (median), usage {usage} then, "
        "share at the running limit {capped}; neither pool nor batch full at {slack} of {slack_of}"
    ),
    "a1b.queued": (
        "a queue ({waiting} waiting beside {busy} running, usage {usage}) that fits no single row of the table: "
        "share at the running limit {capped}, neither pool nor batch full at {slack} of {slack_of} points"
    ),
    "a1b.calm": "no queue worth the name: requests waited at {queued} of {n} load points",
    "a2.slices": (
        "{largest} takes {share:.0%} (of TTFT: queue {queue}, before it {pre_queue}, prefill {prefill}; "
        "of E2E: decode {decode}, way back {back})"
    ),
    "a2.times": "median TTFT {ttft_s} s, E2E {e2e_s} s; no slice of them is stamped",
    "a2b.stream": (
        "longest gap over the usual one {gaps}, prefill train past running streams {train} tokens, coalesced streams "
        "{backlog}, share of the client's TTFT outside the engine {client}, generator lag {lag} s"
    ),
    "a3.class": "{value}: lift {lift}, covers {coverage} of {slow} slow requests; {rid} beside its twin {twin}",
    "a3.none": "no attribute marks the {slow} slow ones among {n}; {rid} beside its twin {twin}",
    "a4.simulate": "{cause} is scheduling, placement or capacity: sample the traffic and simulate",
    "a4.replay": "{cause} is functional: replay a dump on a clean target and minimise it",
    "a4.profile": "{cause} lies in execution: compare with the version before; a profile only if that is not enough",
    "a4.config": "{cause} is a setting: change it and compare before and after",
    "a4.none": "neither replay nor simulation would add anything here",
    "a5.not-reached": "not run: `ridgeline decide DIR` runs the route and fills this rung",
    "summary.finding": "{cause} ({confidence} confidence), and {more} more",
    "summary.healthy": "nothing wrong in what was read",
    "summary.inconclusive": "cannot tell; likeliest layer {layer}",
    "missing": "{signal} not measured (needs {how})",
    "cause.unknown": "Not enough to name a cause ({why}); likeliest {layer}; it can still be: {layers}.",
}

MESSAGES: Final[dict[str, str]] = {**RUNGS, **MEASURES, **CAUSES}
