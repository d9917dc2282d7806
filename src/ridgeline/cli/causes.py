"""`ridgeline causes [ID]`: the closed list, or one cause as a page."""

import json
from typing import TYPE_CHECKING, Any, Literal

from ridgeline.model.errors import InputError

if TYPE_CHECKING:
    from ridgeline.model.cause import Cause, Sign


def causes(cause: str | None = None, *, format: Literal["text", "json", "md"] = "text", quiet: bool = False) -> int:
    """List the causes Ridgeline can name, or print one as a page: signs, twins, remedies.

    A metric, stage or argument by any of its names (num_waiting, decode_prealloc) is answered with its real name.

    Parameters
    ----------
    cause
        A cause such as queue.running-cap, or a layer such as queue.
    format
        How to print.
    quiet
        Accepted for symmetry with the other verbs; nothing is drawn here.
    """
    from ridgeline.causes import BY_ID, CAUSES, LAYERS

    if cause is not None and cause in BY_ID:
        entry = BY_ID[cause]
        print(json.dumps(_page(entry), indent=1) if format == "json" else "\n".join(_lines(entry, format == "md")))
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
        print(json.dumps([_page(c) for c in listed], indent=1))
        return 0
    for layer in LAYERS:
        of_layer = [c for c in listed if c.layer == layer]
        if of_layer:
            print(f"## {layer}" if format == "md" else layer)
            width = max(len(c.id) for c in of_layer)
            for c in of_layer:
                print(f"- `{c.id}` {c.looks_like}" if format == "md" else f"  {c.id:<{width}}  {c.looks_like}")
    return 0


def _page(c: "Cause") -> dict[str, Any]:
    return {
        "cause": c.id, "layer": c.layer, "looks_like": c.looks_like, "differs": c.differs, "route": c.route,
        "needs_baseline": c.comparative,
        "required": [_sign(s) for s in c.required], "supporting": [_sign(s) for s in c.supporting],
        "must_be_absent": [_sign(s) for s in c.absent],
        "twins": [{"cause": t.cause, "told_apart_by": _sign(t.sign)} for t in c.twins],
        "explains": list(c.explains), "source_entry": list(c.source_entry),
        "remedies": [
            {"kind": r.kind, "action": r.action, "flag": r.flag, "needs_restart": r.needs_restart, "loses": r.loses,
             "risk": r.risk} for r in c.remedies
        ],
    }  # fmt: skip


def _sign(s: "Sign") -> str:
    """`queue_pressure >= 0.2`, `change(of=arrival_rate) >= 1.3`."""
    arguments = ", ".join(f"{k}={v}" for k, v in s.args)
    bound = {True: "yes", False: "no"}.get(s.bound, s.bound) if isinstance(s.bound, bool) else s.bound
    shown = " or ".join(map(str, bound)) if isinstance(bound, tuple) and s.op == "in" else bound
    return f"{s.measure}{f'({arguments})' if arguments else ''} {s.op} {shown}"


def _lines(c: "Cause", markdown: bool) -> list[str]:
    bold = "**" if markdown else ""
    code = "`" if markdown else ""
    out = [f"# {c.id}" if markdown else c.id, "", c.looks_like, c.differs, ""]

    def listing(title: str, items: list[str]) -> None:
        if items:
            out.extend([f"{bold}{title}{bold}", *(f"{'- ' if markdown else '  '}{item}" for item in items), ""])

    listing("must hold", [f"{code}{_sign(s)}{code}" for s in c.required])
    listing("makes it likelier", [f"{code}{_sign(s)}{code}" for s in c.supporting])
    listing("rules it out", [f"{code}{_sign(s)}{code}" for s in c.absent])
    listing("told apart from", [f"{t.cause} by {code}{_sign(t.sign)}{code}" for t in c.twins])
    listing("explains, when both show", list(c.explains))
    remedies = []
    for r in c.remedies:
        notes = [*(["needs a restart"] if r.needs_restart else []), *([f"loses {r.loses}"] if r.loses else [])]
        notes += [f"risk: {r.risk}"] if r.risk else []
        flag = f" {code}{r.flag}{code}" if r.flag else ""
        remedies.append(f"{r.kind}: {r.action}{flag}" + (f" ({'; '.join(notes)})" if notes else ""))
    listing("what to do", remedies)
    listing("offline route", [c.route])
    listing("where to read in the source", list(c.source_entry))
    return out[:-1]
