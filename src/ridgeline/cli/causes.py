"""`ridgeline causes [ID]`: the closed list, or one cause as a page."""

import json
from typing import TYPE_CHECKING, Any, Literal

from ridgeline.model.errors import InputError

if TYPE_CHECKING:
    from ridgeline.model.cause import Cause, Remedy, Sign


def causes(
    cause: str | None = None,
    *,
    lang: Literal["en", "zh"] = "en",
    format: Literal["text", "json", "md"] = "text",
    quiet: bool = False,
) -> int:
    """List the causes Ridgeline can name, or print one as a page: signs, twins, remedies.

    A metric, stage or argument by any of its names (num_waiting, decode_prealloc) is answered with its real name.

    Parameters
    ----------
    cause
        A cause such as queue.running-cap, or a layer such as queue.
    lang
        Language of the texts: en or zh; ids, measures and flags are the same in both.
    format
        How to print.
    quiet
        Accepted for symmetry with the other verbs; nothing is drawn here.
    """
    from ridgeline.causes import BY_ID, CAUSES, LAYERS
    from ridgeline.words.catalogue import text_in

    if cause is not None and cause in BY_ID:
        entry = BY_ID[cause]
        as_json = json.dumps(_page(entry, lang), indent=1, ensure_ascii=False) if format == "json" else None
        print(as_json or "\n".join(_lines(entry, format == "md", lang)))
        return 0
    if cause is not None and cause not in LAYERS:
        from ridgeline.words.aliases import resolve

        if (word := resolve(cause)) is not None:
            # A name of the literature or of another version: answered with the real one.
            told = {"asked": word.asked, "kind": word.kind, "real": word.real or word.canonical, "note": word.note}
            print(json.dumps(told, indent=1) if format == "json" else "{asked}: {kind} {real}; {note}".format(**told))
            return 0
        near = [c.id for c in CAUSES if cause.lower() in c.id]
        hint = f"did you mean {', '.join(near[:4])}?" if near else "`ridgeline causes` lists them all"
        raise InputError(f"{cause}: is no cause of the closed list; {hint}")
    listed = [c for c in CAUSES if cause in (None, c.layer)]
    if format == "json":
        print(json.dumps([_page(c, lang) for c in listed], indent=1, ensure_ascii=False))
        return 0
    for layer in LAYERS:
        of_layer = [c for c in listed if c.layer == layer]
        if of_layer:
            print(f"## {layer}" if format == "md" else layer)
            width = max(len(c.id) for c in of_layer)
            for c in of_layer:
                looks = text_in(c.looks_like, lang)
                print(f"- `{c.id}` {looks}" if format == "md" else f"  {c.id:<{width}}  {looks}")
    return 0


def _page(c: "Cause", lang: str) -> dict[str, Any]:
    from ridgeline.words.catalogue import text_in

    return {
        "cause": c.id, "layer": c.layer, "lang": lang, "looks_like": text_in(c.looks_like, lang),
        "differs": text_in(c.differs, lang), "route": c.route, "needs_baseline": c.comparative,
        "required": [_sign(s) for s in c.required], "supporting": [_sign(s) for s in c.supporting],
        "must_be_absent": [_sign(s) for s in c.absent],
        "twins": [{"cause": t.cause, "told_apart_by": _sign(t.sign)} for t in c.twins],
        "explains": list(c.explains), "source_entry": list(c.source_entry),
        "remedies": [
            {"kind": r.kind, "action": text_in(r.action, lang), "flag": r.flag, "needs_restart": r.needs_restart,
             "loses": r.loses and text_in(r.loses, lang), "risk": text_in(r.risk, lang)} for r in c.remedies
        ],
    }  # fmt: skip


def _sign(s: "Sign") -> str:
    """`queue_pressure >= 0.2`, `change(of=arrival_rate) >= 1.3`."""
    arguments = ", ".join(f"{k}={v}" for k, v in s.args)
    bound = {True: "yes", False: "no"}.get(s.bound, s.bound) if isinstance(s.bound, bool) else s.bound
    shown = " or ".join(map(str, bound)) if isinstance(bound, tuple) and s.op == "in" else bound
    return f"{s.measure}{f'({arguments})' if arguments else ''} {s.op} {shown}"


def _lines(c: "Cause", markdown: bool, lang: str) -> list[str]:
    from ridgeline.words.catalogue import say, text_in

    bold = "**" if markdown else ""
    code = "`" if markdown else ""
    looks, differs = text_in(c.looks_like, lang), text_in(c.differs, lang)
    out = [f"# {c.id}" if markdown else c.id, "", looks, differs, ""]

    def listing(title: str, items: list[str]) -> None:
        if items:
            heading = f"{bold}{say(f'causes.{title}', {}, lang)}{bold}"
            out.extend([heading, *(f"{'- ' if markdown else '  '}{item}" for item in items), ""])

    listing("must", [f"{code}{_sign(s)}{code}" for s in c.required])
    listing("likelier", [f"{code}{_sign(s)}{code}" for s in c.supporting])
    listing("against", [f"{code}{_sign(s)}{code}" for s in c.absent])
    apart = [{"cause": t.cause, "sign": f"{code}{_sign(t.sign)}{code}"} for t in c.twins]
    listing("apart", [say("causes.by", figures, lang) for figures in apart])
    listing("explains", list(c.explains))
    listing("do", [_remedy(r, code, lang) for r in c.remedies])
    listing("route", [c.route])
    listing("source", list(c.source_entry))
    return out[:-1]


def _remedy(r: "Remedy", code: str, lang: str) -> str:
    """`fix: raise the running limit --max-running-requests (needs a restart; risk: longer decode steps)`."""
    from ridgeline.words.catalogue import say, text_in

    kind = r.kind if lang == "en" else say(f"remedy.{r.kind}", {}, lang)
    restart = say("report.restart", {}, lang) if r.needs_restart else None
    notes = say("report.price", {"restart": restart, "loses": r.loses, "risk": r.risk}, lang)
    flag = f" {code}{r.flag}{code}" if r.flag else ""
    return f"{kind}: {text_in(r.action, lang)}{flag}" + (f" ({notes})" if notes else "")
