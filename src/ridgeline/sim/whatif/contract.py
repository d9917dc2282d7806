"""A comparison as JSON (schema ridgeline.simulation/1), and as text or Markdown."""

from dataclasses import asdict
from typing import Any, Final

from ridgeline.sim.fidelity.contract import rounded
from ridgeline.sim.settings import Settings
from ridgeline.sim.summary import SCHEMA
from ridgeline.sim.whatif import gate
from ridgeline.sim.whatif.advise import Advice, advise
from ridgeline.sim.whatif.beside import apart
from ridgeline.sim.whatif.flags import named, shown
from ridgeline.sim.whatif.paired import Change
from ridgeline.sim.whatif.result import NAMES, Compared, Comparison
from ridgeline.sim.whatif.variants import plain

SPANS: Final = (("ttft_s", "time to first token"), ("queue_s", "queue"), ("tpot_s", "per output token"),
                ("itl_s", "gap between tokens"), ("e2e_s", "whole request"))  # fmt: skip
MOST_ROWS: Final = 40


def to_json(found: Comparison) -> dict[str, Any]:
    """Everything; seconds, nine significant digits."""
    advice = advise(found)
    return {
        "schema": SCHEMA,
        "fidelity": gate.to_json(found.gate),
        "objective": found.objective.text,
        "slo": [limit.text for limit in found.limits],
        "repeats": found.repeats,
        "interrupted": found.interrupted,
        "warnings": list(found.warnings),
        "runs": [of_run(run) for run in found.runs],
        "recommendation": advice.sentence,
        "recommended": of_advice(advice),
    }


def of_advice(advice: Advice) -> dict[str, Any] | None:
    """What is recommended, for programs; null where no change is."""
    if advice.chosen is None or advice.chosen.gain is None:
        return None
    return {
        "changes": dict(advice.chosen.variant.changes), "flag": advice.flag, "needs": list(advice.needs),
        "gain": of_change(advice.chosen.gain), "pays": list(advice.pays),
    }  # fmt: skip


def of_change(change: Change | None) -> dict[str, float | None] | None:
    """One change."""
    if change is None:
        return None
    return {
        "before": rounded(change.before), "after": rounded(change.after), "delta": rounded(change.delta),
        "low": rounded(change.low), "high": rounded(change.high), "relative": rounded(change.relative),
    }  # fmt: skip


def of_run(run: Compared) -> dict[str, Any]:
    """One setting: counts as in its first repeat, times as means over the repeats."""
    first = run.outcomes[0].summary
    flag, needs = named(run.variant.changes, run.variant.settings)
    figures: dict[str, dict[str, float | None] | None] = {
        name: None if told is None else {k: rounded(v) for k, v in told.items()} for name, told in run.figures.items()
    }
    settings = first["settings"] | dict(shown(k, v, run.variant.settings) for k, v in first["settings"].items())
    return first | figures | {
        "settings": settings,
        "base": run.changes is None, "changes": dict(run.variant.changes), "flag": flag or None, "needs": list(needs),
        "rank": run.rank, "goodput": rounded(run.goodput), "within_slo": rounded(run.within_slo),
        "slo_met": run.slo_met, "overloaded": run.outcomes[0].overloaded is not None, "unfinished": run.lost,
        "delta": None if run.changes is None else {
            name: {s: of_change(c) for s, c in row.items()} for name, row in run.changes.items()
        },
        "classes": [{"class": g.name, "requests": len(g.rows), "share": rounded(g.share), **(of_change(c) or {})}
                    for g, c in run.classes],
        "cpu_s": round(sum(one.summary["cpu_s"] for one in run.outcomes), 6),
    }  # fmt: skip


def to_text(found: Comparison, markdown: bool = False) -> str:
    """For a terminal or a ticket: gate, warnings, figures, who pays, the recommendation."""
    lines = [gate.said(found.gate)]
    if found.interrupted:
        done = len(found.runs) * found.repeats
        lines.append(f"Interrupted: {done} of {found.planned} runs are kept.")
    lines += [f"Warning: {text}" for text in found.warnings]
    lines.append("")
    if len(found.runs) == 1:
        return "\n".join([*lines, *single(found.base, markdown)]) + "\n"
    lines += [*table(found, markdown), ""]
    lines += paying(found)
    return "\n".join([*lines, advise(found).sentence]) + "\n"


def single(run: Compared, markdown: bool) -> list[str]:
    """The figures of one run."""
    told = run.outcomes[0].summary
    standard = asdict(Settings())
    changed = [f"{key}={plain(value)}" for key, value in told["settings"].items() if value != standard[key]]
    lines = [f"{told['requests']} requests, {told['span_s']:.1f} s simulated in {told['cpu_s']:.3g} CPU s "
             f"({', '.join(changed) or 'default settings'}; time model: {told['time_model']})"]  # fmt: skip
    head = ("seconds", "mean", "p50", "p90", "p99")
    figures: dict[str, dict[str, float] | None] = {**run.figures, "itl_s": told["itl_s"]}
    body = [[words, *(f"{row[name]:.4f}" for name in head[1:])] for key, words in SPANS if (row := figures[key])]
    lines += grid([list(head), *body], markdown)
    hit = told["cache_hit_ratio"]
    lines.append(f"outcomes: {', '.join(f'{n} {name}' for name, n in told['outcomes'].items()) or 'none'}; "
                 f"cache hits: {'unknown' if hit is None else f'{100 * hit:.1f} %'}; "
                 f"retractions: {told['retractions']}; "
                 f"most KV in use: {max(told['peak_kv_tokens'])} tokens")  # fmt: skip
    if run.goodput is not None:
        kept = "kept" if run.slo_met else "not kept"
        lines.append(f"goodput: {run.goodput:.3g} requests per second within the limits "
                     f"({run.within_slo:.1%} of all; the limits are {kept})")  # fmt: skip
    return lines


def table(found: Comparison, markdown: bool) -> list[str]:
    """Settings, best first."""
    by = (found.objective.metric, found.objective.statistic)
    columns = SHOWN if by in SHOWN or by[0] not in NAMES else (by, *SHOWN)
    head = ["rank", "setting", *(f"{NAMES[m]} {s}" for m, s in columns)]
    head += ["goodput/s"] if found.limits else []
    head += [f"change of {found.objective.text}"]
    rows = [head]
    for run in found.ranked[:MOST_ROWS]:
        cells = [str(run.rank), run.variant.name]
        cells += [f"{told[s]:.4g}" if (told := run.figures[m]) else "-" for m, s in columns]
        cells += [f"{run.goodput:.3g}" if run.goodput is not None else "-"] if found.limits else []
        rows.append([*cells, moved(run, found)])
    whole = found.base.outcomes[0].summary["requests"]
    counted = f"{whole} requests" if found.over is None else f"{len(found.over)} of {whole} requests (the incident's)"
    told_apart = apart(found)
    out = [told_apart] if told_apart else []
    out += [f"{counted}, {found.repeats} "
            f"{'repeat' if found.repeats == 1 else 'repeats'}, seconds, best first by {found.objective.text}; "
            f"time model: {found.base.outcomes[0].summary['time_model']}"]  # fmt: skip
    out += grid(rows, markdown, left=2)
    if len(found.runs) > MOST_ROWS:
        out.append(f"{len(found.runs) - MOST_ROWS} more settings: --format json has them all")
    return out


SHOWN: Final = (("ttft_s", "mean"), ("ttft_s", "p99"), ("tpot_s", "mean"), ("e2e_s", "mean"), ("e2e_s", "p99"))


def moved(run: Compared, found: Comparison) -> str:
    """The change by the objective with its interval."""
    gain = run.gain
    if gain is None:
        return "base"
    sign = -1.0 if found.objective.metric == "goodput" else 1.0
    scale = 1.0 if sign < 0 else gain.before
    if not scale:
        return f"{gain.delta:+.3g} s"
    text = f"{sign * gain.delta / scale:+.1%}"
    if gain.low is None or gain.high is None:
        return f"{text} (no interval)"
    low, high = sorted((sign * gain.low / scale, sign * gain.high / scale))
    return f"{text} ({low:+.1%} to {high:+.1%})"


def paying(found: Comparison) -> list[str]:
    """The classes under the best setting, where there are any."""
    best = advise(found).chosen or next((run for run in found.ranked if run.gain is not None), None)
    if best is None or not best.classes:
        return []
    metric = NAMES["e2e_s" if found.objective.metric == "goodput" else found.objective.metric]
    lines = [f"Mean {metric} by class under {best.variant.name}:"]
    for group, change in best.classes:
        share = "" if change.relative is None else f" ({change.relative:+.0%})"
        sure = "" if change.certain else ", within its interval of no change"
        lines.append(f"- {group.name} ({group.share:.0%} of the requests): {change.before:.4g} s → {change.after:.4g} s"
                     f"{share}{sure}")  # fmt: skip
    return [*lines, ""]


def grid(rows: list[list[str]], markdown: bool, left: int = 1) -> list[str]:
    """Rows as aligned text or a Markdown table; the first ``left`` columns are text."""
    if markdown:
        rows = [[cell.replace("|", "\\|") for cell in row] for row in rows]
        bar = "|" + "---|" * left + "---:|" * (len(rows[0]) - left)
        return ["", "| " + " | ".join(rows[0]) + " |", bar, *("| " + " | ".join(r) + " |" for r in rows[1:]), ""]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            c.ljust(w) if i < left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
