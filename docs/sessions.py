"""Run the sessions shown in README files again and write their output in.

    python docs/sessions.py [FILE…]

A session is a ```console block of one `$ command` behind a `<!-- session: N lines of output -->` line; longer output
ends in a line `…`. `N lines of output from TEXT` begins at the first line that begins with TEXT.
tests/test_docs.py runs the same commands.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
SESSION: Final = re.compile(
    r"<!-- session: (?P<lines>\d+) lines of output(?: from (?P<start>[^\n]+?))? -->\n"
    r"```console\n\$ (?P<command>[^\n]+)\n(?P<output>.*?)```\n",
    re.S,
)


def output_of(command: str) -> str:
    """What a command prints, 110 columns wide. Raises CalledProcessError where it exits 1."""
    words = shlex.split(command)
    assert words[0] == "ridgeline", command
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300,
        env={**os.environ, "COLUMNS": "110", "NO_COLOR": "1"},
    )  # fmt: skip
    if done.returncode not in (0, 2, 3):
        raise subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
    return done.stdout


def shown(output: str, most: int, start: str | None = None) -> str:
    """The first lines (of those from ``start`` on), without trailing blanks."""
    lines = [line.rstrip() for line in output.strip("\n").split("\n")]
    if start is not None:
        lines = lines[next(at for at, line in enumerate(lines) if line.startswith(start)) :]
    return "\n".join(lines[:most] + (["…"] if len(lines) > most else [])) + "\n"


def refreshed(text: str) -> str:
    """The same page with every session run again."""

    def again(match: re.Match[str]) -> str:
        body = shown(output_of(match["command"]), int(match["lines"]), match["start"])
        return f"{match[0].partition('```console')[0]}```console\n$ {match['command']}\n{body}```\n"

    return SESSION.sub(again, text)


def main() -> None:
    """Refresh the given pages, or the READMEs."""
    for path in [Path(p) for p in sys.argv[1:]] or [ROOT / "README.md", ROOT / "README.zh-CN.md"]:
        path.write_text(refreshed(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
