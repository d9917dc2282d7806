"""A progress bar for long reads: on a terminal only, on standard error, and only once reading takes a moment."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

WORTH_SHOWING_S: Final = 0.7


@contextmanager
def progress(quiet: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """What to hand to `open_sources` as `on_progress`; None where nothing may be drawn."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    from ridgeline.report.escape import plain

    started = time.monotonic()
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn(),
        console=Console(stderr=True), transient=True, auto_refresh=False,
    )  # fmt: skip
    tasks: dict[str, TaskID] = {}
    drawn = 0.0

    def tell(path: str, done: int, total: int) -> None:
        nonlocal drawn
        if path not in tasks:
            for task in tasks.values():
                bar.remove_task(task)
            tasks.clear()
            tasks[path] = bar.add_task(escape(plain(path, 60)), total=total)
        bar.update(tasks[path], completed=done)
        now = time.monotonic()
        if now - started > WORTH_SHOWING_S and now - drawn > 0.1:
            drawn = now
            bar.start()
            bar.refresh()

    try:
        yield tell
    finally:
        bar.stop()
