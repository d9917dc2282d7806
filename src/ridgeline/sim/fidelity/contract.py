"""The fidelity answer as JSON (schema ridgeline.fidelity/1) and as lines of text or Markdown."""

from typing import Any, Final

from ridgeline.sim.fidelity.figures import METRICS, STATISTICS, Figure
from ridgeline.sim.fidelity.measure import Fidelity

SCHEMA: Final = "ridgeline.fidelity/1"
TITLES: Final = {"queue_s": "queue", "ttft_s": "TTFT", "tpot_s": "per token", "e2e_s": "E2E"}
COEFFICIENTS: Final = ("step_s", "prefill_token_s", "attention_half_pair_s", "decode_request_s", "context_token_s",
                       "mixed_request_s", "request_s")  # fmt: skip


def to_json(answer: Fidelity) -> dict[str, Any]:
    """The contract: figures in seconds, null where the evidence says nothing."""
    return {
        "schema": SCHEMA,
        "split": answer.split,
        "time_model": time_model(answer),
        "metrics": {m: {s: figure(answer.figures[m][s]) for s in STATISTICS} for m in METRICS},
        "trust": answer.trust,
        "why": list(answer.why),
    }


def figure(value: Figure) -> dict[str, float | None]:
    """One figure."""
    return {
        "observed": rounded(value.observed), "predicted": rounded(value.predicted), "error": rounded(value.error),
        "low": rounded(value.low), "high": rounded(value.high),
    }  # fmt: skip


def rounded(value: float | None) -> float | None:
    """Nine significant digits: the same bytes on every machine, finer than any clock."""
    return None if value is None else float(f"{value:.9g}")


def time_model(answer: Fidelity) -> dict[str, Any] | None:
    """Coefficients with their units in the name, the settings they belong to, and what they were fitted on."""
    fitted = answer.fitted
    if fitted is None:
        return None
    out: dict[str, Any] = {
        name: float(f"{value:.6g}") for name, value in zip(COEFFICIENTS, fitted.coefficients, strict=True)
    }
    return out | {
        "front_s": rounded(fitted.front_s), "back_first_s": rounded(fitted.back_first_s),
        "back_s": rounded(fitted.back_s), "pipelined": answer.pipelined, "engine": fitted.settings.engine,
        "pool_tokens": fitted.settings.max_total_num_tokens, "evidence": fitted.evidence,
        "fitted_requests": fitted.requests, "predicted_requests": answer.tested, "loss": rounded(fitted.loss),
        "speed_spread": rounded(answer.speed_spread), "outside_share": rounded(answer.outside),
        "cached_tokens": pair(answer.cached_tokens), "retractions": pair(answer.retractions),
    }  # fmt: skip


def pair(values: tuple[float | None, float | None]) -> dict[str, float | None]:
    """An observed and a predicted total."""
    return {"observed": rounded(values[0]), "predicted": rounded(values[1])}


def to_text(answer: Fidelity, markdown: bool = False) -> str:
    """A table of the figures, the verdict, and the reasons."""
    lines = ["| figure | observed s | predicted s | error | bounds s |", "| --- | ---: | ---: | ---: | ---: |"]
    if not markdown:
        lines = [f"{'figure':<16}{'observed':>11}{'predicted':>11}{'error':>9}   bounds (seconds)"]
    for metric in METRICS:
        for statistic in STATISTICS:
            value = answer.figures[metric][statistic]
            name = f"{TITLES[metric]} {statistic}"
            error = "-" if value.error is None else f"{value.error:+.1%}"
            span = "-" if value.low is None or value.high is None else f"{value.low:.4g} to {value.high:.4g}"
            if markdown:
                lines.append(f"| {name} | {plain(value.observed)} | {plain(value.predicted)} | {error} | {span} |")
            else:
                lines.append(f"{name:<16}{plain(value.observed):>11}{plain(value.predicted):>11}{error:>9}   {span}")
    verdict = "can be trusted on this traffic" if answer.trust else "is not to be trusted on this traffic"
    lines += ["", f"The simulator {verdict} ({answer.trained} requests before the split, {answer.tested} compared)."]
    lines += [f"- {reason}" for reason in answer.why]
    return "\n".join(lines) + "\n"


def plain(value: float | None) -> str:
    """Four significant digits, or a dash."""
    return "-" if value is None else f"{value:.4g}"
