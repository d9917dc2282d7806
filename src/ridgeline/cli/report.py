"""`ridgeline report`: the incident as one self-contained page, or any of its pictures as a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from ridgeline.bundle.view import View
    from ridgeline.cli.stored import Decided
    from ridgeline.model.chart import Picture
    from ridgeline.model.diagnosis import Diagnosis
    from ridgeline.report.page.content import Page

Theme = Literal["light", "dark"]
Lang = Literal["en", "zh"]
MOST_BYTES: Final = 3_000_000


def report(
    *sources: str,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    picture: str | None = None,
    pictures: Path | None = None,
    theme: Theme = "light",
    after: str | None = None,
    decision: Path | None = None,
    symptom: str = "auto",
    baseline: str | None = None,
    from_: Annotated[str | None, Parameter(name="--from")] = None,
    to: str | None = None,
    for_: Annotated[str, Parameter(name="--for")] = "60s",
    label: tuple[str, ...] = (),
    tz: str | None = None,
    year: int | None = None,
    keep_text: bool = False,
    lang: Lang = "en",
    format: Literal["text", "json", "md"] = "text",
    quiet: bool = False,
) -> int:
    """Tell the incident as one HTML file that loads nothing from anywhere; exit 0 when it was written.

    Parameters
    ----------
    sources
        Files, folders, globs, - for standard input, one bundle, or http(s) URLs of servers (read-only).
    output
        The file to write: .html for the report; .svg or .png with --picture.
    picture
        Write one picture only: heat, latency, ranks, slices, classes, waterfall, pair, prefix, …
    pictures
        A folder for every picture as SVG.
    theme
        Colours of pictures written as files; the page follows the reader's own.
    after
        Evidence from after a fix: drawn beside the incident.
    decision
        A decision.json of `ridgeline decide` (or its folder); one that lies in the bundle is taken by itself.
    symptom
        As for diagnose.
    baseline
        As for diagnose.
    from_
        As for diagnose.
    to
        As for diagnose.
    for_
        As for diagnose.
    label
        As for diagnose.
    tz
        As for diagnose.
    year
        As for diagnose.
    keep_text
        Leave ids and names of raw sources readable; otherwise they are hashed as in a bundle.
    lang
        Language of the page: en or zh.
    format
        How to print what was written.
    quiet
        Print nothing but errors.
    """
    from ridgeline.cli.evidence import watched
    from ridgeline.cli.hidden import hide_names, is_stored
    from ridgeline.cli.moments import windows_of
    from ridgeline.cli.stored import answered, as_stored, decision_of
    from ridgeline.ladder.diagnose import diagnose

    _check(output, picture, pictures)
    with watched(sources, for_=for_, label=label, tz=tz, year=year, quiet=quiet) as view:
        if not keep_text and not is_stored(sources):
            hide_names(view)
        incident, good = windows_of(view, from_, to, baseline, tz, sources)
        symptom = as_stored(sources)[0] if symptom == "auto" else symptom
        decided = decision_of(sources, decision)
        d = answered(diagnose(view, symptom, incident=incident, baseline=good, sources=sources), decided)
        shown = [*drawings(view, d, decided), *_after(view, d, after)]
        written = _pictures(shown, pictures, theme, lang) if pictures else []
        if output is not None and picture is not None:
            written.append(_write(output, one(shown, picture, output.suffix, theme, lang)))
        elif output is not None:
            written.append(_write(output, html(gathered(view, d, shown, lang))))
    if not quiet:
        _said(written, d, format)
    return 0


def drawings(view: View, d: Diagnosis, decided: Decided | None = None) -> list[Picture]:
    """The pictures of a diagnosed view, and those of a decision on it."""
    from ridgeline.facts.pictures import pictures
    from ridgeline.report.page.decision import pictures_of

    shown = [spoken(picture, view) for picture in pictures(view, d)]
    return [*shown, *(pictures_of(decided[1], decided[0]) if decided else ())]


def spoken(picture: Picture, view: View) -> Picture:
    """The picture with what it lacks in the words and flags of the engine that was seen."""
    from dataclasses import replace

    from ridgeline.ladder.served import asked_for, served

    return replace(picture, missing=asked_for(picture.missing, served(view))) if picture.missing else picture


def gathered(view: View, d: Diagnosis, shown: Sequence[Picture], lang: str) -> Page:
    """The page with the rows and statements behind each piece of evidence."""
    from ridgeline.facts.behind import behind, recording
    from ridgeline.report.page.content import page

    asked = recording(view.window(d.incident, d.baseline))
    opened = {}
    for name, fact in d.evidence:
        found = behind(asked, fact)
        opened[name] = (found.queries, [(r.table, r.n, r.columns, r.rows, r.cites) for r in found.rows])
    return page(d, shown, opened, lang)


def html(page: Page) -> bytes:
    """The file; rows behind figures give way where it would be larger than `MOST_BYTES`."""
    from dataclasses import replace

    from ridgeline.report.page.content import Proof
    from ridgeline.report.page.render import render

    text = render(page).encode()
    if len(text) > MOST_BYTES:
        bare = {name: Proof(proof.queries, (), bool(proof.rows)) for name, proof in page.proofs.items()}
        text = render(replace(page, proofs=bare)).encode()
    return text


def one(shown: Sequence[Picture], name: str, suffix: str, theme: Theme, lang: str) -> bytes:
    """One picture as SVG or PNG. Raises InputError where there is none of that name or nothing to draw."""
    from ridgeline.model.errors import InputError
    from ridgeline.report.page.content import drawn
    from ridgeline.report.page.draw import alone, png

    found = drawn(shown, name)
    if found is None:
        raise InputError(f"--picture {name}: give one of {', '.join(p.name for p in shown)}")
    if found.drawing is None:
        why = "; ".join(f"needs {m.signal} ({m.how})" for m in found.missing) or "there is nothing to draw"
        raise InputError(f"--picture {name}: {why}")
    return png(found, theme, lang) if suffix == ".png" else alone(found, theme, lang).encode()


def _check(output: Path | None, picture: str | None, pictures: Path | None) -> None:
    from ridgeline.model.errors import InputError

    if output is None and pictures is None:
        raise InputError("report: give -o FILE.html (or --pictures DIR)")
    if picture is not None and (output is None or output.suffix not in (".svg", ".png")):
        raise InputError(f"--picture {picture}: give -o FILE.svg or -o FILE.png")
    if output is not None and picture is None and output.suffix not in (".html", ".htm"):
        raise InputError(f"-o {output}: write .html, or name a picture with --picture for .svg and .png")


def _after(view: View, d: Diagnosis, after: str | None) -> list[Picture]:
    """Latency of the incident beside that of the evidence from after a fix."""
    if after is None:
        return []
    from dataclasses import replace

    from ridgeline.bundle.open import open_sources
    from ridgeline.facts.pictures.times import Side, latency, sides

    then: Side = ("after", "after", open_sources([after]), None)
    before = sides(view.window(d.incident, d.baseline))[::-1]  # the incident first: it is what the fix is held against
    return [replace(latency(view, [*before, then]), name="before-after")]


def _pictures(shown: Sequence[Picture], folder: Path, theme: Theme, lang: str) -> list[tuple[Path, int]]:
    from ridgeline.report.page.draw import alone

    return [_write(folder / f"{p.name}.svg", alone(p, theme, lang).encode()) for p in shown if p.drawing is not None]


def _write(path: Path, data: bytes) -> tuple[Path, int]:
    from ridgeline.model.errors import InputError

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as e:
        raise InputError(f"{path}: cannot be written ({e.strerror}); give another file") from e
    return path, len(data)


def _said(written: Sequence[tuple[Path, int]], d: Diagnosis, format: str) -> None:
    import json

    causes = [f.cause for f in d.findings]
    if format == "json":
        files = [{"path": str(path), "bytes": size} for path, size in written]
        print(json.dumps({"schema": "ridgeline.report/1", "verdict": d.verdict, "causes": causes, "files": files}))
        return
    mark = "- " if format == "md" else ""
    for path, size in written:
        print(f"{mark}{path}: {size:,} bytes ({d.verdict}{': ' + causes[0] if causes else ''})")
