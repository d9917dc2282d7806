"""Why prefixes hit less: flushes that explain it, settings that changed, keys that split, or the content itself."""

from __future__ import annotations

from typing import Any, Final

from ridgeline.bundle.view import View
from ridgeline.facts.affected import affected
from ridgeline.facts.cache import evicted_tokens, hit_ratio, page_loss, places_per_key
from ridgeline.facts.make import bounds, found, lacking, restated, rounded, spans_of
from ridgeline.facts.memory import usage
from ridgeline.facts.points import alone
from ridgeline.facts.policy import policy_spread
from ridgeline.facts.prefill import prompt_tokens
from ridgeline.facts.prompts import drifting_head, split_by_key
from ridgeline.facts.tiers import tier_lost
from ridgeline.model.diagnosis import Window
from ridgeline.model.fact import Fact

LESS: Final = 0.8  # a hit ratio of at most this share of the baseline's has fallen
RECOVERED: Final = 0.85
SMALL_LOSS: Final = 0.1  # of a prompt: whole pages that can cost no more than this are no cause
REFILL_S: Final = 120.0  # a cache emptied so lately may still be filling
BEGAN: Final = 0.05  # of the prompts, five times as many as before: they did not come apart before
PLACE_NAMES: Final = frozenset({"dp_rank", "worker"})
FULL: Final = 0.85  # of the pool locked: cached prefixes have to give way

FLUSHES: Final = """
SELECT kind, ts, source, line FROM events
WHERE kind IN ('cache-flushed', 'restart', 'weights-updated')
    AND ($since::DOUBLE IS NULL OR ts IS NULL OR ts >= $since - 60)
    AND ($until::DOUBLE IS NULL OR ts IS NULL OR ts <= $until)
ORDER BY ts, source, line
"""
WATCHED: Final = "SELECT count(*) FROM sources WHERE kind IN ('log', 'text')"


def flush_explains(view: View) -> Fact:
    """Whether the cache was emptied and that accounts for the loss: it comes back after it, or it is emptied again.

    One flush costs the hits of the time until the cache is full again: a loss that lasts has another reason.
    """
    rows: list[tuple[Any, ...]] = view.query(FLUSHES, bounds(view))
    watched = view.one(WATCHED)[0]
    if not rows:
        if not watched:
            return lacking("log lines", "the server log")
        return found(view, False, "", watched, (), key="flush.none")
    cites = spans_of([(source, line) for _, _, source, line in rows])
    told: dict[str, Any] = {"events": len(rows), "kinds": ", ".join(sorted({kind for kind, *_ in rows}))}
    if view.incident is None or view.baseline is None:
        return found(view, True, "", len(rows), cites, key="flush.seen", **told)
    third = (view.incident.to_ts - view.incident.from_ts) / 3
    late = Window(view.incident.to_ts - third, view.incident.to_ts)
    then, end = hit_ratio(view.window(view.baseline, None)), hit_ratio(view.window(late, None))
    again = sum(kind != "restart" and ts is not None and ts >= late.from_ts for kind, ts, *_ in rows)
    if then.value is None or end.value is None:
        return found(view, True, "", len(rows), cites, key="flush.seen", **told)
    if all(ts is None or ts >= view.incident.to_ts - REFILL_S for _, ts, *_ in rows):
        return found(view, True, "", len(rows), cites, key="flush.seen", **told)
    back = end.value >= RECOVERED * then.value
    key = "flush.back" if back else "flush.again" if again else "flush.lasting"
    return found(view, bool(back or again), "", len(rows), cites, key=key, end=rounded(end.value), **told)


CHANGED: Final = """
WITH stated AS (
    SELECT coalesce(server, '') AS server, value, source, line, row_number() OVER (PARTITION BY server
        ORDER BY ts NULLS LAST, source, line) AS nth, count(*) OVER (PARTITION BY server) AS n
    FROM config WHERE replace(key, '-', '_') = $key AND ($until::DOUBLE IS NULL OR ts IS NULL OR ts <= $until)
)
SELECT server, max(value) FILTER (WHERE nth = 1), max(value) FILTER (WHERE nth = n), max(source) FILTER (WHERE nth = n),
    max(line) FILTER (WHERE nth = n) FROM stated GROUP BY server ORDER BY server
"""


def switched_on(view: View, setting: str) -> Fact:
    """Whether a server was last seen with this switch on; missing where its settings are not seen."""
    rows = view.query(CHANGED, {"key": setting, "until": bounds(view)["until"]})
    if not rows:
        return lacking(setting, "/server_info or the start-up line server_args")
    on = [row for row in rows if str(row[2]).lower() in ("true", "1", "")]
    cites = spans_of([(row[3], row[4]) for row in on])
    return found(view, bool(on), "", len(rows), cites, setting=setting, now=rows[0][2])


def setting_changed(view: View, setting: str) -> Fact:
    """Whether a server came back with another value of this setting than it was first seen with."""
    rows = view.query(CHANGED, {"key": setting, "until": bounds(view)["until"]})
    if not rows:
        return lacking(setting, "/server_info or the start-up line server_args")
    moved = [row for row in rows if row[1] != row[2]]
    if not moved:
        return found(view, False, "", len(rows), (), key="setting.same", setting=setting, now=rows[0][2])
    _server, then, now, source, line = moved[0]
    cites = spans_of([(source, line)])
    return found(view, True, "", len(rows), cites, key="setting.changed", setting=setting, now=now, then=then)


def pages_bite(view: View) -> Fact:
    """Whether whole pages lose what is shared: by arithmetic of a typical prompt, or the page grew and hits fell."""
    grew = setting_changed(view, "page_size")
    if grew.value:
        told = dict(grew.statement.figures)
        if str(told["now"]).isdigit() and str(told["then"]).isdigit() and int(told["now"]) > int(told["then"]):
            return restated(grew, _fell(view) is not False, "", "page.grew")
    loss = page_loss(view)
    if loss.value is None or loss.value >= 0.3:
        return loss if loss.value is None else restated(loss, True, "", "page_loss")
    told = dict(loss.statement.figures)
    if told["page"] - 1 > SMALL_LOSS * told["prompt"]:
        # What is shared may end anywhere: a page could cost a good part of such prompts, and only they would tell.
        return lacking("the content of prompts", "--log-requests --log-requests-level 3, or a file of the prompts")
    return restated(loss, False, "", "page.little", most=told["page"] - 1)


HOW_PLACES: Final = "routing keys or sessions with the rank that served them: the request log of 0.5.9 on"


def evicting(view: View) -> Fact:
    """Whether running requests take so much of the pool that cached prefixes have to give way.

    With several ranks or servers the same figures come of scattered requests: unless their places are known, it is
    not told. A pool that requests lock but in part may evict as well, for its cache is not counted there: the
    counter says so where prompts are seen to be what they were (changed ones fill the cache too).
    """
    full = usage(view, "peak")
    if full.value is None:
        return full
    if full.value < FULL:
        moved = _evicts_more(view)
        if moved is None:
            return lacking("evictions", "evicted_tokens_total in /metrics (0.5.6 on), scraped in both windows", full.n)
        if not moved:
            return restated(full, False, "", "usage")
        if drifting_head(view).value != "":
            return lacking("the content of prompts", "--log-requests --log-requests-level 3", full.n)
    if scattered(view).value is None and not alone(view):
        return lacking("which rank or server each request of a key went to", HOW_PLACES, full.n)
    return restated(full, True, "", "usage")


def _evicts_more(view: View) -> bool | None:
    """Whether twice as much is evicted in a second as before; None where no counter is seen."""
    now = evicted_tokens(view)
    if now.value is not None and now.value < 1:
        return False
    if now.value is None or view.incident is None or view.baseline is None:
        return None
    then = evicted_tokens(view.window(view.baseline, None))
    if then.value is None:
        return None
    spans = [max(w.to_ts - w.from_ts, 1.0) for w in (view.incident, view.baseline)]
    return bool(now.value / spans[0] >= 2 * then.value / spans[1])


def _fell(view: View) -> bool | None:
    if view.baseline is None:
        return None
    now, then = hit_ratio(view), hit_ratio(view.window(view.baseline, None))
    return None if now.value is None or not then.value else bool(now.value <= LESS * then.value)


def cached_each(view: View) -> Fact:
    """Cached tokens of a request on average; a ratio also falls where prompts only grew."""
    ratio = hit_ratio(view)
    told = dict(ratio.statement.figures)
    if ratio.value is None or told["basis"] != "requests" or not ratio.n:
        return lacking("cached tokens of requests", "the request log or the metrics exporter")
    value = told["hit"] / ratio.n
    return restated(ratio, value, "tokens", "cached_each")


KEYS: Final = """
WITH rows AS (
    SELECT nullif(concat_ws('/', extra_key, lora), '') AS key, cached_tokens,
        CASE WHEN cached_tokens IS NOT NULL THEN prompt_tokens END AS prompt_tokens, params_logged, source, line
    FROM asks
    WHERE (prompt_tokens > 0 OR params_logged) AND NOT coalesce(probe, false)
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
)
SELECT count(*) AS n, count(key) AS keyed, count(DISTINCT key) AS keys,
    sum(cached_tokens) FILTER (WHERE key IS NOT NULL) / sum(prompt_tokens) FILTER (WHERE key IS NOT NULL) AS with_key,
    sum(cached_tokens) FILTER (WHERE key IS NULL) / sum(prompt_tokens) FILTER (WHERE key IS NULL) AS without,
    count(*) FILTER (WHERE params_logged) AS logged,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows WHERE key IS NOT NULL GROUP BY source)) AS cites
FROM rows
"""


def keys_split(view: View) -> Fact:
    """Whether keys (extra key, adapter) keep equal prompts apart: by ids, else many new keys whose requests miss."""
    exact = split_by_key(view)
    if exact.value is not None:
        # A part of the callers may have begun with it: few prompts of all, and far more of them than before.
        before = None if view.baseline is None else split_by_key(view.window(view.baseline, None)).value
        began = before is not None and exact.value >= max(BEGAN, 5 * before)
        return restated(exact, bool(exact.value >= 0.3 or began), "", "split_by_key")
    n, keyed, keys, hit, rest, logged, cites = view.one(KEYS, bounds(view))
    if n < 20 or not (logged or keyed):
        return exact
    then = view.one(KEYS, bounds(view.window(view.baseline, None))) if view.baseline is not None else None
    if not keyed and logged >= 0.5 * n:
        return found(view, False, "", n, (), key="keys.none")
    if then is None:
        return exact
    reference = rest if rest is not None else then[4] if then[4] is not None else then[3]
    grew = keys >= 4 and keys / max(n, 1) >= 3 * then[2] / max(then[0], 1)
    if grew and (hit is None or reference is None):
        return exact  # many new keys, and nobody says what they found
    value = bool(grew and reference and hit <= 0.6 * reference)
    return found(
        view, value, "", n, cites, key="keys.split" if value else "keys.same", keys=keys, keys_then=then[2],
        hit=rounded(hit), without=rounded(reference),
    )  # fmt: skip


def content_changed(view: View) -> Fact:
    """What differs early in prompts that should share; where no prompt is seen, what is left when all else is excluded.

    Excluded must be: a flush, another page, a cache switched off, a full pool, split keys, other placement.
    """
    seen = drifting_head(view)
    if seen.value is not None:
        return restated(seen, bool(seen.value), "", "drift.differs" if seen.value else "drift.none", kind=seen.value)
    if (own := _own_loss(view)) is not None:
        return own
    if _fell(view) is not True and not _more_missed(view):
        return seen
    if _fell(view) is True and _found_as_much(view):
        # As many tokens hit as before, beside longer prompts: a matter of the mix.
        return restated(hit_ratio(view), False, "", "drift.other")
    full = usage(view, "peak")
    others = (
        flush_explains(view).value,
        setting_changed(view, "page_size").value,
        setting_changed(view, "disable_radix_cache").value,
        keys_split(view).value,
        None if full.value is None else full.value >= FULL,
        scattered(view).value,
        tier_lost(view).value,
    )
    if any(others):
        return seen  # another reason stands: whether the prompts changed as well, only their content would tell
    if None in others[:1] + others[3:5]:
        return seen
    return restated(hit_ratio(view), True, "", "drift.left")


def content_told(view: View) -> Fact:
    """Whether it is told that the prompts changed; missing where that is only what is left.

    Told by their content, by a class that alone lost its prefixes, or where nothing can have been evicted.
    """
    seen = drifting_head(view)
    if seen.value is not None:
        return restated(seen, bool(seen.value), "", "drift.differs" if seen.value else "drift.none", kind=seen.value)
    if (own := _own_loss(view)) is not None:
        return own
    left = content_changed(view)
    if left.value and (_fell(view) is not True or evicting(view).value is not False):
        return lacking("the content of prompts", "--log-requests --log-requests-level 3", left.n)
    return left


# Both in share and in tokens: a longer prompt finds a smaller share of itself in a cache that lost nothing.
MISSED: Final = """
WITH rows AS (
    SELECT cached_tokens AS found, cached_tokens / prompt_tokens AS hit,
        ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until) AS now,
        received_ts BETWEEN $from AND $to AS before
    FROM asks WHERE cached_tokens IS NOT NULL AND prompt_tokens > 0 AND NOT coalesce(probe, false)
),
usual AS (SELECT quantile_cont(hit, 0.75) AS hit, quantile_cont(found, 0.75) AS found FROM rows WHERE before),
told AS (
    SELECT now, before, CASE WHEN r.hit < 0.5 * u.hit AND r.found < 0.5 * u.found THEN 1.0 ELSE 0.0 END AS missed
    FROM rows r, usual u
)
SELECT count(*) FILTER (WHERE now), count(*) FILTER (WHERE before), (SELECT hit FROM usual),
    avg(missed) FILTER (WHERE now), avg(missed) FILTER (WHERE before) FROM told
"""


def _more_missed(view: View) -> bool:
    """Whether three times as many requests as before, and a twentieth, find less than half of what they used to."""
    if view.baseline is None:
        return False
    asked = {**bounds(view), "from": view.baseline.from_ts, "to": view.baseline.to_ts}
    n, before, usual, now, then = view.one(MISSED, asked)
    return bool(min(n, before) >= 50 and usual >= 0.2 and now >= max(BEGAN, 3 * then))


def _own_loss(view: View) -> Fact | None:
    """A class that found its prefixes before and now does not, while the others find theirs; None where there is none.

    What empties or fills the cache hits everybody. A class nobody saw before has prompts of its own, and what one rank
    or worker lost is a matter of what was sent there.
    """
    if view.baseline is None or keys_split(view).value is not False:
        return None
    now = affected(view, "missed")
    told = dict(now.statement.figures)
    if not now.value or PLACE_NAMES.intersection(str(told["names"]).split()):
        return None
    if not told["in_ratio_then"] or told["in_ratio"] > 0.5 * told["in_ratio_then"]:
        return None
    return restated(now, True, "", "drift.class", now=told["in_ratio"], then=told["in_ratio_then"])


def _found_as_much(view: View) -> bool:
    """Whether a request finds as many tokens as before: by requests, else by the ratio times their mean length."""
    before = view.window(view.baseline, None)
    now, then = cached_each(view).value, cached_each(before).value
    if now is None or then is None:
        parts = [f.value for w in (view, before) for f in (hit_ratio(w), prompt_tokens(w))]
        if None in parts:
            return False
        now, then = parts[0] * parts[1], parts[2] * parts[3]
    return bool(now > 0.9 * then)


PLACES: Final = """
SELECT count(DISTINCT concat_ws(' ', server, dp_rank)),
    CASE WHEN count(DISTINCT server) > 1 THEN string_agg(DISTINCT server, ', ' ORDER BY server) END,
    CASE WHEN count(DISTINCT server) < 2 THEN string_agg(DISTINCT dp_rank::VARCHAR, ', ' ORDER BY dp_rank::VARCHAR) END
FROM asks
WHERE (server IS NOT NULL OR dp_rank IS NOT NULL) AND coalesce(role, '') NOT IN ('client', 'gateway')
"""


def scattered(view: View) -> Fact:
    """Whether requests of one key are spread over more ranks or servers than before; False where there is only one.

    Where no key is seen, the gateway's own change to a rule that keeps nothing in one place says so.
    """
    places, servers, dp_ranks = view.one(PLACES)
    where = {"worker": servers, "dp_rank": dp_ranks}
    if not places:
        return lacking("requests with their rank or server", "the request log or the metrics exporter")
    if places == 1:
        return found(view, False, "", 1, (), key="places.one")
    now = places_per_key(view)
    if now.value is None and (ruled := policy_spread(view)).value is not None:
        return restated(ruled, ruled.value, "", "places.policy" if ruled.value else "policy_spread", **where)
    if now.value is None or view.baseline is None:
        return now if now.value is None else lacking("a baseline", "--baseline FROM..TO")
    then = places_per_key(view.window(view.baseline, None))
    if not then.value:
        return then
    told = {"places": rounded(now.value), "then": rounded(then.value), **where}
    return restated(now, bool(now.value >= 1.3 * then.value), "", "places.spread", **told)
