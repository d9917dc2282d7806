"""Make the reference pages under docs/reference from the program itself.

    python docs/reference.py [FOLDER]

One page for each verb (its help), each cause (its declaration), each format that is read (its reader's own words), and
one for the flags to turn on beforehand. tests/test_docs.py makes them again and compares.
"""

import importlib
import inspect
import io
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
HOME: Final = ROOT / "docs" / "reference"
MADE: Final = "Made by `docs/reference.py`; edit the program, not this page."


def help_of(verb: str) -> str:
    """What `ridgeline VERB --help` prints, 100 columns wide."""
    from rich.console import Console

    from ridgeline.cli import build

    out = io.StringIO()
    build().help_print([verb], console=Console(file=out, width=100, color_system=None, legacy_windows=False))
    return "\n".join(line.rstrip() for line in out.getvalue().strip().splitlines())


def verb_pages() -> dict[str, str]:
    """`verbs/NAME.md` → its page."""
    from ridgeline.cli import VERBS

    return {
        f"verbs/{verb}.md": f"# ridgeline {verb}\n\n{line}\n\n```text\n{help_of(verb)}\n```\n\n{MADE}\n"
        for _group, verb, _where, line in VERBS
    }


def cause_pages() -> dict[str, str]:
    """`causes/ID.md` → its page."""
    from ridgeline.causes import CAUSES
    from ridgeline.cli.causes import causes

    pages = {}
    for cause in CAUSES:
        out = io.StringIO()
        with redirect_stdout(out):
            causes(cause.id, format="md")
        pages[f"causes/{cause.id}.md"] = f"{out.getvalue().rstrip()}\n\n{MADE}\n"
    return pages


def format_pages() -> dict[str, str]:
    """`formats/KIND.md` → what its reader says of itself."""
    from ridgeline.signals.read import READERS

    pages = {}
    for kind, reader in READERS.items():
        module = importlib.import_module(reader.__module__)
        package = importlib.import_module(reader.__module__.rpartition(".")[0])
        said = [inspect.getdoc(module), inspect.getdoc(package) if package.__name__ != "ridgeline.signals" else None]
        where = Path(inspect.getfile(module)).relative_to(ROOT).as_posix()
        words = "\n\n".join(text for text in said if text)
        words += "".join(f"\n\n{line}" for line in switched(kind))
        pages[f"formats/{kind}.md"] = (
            f"# {kind}\n\n{words}\n\nRead by [{where}](../../../{where}). `ridgeline sources FILE` shows "
            f"whether a file is taken for it; `--unread` lists every line that was not understood.\n\n{MADE}\n"
        )
    return pages


# Kind → the signals of the vocabulary that it carries, where the names differ.
CARRIES: Final = {
    "log": ("server-log", "batch-lines", "time-stats"),
    "exposition": ("metrics", "gateway-metrics"),
    "prometheus-range": ("metrics",),
    "get-load": ("loads",),
    "otlp": ("traces", "decode-spans"),
    "jaeger": ("traces",),
    "dump": ("request-dump", "crash-dump"),
    "client": ("client-view",),
    "vllm-requests": ("request-log",),
}


def switched(kind: str) -> list[str]:
    """How a server is made to write files of this kind; nothing where nobody needs to be told."""
    from ridgeline.words.flags import SWITCHES

    wanted = CARRIES.get(kind, (kind,))
    hows = list(dict.fromkeys(f"`{s.how}` ({s.engine})" for s in SWITCHES if s.signal in wanted and s.kind != "absent"))
    return ["Switched on with: " + "; ".join(hows) + ". Costs and versions: [flags](../flags.md)."] if hows else []


def flags_page() -> dict[str, str]:
    """`flags.md`: what to turn on before it is needed."""
    from ridgeline.words.flags import SWITCHES

    lines = [
        "# Flags to turn on before you need them",
        "",
        "What a diagnosis lacks can rarely be had afterwards. `ridgeline signals URL` says which of these a running",
        "server has on; this is the whole list.",
        "",
    ]
    for engine in dict.fromkeys(s.engine for s in SWITCHES):
        lines += [f"## {engine}", "", "| signal | how | gives | costs | mind |", "|---|---|---|---|---|"]
        for s in (s for s in SWITCHES if s.engine == engine and s.kind != "absent"):
            until = f" to {s.span.until}" if s.span.until else ""
            since = f" (from {s.span.since}{until})" if s.span.since else ""
            cells = (s.signal, f"`{s.how}`{since}", s.gives, s.cost, s.caution)
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
    return {"flags.md": "\n".join([*lines, MADE]) + "\n"}


def pages() -> dict[str, str]:
    """Every page by its path below docs/reference, and the index of them."""
    made = verb_pages() | cause_pages() | format_pages() | flags_page()
    index = ["# Reference", ""]
    for room in ("verbs", "causes", "formats"):
        names = sorted(name for name in made if name.startswith(f"{room}/"))
        index += [
            f"## {room}",
            "",
            *(f"- [{Path(name).stem if room != 'causes' else name[7:-3]}]({name})" for name in names),
            "",
        ]
    return made | {"index.md": "\n".join([*index, "[Flags to turn on beforehand](flags.md)", "", MADE]) + "\n"}


def main() -> None:
    """Write every page, and take away those that no longer are."""
    home = Path(sys.argv[1]) if len(sys.argv) > 1 else HOME
    made = pages()
    for name, text in made.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in home.rglob("*.md"):
        if str(path.relative_to(home)) not in made:
            path.unlink()


if __name__ == "__main__":
    main()
