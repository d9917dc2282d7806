"""A4 Which offline route, and the literal next commands: settings from the cause, valid for the engine read."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from ridgeline.ladder.context import Context, answer
from ridgeline.ladder.rank import STOPS
from ridgeline.ladder.varying import varies
from ridgeline.model.diagnosis import Answer
from ridgeline.model.fact import Missing, Statement
from ridgeline.words.asks import filled
from ridgeline.words.messages_en import MESSAGES
from ridgeline.words.whatif import PLACING

PROFILE: Final = (
    "only if it is still unexplained: POST /start_profile "
    '{"num_steps": 20, "activities": ["CPU", "GPU"], "profile_by_stage": true, "output_dir": "/tmp/profile"} '
    "while the incident shows (never sent by ridgeline; slows serving for those steps; one trace file for each rank)"
)
KEEP: Final = "--crash-dump-folder DIR, or dump_requests_folder by POST /configure_logging"
TRAFFIC: Final = "SELECT count(*) FROM asks WHERE received_ts IS NOT NULL AND prompt_tokens IS NOT NULL"
MOST_ASKS: Final = 4


def rung(context: Context) -> Answer:
    """Functional faults replay, placement and scheduling simulate, settings are changed, or neither."""
    if not context.findings:
        return Answer("A4", Statement("question.A4"), "not-reached", Statement("a4.no-cause"))
    first = context.findings[0]
    facts = [fact for name, fact in context.book.evidence() if name in first.evidence]
    return answer(context, "A4", f"a4.{first.route}", facts or (context.book.ask("bad_events"),), cause=first.cause)


def next_steps(context: Context, missing: Sequence[Missing]) -> tuple[str, ...]:
    """Literal commands for the first finding's route, then what to switch on for what could not be told."""
    steps: list[str] = []
    where = " ".join(shlex.quote(s) for s in context.sources) or "SOURCES"
    if context.findings:
        steps += _route_steps(context, where)
    ended = any(f.cause in STOPS for f in context.findings[1:])
    ways: dict[str, list[str]] = {}
    for m in missing:
        ways.setdefault(m.how, []).append(m.signal)
    asks = [f"to tell {'; '.join(dict.fromkeys(told))}: {how}" for how, told in list(ways.items())[:MOST_ASKS]]
    # A dead server is not tuned: what killed it is asked first.
    steps = [*asks[:1], *steps, *asks[1:]] if ended else [*steps, *asks]
    return tuple(dict.fromkeys(steps))


def _route_steps(context: Context, where: str) -> list[str]:
    first = context.findings[0]
    if first.route == "simulate":
        varied = varies(context, first.cause)
        if not context.book.view.one(TRAFFIC)[0]:
            how = filled(MESSAGES[f"ask.requests.{context.served.engine}"], context.served.version)
            return [f"to try other settings offline, record each request first: {how}"]
        if varied is None:
            return [f"ridgeline sample {where} -o incident.scenario"]
        unpin = " --unpin" if first.cause in PLACING else ""
        sampled = f"ridgeline sample {where} -o incident.scenario{unpin}"
        return [f"{sampled} && ridgeline simulate incident.scenario {varied}"]
    if first.route == "replay":
        dumps = [n for s, n in sorted(context.book.view.names.items()) if context.book.view.kinds.get(s) == "dump"]
        if dumps:
            return [f"send the requests of {dumps[0]} to a clean server of the same version: does the fault come back?"]
        keep = "--enable-log-requests" if context.served.vllm else KEEP
        return [f"send the same requests to a clean server of the same version; to have them next time: {keep}"]
    if first.route == "profile":
        proven = any((context.book.ask(m).value or 0) >= 1.3 for m in ("step_excess", "prefill_excess"))
        return [PROFILE] if proven else []
    return []
