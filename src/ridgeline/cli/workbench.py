"""What the live page asks, answered from one view: pictures of a selection, requests, raw lines, the ladder again."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import duckdb

from ridgeline.bundle.view import View
from ridgeline.cli.report import drawings, gathered, spoken
from ridgeline.cli.show import _raw
from ridgeline.cli.stored import answered, decision_of
from ridgeline.facts.pictures import marked_ranks
from ridgeline.facts.pictures.differs import differs
from ridgeline.facts.pictures.load import ranks
from ridgeline.facts.pictures.marks import LIST_COLUMNS, Selection, facets, heat, latency, listed, marked, size
from ridgeline.facts.pictures.part import part_of
from ridgeline.facts.pictures.slices import slices
from ridgeline.facts.pictures.times import heat as scraped
from ridgeline.facts.pictures.times import latency as spread
from ridgeline.facts.pictures.who import waterfall
from ridgeline.facts.points import ready
from ridgeline.facts.timeline import find, twin
from ridgeline.ladder.diagnose import diagnose
from ridgeline.model.chart import Picture
from ridgeline.model.diagnosis import Diagnosis, Window
from ridgeline.model.errors import InputError
from ridgeline.report.escape import plain
from ridgeline.report.page.content import Page
from ridgeline.report.page.render import figure
from ridgeline.report.page.serve import Asks, Rows
from ridgeline.report.page.units import moment
from ridgeline.words.catalogue import say


@dataclass
class Workbench:
    """One open view. The diagnosis is computed once, when it is first asked for; a lock keeps tables made once."""

    view: View
    sources: tuple[str, ...]
    symptom: str = "auto"
    incident: Window | None = None
    baseline: Window | None = None
    keep_text: bool = False
    lang: str = "en"
    _making: threading.Lock = field(default_factory=threading.Lock)
    _drawing: threading.Lock = field(default_factory=threading.Lock)

    def asks(self) -> Asks:
        """What is handed to the page."""
        return Asks(
            self.story, self.facets, self.size, self.picture, self.requests, self.request, self.lines, self.differs,
            self.rungs, (duckdb.Error,),
        )  # fmt: skip

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """The diagnosis under the windows that were given, or found."""
        return diagnose(self.view, self.symptom, incident=self.incident, baseline=self.baseline, sources=self.sources)

    def warm(self) -> None:
        """Make what the first picture needs, while the browser is still starting."""
        figure(self.picture("heat", {}), self.lang)

    def story(self) -> Page:
        """Everything that the diagnosis tells; waits for it."""
        self._ready(None)
        self._marked()  # no two threads may make the same table
        with self._making:
            decided = decision_of(self.sources)
            d = answered(self.diagnosis, decided)
            return gathered(self.view, d, drawings(self.view, d, decided), self.lang)

    def facets(self) -> dict[str, Any]:
        """Span of time, ranks, keys."""
        return self._facets

    @cached_property
    def _facets(self) -> dict[str, Any]:

        return facets(self._marked())

    def size(self, chosen: Mapping[str, Any]) -> str:
        """How many requests are chosen, in words."""
        n, unfinished = size(self._marked(), selection(chosen))
        whole = self._facets
        low, high = chosen.get("from", whole["from"]), chosen.get("to", whole["to"])
        if low is None or high is None:
            return say("page.none-here", {}, self.lang)
        figures = {
            "n": f"{n:,}", "all": f"{whole['requests']:,}", "unfinished": f"{unfinished:,}" if unfinished else None,
            "from": moment(low, high - low),
            "to": moment(high, high - low),
        }  # fmt: skip
        return say("page.chosen", figures, self.lang)

    def picture(self, name: str, chosen: Mapping[str, Any]) -> Picture:
        """One picture of a selection."""
        return spoken(self._picture(name, chosen), self.view)

    def _picture(self, name: str, chosen: Mapping[str, Any]) -> Picture:
        picked = selection(chosen)
        known = self.__dict__.get("diagnosis")
        incident = known.incident if known is not None else self.incident
        if name == "heat":
            drawn = heat(self._marked(), picked, incident)
            # Without single requests the buckets of scrapes still show when it became slow.
            return drawn if drawn.drawing is not None or not picked.everything else scraped(self._ready(incident))
        if name == "latency":
            same = replace(picked, from_ts=None, to_ts=None)
            before = known.baseline if known is not None else self.baseline
            if picked.everything or picked.window is None:
                drawn = latency(self._marked(), [("all", "incident", picked)])
                return drawn if drawn.drawing is not None else spread(self._ready(incident))
            rest = same if before is None else replace(same, from_ts=before.from_ts, to_ts=before.to_ts)
            label = "all" if before is None else "baseline"
            return latency(self._marked(), [(label, "baseline", rest), ("selection", "incident", picked)])
        with self._drawing:
            if name == "ranks":
                marks = (str(picked.rank),) if picked.rank is not None else marked_ranks(known) if known else ()
                return ranks(self.view.window(incident, None), marks, picked.window)
            window = picked.window or incident
            return slices(self.view.window(window, known.baseline if known else self.baseline), picked)

    def requests(self, chosen: Mapping[str, Any]) -> Rows:
        """The slowest requests of a selection."""
        return LIST_COLUMNS, listed(self._marked(), selection(chosen))

    def request(self, rid: str) -> tuple[Picture, list[str]]:
        """One request beside its twin, and where its rows stand. Raises InputError where there is none."""
        rows = find(self.view, rid) if rid else []
        if not rows:
            raise InputError(f"{plain(rid, 80)}: no request with this id")
        cites = [f"{r['path']}:{r['line']}" for r in rows if r["line"] is not None]
        found = waterfall(self.view, [(rows[0]["rid"], twin(self.view, rows[0]["rid"]))])
        says = found.says or "picture.waterfall"
        return replace(found, name="request", says=says), list(dict.fromkeys(cites))

    def lines(self, cite: str) -> list[tuple[str, int | None, str]]:
        """Raw lines of a citation, secrets cut out, and prompts unless they are kept."""
        return list(_raw(self.sources, (cite,), 20, self.keep_text))

    def differs(self, chosen: Mapping[str, Any]) -> Picture:
        """What marks the requests of a selection."""
        return spoken(differs(self._marked(), selection(chosen)), self.view)

    def rungs(self, chosen: Mapping[str, Any]) -> Diagnosis:
        """The ladder again, on the time, rank, key and class of a selection; its time is the incident."""
        picked = selection(chosen)
        if picked.everything:
            return self.diagnosis
        with self._making:
            first = self.diagnosis
            timed = replace(picked, rank=None, key=None, attribute=None, value=None)
            view = self.view if picked == timed else part_of(self._marked(), picked)
            window = picked.window or first.incident
            return diagnose(view, self.symptom, incident=window, baseline=first.baseline, sources=self.sources)

    def _ready(self, incident: Window | None) -> View:

        with self._drawing:
            return ready(self.view).window(incident, None)

    def _marked(self) -> View:

        with self._drawing:
            return marked(self.view)


def selection(chosen: Mapping[str, Any]) -> Selection:
    """The page's words as a selection."""

    return Selection(
        chosen.get("from"), chosen.get("to"), chosen.get("rank"), chosen.get("key"), chosen.get("attribute"),
        chosen.get("value"), chosen.get("low"), chosen.get("high"),
    )  # fmt: skip
