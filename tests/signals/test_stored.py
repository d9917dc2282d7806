"""Sources on storage that is reached by address (fsspec's own in-memory and local stores)."""

from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from ridgeline.bundle.find import find
from ridgeline.bundle.open import open_sources
from ridgeline.ladder.diagnose import coverage
from ridgeline.model.errors import InputError
from ridgeline.signals.stored import is_address

LOG = Path(__file__).resolve().parents[2] / "examples" / "incident" / "server.log"


@pytest.fixture
def store() -> Iterator[None]:
    fs = fsspec.filesystem("memory")
    fs.pipe("/logs/day/a/server.log", LOG.read_bytes())
    fs.pipe("/logs/day/b/server.log", LOG.read_bytes()[:90_000])
    fs.pipe("/logs/day/b/picture.png", b"x")
    yield
    fs.rm("/logs", recursive=True)


@pytest.mark.usefixtures("store")
def test_an_address_reads_like_the_file() -> None:
    here = coverage(open_sources([str(LOG)]))
    there = coverage(open_sources(["memory://logs/day/a/server.log"]))
    assert [(c.kind, c.rows, c.unparsed) for c in there] == [(c.kind, c.rows, c.unparsed) for c in here]


@pytest.mark.usefixtures("store")
def test_folders_and_patterns_of_addresses() -> None:
    assert [b.shown for b in find(["memory://logs"]).blobs] == ["a/server.log", "b/server.log"]
    assert [b.shown for b in find(["memory://logs/day/*/server.log", str(LOG)]).blobs] == [
        "server.log",
        "a/server.log",
        "b/server.log",
    ]


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("address", ["memory://logs/none.log", "memory://logs/day/*.txt", "nowhere://x/y"])
def test_an_address_of_nothing_is_one_line(address: str) -> None:
    with pytest.raises(InputError, match="address"):
        find([address])


@pytest.mark.parametrize("text", ["http://h/x", "https://h/x", "ray://h", "a/b.log", "C:\\logs", "://x", "s3://"])
def test_what_is_no_address(text: str) -> None:
    assert not is_address(text)
