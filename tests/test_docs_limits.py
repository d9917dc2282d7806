"""The bounds on the page of limits are the program's."""

import re
from pathlib import Path
from typing import Final

import pytest

from ridgeline.bundle.spill import SMALL_BYTES
from ridgeline.live import fetch, otlp, tail, watch
from ridgeline.replay import answer
from ridgeline.signals import settings, stream
from ridgeline.signals.exposition import book
from ridgeline.signals.log import unread

PAGE: Final = (Path(__file__).resolve().parents[1] / "docs" / "limits.md").read_text(encoding="utf-8")
MIB: Final = 1 << 20
ROWS: Final = {
    "a line of a source": f"{stream.LINE_LIMIT // MIB} MiB",
    "a source that must be read whole": f"{stream.WHOLE_LIMIT // MIB} MiB",
    "what a compressed frame may unpack to": f"{stream.ZSTD_BYTES // 1024} KiB",
    "rows in memory": f"{SMALL_BYTES // MIB} MiB",
    "series of one": f"{book.SERIES_LIMIT:,}",
    "settings of one server": f"{settings.KEY_LIMIT:,}, {settings.DEPTH_LIMIT} deep",
    "the text of a line": f"{unread.TEXT_LIMIT} characters",
    "one answer of a live server": f"{fetch.BODY_LIMIT // MIB} MiB",
    "one body of traces": f"{otlp.BODY_LIMIT // MIB} MiB",
    "what a followed log already holds": f"{tail.BACK_BYTES // MIB} MiB",
    "files followed at once": f"{tail.MOST_FILES:,}",
    "sealed incidents": f"{watch.MOST_KEPT}",
    "one answer of a replayed server": f"{answer.MOST_BODY // MIB} MiB",
}


@pytest.mark.parametrize(("what", "figure"), ROWS.items(), ids=ROWS)
def test_a_bound(what: str, figure: str) -> None:
    row = re.search(rf"^\| {re.escape(what)}[^|]*\|([^|]*)\|", PAGE, re.MULTILINE)
    assert row is not None, what
    assert figure in row[1], row[1]
