"""Without the extra each door says in one line what to install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

SMALL: Final = str(Path(__file__).resolve().parents[3] / "examples" / "incident" / "loads.scrapes.txt")


@pytest.mark.parametrize(
    ("missing", "arguments", "extra"),
    [
        ("jinja2", ["report", SMALL, "-o", "x.html", "--keep-text"], "page"),
        ("vl_convert", ["report", SMALL, "-o", "x.png", "--picture", "ranks", "--keep-text"], "page"),
        ("uvicorn", ["open", SMALL, "--no-browser"], "page"),
        ("starlette", ["open", SMALL, "--no-browser"], "page"),
        ("mcp.server", ["mcp"], "mcp"),
    ],
)
def test_a_missing_extra_is_named(missing: str, arguments: list[str], extra: str, tmp_path: Path) -> None:
    code = f"import sys\nsys.modules[{missing!r}] = None\nfrom ridgeline.cli import main\nmain({arguments!r})\n"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path
    )
    assert done.returncode == 1
    assert f"ridgeline[{extra}]" in done.stderr and len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert list(tmp_path.iterdir()) == []
