"""`ridgeline show E3 SRC`: one piece of evidence recomputed, with the source lines it rests on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from cyclopts import Parameter

from ridgeline.model.errors import InputError

if TYPE_CHECKING:
    from ridgeline.facts.deciding import Deciding
    from ridgeline.model.fact import Fact
    from ridgeline.signals.stream import Blob

MOST_LINES: Final = 20
DECIDING: Final = 5
Line = tuple[str, int | None, str]  # shown path, line number (None: no line to show), text


def show(
    evidence: str,
    *sources: str,
    symptom: str = "auto",
    baseline: str | None = None,
    from_: Annotated[str | None, Parameter(name="--from")] = None,
    to: str | None = None,
    label: tuple[str, ...] = (),
    tz: str | None = None,
    year: int | None = None,
    lines: int = MOST_LINES,
    keep_text: bool = False,
    lang: Literal["en", "zh"] = "en",
    format: Literal["text", "json", "md"] = "text",
    quiet: bool = False,
) -> int:
    """Recompute one piece of evidence and print the source lines behind it: those that make the figure, then its span.

    Give the options `diagnose` was given.

    Parameters
    ----------
    evidence
        An id of the diagnosis, such as E3.
    sources
        The same files, folders or bundle that were diagnosed.
    symptom
        As for diagnose: evidence is numbered in the order in which the ladder cites it.
    baseline
        As for diagnose.
    from_
        As for diagnose.
    to
        As for diagnose.
    label
        As for diagnose.
    tz
        As for diagnose.
    year
        As for diagnose.
    lines
        How many source lines to print at most.
    keep_text
        Leave prompts in the printed lines; secrets are cut out either way.
    lang
        Language of the sentences: en or zh.
    format
        How to print.
    quiet
        No progress bar.
    """
    from ridgeline.cli.evidence import watched
    from ridgeline.cli.moments import windows_of
    from ridgeline.facts import ask
    from ridgeline.facts.behind import recording
    from ridgeline.facts.deciding import deciding
    from ridgeline.ladder.diagnose import diagnose

    if lines < 0:
        raise InputError(f"--lines {lines}: is below zero; give how many source lines to print at most")
    with watched(sources, for_="60s", label=label, tz=tz, year=year, quiet=quiet) as view:
        incident, good = windows_of(view, from_, to, baseline, tz, sources)
        diagnosis = diagnose(view, symptom, incident=incident, baseline=good, sources=sources)
        known = dict(diagnosis.evidence)
        if evidence.upper() not in known:
            raise InputError(f"{evidence}: this diagnosis holds {_span(list(known))}; `ridgeline diagnose` lists them")
        told = known[evidence.upper()]
        framed = recording(view.window(diagnosis.incident, diagnosis.baseline))
        again = ask(framed, told.measure, told.args)
        counted = deciding(framed, told, min(lines, DECIDING)) if lines else None
        first = [f"{view.names[source]}:{line}" for source, line in counted.lines] if counted else []
        made = list(dict.fromkeys(_raw(sources, first, lines, keep_text)))  # of what is not there it is said once
        shown = list(_raw(sources, told.sources, lines, keep_text))
    _print(evidence.upper(), told, again, counted, made, shown, lang, format)
    if again.value != told.value:
        raise InputError(f"{evidence}: came out as {again.value!r} when computed again, not {told.value!r}")
    return 0


def _span(ids: Sequence[str]) -> str:
    return f"{ids[0]} to {ids[-1]}" if ids else "no evidence"


def _raw(arguments: Sequence[str], citations: Sequence[str], most: int, keep_text: bool) -> Iterator[Line]:
    """(shown path, line number, text) of the cited lines, read back from where they came; None: no line to show."""
    from ridgeline.bundle.cite import lines_of, parse
    from ridgeline.bundle.redact import without_prompts
    from ridgeline.signals.secrets import scrubbed

    blobs = _blobs(arguments, {parse(c)[0] for c in citations})
    left = most
    for citation in citations:
        name, first, last = parse(citation)
        blob = blobs.get(name)
        if blob is None:
            yield name, None, "is not in the bundle; ingest with --embed to keep sources"
        elif first is None or last is None:
            yield name, None, "is cited as a whole"
        elif left > 0:
            found = lines_of(blob, range(first, min(last, first + left - 1) + 1), left)
            left -= len(found)
            for number, text in found.items():
                clean = scrubbed(text)
                yield name, number, clean if keep_text else without_prompts(clean)
            if last - first + 1 > len(found):
                yield name, None, f"{last - first + 1 - len(found)} more lines up to {last}"


def _blobs(arguments: Sequence[str], names: set[str]) -> dict[str, Blob]:
    from ridgeline.bundle.find import find
    from ridgeline.bundle.store import embedded_blob

    if any(a.startswith(("http://", "https://")) for a in arguments):
        return {}  # what a live server answered is gone with the watch
    found = find(arguments)
    if found.bundle is None:
        return {blob.shown: blob for blob in found.blobs}
    return {n: blob for n in names if (blob := embedded_blob(Path(found.bundle), n)) is not None}


def _print(
    name: str,
    told: Fact,
    again: Fact,
    counted: Deciding | None,
    made: list[Line],
    shown: list[Line],
    lang: str,
    format: str,
) -> None:
    from ridgeline.report.escape import markdown, plain
    from ridgeline.report.terminal import value_of
    from ridgeline.words.catalogue import say

    statement = plain(say(told.statement.key, dict(told.statement.figures), lang), 2000)
    if format == "json":
        answer: dict[str, Any] = {
            "schema": "ridgeline.evidence/1", "lang": lang, "evidence": name, "statement": statement,
            "measure": told.measure,
            "args": dict(told.args), "value": told.value, "again": again.value, "unit": told.unit, "rows": told.n,
            "sources": list(told.sources),
            "deciding": None if counted is None else {
                "rows": counted.n, "largest": counted.by,
                "lines": [{"source": path, "line": number, "text": text} for path, number, text in made],
            },
            "lines": [{"source": path, "line": number, "text": text} for path, number, text in shown],
        }  # fmt: skip
        print(json.dumps(answer, indent=1, ensure_ascii=False))
        return
    arguments = ", ".join(f"{k}={v}" for k, v in told.args)
    escape = markdown if format == "md" else plain
    print(f"{name}  {escape(statement, 2000)}")
    figures = {"value": value_of(told, lang), "again": value_of(again, lang), "n": told.n}
    print(f"  {told.measure}({arguments}) = {say('report.again', figures, lang)}")
    if counted is not None:
        figures = {"shown": len(counted.lines), "n": counted.n, "by": counted.by}
        print(f"  {say('report.deciding', figures, lang)}")
        for path, number, text in made:
            print(f"  {escape(path)}{'' if number is None else f':{number}'}: {escape(text)}")
        print(f"  {say('report.span', {}, lang)}")
    for path, number, text in shown:
        print(f"  {escape(path)}{'' if number is None else f':{number}'}: {escape(text)}")
