"""The command line: the literal list of verbs, and `main`. Each verb is a plain function in the file named here."""

import os
import signal
import sys
from io import TextIOWrapper
from types import ModuleType
from typing import Final

from cyclopts import App, CycloptsError

from ridgeline.cli.version import facts
from ridgeline.model.errors import RidgelineError

# (group, verb, where its function is, one line of help). Files are imported only when their verb runs.
VERBS: Final = (
    ("capture", "ingest", "ridgeline.cli.ingest:ingest", "Read sources into a bundle."),
    ("capture", "capture", "ridgeline.cli.capture:capture", "Record servers, logs and traces into a bundle."),
    (
        "capture",
        "watch",
        "ridgeline.cli.watch:watch",
        "A flight recorder: seal, diagnose and tell when something happens.",
    ),
    ("capture", "signals", "ridgeline.cli.signals:signals", "Which signals a server gives, and the flag for the rest."),
    ("capture", "sources", "ridgeline.cli.sources:sources", "Show what was read as what, and the lines that were not."),
    (
        "diagnose",
        "diagnose",
        "ridgeline.cli.diagnose:diagnose",
        "Which layer, which cause, what is ruled out, what next.",
    ),
    ("diagnose", "show", "ridgeline.cli.show:show", "Reprint the rows and source lines behind one piece of evidence."),
    ("diagnose", "request", "ridgeline.cli.request:request", "One request from head to tail, beside a normal twin."),
    ("diagnose", "classes", "ridgeline.cli.classes:classes", "Which classes of requests are slow, and by how much."),
    ("diagnose", "prefix", "ridgeline.cli.prefix:prefix", "What a prefix cache could reuse, and what was lost."),
    ("diagnose", "causes", "ridgeline.cli.causes:causes", "The closed list of causes, or one of them as a page."),
    ("diagnose", "decide", "ridgeline.cli.decide:decide", "Is a change worth it, and which: tried on the traffic."),
    ("compare", "compare", "ridgeline.cli.compare:compare", "Did the fix work: recovered, worse, or cannot be told."),
    ("simulate", "scenario", "ridgeline.cli.scenario:scenario", "Make traffic: generated, or from a trace or a log."),
    ("simulate", "sample", "ridgeline.cli.sample:sample", "The traffic of recorded evidence as a scenario."),
    ("simulate", "simulate", "ridgeline.cli.simulate:simulate", "Run a scenario under given scheduler settings."),
    ("simulate", "fidelity", "ridgeline.cli.fidelity:fidelity", "How far the simulator can be trusted here."),
    (
        "replay",
        "dump",
        "ridgeline.cli.dump:dump",
        "List, show and convert request and crash dumps; nothing in them runs.",
    ),
    ("replay", "replay", "ridgeline.cli.replay:replay", "Send recorded requests again at their times, and compare."),
    ("replay", "minimise", "ridgeline.cli.minimise:minimise", "The smallest input that still brings a fault."),
    ("output", "report", "ridgeline.cli.report:report", "The incident as one self-contained page."),
    ("output", "open", "ridgeline.cli.open_page:open_page", "The same page live, on this machine only."),
    ("output", "export", "ridgeline.cli.export:export", "The evidence as traces, tables, alert rules or a dashboard."),
    ("output", "mcp", "ridgeline.cli.mcp:mcp", "Read-only tools for other programs, over stdio."),
    ("lab", "lab", "ridgeline.cli.lab:lab", "Record labelled incidents in virtual time; score diagnose."),
)
# What stands below the options of a verb whose answer has more words than the status below.
EPILOGUES: Final = {
    "compare": """\
With BASELINE or an SLO it says recovered (back there), not-recovered (still beyond it), worse or inconclusive; without,
improved, worse, no-change (every figure users feel lies within the margin) or inconclusive.

Exit status: 0 recovered or improved, 2 not-recovered, worse or no-change, 3 inconclusive, 1 unreadable.
""",
}

HELP: Final = """\
From an LLM-serving incident's symptom to its root cause and an offline decision.

Point it at what you have (server logs, /metrics scrapes, /v1/loads answers, request logs, exporter files, traces):
ridgeline diagnose server.log metrics.txt

Exit status: 0 fine, 1 usage or unreadable input, 2 a finding, 3 inconclusive.
"""


def build() -> App:
    """The command-line application over `VERBS`."""
    app = App(name="ridgeline", help=HELP, version=facts, help_format="plaintext")
    app.register_install_completion_command(help="Install completion for bash, zsh or fish.")
    for group, verb, where, line in VERBS:
        below = {"help_epilogue": EPILOGUES[verb]} if verb in EPILOGUES else {}  # a verb of verbs takes none from here
        app.command(where, name=verb, help=line, group=group, **below)
    return app


def _standard_input_last(arguments: list[str]) -> list[str]:
    """`-` means standard input; the parser would take it for an option, so it goes behind a `--`."""
    if "-" not in arguments or "--" in arguments:
        return arguments
    return [*(a for a in arguments if a != "-"), "--", "-"]


def _said_in_english(catalogue: ModuleType) -> None:
    """One line for everything that was said in English because the language asked for lacks it."""
    for lang in catalogue.CATALOGUES:
        if lacks := catalogue.in_english(lang):
            print(f"ridgeline: {catalogue.say('report.lacks', {'texts': len(lacks)}, lang)}", file=sys.stderr)


def _catalogue() -> ModuleType | None:
    """The catalogue of statements if it is loaded: a verb that says nothing has not paid for it."""
    return sys.modules.get("ridgeline.words.catalogue")


def main(arguments: list[str] | None = None) -> None:
    """Run one verb and leave with its exit status; errors raised on purpose are one line on standard error."""
    if arguments is None and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        # told to end, we end as at an interrupt: what lies in temporary folders goes with us
        signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(143))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a file's name may be no UTF-8, a terminal may be ASCII only
    if catalogue := _catalogue():
        catalogue.forget_english()  # what an earlier verb of this process lacked is not said of this one
    try:
        given = _standard_input_last(sys.argv[1:] if arguments is None else arguments)
        status = build()(given, result_action="return_value", exit_on_error=False, print_error=False)
        sys.stdout.flush()
        if catalogue := _catalogue():
            _said_in_english(catalogue)
    except CycloptsError as e:
        verb = next((f"{v} " for _, v, _, _ in VERBS if v in given[:1]), "")
        print(f"ridgeline: {' '.join(str(e).split())} (see ridgeline {verb}--help)", file=sys.stderr)
        status = 1  # 2 would mean a finding
    except RidgelineError as e:
        print(f"ridgeline: {e}", file=sys.stderr)
        status = 1
    except KeyboardInterrupt:
        print("ridgeline: interrupted", file=sys.stderr)
        status = 130
    except BrokenPipeError:
        # The reader of our output went away; nothing is left to say, and Python must not try to flush it again.
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115
        status = 1
    sys.exit(status if isinstance(status, int) else 0)
