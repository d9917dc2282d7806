"""The order of imports between rooms (DESIGN §6), and what `--help` may not load."""

import ast
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

SRC: Final = Path(__file__).resolve().parents[1] / "src" / "ridgeline"

# room → the rooms it may import from, besides itself and the package's own __init__.
MAY: Final[dict[str, set[str]]] = {
    "words": set(),
    "model": {"words"},
    "stats": {"words", "model"},
    "signals": {"words", "model", "stats"},
    "bundle": {"words", "model", "stats", "signals", "spread"},
    "prefix": {"words", "model", "stats", "signals", "bundle"},
    "facts": {"words", "model", "stats", "signals", "bundle", "prefix"},
    "causes": {"words", "model", "stats", "signals", "bundle", "prefix", "facts"},
    "ladder": {"words", "model", "stats", "signals", "bundle", "prefix", "facts", "causes"},
    "scenario": {"words", "model", "stats", "signals", "bundle"},
    "sim": {"words", "model", "stats", "signals", "bundle", "scenario", "spread"},
    "replay": {"words", "model", "stats", "signals", "bundle", "scenario"},
    "verdict": {"words", "model", "stats", "bundle"},
    "live": {"words", "model", "stats", "signals", "bundle"},
    "lab": {"words", "model", "stats", "scenario", "sim", "spread"},
    "report": {"words", "model", "stats"},
    "spread": {"model"},
    "export": {"words", "model", "stats", "signals", "bundle", "prefix", "facts", "scenario"},
}
# rooms inside a room with a narrower rule
NARROW: Final[dict[str, set[str]]] = {
    "lab/faults": {"words", "lab/faults"},
    "lab/emit": {"words", "lab/emit"},
    "report/page": {"words", "model", "stats", "report", "ladder"},
}


def _imports(path: Path) -> set[str]:
    """Rooms of ridgeline that a file imports, with the second level where one is named (`lab/emit`)."""
    out = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: a relative import hides where it goes"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "ridgeline" and len(parts) > 1:
                out.add("/".join(parts[1:3]))
    return out


FILES: Final = sorted(SRC.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SRC)))
def test_nothing_imports_upward(path: Path) -> None:
    inside = path.relative_to(SRC).parts
    if len(inside) == 1 or inside[0] == "cli":
        return  # the cli joins everything; the package's own __init__ and __main__ stand above it
    room, narrow = inside[0], "/".join(inside[:2])
    allowed = MAY[room] | {room}
    for target in _imports(path):
        if target.startswith("__version__"):
            continue
        if narrow in NARROW:
            ok = target in NARROW[narrow] or target.split("/")[0] in NARROW[narrow]
        else:
            ok = target.split("/")[0] in allowed
        assert ok, f"{path.relative_to(SRC)} imports ridgeline.{target.replace('/', '.')}"


def test_every_room_is_in_the_order() -> None:
    rooms = {p.name for p in SRC.iterdir() if p.is_dir() and (p / "__init__.py").exists()}
    assert rooms - {"cli"} <= set(MAY)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], []], ids=["help", "version", "bare"])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\nfrom ridgeline.cli import main\n"
        f"try:\n    main({arguments!r})\nexcept SystemExit:\n    pass\n"
        "print([m for m in ('duckdb', 'numba', 'scipy', 'pyarrow', 'numpy') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr.strip() == "[]"
    assert "diagnose" in done.stdout or arguments == ["--version"]
