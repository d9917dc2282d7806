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
    lang: Literal["en", "zh"] = "en",
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
    lang
        Language of the sentences: en or zh.
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
        return _without_prompts(view, format, lang)
    parts = [(s, [(d, _example(view, found, s, d, keep_text)) for d in drifts(s)]) for s in splits]
    if format == "json":
        told = {"schema": "ridgeline.prefix/1", "splits": [_contract(view, *p, lang) for p in parts]}
        print(json.dumps(told, indent=1, ensure_ascii=lang == "en"))
    else:
        lines = [line for i, p in enumerate(parts) for line in ([""] if i else []) + _lines(view, *p, lang)]
        print("\n".join(_markdown(lines) if format == "md" else lines))
    return 0


def _without_prompts(view: View, format: Format, lang: str) -> int:
    """Say what counters and requests tell of reuse, and what would tell the rest; 3 where not even hits are known."""
    from ridgeline.facts import ask
    from ridgeline.ladder.served import asked_for, served
    from ridgeline.model.fact import Missing
    from ridgeline.report.escape import plain
    from ridgeline.words.catalogue import said, say, text_in

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
                 "statement": said(f.statement, lang)} for f in known
            ],
            "missing": [{"signal": text_in(m.signal, lang), "how": text_in(m.how, lang)} for m in missing],
        }  # fmt: skip
        print(json.dumps(answer, indent=1, ensure_ascii=lang == "en"))
        return 0 if told else 3
    lines = [say("prefix.no-prompts" if told else "prefix.nothing", {}, lang)]
    lines += [f"  {plain(said(f.statement, lang))}" for f in known if told]
    lacking = ("  " + say("prefix.lacks", {"signal": m.signal, "how": m.how}, lang) for m in missing)
    lines += [say("prefix.missing", {}, lang), *lacking]
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


def _contract(view: View, s: Split, found: list[tuple[Drift, Aligned | None]], lang: str) -> dict[str, Any]:
    from ridgeline.words.catalogue import text_in

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
        "notes": [text_in(note, lang) for note in s.notes],
    }


def _lines(view: View, s: Split, found: list[tuple[Drift, Aligned | None]], lang: str) -> list[str]:
    from ridgeline.report.columns import padded
    from ridgeline.report.escape import plain
    from ridgeline.words.catalogue import say, text_in

    t = s.totals()
    unit = "tokens" if s.prompts.unit == "tokens" else "characters"
    out = [say("prefix.head", {"requests": t.requests, "tokens": t.tokens, "unit": unit}, lang)]
    untold = f"{padded(say('prefix.untold', {}, lang), 16, right=True)}  {'':6}"
    for name, meaning in ROWS:
        value = getattr(t, name)
        shown = untold if value is None else f"{value:>16,}  {value / max(t.tokens, 1):6.1%}"
        out.append(f"  {name.replace('_', '-'):<18}{shown}  {text_in(meaning, lang)}")
    if t.blocks:
        of = {"hit": t.hit_blocks, "blocks": t.blocks, "share": (t.hit_blocks or 0) / t.blocks}
        out.append(say("prefix.blocks", of, lang))
    if t.cached_of:
        told, ours = (t.cached or 0) / t.cached_of, (t.hit_of or 0) / t.cached_of
        of = {"cached": t.cached, "tokens": t.cached_of, "share": told, "ours": ours}
        out.append(say("prefix.engine", of, lang))
    for what, rows in _groups(s):
        out += ["", say("prefix.by", {"what": what}, lang)]
        for name, one in rows:
            value, reason = _biggest(one)
            group = {"name": plain(name, 60) or "(none)", "requests": one.requests, "hit": one.hit / max(one.tokens, 1),
                     "lost": one.lost, "reason": reason, "most": value}  # fmt: skip
            out.append("  " + say("prefix.group", group, lang))
    if found:
        out += ["", say("prefix.first", {}, lang)]
    for d, pair in found:
        where = plain(f"{view.names.get(d.example[0], '?')}:{d.example[1]}", 120)
        difference = {"kind": d.kind, "prompts": d.prompts, "tokens": d.tokens, "unit": unit, "position": d.position,
                      "share": d.share, "where": where}  # fmt: skip
        out.append("  " + say("prefix.difference", difference, lang))
        if pair is not None:
            out += [f"    {plain(line, 400)}" for line in pair.lines(str(d.example[1]), str(d.example[2]))]
    return [*out, "", *(plain(say("prefix.note", {"text": note}, lang)) for note in s.notes)]


def _biggest(t: Totals) -> tuple[int | None, str | None]:
    """The most lost to one reason, and that reason; None where nothing is lost."""
    from ridgeline.prefix.split import REASONS

    lost = [(value, name) for name in REASONS if (value := getattr(t, name))]
    if not lost:
        return None, None
    value, name = max(lost)
    return value, name.replace("_", "-")


def _markdown(lines: list[str]) -> list[str]:
    """The same lines, as a block that no renderer changes."""
    fence = "```"
    while any(fence in line for line in lines):
        fence += "`"
    return [fence, *lines, fence]
