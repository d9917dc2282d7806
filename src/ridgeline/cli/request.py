"""`ridgeline request RID`: one request from head to tail, beside a normal twin."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, Final, Literal

from ridgeline.model.errors import InputError

VLLM: Final = "SELECT count(*) > 0 AND bool_and(engine = 'vllm') FROM servers WHERE engine IS NOT NULL"
HASHED: Final = "SELECT count(*) FROM requests WHERE starts_with(rid, 'h:') OR starts_with(client_rid, 'h:')"


def request(
    rid: str,
    *arguments: str,
    tz: str | None = None,
    year: int | None = None,
    label: tuple[str, ...] = (),
    lang: Literal["en", "zh"] = "en",
    format: Literal["text", "json", "md"] = "text",
    quiet: bool = False,
) -> int:
    """Show one request: stages to scale, what no stamp explains, and the same for a normal request of its shape.

    Parameters
    ----------
    rid
        The server's request id, the client's id, or the beginning of one.
    arguments
        Files, folders, globs, - for standard input, or one bundle.
    tz
        Zone of log times that name none.
    year
        Year of log times that name none.
    label
        ROLE=FILE or ROLE:NAME=FILE where content does not tell.
    lang
        Language of the sentences: en or zh.
    format
        How to print.
    quiet
        No progress bar.
    """
    from ridgeline.bundle.open import open_sources
    from ridgeline.cli.progress import progress
    from ridgeline.cli.sources import zone_of
    from ridgeline.facts.timeline import find, timeline, twin
    from ridgeline.report.escape import plain
    from ridgeline.words.catalogue import COMMA, name_in, say, text_in
    from ridgeline.words.phrases import phrase

    if not arguments:
        raise InputError("request: name the sources too: ridgeline request RID SRC…")
    if not rid.strip():
        raise InputError("request: the id is empty; give the request's id or the beginning of one")
    with progress(quiet) as on_progress:
        view = open_sources(arguments, tz=zone_of(tz), year=year, labels=label, on_progress=on_progress)
    rows = find(view, rid)
    if not rows and view.one(HASHED)[0]:
        rows = find(view, _hashed(rid))
        if not rows:
            raise InputError(
                f"{plain(rid, 80)}: no request with this id; ids in this bundle are keyed hashes (h:…): give the whole "
                "id on the machine whose key made it ($RIDGELINE_KEY_FILE), or a hash that `ridgeline diagnose` prints"
            )
    if not rows:
        raise InputError(
            f"{plain(rid, 80)}: no request with this id in what was read; `ridgeline sources` shows what was"
        )
    vllm = bool(view.one(VLLM)[0])
    shown = [timeline(row, label_of(row, rid), vllm=vllm) for row in rows]
    normal = twin(view, rows[0]["rid"])
    if normal is not None:
        row = find(view, normal, 1)[0]
        shown.append(timeline(row, f"a normal one of its shape, {seen_by(row)}", vllm=vllm))
    if format == "json":
        told = [{**asdict(t), "label": phrase(t.label, lang), "missing": [text_in(m, lang) for m in t.missing]}
                for t in shown]  # fmt: skip
        print(json.dumps({"schema": "ridgeline.request/1", "requests": told}, indent=1, ensure_ascii=lang == "en"))
        return 0
    if format == "md":
        from ridgeline.report.escape import markdown

        for t in shown:
            stages = COMMA[lang].join(f"{name_in(s.stage, lang)} {s.end_s - s.start_s:.3f} s" for s in t.segments)
            facts = COMMA[lang].join(f"{name_in(k, lang)} {markdown(v, 40)}" for k, v in t.facts)
            of = {"rid": markdown(t.rid, 80), "label": markdown(name_in(t.label, lang)), "facts": facts,
                  "stages": stages or "no stage known"}  # fmt: skip
            print("- " + say("request.facts", of, lang))
        return 0
    from rich.console import Console

    from ridgeline.report.terminal import timelines

    Console(highlight=False).print(timelines(shown, lang))
    if normal is None:
        print(say("request.no-twin", {}, lang))
    return 0


def _hashed(rid: str) -> str:
    """The id as a bundle keeps it, by the key of this machine; the id itself where there is no key."""
    from ridgeline.bundle.redact import hashed, load_key

    try:
        return hashed(rid, load_key())
    except InputError:
        return rid  # no key here: only the hash itself can be looked up, and the message says so


def label_of(row: dict[str, Any], asked: str) -> str:
    """Which id matched and who saw this row: one request may stand in the server's records and in a client's file."""
    ids = (("rid", "this request"), ("client_rid", "this request by the client's id"))
    same = (asked, _hashed(asked)) if str(row["rid"]).startswith("h:") else (asked,)
    exact = next((said for name, said in ids if row[name] in same), None)
    return f"{exact or 'a request whose id begins so'}, {seen_by(row)}"


def seen_by(row: dict[str, Any]) -> str:
    """`as the server saw it (request_log.log:12)`, by the role of the row."""
    from ridgeline.report.escape import plain

    role = row["role"] or "server"
    who = {"client": "the client", "gateway": "the gateway", "unified": "the server", "server": "the server"}
    line = "" if row["line"] is None else f":{row['line']}"
    at = f" ({plain(row['path'], 80)}{line})" if row["path"] else ""
    return f"as {who.get(role, f'the {role} server')} saw it{at}"
