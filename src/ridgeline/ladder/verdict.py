"""The verdict without a cause: healthy where its own required list holds, else inconclusive with one low finding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ridgeline.bundle.view import View
from ridgeline.causes import LAYERS
from ridgeline.causes.sign import HINT, must
from ridgeline.facts.change import change
from ridgeline.facts.points import alone
from ridgeline.facts.series import span
from ridgeline.facts.standstill import OLD_S
from ridgeline.ladder.book import Book
from ridgeline.ladder.judge import Heard, Judgement, says
from ridgeline.ladder.scope import hit
from ridgeline.ladder.symptom import UNSEEN, Asked
from ridgeline.model.diagnosis import Finding, Window
from ridgeline.model.fact import Fact, Statement

ENOUGH_POINTS: Final = 5
ENOUGH_RATES: Final = 3
STANDING: Final = 0.5  # of the ranks
AMPLE_POINTS: Final = 60  # fewer load points are too few for a change to have shown
LATE_TOKENS: Final = 2.0  # times the engine's own gap between tokens at the client
# Layer and plain observation: whatever the cause, that is where the trouble shows. The surer ones first: what was said
# or counted, then what went elsewhere than to the scheduler, then what became slower there.
POINTERS: Final = (
    ("disagg", must("transfer_failures", ">=", 1)),
    ("disagg", must("kv_released_early", ">=", 1)),
    ("disagg", must("inflight_piles", "is", True)),
    ("disagg", must("transfer_slowed", "<=", 0.5)),
    ("fault", must("event_count", ">=", 1, kinds="health-fail")),
    ("routing", must("idle_places", ">=", 0.3)),
    ("routing", must("gateway_skew", ">=", 0.3)),
    ("routing", must("pick_skew", ">=", 2)),
    ("frontend", must("itl_over_step", ">=", LATE_TOKENS)),
    ("prefill", must("grammar_queue", ">=", 4)),
    ("prefill", must("adapters_full", "is", True)),
    ("storage", must("tier_short", ">=", 0.5)),
    ("frontend", must("backlogged_streams", ">=", 1)),
    ("queue", must("slice_share", ">=", 0.5, part="queue")),
    ("fault", must("answered_share", ">=", 0.01, what="error")),
    ("queue", must("answered_share", ">=", 0.01, what="busy")),
    ("client", must("answered_share", ">=", 0.02, what="invalid")),
    ("queue", must("admission_stops", "is", True)),
    ("client", must("unended_share", ">=", 0.08)),
    ("prefill", must("boot_pace", ">=", 5)),
    ("frontend", must("slice_share", ">=", 0.25, part="unaccounted")),
    ("disagg", must("trend", ">=", 1.5, of="seconds", what="transfer_s")),
    ("decode", must("trend", ">=", 2, of="prefill_pause")),
    ("cache", must("trend", "<=", 0.8, of="hit_ratio")),
    ("decode", must("trend", "<=", 0.8, of="accept_length")),
    ("decode", must("trend", ">=", 1.25, of="step_excess")),
    ("prefill", must("trend", ">=", 1.4, of="prefill_excess")),
    ("prefill", must("trend", ">=", 1.3, of="fresh_tokens")),
)
# Signs that are true on many a good day: alone they point nowhere.
EVERYDAY: Final = frozenset({"waiting_share", "flush_explains", "plain_answers", "pool_queue"})
PAIR: Final = "SELECT count(*) FROM servers WHERE role IN ('prefill', 'decode')"
HELD_BY: Final = frozenset({"grammar_queue", "adapters_full", "tier_short"})  # a queue says that, these what for
PD_QUEUES: Final = ("bootstrap", "inflight", "prealloc")
CREPT: Final = 1.4  # times the 95th percentile of the first third
CREPT_REQUESTS: Final = 100
SLOW_START: Final = 1.5  # times what an empty cache costs: too little for a cold start, too much for none
PD_BACKLOG: Final = 10  # requests at once in one of these queues: something held them


def healthy(book: Book, asked: Asked, judged: Sequence[Judgement]) -> tuple[bool, tuple[Fact, ...], str]:
    """(holds, facts it rests on, the first reason against it).

    Required: enough load points with rate and queue; no queue worth the name; no event that a healthy service does
    not have; no error-like line nobody read; nothing got clearly worse; evidence that could have shown the symptom.
    """
    points, rates, queue = book.ask("load_points"), book.ask("rated_points"), book.ask("queue_pressure")
    events, errors, peak = book.ask("bad_events"), book.ask("error_lines"), book.ask("usage", stat="peak")
    worse = [
        book.ask("change", of="seconds", what=w, q=q) for w, q in (("ttft_s", 0.95), ("e2e_s", 0.95), ("tpot_s", 0.5))
    ]
    outcomes = book.ask("outcome_share", what="error")
    apart = [dict(book.ask("pd_queue", queue=q).statement.figures).get("peak") or 0 for q in PD_QUEUES]
    stood = book.ask("standing_queue")
    cold, late_tokens = book.ask("cold_start_ratio"), book.ask("itl_over_step")
    late, queued = book.ask("seconds", what="ttft_s", q=0.95), book.ask("slice_share", part="queue")
    waited = (late.value or 0) >= 1 and (queued.value or 0) >= 0.5
    facts = (points, rates, queue, events, errors, peak, *worse, late, queued, cold)
    fates = outcomes.value is not None and outcomes.n >= 20
    # Where nobody says what is wrong, anything may be: how long requests take and how they end must both be seen.
    unseen = not fates if UNSEEN.intersection(asked.ladders) else asked.ladders == ("auto",) and not (fates and late.n)
    stopped = {"errors", "hang"}.intersection(asked.ladders) and book.ask("event_count", kinds="shutdown").value
    # Who complains of the cache has a printed rate before them: where none is in the evidence, it may be at fault.
    ungauged = "cache" in asked.ladders and book.ask("misread_rate").value is None
    checks = (
        ("events", events.value == 0),
        ("told-to-stop", not stopped),
        ("few-points", (points.value or 0) >= ENOUGH_POINTS),
        ("no-rate", (rates.value or 0) >= ENOUGH_RATES),
        ("queue", queue.value is not None and queue.value < 0.2 and not waited),
        ("pool-full", peak.value is None or peak.value < 0.97),
        ("hang", not hung(book)),
        ("unread-errors", errors.value == 0),
        ("worse", all(f.value is None or f.value < 1.5 for f in worse) and not crept(book.view)),
        ("rush", not book.ask("rush_felt").value),
        ("slow-start", cold.value is None or cold.value < SLOW_START),
        ("pd-queues", max(apart) < PD_BACKLOG),
        ("errors", outcomes.value is None or outcomes.value < 0.01),
        ("late-tokens", late_tokens.value is None or late_tokens.value < LATE_TOKENS),
        ("backlog", "stream" not in asked.ladders or not book.ask("backlogged_streams").value),
        ("standing-queue", not (asked.stresses("queue") and stood.value is not None and stood.value >= STANDING)),
        ("symptom-unseen", not (unseen or ungauged)),
        (
            "open-cause",
            not any(
                j.open and j.score >= 0.5 and asked.allows(j.cause) and not _lacks_a_change(j, asked, points)
                for j in judged
            ),
        ),
    )
    against = next((name for name, good in checks if not good), "")
    return not against, tuple(f for f in facts if f.value is not None), against


def hung(book: Book) -> tuple[Fact, ...]:
    """What speaks for a hang where nothing proves one: a /health without an answer, or figures that stand."""
    mute, held = book.ask("unanswered"), book.ask("snapshot_held_s")
    old = held.value and (dict(held.statement.figures).get("age") or 0) >= OLD_S
    return (*((mute,) if mute.value else ()), *((held,) if old else ()))


def crept(view: View) -> bool:
    """Whether slow requests of the last third are clearly slower than those of the first, where no moment was found.

    A change too gentle to have an onset is no incident that can be framed, and no clean bill either.
    """
    reach = span(view) if view.incident is None and view.baseline is None else None
    if reach is None:
        return False
    third = (reach[1] - reach[0]) / 3
    later = view.window(Window(reach[1] - third, reach[1]), Window(reach[0], reach[0] + third))
    moved = [change(later, "seconds", what=what, q=0.95) for what in ("ttft_s", "e2e_s", "tpot_s")]
    return any(f.value is not None and f.n >= CREPT_REQUESTS and f.value >= CREPT for f in moved)


def _lacks_a_change(j: Judgement, asked: Asked, points: Fact) -> bool:
    """Whether only a comparison is missing, where a change was searched in ample evidence and none was found.

    A restart alone makes no incident. Where users complain about this very layer, the cause stays open.
    """
    unknown = [h.sign.measure for h in j.heard if h.part == "required" and h.answer is None]
    ample = (points.value or 0) >= AMPLE_POINTS
    return ample and not asked.stresses(j.cause.layer) and all(measure == "change" for measure in unknown)


def layers_left(judged: Sequence[Judgement], asked: Asked) -> tuple[str, ...]:
    """Layers it can still be, likeliest first: by the best open cause, then the symptom, then the rest."""
    alive = [j for j in judged if not j.ruled_out and asked.allows(j.cause)]
    speaking = sorted(
        (j for j in alive if any(_telling(h) for h in j.heard)),
        key=lambda j: (not asked.stresses(j.cause.layer), -j.score),
    )
    left = {j.cause.layer for j in alive}
    order = (
        [j.cause.layer for j in speaking] + [x for x in asked.layers if x in left] + [x for x in LAYERS if x in left]
    )
    return tuple(dict.fromkeys(order))


def _telling(h: Heard) -> bool:
    """Whether a sign is seen that points to its cause's layer."""
    counts = h.part in ("required", "supporting") and h.sign.weight >= HINT
    return counts and h.answer is True and h.sign.measure not in EVERYDAY


def _pointed(j: Judgement) -> bool:
    """Whether a sign that points to its layer is seen of a cause that is not ruled out."""
    heard = (h for h in j.heard if h.part == "supporting" or j.open)
    return not j.ruled_out and any(_telling(h) for h in heard)


def _shown(j: Judgement) -> bool:
    """Whether a required sign is true, is no everyday one, and nothing excludes the cause."""
    return j.shown and any(_telling(h) for h in j.heard if h.part == "required")


def _seen(book: Book, layers: Sequence[str], only: frozenset[str] = frozenset()) -> tuple[str, Fact] | None:
    """The first layer that a plain observation points to, where no cause's own signs do; of `only` these measures."""
    for layer, sign in POINTERS:
        # A link that slowed is of the pair, although every cause that has a name there may be ruled out.
        named = layer in layers or sign.measure == "transfer_slowed"
        if not named or (only and sign.measure not in only):
            continue
        if says((fact := book.of(sign)).value, sign.op, sign.bound):
            return layer, fact
    return None


def _outside(book: Book, layers: Sequence[str], asked: Asked, why: str) -> tuple[str, Fact] | None:
    """Where trouble lies, if there is any, that the engine shows nothing of: before or behind it, or between a pair.

    Only where everything that could be held against a good state was looked at, over ample load points.
    """
    points = book.ask("load_points")
    layer = "disagg" if book.view.one(PAIR)[0] else "frontend"
    quiet = why == "symptom-unseen" and not asked.layers and (points.value or 0) >= AMPLE_POINTS
    return (layer, points) if quiet and layer in layers else None


def unknown(book: Book, judged: Sequence[Judgement], asked: Asked, why: str) -> Finding:
    """The one low finding of an inconclusive verdict: the likeliest layer, and every layer it can still be."""
    if alone(book.view) and not book.ask("event_count", kinds="routing,worker-out").value:
        judged = [j for j in judged if j.cause.layer != "routing"]  # one rank of one server: there is nowhere to route
    layers = layers_left(judged, asked)
    suspects = hung(book) if "fault" in layers else ()
    if suspects:
        layers, why = ("fault", *(x for x in layers if x != "fault")), "hang"
    hinted = bool(suspects) or any(_pointed(j) for j in judged if j.cause.layer == layers[0]) if layers else False
    shown = bool(suspects) or any(_shown(j) for j in judged if j.cause.layer == layers[0]) if layers else False
    seen = _seen(book, layers) if not shown else _seen(book, layers, HELD_BY) if layers[0] == "queue" else None
    outside = None if hinted or seen is not None else _outside(book, layers, asked, why)
    seen = seen or outside
    if seen is not None:
        layers, hinted = (seen[0], *(x for x in layers if x != seen[0])), True
    likeliest = layers[0] if layers and (hinted or asked.layers) else "unknown"
    best = next(
        (j for j in sorted(judged, key=lambda j: -j.score) if j.cause.layer == likeliest and not j.ruled_out), None
    )
    facts = (*suspects, *((seen[1],) if seen is not None else ()))
    facts = (*facts, *(best.facts("required", "supporting") if best and not suspects else ()))
    told = dict(book.ask("bad_events" if why == "events" else "error_lines").statement.figures)
    figures: tuple[tuple[str, object], ...] = (
        ("at", told.get("at") if why in ("events", "unread-errors") else None),
        ("kinds", told.get("kinds") if why == "events" else None),
        ("layer", likeliest),
        ("layers", ", ".join(layers) or "any"),
        ("why", why),
    )
    if suspects:
        mute, age = book.ask("unanswered").value, dict(book.ask("snapshot_held_s").statement.figures).get("age")
        figures = (("age", age), ("layers", ", ".join(layers)), ("mute", mute or None))
    if why in ("events", "unread-errors"):
        facts = (*facts, book.ask("bad_events" if why == "events" else "error_lines"))
    scope, classes = hit(book)
    key = "cause.unknown.any" if likeliest == "unknown" else "cause.unknown.hang" if suspects else "cause.unknown"
    if outside is not None:
        key, figures = "cause.unknown.outside", (("layer", likeliest), ("layers", ", ".join(layers)))
    return Finding(
        cause="unknown",
        layer=likeliest,
        confidence="low",
        score=best.score if best else 0.0,
        caps=("layer-only",),
        statement=Statement(key, figures),
        scope=scope,
        evidence=book.cite(*facts, *classes),
    )
