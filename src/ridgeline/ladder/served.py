"""Which engine the evidence is of: what is asked for, tried and recommended speaks that engine's own language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ridgeline.bundle.view import View
from ridgeline.model.fact import Missing
from ridgeline.words.asks import Family, ask_of, filled, in_order
from ridgeline.words.catalogue import say
from ridgeline.words.messages_en import MESSAGES

ENGINES: Final = """
SELECT count(*) FILTER (WHERE engine = 'vllm') AS vllm, count(*) FILTER (WHERE engine = 'sglang') AS sglang,
    (SELECT count(*) FROM batches WHERE kind = 'stats') AS stats,
    (SELECT count(*) FROM batches WHERE kind IN ('prefill', 'decode')) AS steps,
    (SELECT count(*) FROM series WHERE starts_with(raw, 'vllm:')) AS exposed,
    (SELECT count(*) FROM series WHERE starts_with(raw, 'sglang')) AS exposed_sglang,
    -- Of the two, only vLLM's lines carry no year (SIGNALS §15.2).
    (SELECT count(*) FROM sources
     WHERE kind = 'log' AND contains(array_to_string(notes, ' '), 'carry no year')) AS yearless,
    (SELECT count(*) FROM events WHERE attrs ->> 'what' IN
        ('Prefill bootstrap', 'Prefill transfer', 'Decode handshake', 'Decode transfer')) AS worded, -- SGLang's words
    min(version) FILTER (WHERE engine = 'sglang') AS version
FROM servers
"""


@dataclass(frozen=True)
class Served:
    """The engine family, and the version of SGLang where one is stated."""

    engine: Family
    version: str | None

    @property
    def vllm(self) -> bool:
        """Whether it is vLLM."""
        return self.engine == "vllm"


def served(view: View) -> Served:
    """The engine of the servers in the evidence; where none is named, by metric names and by the kind of log lines."""
    vllm, sglang, stats, steps, exposed, exposed_sglang, yearless, worded, version = view.one(ENGINES)
    unnamed = not sglang and not steps and not exposed_sglang and not worded
    other = vllm > sglang or (unnamed and bool(stats or exposed or yearless))
    return Served("vllm" if other else "sglang", None if other else version)


# What of each ask is in the evidence although the figures it would give could not be used: kinds of source, and the
# flag that a server states for it. `spans` and client files bring rows of requests; what is absent are their fields.
HAS: Final[dict[str, str]] = {
    "prefill-lines": """
        SELECT min(source) FROM batches WHERE kind = 'prefill' HAVING count(*) > 0""",
    "decode-lines": """
        SELECT min(m.source) FROM samples m JOIN series s USING (series)
        WHERE starts_with(s.name, 'inter_token_latency') OR starts_with(s.name, 'request_time_per_output_token')
        HAVING count(*) > 0""",
    "parameters": """
        SELECT min(source) FROM requests WHERE max_new_tokens IS NOT NULL HAVING count(*) > 0""",
    "client": "SELECT min(source) FROM requests WHERE role = 'client' HAVING count(*) > 0",
    "ranks": "SELECT min(source) FROM loads HAVING count(*) > 0",
    "snapshot": "SELECT min(source) FROM loads HAVING count(*) > 0",
    "hang": """
        SELECT min(m.source) FROM samples m JOIN series s USING (series)
        WHERE s.name IN ('num_running_reqs', 'num_requests_running') HAVING count(*) > 0""",
}
# Asks a file of the server supplies → the settings that say it is written already.
ON: Final[dict[str, tuple[str, ...]]] = {
    "requests": ("log_requests",),
    "parameters": ("log_requests",),
    "in-flight": ("log_requests",),
    "attributes": ("log_requests",),
    "stages": ("export_metrics_to_file", "enable_request_time_stats_logging"),
    "ends": ("export_metrics_to_file", "enable_request_time_stats_logging"),
}
SWITCHED: Final = """
SELECT count(*) FROM config
WHERE list_contains($names, replace(lower(key), '-', '_')) AND lower(trim(value)) IN ('true', '1')
    AND NOT EXISTS (SELECT 1 FROM requests WHERE coalesce(role, '') <> 'client')
"""


def asked_for(missing: Sequence[Missing], of: Served, view: View | None = None) -> tuple[Missing, ...]:
    """What is missing as asks of this engine, the most useful first; signals that one thing supplies are one ask.

    What the evidence holds already is not asked for again: then it is said that it does not tell, or is on.
    """
    known = {m: ask_of(m.signal) for m in missing}
    asks = [
        Missing(MESSAGES[f"ask.{name}.signal"], _way(name, of, view), name)
        for name in in_order(name for name in known.values() if name is not None)
    ]
    return tuple(dict.fromkeys([*asks, *(m for m, name in known.items() if name is None)]))


def _way(name: str, of: Served, view: View | None) -> str:
    """How to supply an ask: its switch, or what to do with a source or a flag that is there already."""
    held = view.query(HAS[name]) if view is not None and name in HAS else []
    if view is not None and held:
        shown = view.names.get(held[0][0], f"source {held[0][0]}")
        return say("held.file", {"file": shown})
    if view is not None and name in ON and view.one(SWITCHED, {"names": list(ON[name])})[0]:
        return MESSAGES["held.on"]
    return filled(MESSAGES[f"ask.{name}.{of.engine}"], of.version)
