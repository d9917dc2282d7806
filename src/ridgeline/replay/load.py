"""What a replay is pointed at → shots: dumps, one scenario, one bundle, or raw recordings. Told by content."""

from collections.abc import Sequence
from pathlib import Path

import duckdb

from ridgeline.bundle.find import is_bundle
from ridgeline.bundle.open import open_sources
from ridgeline.model.errors import InputError
from ridgeline.replay.from_dump import load_dumps
from ridgeline.replay.from_traffic import load_scenario, load_view
from ridgeline.replay.shot import Load
from ridgeline.scenario.files import read_scenario
from ridgeline.scenario.model import ScenarioError
from ridgeline.signals.detect import detect
from ridgeline.signals.stream import Blob


def load(sources: Sequence[str]) -> Load:
    """The requests of the sources. Raises InputError where there is none, or where kinds are mixed."""
    if not sources:
        raise InputError("nothing to replay: give a dump, a scenario, a bundle or recorded sources")
    paths = [found for source in sources for found in _files(Path(source))]
    dumps = [path for path in paths if path.is_file() and _is_dump(path)]
    if dumps and len(dumps) == len(paths):
        return load_dumps(dumps)
    if dumps:
        other = next(path for path in paths if path not in dumps)
        raise InputError(f"{other}: is no dump, {dumps[0]} is one; replay one kind at a time")
    if len(paths) == 1 and _is_parquet(paths[0]):
        try:
            return load_scenario(read_scenario(paths[0]), paths[0].name)
        except ScenarioError as e:
            raise InputError(str(e)) from e
    try:
        return load_view(open_sources(list(sources)), Path(sources[0]).name)
    except duckdb.Error as e:
        reason = str(e).splitlines()[0][:200]
        raise InputError(f"{', '.join(sources)}: its tables cannot be read ({reason}); ingest again") from e


def _files(path: Path) -> list[Path]:
    """The path itself, or the dumps of a folder that holds nothing else."""
    if not path.is_dir() or is_bundle(path):
        return [path]
    inside = sorted(p for p in path.rglob("*") if p.is_file() and not p.name.startswith("."))
    return inside if inside and all(_is_dump(p) for p in inside) else [path]


def _is_dump(path: Path) -> bool:
    return detect(Blob(str(path), path).head(4096)) == "dump"


def _is_parquet(path: Path) -> bool:
    try:
        with path.open("rb") as f:
            return f.read(4) == b"PAR1"
    except OSError:
        return False
