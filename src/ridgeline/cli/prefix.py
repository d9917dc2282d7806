"""`ridgeline prefix`: what a prefix cache could have reused, and exactly where the rest was lost."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from cyclopts import Parameter

from ridgeline.model.errors import InputError

if TYPE_CHECKING:
    from ridgeline.bundle.find import Found
    from ridgeline.bundle.view import View
    from ridgeline.prefix.align import Aligned
    from ridgeline.prefix.drift import Drift
    from ridgeline.prefix.split import Split, Totals

Format = Literal["text", "json", "md"]
NO_PROMPTS: Final = "no prompts were read, so that lost tokens cannot be split by reason; what is known without them:"
NOTHING: Final = "no prompts were read, and nothing else says how many prompt tokens were cached"
# What can be said of reuse without prompts: measures, with their arguments.
KNOWN: Final[tuple[tuple[str, tuple[tuple[str, Any], ...]], ...]] = (
    ("hit_ratio", ()), ("cached_each", ()), ("cache_off", ()), ("flush_explains", ()), ("usage", (("stat", "peak"),)),
    ("evicted_tokens", ()), ("page_loss", ()), ("places_per_key", ()),
)  # fmt: skip
ROWS: Final = (
    ("hit", "found in the cache of its own rank"),
    ("scattered_routing", "another rank held it"),
    ("eviction", "it had been held, and was evicted"),
    ("key_split", "held under another adapter, extra key or salt"),
    ("page_misaligned", "seen before, beyond the last whole page"),
    ("prompt_drift", "equal to an earlier prompt, behind a difference"),
    ("never_seen", "never seen before"),
    ("unseen", "cut out of the log: cannot be told"),
    ("computed", "the one token of each prompt that is always computed"),
)
GROUPS: Final = 10


def prefix(
    *sources: str,
    page: int | None = None,
    pool_tokens: int | None = None,
    keep_text: bool = False,
    label: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    tz: str | None = None,
    year: int | None = None,
    format: Format = "text",
    quiet: bool = False,
) -> int:
    """Split the prompt tokens into hits and losses (drift, keys, pages, eviction, routing), and show what differs.

    Parameters
    ----------
    sources
        Files, folders, globs, - for standard input, or one bundle.
    page
        Page size in tokens, instead of the one the servers state.
    pool_tokens
        Tokens one rank's cache holds, instead of the pool the servers state.
    keep_text
        Show the differing prompts readably; else letters are shown as x and digits as 9.
    label
        ROLE=FILE or ROLE:NAME=FILE where content does not tell.
    tz
        Zone of log times that name none.
    year
        Year of log times that name none.
    format
        How to print.
    quiet
        No progress bar.
    """
    from ridgeline.bundle.find import find
    from ridgeline.bundle.open import open_bundle, read_sources
    from ridgeline.cli.progress import progress
    from ridgeline.cli.sources import zone_of
    from ridgeline.prefix.drift import drifts
    from ridgeline.prefix.split import split

    for name, value in (("--page", page), ("--pool-tokens", pool_tokens)):
        if value is not None and value < 1:
            raise InputError(f"{name} {value}: is no number of tokens above zero")
    found = find(sources, label)
    if found.bundle is not None:
        view = open_bundle(found.bundle)
    else:
        with progress(quiet) as on_progress:
            view = read_sources(found, tz=zone_of(tz), year=year, on_progress=on_progress)[0]
    splits = split(view, page, pool_tokens)
    if not splits:
        return _without_prompts(view, format)
    parts = [(s, [(d, _example(view, found, s, d, keep_text)) for d in drifts(s)]) for s in splits]
    if format == "json":
        print(json.dumps({"schema": "ridgeline.prefix/1", "splits": [_contract(view, *p) for p in parts]}, indent=1))
    else:
        lines = [line for i, p in enumerate(parts) for line in ([""] if i else []) + _lines(view, *p)]
        print("\n".join(_markdown(lines) if format == "md" else lines))
    return 0


def _without_prompts(view: View, format: Format) -> int:
    """Say what counters and requests tell of reuse, and what would tell the rest; 3 where not even hits are known."""
    from ridgeline.facts import ask
    from ridgeline.ladder.served import asked_for, served
    from ridgeline.model.fact import Missing
    from ridgeline.report.escape import plain
    from ridgeline.words.catalogue import say

    facts = [ask(view, measure, args) for measure, args in KNOWN]
    known = [f for f in facts if f.value is not None]
    lacks = [Missing("prompts or their ids", ""), *(m for f in facts if f.value is None for m in f.missing)]
    missing = asked_for(lacks, served(view))
    told = bool(known and known[0].measure == "hit_ratio")
    if format == "json":
        answer = {
            "schema": "ridgeline.prefix/1",
            "splits": [],
            "known": [
                {"measure": f.measure, "value": f.value, "unit": f.unit, "sources": list(f.sources),
                 "statement": say(f.statement.key, dict(f.statement.figures))} for f in known
            ],
            "missing": [{"signal": m.signal, "how": m.how} for m in missing],
        }  # fmt: skip
        print(json.dumps(answer, indent=1))
        return 0 if told else 3
    lines = [NO_PROMPTS if told else NOTHING]
    lines += [f"  {plain(say(f.statement.key, dict(f.statement.figures)))}" for f in known if told]
    lines += ["missing:", *(f"  {m.signal}: {m.how}" for m in missing)]
    print("\n".join(_markdown(lines) if format == "md" else lines))
    return 0 if told else 3


def _example(view: View, found: Found, s: Split, d: Drift, keep_text: bool) -> Aligned | None:
    """The costliest pair of one kind, side by side; None where there is nothing to show."""
    from ridgeline.prefix.align import of_shapes, of_text, texts
    from ridgeline.prefix.drift import shapes

    source, line, other = d.example
    if keep_text and found.blobs and 0 < source <= len(found.blobs):
        said = texts(found.blobs[source - 1], view.kinds.get(source, ""), (line, other), s.prompts.unit)
        if line in said and other in said:
            return of_text(said[line], said[other], s.prompts.unit)
    pair = shapes(view, s, d)
    return None if pair is None else of_shapes(*pair)


def _places(s: Split) -> tuple[str, ...]:
    return tuple(" ".join(str(v) for v in (server, rank) if v is not None) or "-" for server, rank in s.prompts.places)


def _groups(s: Split) -> list[tuple[str, list[tuple[str, Totals]]]]:
    """(what, totals of each group) of every grouping that has more than one group."""
    p = s.prompts
    wanted = (("class", p.label, p.labels), ("rank", p.place, _places(s)), ("key", p.space, p.spaces))
    return [(what, s.by(numbers, names, GROUPS)) for what, numbers, names in wanted if len(names) > 1]


def _contract(view: View, s: Split, found: list[tuple[Drift, Aligned | None]]) -> dict[str, Any]:
    totals = s.totals()
    return {
        "unit": s.prompts.unit,
        "step": s.step,
        "assumed": {
            "page": s.setting.page,
            "page_from": s.setting.page_from,
            "pool_tokens": sorted({size for size in s.setting.pools if size}) or None,
            "pool_from": s.setting.pool_from,
        },
        "total": {**asdict(totals), "lost": totals.lost},
        "by": {what: {name: asdict(t) for name, t in rows} for what, rows in _groups(s)},
        "first_differences": [
            {
                **asdict(d),
                "example": {"source": view.names.get(d.example[0]), "line": d.example[1], "other_line": d.example[2]},
                "aligned": None if pair is None else asdict(pair),
            }
            for d, pair in found
        ],
        "notes": list(s.notes),
    }


def _lines(view: View, s: Split, found: list[tuple[Drift, Aligned | None]]) -> list[str]:
    from ridgeline.report.escape import plain

    t = s.totals()
    unit = "tokens" if s.prompts.unit == "tokens" else "characters"
    out = [f"{t.requests:,} prompts, {t.tokens:,} {unit}"]
    for name, meaning in ROWS:
        value = getattr(t, name)
        shown = (
            f"{value:>16,}  {value / max(t.tokens, 1):6.1%}" if value is not None else f"{'cannot be told':>16}  {'':6}"
        )
        out.append(f"  {name.replace('_', '-'):<18}{shown}  {meaning}")
    if t.blocks:
        out.append(f"in blocks: {t.hit_blocks:,} of {t.blocks:,} found ({(t.hit_blocks or 0) / t.blocks:.1%})")
    if t.cached_of:
        said, ours = (t.cached or 0) / t.cached_of, (t.hit_of or 0) / t.cached_of
        out.append(
            f"the engine found {t.cached:,} of {t.cached_of:,} tokens ({said:.1%}) where it says; here {ours:.1%}"
        )
    for what, rows in _groups(s):
        out += ["", f"by {what}, most lost first:"]
        for name, one in rows:
            hit = one.hit / max(one.tokens, 1)
            lost = f"lost {one.lost:,}{_biggest(one)}"
            out.append(f"  {plain(name, 60) or '(none)'}: {one.requests:,} prompts, hit {hit:.1%}, {lost}")
    if found:
        out += ["", "first differences of prompts that should share:"]
    for d, pair in found:
        where = f"{view.names.get(d.example[0], '?')}:{d.example[1]}"
        out.append(
            f"  {d.kind}: {d.prompts:,} prompts, {d.tokens:,} {unit} behind it; at {d.position:,} ({d.share:.0%} of the"
            f" prompt, median); such as {plain(where, 120)}"
        )
        if pair is not None:
            out += [f"    {plain(line, 400)}" for line in pair.lines(str(d.example[1]), str(d.example[2]))]
    return [*out, "", *(f"note: {plain(note)}" for note in s.notes)]


def _biggest(t: Totals) -> str:
    from ridgeline.prefix.split import REASONS

    lost = [(value, name) for name in REASONS if (value := getattr(t, name))]
    if not lost:
        return ""
    value, name = max(lost)
    return f", most by {name.replace('_', '-')} ({value:,})"


def _markdown(lines: list[str]) -> list[str]:
    """The same lines, as a block that no renderer changes."""
    fence = "```"
    while any(fence in line for line in lines):
        fence += "`"
    return [fence, *lines, fence]
