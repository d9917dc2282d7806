"""`ridgeline open`: the page live on loopback, to brush time, filter, and follow a request to its raw lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from ridgeline.bundle.view import View
    from ridgeline.cli.workbench import Workbench


def open_page(
    *sources: str,
    port: int = 0,
    browser: bool = True,
    symptom: str = "auto",
    baseline: str | None = None,
    from_: Annotated[str | None, Parameter(name="--from")] = None,
    to: str | None = None,
    for_: Annotated[str, Parameter(name="--for")] = "60s",
    label: tuple[str, ...] = (),
    tz: str | None = None,
    year: int | None = None,
    keep_text: bool = False,
    lang: Literal["en", "zh"] = "en",
    quiet: bool = False,
) -> int:
    """Serve the incident as a live page on this machine only; leave with Control-C.

    Parameters
    ----------
    sources
        Files, folders, globs, - for standard input, one bundle, or http(s) URLs of servers (read-only).
    port
        The port on 127.0.0.1; by default one that is free.
    browser
        Open the page in the browser; --no-browser only prints its address.
    symptom
        As for diagnose.
    baseline
        As for diagnose.
    from_
        As for diagnose.
    to
        As for diagnose.
    for_
        As for diagnose.
    label
        As for diagnose.
    tz
        As for diagnose.
    year
        As for diagnose.
    keep_text
        Leave prompts in the raw lines that are shown; secrets are cut out either way.
    lang
        Language of the page: en or zh.
    quiet
        Print nothing but the address and errors.
    """
    from ridgeline.cli.evidence import watched
    from ridgeline.cli.moments import windows_of
    from ridgeline.cli.stored import as_stored
    from ridgeline.cli.workbench import Workbench

    with watched(sources, for_=for_, label=label, tz=tz, year=year, quiet=quiet) as view:
        incident, good = windows_of(view, from_, to, baseline, tz, sources)
        symptom = as_stored(sources)[0] if symptom == "auto" else symptom
        _roomy(view)
        bench = Workbench(view, tuple(sources), symptom, incident, good, keep_text, lang)
        _serve(bench, port, browser, lang)
    return 0


def _roomy(view: View) -> None:
    """Marks of ten million requests are half a gigabyte: a page that stays open may use a third of the memory."""
    import os

    bytes_ = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    view.con.execute(f"SET memory_limit = '{max(1024, bytes_ // 3 // 2**20)}MiB'")


def _serve(bench: Workbench, port: int, browser: bool, lang: str) -> None:
    import secrets
    import socket
    import threading
    import webbrowser

    from ridgeline.model.errors import InputError, Unsupported
    from ridgeline.report.page.draw import HOW
    from ridgeline.report.page.serve import app

    try:
        import uvicorn
    except ImportError as e:
        raise Unsupported(f"the live page {HOW}") from e
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
        listening.listen(128)  # a browser may ask the moment the address is printed
    except (OSError, OverflowError) as e:
        raise InputError(f"--port {port}: cannot be listened on ({e}); leave it out to take a free one") from e
    bound = listening.getsockname()[1]
    token = secrets.token_urlsafe(24)
    served = app(bench.asks(), token, hosts(bound), lang)
    warming = threading.Thread(target=bench.warm)
    warming.start()
    address = f"http://127.0.0.1:{bound}/?token={token}"
    print(address, flush=True)
    if browser:
        webbrowser.open(address)
    config = uvicorn.Config(served, log_level="warning", access_log=False, server_header=False, lifespan="off")
    try:
        with listening:
            uvicorn.Server(config).run(sockets=[listening])
    finally:
        warming.join()  # its tables are gone once the view is


def hosts(port: int) -> frozenset[str]:
    """The Host headers that a browser on this machine sends."""
    names: Sequence[str] = ("127.0.0.1", "localhost")
    return frozenset(f"{name}:{port}" for name in names)
