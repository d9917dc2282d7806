"""English words of the page: headings, labels of pictures, and the sentence below each picture."""

from typing import Final

PICTURES: Final[dict[str, str]] = {
    "picture.heat.title": "Latency over time",
    "picture.heat": (
        "{n} requests by arrival and {what:word}; the slowest took up to {slowest}. The stronger the colour, the more "
        "requests."
    ),
    "picture.latency.title": "How long requests took",
    "picture.latency.compared": (
        "Half of the requests of the {side} took more than {p50} (before: {p50_before}), one in a hundred more than "
        "{p99} (before: {p99_before}), by {what:word}. Further right is slower."
    ),
    "picture.latency.alone": (
        "Of {n} requests half took more than {p50}, one in a hundred more than {p99}, by {what:word}. There is no "
        "baseline to hold it against."
    ),
    "picture.ranks.title": "Load of each rank",
    "picture.ranks.all": (
        "{n} shown. The longest queue stands at {rank}: up to {peak} waiting beside {running} running."
    ),
    "picture.ranks.more": (
        "The {n} ranks with the longest queues; {left} more are not drawn. The longest stands at {rank}: up to {peak} "
        "waiting beside {running} running."
    ),
    "picture.slices.title": "Where the time went",
    "picture.slices": "Of {e2e} on average, requests of “{lot}” spent {seconds} ({share}) in: {part}.",
    "picture.classes.title": "Which requests are slow",
    "picture.classes": (
        "{slow} of {n} requests are slow ({what:word} of at least {threshold}). Of all requests {usual} are; of {name} "
        "{share} are. Bars show the 95 % interval."
    ),
    "picture.classes.none": (
        "{slow} of {n} requests are slow ({what:word} of at least {threshold}), and no attribute of the requests "
        "marks them."
    ),
    "picture.waterfall.title": "Slow requests beside their twins",
    "picture.waterfall": (
        "{rid} spent {seconds} in {stage}; a normal request of much the same shape spent {twin_s} there."
    ),
    "picture.request.title": "One request beside its twin",
    "picture.pair.title": "Queues of the prefill and decode sides",
    "picture.pair": "The longest is {queue}: {first} at first, {last} at the end, {peak} at most.",
    "picture.prefix.title": "What became of the prompt tokens",
    "picture.prefix": (
        "{hit} were found in the cache; of what it could have held, most was lost to {reason} ({lost} of all)."
    ),
    "picture.simulation.title": "The same traffic under other settings",
    "picture.simulation.trusted": "Simulated {figure}: {best} with {setting}, {baseline} as it was.",
    "picture.simulation.untrusted": (
        "Simulated {figure}: {best} with {setting}, {baseline} as it was. Not to be trusted: the simulator does not "
        "reproduce what was observed (see below)."
    ),
    "picture.fidelity.title": "The simulator against what was observed",
    "picture.fidelity.trusted": (
        "Error of the simulated baseline over {n} requests, within the bound; the largest is {share} at {span}."
    ),
    "picture.fidelity.untrusted": (
        "Error of the simulated baseline over {n} requests; the largest is {share} at {span}. Beyond the bound: {why}."
    ),
    "picture.differs.title": "What differs in the selection",
    "picture.differs": (
        "{picked} of {n} requests are in the selection ({usual}); of {name} {share} are, and they are {hit} of the "
        "selection. Bars show the 95 % interval. Where a request ran (dp_rank) is an outcome, not a cause."
    ),
    "picture.differs.none": "{picked} of {n} requests are in the selection, and no attribute marks them.",
    "picture.differs.all": "All {n} requests are in the selection: there is nothing to hold it against.",
    "picture.before-after.title": "Before and after",
}  # fmt: skip

HEADINGS: Final[dict[str, str]] = {
    "page.titled": "Incident report: {what}",
    "page.title": "Incident report",
    "page.summary": "Summary",
    "page.asked": "Asked",
    "page.answered": "Answered",
    "page.finding": "Finding",
    "page.findings": "Findings",
    "page.scope": "Scope",
    "page.evidence": "Evidence",
    "page.ruled-out": "Ruled out",
    "page.missing": "Missing",
    "page.next": "Next",
    "page.read": "What was read",
    "page.queries": "Queries",
    "page.do-now": "Do now",
    "page.then": "Then",
    "page.where": "Where",
    "page.since": "Since",
    "page.window": "Incident window",
    "page.baseline": "Baseline",
    "page.confidence": "Confidence",
    "page.not-surer": "Not surer because",
    "page.follows-from": "Follows from",
    "page.symptom": "Symptom",
    "page.symptom.auto": "none given: everything was looked at",
    "page.no-window": "not told apart: all of the evidence",
    "page.whole-service": "no part of the service stands out",
    "page.figures": "Figures",
    "page.rows": "Rows and query",
    "page.rows-of": "{shown} of {n} rows of {table}",
    "page.no-rows": "This figure rests on no single rows (a count of nothing, or a setting).",
    "page.rows-left-out": "Rows are left out here to keep the file small; `ridgeline show {id}` prints them.",
    "page.more-evidence": "{n} more, which rule causes out",
    "page.not-drawn": "Not drawn: needs {signal} ({how}).",
    "page.nothing-missing": "Nothing that a rung asked for is missing.",
    "page.nothing-ruled-out": "No cause is ruled out.",
    "page.restart": "needs a restart",
    "page.loses": "loses {what}",
    "page.risk": "risk: {what}",
    "page.source-code": "Where to look in the source",
    "page.made-by": (
        "Made by Ridgeline {version} from {n} sources. Ids and names are keyed hashes unless kept on purpose."
    ),
    "page.skip": "Skip to the finding",
    "page.bench": "Workbench",
    "page.diagnosing": "Diagnosing … the pictures below work already.",
    "page.rank": "Rank",
    "page.key": "Routing key",
    "page.class": "Class",
    "page.any": "any",
    "page.from": "From",
    "page.to": "To",
    "page.clear": "Clear",
    "page.differs": "What differs here?",
    "page.rerun": "Run the ladder on this selection",
    "page.slowest": "The slowest requests of the selection",
    "page.none-here": "No request with a time is in this selection.",
    "page.raw": "Raw lines",
    "page.chosen": "{n} of {all} requests[[, {unfinished} of them never finished]]: {from} to {to}",
    "page.verdict.finding": "finding",
    "page.verdict.healthy": "healthy",
    "page.verdict.inconclusive": "inconclusive",
    "page.state.answered": "answered",
    "page.state.cannot-tell": "cannot tell",
    "page.state.not-reached": "not reached",
    "page.kind.mitigate-now": "Mitigate now",
    "page.kind.fix": "Fix",
    "page.kind.prevent": "Prevent",
    "page.level.high": "high",
    "page.level.medium": "medium",
    "page.level.low": "low",
}

LABELS: Final[dict[str, str]] = {
    "label.ttft_s": "Time to first token",
    "label.queue_s": "Time in the queue",
    "label.e2e_s": "Whole request (E2E)",
    "label.waiting": "Waiting requests",
    "label.running": "Running requests",
    "label.usage": "KV usage",
    "label.incident": "incident",
    "label.baseline": "baseline",
    "label.after": "after",
    "label.all": "all",
    "label.selection": "selection",
    "label.limit": "limit",
    "label.all requests": "all requests",
    "label.as it was": "as it was",
    "label.as observed": "as observed",
    "label.requests": "requests",
    "label.slow": "slow",
    "label.its normal twin": "its twin",
    "label.before": "before the queue",
    "label.bootstrap": "Bootstrap queue (prefill)",
    "label.inflight": "Inflight queue (prefill)",
    "label.prealloc": "Prealloc queue (decode)",
    "label.transfer": "Transfer",
    "label.retracted": "Retracted (decode)",
}

# Heads of the tables below pictures, and words in their cells.
HEADS: Final[dict[str, str]] = {
    "label.time": "time",
    "label.window": "window",
    "label.unfinished": "unfinished",
    "label.from": "from",
    "label.to": "to",
    "label.fastest cell": "fastest cell",
    "label.fullest cell": "fullest cell",
    "label.slowest cell": "slowest cell",
    "label.class": "class",
    "label.share slow": "share slow",
    "label.low": "low",
    "label.high": "high",
    "label.lift": "lift",
    "label.of all slow": "of all slow",
    "label.request": "request",
    "label.is": "is",
    "label.stage": "stage",
    "label.prompts": "prompts",
    "label.what became of it": "what became of it",
    "label.share": "share",
    "label.share in the selection": "share in the selection",
    "label.of the selection": "of the selection",
    "label.rank": "rank",
    "label.waiting, mean": "waiting, mean",
    "label.waiting, peak": "waiting, peak",
    "label.running, mean": "running, mean",
    "label.running, peak": "running, peak",
    "label.usage, mean": "usage, mean",
    "label.usage, peak": "usage, peak",
    "label.first": "first",
    "label.last": "last",
    "label.mean": "mean",
    "label.peak": "peak",
    "label.requests of": "requests of",
    "label.setting": "setting",
    "label.simulated": "simulated",
    "label.statistic": "statistic",
    "label.observed": "observed",
    "label.predicted": "predicted",
    "label.error": "error",
    "label.hit": "hit",
    "label.scattered-routing": "scattered-routing",
    "label.eviction": "eviction",
    "label.key-split": "key-split",
    "label.page-misaligned": "page-misaligned",
    "label.prompt-drift": "prompt-drift",
    "label.never-seen": "never-seen",
    "label.yes": "yes",
    "label.no": "no",
    "label.n requests": "requests",
}

PAGE: Final[dict[str, str]] = {**PICTURES, **HEADINGS, **LABELS, **HEADS}
