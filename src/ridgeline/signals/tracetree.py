"""Spans of many traces, in any order → rows: request roots, threads, stages; decode steps folded.

Names and attributes: SIGNALS §11.2 (SGLang), §15.3 (vLLM). A child usually arrives before its root (a span is sent
when it ends), so a trace is held until nothing of it came for a while or memory asks for room. Memory is bounded by
`HELD_SPANS`, with two numbers per folded decode step.
"""

import re
from array import array
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from ridgeline.signals.rows import Reading, Rows, rows_of
from ridgeline.signals.span import Span, attrs_json, whole
from ridgeline.signals.spanrecord import NOT_CLOSED, Place, is_request, record_of, request_id

HELD_SPANS: Final = 200_000
HELD_STEPS: Final = 5_000_000
TRACE_SPANS: Final = 50_000
KNOWN_PLACES: Final = 200_000
ROWS_PER_TABLE: Final = 50_000

CLOSED_TOGETHER_NS: Final = 1_000_000
LOOP: Final = "decode_loop"
ROOM_NAME: Final = re.compile(r"\s*Bootstrap Room (0x[0-9a-fA-F]+|\d+)")
ROLE_NAME: Final = re.compile(r"\s*(prefill|decode)?\s*Req\s+\S", re.IGNORECASE)
RENAMED: Final = {"dispatch": "api_server_dispatch", "dc_dispatch": "dpc_dispatch"}  # 0.5.6, 0.5.9 → 0.5.23

BARE_STAGES: Final = frozenset(
    {
        "tokenize",
        "dispatch",
        "api_server_dispatch",
        "dc_dispatch",
        "dpc_dispatch",
        "request_process",
        "prefill_waiting",
        "prefill_forward",
        "chunked_prefill",
        "decode_forward",
        "prefill_prepare",
        "prefill_bootstrap",
        "prefill_transfer_kv_cache",
        "decode_prepare",
        "decode_bootstrap",
        "decode_transferred",
        "decode_waiting",
        "fake_output",
        "quick_finish",
    }
)
# Names that are stages of a request even where the spans above them were lost; the trace's one request has them.
ORPHAN_STAGES: Final = BARE_STAGES - {"tokenize", "dispatch"}


@dataclass(slots=True)
class Trace:
    """What is held of one trace: spans by id, and start/end pairs of decode steps by the id of their parent."""

    spans: dict[str, Span] = field(default_factory=dict)
    loops: dict[str, "array[int]"] = field(default_factory=dict)
    loop_lines: dict[str, Span] = field(default_factory=dict)


class Forest:
    """Takes spans as they come and gives rows once a trace is as complete as it will get."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.traces: OrderedDict[str, Trace] = OrderedDict()
        self.spans = 0
        self.steps = 0
        self.known: OrderedDict[str, Place] = OrderedDict()  # spans already handed out that others may hang under
        self.out: dict[str, list[dict[str, Any]]] = {"spans": [], "stages": [], "records": []}
        self.roles: set[str] = set()
        self.orphans = 0

    def add(self, spans: Iterable[Span]) -> Iterator[Rows]:
        """Take some spans; hand out rows of traces that had to leave memory."""
        for span in spans:
            if not span.name and not span.span:
                self.reading.unparsed += 1
                continue
            self.reading.understood += 1
            self.reading.saw(span.start_ts, span.end_ts)
            self._hold(span)
        yield from self._full()

    def finish(self) -> Iterator[Rows]:
        """Hand out everything that is left."""
        while self.traces:
            self._emit(self.traces.popitem(last=False)[1])
            yield from self._full()
        for table in self.out:
            yield from self._take(table)
        if self.orphans:
            self.reading.note(
                f"{self.reading.path}: {self.orphans} stage spans have no request root in this file; "
                "their rid is unknown (record longer, or lower the share of traces that is sampled away)"
            )
        if len(self.roles) == 1:
            self.reading.role = next(iter(self.roles))

    def _hold(self, span: Span) -> None:
        key = span.trace or span.span
        trace = self.traces.get(key)
        if trace is None:
            trace = self.traces[key] = Trace()
        self.traces.move_to_end(key)
        if span.name == LOOP and 0 < span.start_ns <= span.end_ns < 2**63:
            trace.loops.setdefault(span.parent, array("q")).extend((span.start_ns, span.end_ns))
            first = trace.loop_lines.setdefault(span.parent, span)
            if (span.start_ns, span.span) < (first.start_ns, first.span):
                trace.loop_lines[span.parent] = span
            self.steps += 1
        else:
            trace.spans[span.span or f"?{len(trace.spans)}"] = span
            self.spans += 1
        if len(trace.spans) > TRACE_SPANS:
            self._emit(self.traces.pop(key))
        while self.spans > HELD_SPANS or self.steps > HELD_STEPS:
            self._emit(self.traces.popitem(last=False)[1])

    def _emit(self, trace: Trace) -> None:
        self.spans -= len(trace.spans)
        self.steps -= sum(len(times) for times in trace.loops.values()) // 2
        _open_ends(trace.spans)
        places: dict[str, Place] = {}
        for span in trace.spans.values():
            self._place(span.span, trace.spans, places)
        requests = [span for span in trace.spans.values() if is_request(span)]
        alone = places.get(requests[0].span) if len(requests) == 1 else None
        for span in trace.spans.values():
            place = places.get(span.span)
            if place is not None and place.root is None and span.name in ORPHAN_STAGES:
                above = alone if alone is not None and _fits(alone, span) else place
                places[span.span] = above.below("slice", stage=span.name)
        members: dict[str, list[tuple[Span, Place]]] = {}
        for span in trace.spans.values():
            place = places.get(span.span) or Place()
            self.out["spans"].append(self._span_row(span, place))
            if place.root is not None and span is not place.root:
                members.setdefault(place.root.span, []).append((span, place))
            if place.level == "slice":
                self.out["stages"].append(self._stage_row(span, place, places))
        gaps: dict[str, array[int]] = {}
        for parent, times in trace.loops.items():
            place = self._place(parent, trace.spans, places)
            if place.root is None and alone is not None and _fits(alone, trace.loop_lines[parent]):
                place = alone
            first = trace.loop_lines[parent]
            folded = _folded(first, times)
            self.out["spans"].append(self._span_row(folded, place.below("slice")))
            self.out["stages"].append(self._stage_row(folded, place.below("slice"), places))
            if place.root is not None:
                gaps.setdefault(place.root.span, array("q")).extend(times)
        for span in requests:
            place = places.get(span.span) or Place()
            if place.role:
                self.roles.add(place.role)
            record, stages = record_of(span, place, members.get(span.span, []), gaps.get(span.span))
            self.out["records"].append({**self._at(span), **record})
            self.out["stages"].extend({**self._at(span), **stage} for stage in stages)
        for ident, place in places.items():
            if place.level in {"root", "thread"}:
                self.known[ident] = place
        while len(self.known) > KNOWN_PLACES:
            self.known.popitem(last=False)

    def _place(self, ident: str, spans: dict[str, Span], places: dict[str, Place]) -> Place:
        """Where a span stands: its request, room, role and thread, from the chain of its parents (cycles end it)."""
        chain: list[Span] = []
        seen: set[str] = set()
        at = ident
        while at in spans and at not in places and at not in seen:
            seen.add(at)
            chain.append(spans[at])
            at = spans[at].parent
        place = places.get(at) or self.known.get(at) or Place()
        for span in reversed(chain):
            place = _child(place, span)
            if span.span:
                places[span.span] = place
        return place

    def _at(self, span: Span) -> dict[str, Any]:
        return {"source": self.reading.source, "line": span.line}

    def _span_row(self, span: Span, place: Place) -> dict[str, Any]:
        marks: dict[str, int] = {}
        for _, name, _attrs in span.marks:
            marks[name] = marks.get(name, 0) + 1
        attrs = {**span.attrs, "events": marks} if marks else span.attrs
        return {
            **self._at(span),
            "trace_id": span.trace or None,
            "span_id": span.span or None,
            "parent_id": span.parent or None,
            "name": span.name,
            "level": place.level,
            "service": span.service or None,
            "start_ts": span.start_ts,
            "end_ts": span.end_ts,
            "rid": place.rid,
            "room": place.room,
            "status": span.status or None,
            "links": list(span.links),
            "attrs": attrs_json(attrs),
        }

    def _stage_row(self, span: Span, place: Place, places: dict[str, Place]) -> dict[str, Any]:
        start, end = span.start_ts, span.end_ts
        if place.rid is None:
            self.orphans += 1
        above = places.get(span.parent)
        return {
            **self._at(span),
            "rid": place.rid,
            "room": place.room,
            "role": place.role,
            "dp_rank": place.dp_rank,
            "stage": RENAMED.get(span.name, span.name),
            "start_ts": start,
            "end_ts": end,
            "duration_s": (span.end_ns - span.start_ns) / 1e9 if start is not None and end is not None else None,
            "basis": "pair",
            "within": above.stage if above is not None else None,
            "probe": place.probe,
            "clock": "wall",
        }

    def _full(self) -> Iterator[Rows]:
        for table, rows in self.out.items():
            if len(rows) >= ROWS_PER_TABLE:
                yield from self._take(table)

    def _take(self, table: str) -> Iterator[Rows]:
        rows = self.out[table]
        if rows:
            names = list(dict.fromkeys(name for row in rows for name in row))
            yield rows_of(table, {name: [row.get(name) for row in rows] for name in names})
            self.out[table] = []


def _child(above: Place, span: Span) -> Place:
    """The place of a span below `above`."""
    attrs = span.attrs
    if is_request(span):
        rid, probe = request_id(span)
        named = ROLE_NAME.match(span.name)
        role = (named[1] or "unified").lower() if named else "unified"
        room = whole(attrs.get("bootstrap_room"))
        return Place(span, rid, room if room is not None else above.room, role, probe, "root")
    named = ROOM_NAME.match(span.name)
    if named:
        return above.below("other", room=whole(named[1]))
    if "thread_label" in attrs:
        return above.below("thread", dp_rank=whole(attrs.get("dp_rank")), tp_rank=whole(attrs.get("tp_rank")))
    if above.level in {"thread", "slice"} or (above.level == "root" and span.name in BARE_STAGES):
        return above.below("slice", stage=RENAMED.get(span.name, span.name))
    return above.below("other")


def _fits(place: Place, span: Span) -> bool:
    """Whether a stage whose parents were lost can be of the one request of its trace: side and time agree."""
    root = place.root
    other = {"prefill": "decode", "decode": "prefill"}.get(place.role or "")
    within = root is not None and root.start_ns <= span.start_ns <= max(root.end_ns, root.start_ns)
    return within and not (other and span.name.startswith(other))


def _open_ends(spans: dict[str, Span]) -> None:
    """Take the end off spans that were closed only when their thread was given up: their end is no event.

    The engine closes what was left open at the end of the request: a tokenize span then contains the dispatch that
    follows it, or ends together with a thread that says it had an unclosed span.
    """
    for span in spans.values():
        parent = spans.get(span.parent)
        if parent is None:
            continue
        if parent.name == "tokenize" and RENAMED.get(span.name, span.name) == "api_server_dispatch":
            parent.end_ns = 0
        elif NOT_CLOSED in str(parent.attrs.get("reason", "")) and span.end_ns >= parent.end_ns - CLOSED_TOGETHER_NS:
            span.end_ns = 0


def _folded(first: Span, times: "array[int]") -> Span:
    """All decode steps under one parent as one span; its attributes count them and their gaps."""
    ends = sorted(times[1::2])
    start = min(times[::2])
    gaps = sorted(b - a for a, b in zip([start, *ends], ends, strict=False))
    return Span(
        trace=first.trace,
        span=first.span,
        parent=first.parent,
        name=LOOP,
        start_ns=start,
        end_ns=ends[-1],
        line=first.line,
        service=first.service,
        attrs={"steps": len(ends), "gap_max_s": gaps[-1] / 1e9, "gap_p50_s": gaps[len(gaps) // 2] / 1e9},
    )
