"""Poll a live server with plain GETs and append what it answers, byte for byte, behind a line that times each answer.

`#### scrape ts=<epoch seconds> took=<seconds> status=<HTTP status, 0 when nothing came> url=<url>`

Nothing is ever sent but GET. A slow or dead endpoint delays only itself: every endpoint has its own thread and clock.
"""

import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Sequence
from http.client import HTTPException, HTTPMessage, HTTPResponse, IncompleteRead
from pathlib import Path
from typing import IO, Final

from ridgeline.live.endpoints import ENDPOINTS, Endpoint, header
from ridgeline.model.errors import InputError, SourceUnavailable

ANSWER_LIMIT: Final = 64 * 1024 * 1024
TIMEOUT_S: Final = 10.0
EVERY_S: Final = 1.0  # what is asked often; the rest is asked at the start and at the end


class _SameHost(urllib.request.HTTPRedirectHandler):
    """Follows a redirect only to the same host and port: a server must not send us elsewhere."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        if urllib.parse.urlsplit(newurl).netloc != urllib.parse.urlsplit(req.full_url).netloc:
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)


_OPENER: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}), _SameHost())


def get(url: str, timeout_s: float = TIMEOUT_S) -> tuple[int, bytes]:
    """(status, body up to `ANSWER_LIMIT`) of one GET; status 0 and the reason as body where nothing came."""
    try:
        until = time.monotonic() + timeout_s
        with _OPENER.open(urllib.request.Request(url, method="GET"), timeout=timeout_s) as answer:
            return answer.status, _whole(answer, until)
    except urllib.error.HTTPError as e:
        with e:
            return e.code, e.read(ANSWER_LIMIT)
    except (OSError, HTTPException, ValueError) as e:
        return 0, f"{type(e).__name__}: {e}".encode()


def _whole(answer: HTTPResponse, until: float) -> bytes:
    """The body. Raises TimeoutError where it is not there in time, as from a server that drips."""
    parts, size = [], 0
    while size < ANSWER_LIMIT and (part := answer.read1(ANSWER_LIMIT - size)):
        if time.monotonic() > until:
            raise TimeoutError("no whole answer in time")
        parts.append(part)
        size += len(part)
    if answer.length and size < ANSWER_LIMIT:
        raise IncompleteRead(b"", answer.length)
    return b"".join(parts)


def collect(
    urls: Sequence[str], folder: Path, for_s: float, on_progress: Callable[[float, float], None] | None = None
) -> Path:
    """Poll every URL for `for_s` seconds into `folder/<host>_<port>/`; returns the folder.

    Raises InputError for something that is no http(s) URL, SourceUnavailable where no server answered at all.
    """
    stop, answered = threading.Event(), threading.Event()
    threads: list[threading.Thread] = []
    bases = [base_of(url) for url in urls]
    for base in bases:
        home = folder / urllib.parse.urlsplit(base).netloc.replace(":", "_").replace("[", "").replace("]", "")
        home.mkdir(parents=True, exist_ok=True)
        threads.extend(
            threading.Thread(target=_follow, args=(base, endpoint, home, stop, answered), daemon=True)
            for endpoint in ENDPOINTS
        )
    began = time.monotonic()
    for thread in threads:
        thread.start()
    try:
        while (done := time.monotonic() - began) < for_s:
            if on_progress is not None:
                on_progress(done, for_s)
            time.sleep(min(0.2, for_s - done))
    finally:
        stop.set()
        for thread in threads:
            thread.join(TIMEOUT_S + 1.0)
    if not answered.is_set():
        raise SourceUnavailable(f"{', '.join(bases)}: no endpoint answered; is the server up and the port right?")
    return folder


def base_of(url: str) -> str:
    """A server's URL without a trailing slash, query or fragment. Raises InputError where it is none."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise InputError(f"{url}: not a server's URL; write http://HOST:PORT")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _follow(base: str, endpoint: Endpoint, home: Path, stop: threading.Event, answered: threading.Event) -> None:
    path = endpoint.path
    with (home / endpoint.file).open("ab") as out:
        status = _scrape(base + path, out)
        for other in endpoint.instead:
            if status != 404:
                break
            path = other
            status = _scrape(base + path, out)
        if status > 0:
            answered.set()
        if status == 404:
            return  # this version has no such endpoint: nothing to poll
        tick = time.monotonic()
        while endpoint.often:
            # A steady clock: the next tick does not drift with the time an answer takes; missed ticks are skipped.
            tick = max(tick + EVERY_S, time.monotonic())
            if stop.wait(max(0.0, tick - time.monotonic())):
                return
            _scrape(base + path, out)
        stop.wait()
        _scrape(base + path, out)


def _scrape(url: str, out: IO[bytes]) -> int:
    ts, began = time.time(), time.monotonic()
    status, body = get(url)
    if status == 404:
        return status
    took = time.monotonic() - began
    if status == 0:  # keep the gap as a comment-free one-line body, so that a missing answer is a row of its own
        body = body.replace(b"\n", b" ")
    out.write(header(url, ts, took, status) + body.rstrip(b"\n") + b"\n")
    out.flush()
    return status
