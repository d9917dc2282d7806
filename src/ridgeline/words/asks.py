"""What a measure lacks, as something a person can switch on: one ask for many signals, in the engine's own words.

Measures say what they lack in their own terms (`queue_s of requests`, `prefill_s of requests`); an ask is the one
thing that supplies them all. The order of `COVERS` is their use: what answers most questions comes first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Literal

from ridgeline.words.flags import SIGNALS, switches
from ridgeline.words.versions import Engine

Family = Literal["sglang", "vllm"]

# ask → the signals it supplies, as measures name them (regular expressions, matched whole).
COVERS: Final[tuple[tuple[str, str], ...]] = (
    ("killer", r"who sent SIGKILL"),
    ("load", r"(running and waiting|waiting and running|waiting) requests|pool usage|throughput"),
    ("load", r"load points with a queue( and the pool's usage)?|waiting, running and usage over time"),
    ("load", r"three scrapes or load answers with times|arrivals and output lengths, or throughput"),
    ("requests", r"(ten )?requests and their outcomes|refusals|aborts|finish reasons"),
    ("requests", r"output lengths of requests|arrival times of requests"),
    ("requests", r"twenty finished requests with their output lengths|how long answers were before"),
    ("ends", r"(pre_queue|return|unaccounted)_s of requests|return times( of requests| beside output lengths)"),
    ("stages", r"\w+_s of requests|(prefill|tokenize) times( of requests)?"),
    ("stages", r"when each prefill ended|times before the scheduler|prompt and cached tokens of requests"),
    ("stages", r"ten requests with prefill times in each window|queue times and prompt lengths of requests"),
    ("stages", r"prompt lengths of requests|requests right after a boot|requests of two priorities with queue_time"),
    (
        "stages",
        r"(arrival and |E2E and |a slow request with its )?(stages|TTFT).* of requests|a slow request with its stages",
    ),
    ("histograms", r"\S+ (in histograms|observed between two scrapes)"),
    ("pair", r"the (\w+ queue|motion of the \w+ queue)|both sides of the pair|the decode server's pool usage"),
    ("pair", r"bootstrap and allocation waits of requests|prefill lines of the prefill server"),
    ("pair", r"the queues of a prefill and a decode side|whether decode still read what was given up"),
    ("transfers", r"transfer speeds (of requests|over time)"),
    ("parameters", r"max_new_tokens (beside real output lengths|of requests and the pool's size)|sampling parameters"),
    ("in-flight", r"every request in flight with its lengths"),
    ("attributes", r"thirty requests with times and attributes|times of requests with their attributes"),
    ("prompts", r"prompts (or their ids|within the window)|prompt ids with their namespaces|the content of prompts"),
    ("prompts", r"adapter, extra key and salt of each prompt|.* and ids finer than it"),
    ("cached", r"cached tokens( of requests)?|hits by tier of requests in both windows|the gauge beside cached tokens"),
    ("evictions", r"evictions"),
    ("evictable", r"evictable tokens"),
    (
        "settings",
        r"the running limit|the pool's size.*|the size of the pool|the launch arguments|disable_radix_cache|page_size",
    ),
    ("settings", r"prompt lengths and the page size|the page size.*"),
    ("ranks", r"the queue of each rank or replica|decode lines of two ranks"),
    ("placed", r"the rank of each (request|prompt)|requests with their rank or server"),
    ("placed", r"keys or sessions with the rank that served them"),
    ("keys", r"routing keys"),
    ("workers", r"what each worker got"),
    ("snapshot", r"load answers with their snapshot time"),
    ("decode-lines", r"(three|five) decode lines.*|tokens held by running requests|two lines in a row.*"),
    ("decode-lines", r"twenty batch lines with times|batch lines beside arrivals"),
    ("prefill-lines", r"(three )?prefill lines.*|twenty prefill batches beside running streams"),
    ("retractions", r"retractions"),
    ("hang", r"a watchdog line, or repeated scrapes|whether the scheduler still moves|polls of /health"),
    ("graphs", r"the graph flag on decode lines"),
    ("acceptance", r"speculative acceptance"),
    ("device", r"device occupancy"),
    ("idle", r"usage while no request runs"),
    ("gaps", r"gaps between chunks"),
    ("client", r"the client's TTFT beside the engine's|planned and real send times"),
    ("slow-readers", r"streaming backlog lines"),
    ("correct", r"answers known to be right"),
    ("rates", r"three printed hit rates"),
    ("rounds", r"rounds with TTFT and hit ratio"),
    ("usage-records", r"cache writes and reads of requests"),
    ("both", r"requests with and without .*"),
    ("log", r"log lines|allocation failures"),
    ("onset", r"an onset"),
    ("baseline", r"a baseline|a baseline with batches of this size"),
    ("longer", r"figures that vary|a second load point|twelve load points with a queue|a usable fit .*"),
    ("longer", r"three decode lines in a row|more of .* in both windows"),
)
ORDER: Final = {name: place for place, name in enumerate(dict.fromkeys(name for name, _ in COVERS))}
_KNOWN: Final = tuple((name, re.compile(pattern)) for name, pattern in COVERS)
_WINDOW: Final = re.compile(r"(.*) in the (?:incident|baseline) window")
_SWITCH: Final = re.compile(r"\{([a-z-]+)\}")


def ask_of(signal: str) -> str | None:
    """The ask that supplies a measure's signal, or None for a signal this list does not know."""
    if within := _WINDOW.fullmatch(signal):
        signal = within[1]
    return next((name for name, pattern in _KNOWN if pattern.fullmatch(signal)), None)


def filled(text: str, version: str | None, engine: Engine = "sglang") -> str:
    """The text with `{metrics}` and the like as that version's own switch; the newest one, with its release, if "
    "unknown."""
    return _SWITCH.sub(lambda named: _way(named[1], version, engine), text)


def rank_of(ask: str) -> int:
    """The place of an ask by its use, 0 for the most useful; unknown ones come last."""
    return ORDER.get(ask, len(ORDER))


def in_order(names: Iterable[str]) -> list[str]:
    """Asks, the most useful first, each once."""
    return sorted(dict.fromkeys(names), key=rank_of)


def _way(signal: str, version: str | None, engine: Engine) -> str:
    ways = switches(signal, version, engine) if signal in SIGNALS else ()
    if not ways:
        return f"{signal} (not in {engine} {version or ''})".replace(" )", ")")
    sure = [way for way in ways if version and way.span.has(version, engine)]
    way = (sure or list(ways))[0]
    since = f" ({way.span.since} on)" if version is None and way.span.since else ""
    return f"{way.how}{since}"
