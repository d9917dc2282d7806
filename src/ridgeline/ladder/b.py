"""Ladder B: configuration, placement, stage by role, queues by length and motion, and the backend last.

The rungs are asked where a pair, several ranks or replicas are in the evidence, or where the symptom is about them.
Guards are named checks against the usual misreadings (DESIGN §1 B); those that fired stand in the rung's answer.
"""

from __future__ import annotations

from typing import Final

from ridgeline.ladder.context import Context, answer
from ridgeline.model.diagnosis import Answer
from ridgeline.model.fact import Statement

SHAPE: Final = """
SELECT (SELECT count(DISTINCT place) FROM lane) AS places,
    (SELECT count(*) FROM points WHERE coalesce(bootstrap, inflight, prealloc, transfer) IS NOT NULL
        AND role IN ('prefill', 'decode')) AS sided
"""
QUEUES: Final = ("bootstrap", "inflight", "prealloc", "transfer", "retracted")
SETTINGS: Final = """
SELECT DISTINCT concat_ws(' ', coalesce(s.role, 'server'), c.key || '=' || c.value) AS said
FROM config c LEFT JOIN servers s USING (server)
WHERE c.value IS NOT NULL AND replace(c.key, '-', '_') IN (
    'disaggregation_transfer_backend', 'disaggregation_decode_allocation_policy', 'page_size',
    'optimistic_prefill_attempts', 'load_balance_method', 'num_reserved_decode_tokens')
ORDER BY said
"""
MOST: Final = 8


def wanted(context: Context) -> bool:
    """Whether this ladder has anything to climb on."""
    places, _ = context.book.view.one(SHAPE)
    return places > 1 or _paired(context)


def rungs(context: Context) -> list[Answer]:
    """B0 to B4, in order; B2 to B4 are not reached where no prefill or decode side is in the evidence."""
    first = [configuration(context), placement(context)]
    if not _paired(context):
        return [*first, *(_not_reached(rung) for rung in ("B2", "B3", "B4"))]
    return [*first, stage(context), queues(context), backend(context)]


def _paired(context: Context) -> bool:
    _, sided = context.book.view.one(SHAPE)
    return sided > 0 or "disagg" in context.asked.ladders


def _not_reached(rung: str) -> Answer:
    return Answer(rung, Statement(f"question.{rung}"), "not-reached", Statement("b.no-sides"))


def configuration(context: Context) -> Answer:
    """B0: what is set, and whether the two sides agree; it changes what the rest means.

    Where no setting is stated, none can be compared: only a clash that the log itself names is an answer.
    """
    clash, page = context.book.ask("settings_clash"), context.book.ask("setting_changed", setting="page_size")
    said = [text for (text,) in context.book.view.query(SETTINGS)]
    told = dict(clash.statement.figures)
    return answer(
        context,
        "B0",
        "b0.clash" if clash.value else "b0.settings",
        (clash, page),
        needs=() if said or clash.value else (page,),
        settings=", ".join(said[:MOST]),
        text=told.get("text"),
        lease_s=told.get("lease_s"),
        late_s=told.get("late_s"),
    )


def placement(context: Context) -> Answer:
    """B1: the share of arrivals, in requests and tokens, against the share of backlog; the age of load figures."""
    ask = context.book.ask
    free, age, out = ask("free_places"), ask("snapshot_age_s"), ask("missing_workers")
    by_requests, by_tokens = ask("arrival_skew", by="requests"), ask("arrival_skew", by="tokens")
    told = dict(free.statement.figures)
    uneven = (free.value or 0) >= 0.3
    skewed = max(by_requests.value or 0, by_tokens.value or 0) >= 1.25
    known = by_requests.value is not None
    uneven_key = "b1.skewed" if skewed else "b1.slow" if known else "b1.backlog"
    fired = {
        "uneven": uneven and not known,
        "old": (age.value or 0) >= 5,
        "small": known and by_requests.n < 50,
    }
    return answer(
        context,
        "B1",
        uneven_key if uneven else "b1.even",
        (free, by_requests, by_tokens, age, out),
        context.excluded("routing"),
        () if known else (free,),
        place=told.get("place"),
        most=told.get("most"),
        requests=by_requests.value,
        tokens=by_tokens.value,
        age=age.value,
        guards=_guards(fired),
    )


def stage(context: Context) -> Answer:
    """B2: where requests spend their time, by side; what decode calls transfer holds prefill's queue and compute."""
    ask = context.book.ask
    side, usage, wait = ask("sides"), ask("decode_usage"), ask("entry_wait_s")
    moved, queued = ask("seconds", what="transfer_s", q=0.5), ask("seconds", what="queue_s", q=0.5)
    prefill = dict(side.statement.figures).get("prefill_waiting") or 0
    fired = {
        "contains": prefill >= 4 and moved.value is not None,
        "short": (usage.value or 0) >= 0.9 and (wait.value or 0) > 0,
    }
    return answer(
        context,
        "B2",
        "b2.stage",
        (side, usage, wait, moved, queued),
        side=side.value,
        wait=wait.value,
        moved=moved.value,
        queue_s=queued.value,
        usage=usage.value,
        guards=_guards(fired),
    )


def queues(context: Context) -> Answer:
    """B3: each queue of the pair by length and motion."""
    ask = context.book.ask
    facts = {name: ask("pd_queue", queue=name) for name in QUEUES}
    frozen, stuck, shake = ask("pd_queue_frozen", queue="transfer"), ask("stuck_transfers"), ask("handshake_stuck")
    known = {name: dict(fact.statement.figures) for name, fact in facts.items() if fact.value is not None}
    fired = {
        "retracted": (known.get("retracted", {}).get("peak") or 0) > 0,
        "placement": bool(frozen.value) and (ask("free_places").value or 0) >= 0.3,
    }
    return answer(
        context,
        "B3",
        "b3.queues",
        (*facts.values(), frozen, stuck, shake),
        context.excluded("disagg"),
        (facts[next(iter(known), "bootstrap")],),
        stuck=stuck.value,
        guards=_guards(fired),
        **{f"{name}_{at}": known.get(name, {}).get(at) for name in QUEUES for at in ("first", "last", "peak")},
    )


def backend(context: Context) -> Answer:
    """B4: failures, timeouts by KVPoll state, speed; only now the link."""
    ask = context.book.ask
    failed, speed, slowed = ask("transfer_failures"), ask("transfer_speed"), ask("transfer_slowed")
    lost, mixed = ask("event_count", kinds="peer-lost"), ask("event_count", kinds="room-mismatch")
    mb = dict(speed.statement.figures).get("mb")
    nothing = speed.value is None and slowed.value is None and not any(f.value for f in (failed, lost, mixed))
    return answer(
        context,
        "B4",
        "b4.none" if nothing else "b4.backend",
        (failed, speed, slowed, lost, mixed),
        failed=failed.value,
        lost=lost.value,
        mixed=mixed.value,
        speed=speed.value,
        mb=mb,
        slowed=slowed.value if slowed.value is not None and abs(slowed.value - 1) >= 0.05 else None,
        guards=_guards({"bytes": mb is not None and mb < 16}),
    )


def _guards(fired: dict[str, bool]) -> str:
    """Ids of the guards that fired, as the sentence takes them; empty where none did."""
    return "|".join(name for name, on in fired.items() if on)
