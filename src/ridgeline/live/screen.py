"""The live view on a terminal: per rank the queues, usage, throughput, TTFT and where the time of requests goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ridgeline.live.figures import Scraped, mean_between, speed_between

COLOURS: Final = ("cyan", "yellow", "magenta", "green", "blue", "red")
WIDTH: Final = 24
QUEUES: Final = ("bootstrap", "inflight", "prealloc", "transfer")
ROWS: Final = 40


def screen(servers: Mapping[str, Sequence[Scraped]], ring: str, said: Sequence[str], now: float) -> RenderableType:
    """The whole view. `servers`: name → its scrapes, oldest first; `said`: the last lines of what happened."""
    table = Table(box=None, padding=(0, 1), header_style="bold")
    for head in ("server", "rank", "running", "waiting", "queues", "usage", "tok/s", "TTFT", "stages"):
        table.add_column(head, justify="right" if head in ("running", "waiting", "tok/s", "TTFT") else "left")
    legend: list[str] = []
    rows = 0
    for name, history in servers.items():
        if not history:
            table.add_row(name, "", "", "", "", Text("no answer yet", style="yellow"), "", "", "")
            continue
        last, before = history[-1], _before(history)
        ttft = mean_between(before, last, "ttft") if before is not None else None
        speed = speed_between(before, last) if before is not None else None
        age = now - last.ts
        for rank, values in sorted(last.ranks.items(), key=lambda item: (len(item[0]), item[0])):
            rows += 1
            if rows > ROWS:
                continue
            table.add_row(
                name, rank, _number(values.get("running")), _number(values.get("waiting")),
                " ".join(f"{q} {values[q]:.0f}" for q in QUEUES if values.get(q)), _bar(values.get("usage")),
                _number(values.get("gen_tps", speed if len(last.ranks) == 1 else None)),
                "" if ttft is None else f"{ttft:.2f} s",
                _stages(before, last, rank, legend), style="bright_black" if age > 15 else "",
            )  # fmt: skip
    lines: list[RenderableType] = [
        Text(f"{datetime.fromtimestamp(now, UTC):%H:%M:%S}Z  {ring}", style="bright_black"),
        table,
    ]
    if rows > ROWS:
        lines.append(Text(f"{rows - ROWS} more ranks", style="bright_black"))
    if legend:
        lines.append(Text.assemble("stages: ", *((f"{s}  ", COLOURS[k % len(COLOURS)]) for k, s in enumerate(legend))))
    lines += [Text(line, style="yellow") for line in said[-6:]]
    return Group(*lines)


def _before(history: Sequence[Scraped]) -> Scraped | None:
    """The scrape about ten seconds back, or the oldest."""
    if len(history) < 2:
        return None
    return next((s for s in reversed(history) if history[-1].ts - s.ts >= 10.0), history[0])


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}"


def _bar(share: float | None) -> Text:
    if share is None:
        return Text("")
    full = round(min(max(share, 0.0), 1.0) * 10)
    style = "red" if share >= 0.95 else "yellow" if share >= 0.8 else "green"
    return Text.assemble(("█" * full, style), ("░" * (10 - full), "bright_black"), f" {share:.0%}")


def _stages(before: Scraped | None, last: Scraped, rank: str, legend: list[str]) -> Text:
    """Seconds that requests spent in each stage lately, to scale."""
    now = last.stages.get(rank, {})
    then = before.stages.get(rank, {}) if before is not None else {}
    spent = {stage: value - then.get(stage, 0.0) for stage, value in now.items() if value > then.get(stage, 0.0)}
    total = sum(spent.values())
    out = Text()
    for stage, seconds in sorted(spent.items()):
        if stage not in legend:
            legend.append(stage)
        out.append("█" * round(seconds / total * WIDTH), COLOURS[legend.index(stage) % len(COLOURS)])
    return out
