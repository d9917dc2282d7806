"""`ridgeline signals`: which signals a server gives, the flag for each that it does not, and what would be blind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from ridgeline.live.signals import Signal, Survey

Format = Literal["text", "json", "md"]
# Signals that are on but go elsewhere: no endpoint shows what is in them. The option of `capture` that takes each.
ELSEWHERE: Final = {
    "request-log": "--logs LOG",
    "time-stats": "--logs LOG",
    "exporter": "--logs FOLDER",
    "traces": "--otlp 4318",
}
MARKS: Final = {"on": "green", "off": "yellow", "unknown": "bright_black", "absent": "bright_black"}


def signals(*urls: str, format: Format = "text", quiet: bool = False) -> int:
    """Which signals are on, which are off, the flag for each and its cost; exit 3 where the ladders would be blind.

    Parameters
    ----------
    urls
        Servers, such as http://127.0.0.1:30000; each endpoint is asked once, with GET only.
    format
        text for a terminal, json for programs, md for a ticket.
    quiet
        Print nothing but errors.
    """
    from ridgeline.live.probe import probe
    from ridgeline.live.signals import survey
    from ridgeline.model.errors import InputError

    if not urls:
        raise InputError("no server was given; write ridgeline signals http://HOST:PORT")
    found = [survey(server) for server in probe(urls)]
    if not quiet:
        if format == "json":
            import json

            print(json.dumps({"schema": "ridgeline.signals/1", "blind": any(s.blind for s in found),
                              "servers": [_said(s) for s in found]}, indent=1, ensure_ascii=False))  # fmt: skip
        elif format == "md":
            print("\n".join(line for s in found for line in _markdown(s)))
        else:
            _print(found)
    return 3 if any(s.blind for s in found) else 0


def _said(s: Survey) -> dict[str, Any]:
    return {
        "url": s.server.url, "engine": s.server.engine, "version": s.server.version, "role": s.server.role,
        "answers": s.server.answers, "blind": s.blind,
        "endpoints": [{"path": r.path, "status": r.status, "took_s": round(r.took_s, 4)}
                      for r in s.server.replies.values()],
        "signals": [_signal(x) for x in s.signals],
        "rungs": [{"rung": r.rung, "question": r.question, "sees": r.sees, "by": list(r.by), "on": list(r.on)}
                  for r in s.rungs],
        "traps": [{"metric": name, "trap": trap} for name, trap in s.traps],
        "notes": list(s.notes), "hand_over": hand_over(s),
    }  # fmt: skip


def hand_over(s: Survey) -> list[str]:
    """What is on but at no endpoint, and the command that takes it; nothing where an endpoint shows all that is on."""
    kinds = {x.name: ELSEWHERE[x.name] for x in s.signals if x.state == "on" and x.name in ELSEWHERE}
    if not kinds:
        return []
    options = " ".join(dict.fromkeys(kinds.values()))
    command = f"ridgeline capture {s.server.url} -o DIR {options}"
    return [f"{', '.join(kinds)}: on, but no endpoint shows them; hand them over with {command}"]


def _signal(x: Signal) -> dict[str, Any]:
    way = x.way
    return {
        "signal": x.name, "state": x.state, "seen": x.seen, "how": way.how if way else None,
        "gives": way.gives if way else None, "cost": way.cost if way else None,
        "needs_restart": way.restart if way else None, "caution": way.caution or None if way else None,
    }  # fmt: skip


def _switch(x: Signal) -> str:
    """How to switch it on, and what that costs; nothing for what is on."""
    if x.state == "on" or x.way is None:
        return ""
    extras = [part for part in (x.way.caution, "needs a restart" if x.way.restart else "",
                                f"cost: {x.way.cost}" if x.way.cost != "negligible" else "") if part]  # fmt: skip
    if x.name == "request-log" and x.way.engine == "sglang":
        extras.append("without a restart for one capture: ridgeline capture URL --raise-logging")
    return x.way.how + (f" ({'; '.join(extras)})" if extras else "")


def _print(found: list[Survey]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ridgeline.report.escape import plain

    console = Console()
    for s in found:
        who = " ".join(plain(word, 60) for word in (s.server.engine, s.server.version, s.server.role) if word)
        console.print(Text.assemble((plain(s.server.url, 200), "bold"), f"  {who or 'not recognised'}"))
        for note in s.notes:
            console.print(Text(f"  {plain(note)}", style="yellow"))
        if not s.server.answers:
            continue
        table = Table("signal", "is", "because", "switch it on with", box=None, padding=(0, 1), header_style="bold")
        for x in s.signals:
            table.add_row(x.name, Text(x.state, style=MARKS[x.state]), plain(x.seen, 120), plain(_switch(x), 300))
        console.print(table)
        for line in hand_over(s):
            console.print(Text(f"  {plain(line, 400)}"), style="bold", soft_wrap=True)
        rungs = Table("rung", "question", "sees", "by", box=None, padding=(0, 1), header_style="bold")
        for r in s.rungs:
            style = {"yes": "green", "perhaps": "yellow", "no": "bold red"}[r.sees]
            by = ", ".join(r.on) or f"none of {', '.join(r.by)}" if r.sees != "perhaps" else f"{', '.join(r.unknown)}?"
            rungs.add_row(r.rung, r.question, Text(r.sees, style=style), by)
        console.print(rungs)
        for name, trap in s.traps:
            console.print(Text(f"  trap: {name}: {trap}", style="bright_black"))


def _markdown(s: Survey) -> list[str]:
    from ridgeline.report.escape import markdown

    head = f"**{markdown(s.server.url)}** {markdown(' '.join(w for w in (s.server.engine, s.server.version) if w))}"
    lines = [head, "", "| signal | is | because | switch it on with |", "|---|---|---|---|"]
    lines += [f"| {x.name} | {x.state} | {markdown(x.seen)} | {markdown(_switch(x))} |" for x in s.signals]
    lines += ["", *(f"- {markdown(line)}" for line in hand_over(s))]
    lines += [*(f"- {r.rung} ({r.question}): {r.sees}" for r in s.rungs), *(f"- {markdown(n)}" for n in s.notes)]
    return [*lines, ""]
