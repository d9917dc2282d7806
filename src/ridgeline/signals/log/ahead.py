"""A stage of a pipeline in a thread of its own: the next items are made while the current one is used.

Large logs gain from two such stages on two cores, because nearly all of their work is in numpy and Arrow, which let
other threads run. Order is kept; an error is raised where the item would have been.
"""

import queue
import threading
from collections.abc import Generator, Iterator
from typing import Final, TypeVar

T = TypeVar("T")
WAIT_S: Final = 0.2


class _End:
    """The last thing in the queue, with the error that ended the stage, if any."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


def ahead(source: Iterator[T], depth: int = 1) -> Generator[T, None, None]:
    """The items of `source`, made by another thread at most `depth` items ahead."""
    items: queue.Queue[T | _End] = queue.Queue(depth)
    stopped = threading.Event()

    def put(item: T | _End) -> bool:
        while not stopped.is_set():
            try:
                items.put(item, timeout=WAIT_S)
            except queue.Full:
                continue
            return True
        return False

    def work() -> None:
        error: BaseException | None = None
        try:
            for item in source:
                if not put(item):
                    return
        except BaseException as e:  # handed to the reader of the queue, which raises it
            error = e
        put(_End(error))

    thread = threading.Thread(target=work, name="ridgeline-log-stage", daemon=True)
    thread.start()
    try:
        while True:
            item = items.get()
            if isinstance(item, _End):
                if item.error is not None:
                    raise item.error
                return
            yield item
    finally:
        stopped.set()
        thread.join()
