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
from ridgeline.words.catalogue import COMMA, said, say, text_in
from ridgeline.words.phrases import phrase

SPANS: Final = (("ttft_s", "time to first token"), ("queue_s", "queue"), ("tpot_s", "per output token"),
                ("itl_s", "gap between tokens"), ("e2e_s", "whole request"))  # fmt: skip
MOST_ROWS: Final = 40


def to_json(found: Comparison, lang: str = "en") -> dict[str, Any]:
    """Everything; seconds, nine significant digits; statements in ``lang``."""
    advice = advise(found)
    return {
        "schema": SCHEMA,
        "fidelity": gate.to_json(found.gate, lang),
        "objective": found.objective.text,
        "slo": [limit.text for limit in found.limits],
        "repeats": found.repeats,
        "interrupted": found.interrupted,
        "warnings": [text_in(text, lang) for text in found.warnings],
        "runs": [of_run(run) for run in found.runs],
        "recommendation": said(advice.statement, lang),
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


def to_text(found: Comparison, markdown: bool = False, lang: str = "en") -> str:
    """For a terminal or a ticket: gate, warnings, figures, who pays, the recommendation."""
    lines = [gate.verdict_of(found.gate, lang)]
    if found.interrupted:
        done = len(found.runs) * found.repeats
        lines.append(say("run.interrupted", {"done": done, "planned": found.planned}, lang))
    lines += [say("decide.warning", {"text": text}, lang) for text in found.warnings]
    lines.append("")
    if len(found.runs) == 1:
        return "\n".join([*lines, *single(found.base, markdown, lang)]) + "\n"
    lines += [*table(found, markdown, lang), ""]
    lines += paying(found, lang)
    return "\n".join([*lines, said(advise(found).statement, lang)]) + "\n"


def single(run: Compared, markdown: bool, lang: str = "en") -> list[str]:
    """The figures of one run."""
    told = run.outcomes[0].summary
    standard = asdict(Settings())
    changed = [f"{key}={plain(value)}" for key, value in told["settings"].items() if value != standard[key]]
    of = {name: told[name] for name in ("requests", "span_s", "cpu_s")}
    of |= {"settings": tuple(changed) or ("default settings",), "model": told["time_model"]}
    lines = [say("run.one", of, lang)]
    head = (say("run.seconds", {}, lang), *(text_in(name, lang) for name in STATISTICS))
    figures: dict[str, dict[str, float] | None] = {**run.figures, "itl_s": told["itl_s"]}
    body = [
        [text_in(words, lang), *(f"{row[name]:.4f}" for name in STATISTICS)]
        for key, words in SPANS
        if (row := figures[key])
    ]
    lines += grid([list(head), *body], markdown)
    hit = told["cache_hit_ratio"]
    outcomes = COMMA[lang].join(f"{n} {name}" for name, n in told["outcomes"].items()) or "none"
    hits = "unknown" if hit is None else f"{100 * hit:.1f} %"
    of = {"outcomes": outcomes, "hits": hits, "retractions": told["retractions"], "kv": max(told["peak_kv_tokens"])}
    lines.append(say("run.outcomes", of, lang))
    if run.goodput is not None:
        kept = "kept" if run.slo_met else "not kept"
        lines.append(say("run.goodput", {"goodput": run.goodput, "share": run.within_slo, "kept": kept}, lang))
    return lines


def table(found: Comparison, markdown: bool, lang: str = "en") -> list[str]:
    """Settings, best first."""
    by = (found.objective.metric, found.objective.statistic)
    columns = SHOWN if by in SHOWN or by[0] not in NAMES else (by, *SHOWN)
    head = [say("tried.rank", {}, lang), say("tried.setting", {}, lang)]
    head += [text_in(f"{NAMES[m]} {s}", lang) for m, s in columns]
    head += [say("tried.goodput", {}, lang)] if found.limits else []
    head += [say("tried.change", {"figure": found.objective.text}, lang)]
    rows = [head]
    for run in found.ranked[:MOST_ROWS]:
        cells = [str(run.rank), phrase(run.variant.name, lang)]
        cells += [f"{told[s]:.4g}" if (told := run.figures[m]) else "-" for m, s in columns]
        cells += [f"{run.goodput:.3g}" if run.goodput is not None else "-"] if found.limits else []
        rows.append([*cells, moved(run, found, lang)])
    told_apart = apart(found)
    out = [said(told_apart, lang)] if told_apart else []
    some = found.over is not None
    counted = {
        "n": found.base.outcomes[0].summary["requests"], "over": None if found.over is None else len(found.over),
        "which": "the incident's" if some else None, "repeats": found.repeats, "figure": found.objective.text,
        "model": found.base.outcomes[0].summary["time_model"],
    }  # fmt: skip
    out += [say("tried.counted", counted, lang)]
    out += grid(rows, markdown, left=2)
    if len(found.runs) > MOST_ROWS:
        out.append(say("tried.more", {"n": len(found.runs) - MOST_ROWS}, lang))
    return out


STATISTICS: Final = ("mean", "p50", "p90", "p99")
SHOWN: Final = (("ttft_s", "mean"), ("ttft_s", "p99"), ("tpot_s", "mean"), ("e2e_s", "mean"), ("e2e_s", "p99"))


def moved(run: Compared, found: Comparison, lang: str = "en") -> str:
    """The change by the objective with its interval."""
    gain = run.gain
    if gain is None:
        return say("tried.base", {}, lang)
    sign = -1.0 if found.objective.metric == "goodput" else 1.0
    scale = 1.0 if sign < 0 else gain.before
    if not scale:
        return say("tried.seconds", {"delta": gain.delta}, lang)
    share = sign * gain.delta / scale
    if gain.low is None or gain.high is None:
        return say("tried.moved.alone", {"share": share}, lang)
    low, high = sorted((sign * gain.low / scale, sign * gain.high / scale))
    return say("tried.moved", {"share": share, "low": low, "high": high}, lang)


def paying(found: Comparison, lang: str = "en") -> list[str]:
    """The classes under the best setting, where there are any."""
    best = advise(found).chosen or next((run for run in found.ranked if run.gain is not None), None)
    if best is None or not best.classes:
        return []
    metric = NAMES["e2e_s" if found.objective.metric == "goodput" else found.objective.metric]
    lines = [say("tried.classes", {"figure": metric, "name": best.variant.name}, lang)]
    for group, change in best.classes:
        unsure = None if change.certain else "within its interval of no change"
        of = {"class": group.name, "of": group.share, "before": change.before, "after": change.after,
              "share": change.relative, "unsure": unsure}  # fmt: skip
        lines.append("- " + say("tried.class", of, lang))
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
