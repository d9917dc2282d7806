"""`ridgeline decide`: from the evidence to a decision: is a change worth touching production, and which."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from ridgeline.cli.options import Evidence, Format, Hardware, Label, Quiet, Seed, Year, Zone

if TYPE_CHECKING:
    from ridgeline.bundle.view import View
    from ridgeline.model.diagnosis import Diagnosis
    from ridgeline.sim.whatif.decide import Decision


def decide(
    *sources: Evidence,
    symptom: str = "auto",
    baseline: str | None = None,
    from_: Annotated[str | None, Parameter(name="--from")] = None,
    to: str | None = None,
    slo: tuple[str, ...] = (),
    repeat: int = 5,
    hardware: Hardware = (),
    seed: Seed = 0,
    jobs: int | None = None,
    output: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    label: Label = (),
    tz: Zone = None,
    year: Year = None,
    lang: Literal["en", "zh"] = "en",
    format: Format = "text",
    quiet: Quiet = False,
) -> int:
    """Diagnose, sample the traffic, prove the simulator on it, try what the cause suggests, and decide.

    In a bundle the answer is kept as decision.json. Exit status: 0 where nothing is wrong, 2 with a finding, 3 where
    the diagnosis is inconclusive or the simulator cannot be trusted on this traffic.

    Parameters
    ----------
    symptom
        What users say, as of diagnose.
    baseline
        A good time to compare with: FROM..TO.
    from_
        Start of the incident.
    to
        End of the incident.
    slo
        METRIC_pNN=TIME, such as ttft_p99=2s: a change must raise the share of requests within it.
    repeat
        Runs of each setting.
    jobs
        Processes; by default one for each core.
    output
        Write decision.json into this folder; in a bundle it is written there anyway.
    lang
        Language of the sentences: en or zh. What is kept in a bundle holds the decision in both.
    """
    from ridgeline.bundle.find import is_bundle
    from ridgeline.cli.diagnose import show
    from ridgeline.cli.evidence import watched
    from ridgeline.cli.moments import windows_of
    from ridgeline.cli.simulate import checked
    from ridgeline.ladder.diagnose import diagnose
    from ridgeline.model.errors import InputError
    from ridgeline.report.contract import to_contract
    from ridgeline.sim.hardware import floors_of, hardware_of
    from ridgeline.sim.settings import SettingError
    from ridgeline.sim.warm import warm
    from ridgeline.sim.whatif.decide import to_json
    from ridgeline.sim.whatif.slo import limits_of
    from ridgeline.words.catalogue import say

    if any(source.startswith(("http://", "https://")) for source in sources):
        raise InputError("decide reads recorded evidence: capture the server first, then give the folder")
    checked(repeat, jobs, 1, seed, None, (), ())
    try:
        limits, floors = limits_of(slo), floors_of(hardware_of(hardware))
    except SettingError as error:
        raise InputError(str(error)) from error
    warm(say=not quiet)
    with watched(sources, for_="60s", label=label, tz=tz, year=year, quiet=quiet) as view:
        incident, good = windows_of(view, from_, to, baseline, tz, sources)
        found = diagnose(view, symptom, incident=incident, baseline=good, sources=sources)
        decision = decided(view, found, limits, repeat, seed, jobs, quiet, floors, lang)
        found = answered(found, decision)
        told = to_json(decision) if decision else None
        kept = [Path(s) for s in sources if is_bundle(Path(s))] + ([output] if output else [])
        for folder in kept:
            keep(folder, told, to_contract(found))
        if not quiet and format == "json":
            shown = to_json(decision, lang) if decision else nothing(found, lang)
            whole: dict[str, Any] = {**shown, "diagnosis": to_contract(found, lang)}
            print(json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False))
        elif not quiet:
            show(found, view, format, lang)
            print(said(decision, format, lang))
            for folder in kept:
                print(say("decide.written", {"path": str(folder / "decision.json")}, lang))
    return status(found, decision)


def status(found: Diagnosis, decision: Decision | None) -> int:
    """0 healthy; 3 inconclusive, not to be trusted or nothing to simulate; else 2: there is a finding."""
    if found.verdict == "healthy":
        return 0
    unsure = decision is None or decision.verdict in ("not-trusted", "no-traffic", "no-evidence")
    return 3 if found.verdict == "inconclusive" or unsure else 2


def decided(
    view: View, found: Diagnosis, limits: Any, repeat: int, seed: int, jobs: int | None, quiet: bool,
    floors: Any = None, lang: str = "en",
) -> Decision | None:  # fmt: skip
    """The decision on the first finding; None where there is no finding. ``floors``: as of `basis_of`."""
    import sys

    from ridgeline.cli.simulate import counting
    from ridgeline.model.errors import InputError
    from ridgeline.scenario.model import ScenarioError
    from ridgeline.sim.settings import SettingError
    from ridgeline.sim.whatif.before import seen_between
    from ridgeline.sim.whatif.decide import decide as run
    from ridgeline.sim.whatif.decide import no_setting, no_traffic
    from ridgeline.sim.whatif.ground import basis_of
    from ridgeline.words.phrases import phrase
    from ridgeline.words.whatif import TRIES

    if found.verdict != "finding":
        return None
    first = found.findings[0]
    if first.cause not in TRIES:
        return no_setting(first.cause, first.route, tuple(dict.fromkeys(r.action for r in first.remedies
                          if r.kind != "prevent")))  # fmt: skip
    window, good = (None if w is None else (w.from_ts, w.to_ts) for w in (found.incident, found.baseline))
    remedies = [r.flag for r in first.remedies if r.flag is not None]
    tell = None if quiet else lambda text: print(f"{phrase(text, lang)} …", file=sys.stderr, flush=True)
    try:
        basis = basis_of(view, True, tell, floors)
        with counting(quiet) as on_done:
            return run(basis, first.cause, first.route, window, good, limits=limits, remedies=remedies,
                       seen=seen_between(view, good), repeats=repeat, seed=seed, jobs=jobs,
                       on_done=on_done)  # fmt: skip
    except (InputError, ScenarioError, SettingError) as error:
        return no_traffic(first.cause, str(error))


def answered(found: Diagnosis, decision: Decision | None) -> Diagnosis:
    """The diagnosis with the decision on rung A5."""
    from dataclasses import replace

    from ridgeline.model.diagnosis import Answer, State
    from ridgeline.model.fact import Statement

    if decision is None:
        return found
    unsure = decision.verdict in ("no-traffic", "no-evidence")
    state: State = "cannot-tell" if unsure else "answered"
    told = Statement("a5.decided", (("sentence", decision.statement),))
    rung = Answer(rung="A5", question=Statement("question.A5"), state=state, answer=told)
    return replace(found, ladder=tuple(rung if a.rung == "A5" else a for a in found.ladder))


def nothing(found: Diagnosis, lang: str = "en") -> dict[str, Any]:
    """The decision where there is no finding to decide on."""
    from ridgeline.words.catalogue import CATALOGUES, say

    healthy = found.verdict == "healthy"
    key = "decide.healthy" if healthy else "decide.unknown"
    return {
        "schema": "ridgeline.decision/1", "cause": "healthy" if healthy else "unknown",
        "verdict": "healthy" if healthy else "inconclusive", "worth_touching": False if healthy else None,
        "sentence": say(key, {}, lang), "sentences": {each: say(key, {}, each) for each in CATALOGUES},
        "change": None, "gain": None, "equal": [], "risk": [], "fidelity": None, "tried": [], "base": None, "notes": [],
    }  # fmt: skip


def keep(folder: Path, told: dict[str, Any] | None, diagnosis: dict[str, Any]) -> None:
    """Write decision.json and diagnosis.json. Raises InputError where the folder cannot be written."""
    from ridgeline.model.errors import InputError

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, value in (("decision.json", told), ("diagnosis.json", diagnosis)):
            if value is not None:
                text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
                (folder / name).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}); give another folder") from error


def said(decision: Decision | None, format: str, lang: str = "en") -> str:
    """The decision for a reader, with how far it can be believed and what was tried."""
    from ridgeline.sim.whatif.contract import table
    from ridgeline.sim.whatif.gate import verdict_of
    from ridgeline.words.catalogue import said as in_words
    from ridgeline.words.catalogue import say

    if decision is None:
        return say("decide.nothing", {}, lang)
    markdown = format == "md"
    lines = [("## " if markdown else "") + say("decide.title", {}, lang), in_words(decision.statement, lang)]
    found = decision.comparison
    if found is not None:
        warnings = [say("decide.warning", {"text": text}, lang) for text in found.warnings[:4]]
        lines += [verdict_of(found.gate, lang), *warnings, "", *table(found, markdown, lang)]
    return "\n".join(lines)
