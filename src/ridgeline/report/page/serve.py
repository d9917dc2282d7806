"""The live page on loopback: a token opens it once, a cookie keeps it open, and only this host may ask.

Every route only reads. Answers are fragments that were escaped here; the page's one script is allowed by its hash.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from ridgeline.model.chart import Picture
from ridgeline.model.diagnosis import Diagnosis
from ridgeline.model.errors import RidgelineError, Unsupported
from ridgeline.report.page.content import Page
from ridgeline.report.page.draw import HOW
from ridgeline.report.page.render import figure, fragment, part, shell, style

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

PICTURES: Final = ("heat", "latency", "ranks", "slices")
Chosen = Mapping[str, Any]
Rows = tuple[tuple[str, ...], list[tuple[Any, ...]]]


@dataclass(frozen=True)
class Asks:
    """What the page may ask; each is a plain function that may take its time (it runs in a thread)."""

    story: Callable[[], Page]
    facets: Callable[[], dict[str, Any]]
    size: Callable[[Chosen], str]
    picture: Callable[[str, Chosen], Picture]
    requests: Callable[[Chosen], Rows]
    request: Callable[[str], tuple[Picture, list[str]]]
    lines: Callable[[str], list[tuple[str, int | None, str]]]
    differs: Callable[[Chosen], Picture]
    rungs: Callable[[Chosen], Diagnosis]
    mistakes: tuple[type[Exception], ...] = ()  # raised by the evidence's own store: told in one line


def app(asks: Asks, token: str, hosts: frozenset[str], lang: str = "en") -> Starlette:
    """The application. `hosts` are the values of the Host header that are answered. Raises Unsupported."""
    try:
        from starlette.applications import Starlette
        from starlette.concurrency import run_in_threadpool
        from starlette.middleware import Middleware
        from starlette.middleware.base import BaseHTTPMiddleware
        from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse
        from starlette.routing import Route
    except ImportError as e:
        raise Unsupported(f"the live page {HOW}") from e

    script = _script()
    headers, cookie = _headers(style(live=True), script), cookie_of(token)

    async def guard(request: Request, call: Callable[[Request], Awaitable[Response]]) -> Response:
        refused = _refused(request, token, hosts)
        if refused is not None:
            return PlainTextResponse(refused, 403, headers)
        answer = await call(request)
        answer.headers.update(headers)
        return answer

    def told(make: Callable[[Request], str]) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            try:
                return HTMLResponse(await run_in_threadpool(make, request))
            except RidgelineError as e:
                return PlainTextResponse(str(e), 400)
            except asks.mistakes as e:
                return PlainTextResponse(f"the tables cannot be asked: {str(e).splitlines()[0][:300]}", 500)

        return answer

    async def home(request: Request) -> Response:
        if "token" in request.query_params:
            opened = RedirectResponse("/", 303)
            opened.set_cookie(cookie, token, httponly=True, samesite="strict", path="/")
            return opened
        return HTMLResponse(shell(lang, script))

    def picture(request: Request) -> str:
        name = request.path_params["name"]
        if name not in PICTURES:
            raise Unsupported(f"no picture {name!r}: ask for one of {', '.join(PICTURES)}")
        return figure(asks.picture(name, chosen_of(request.query_params)), lang)

    def requests(request: Request) -> str:
        columns, rows = asks.requests(chosen_of(request.query_params))
        return fragment("requests", lang, rows, columns)

    def one(request: Request) -> str:
        return fragment("request", lang, *asks.request(request.query_params.get("rid", "")))

    routes = {
        "/facets": lambda request: json.dumps(asks.facets()),
        "/part/story": lambda request: part(asks.story(), "story"),
        "/part/size": lambda request: asks.size(chosen_of(request.query_params)),
        "/part/picture/{name}": picture,
        "/part/requests": requests,
        "/part/request": one,
        "/part/lines": lambda request: fragment("lines", lang, asks.lines(request.query_params.get("cite", ""))),
        "/part/differs": lambda request: figure(asks.differs(chosen_of(request.query_params)), lang),
        "/part/rungs": lambda request: fragment("rungs", lang, asks.rungs(chosen_of(request.query_params))),
    }
    return Starlette(
        routes=[Route("/", home), *(Route(path, told(make)) for path, make in routes.items())],
        middleware=[Middleware(BaseHTTPMiddleware, dispatch=guard)],
    )


def cookie_of(token: str) -> str:
    """The cookie's name: cookies are shared by all ports of a host, so each page has one of its own."""
    return f"ridgeline-{hashlib.sha256(token.encode()).hexdigest()[:10]}"


def chosen_of(query: Mapping[str, str]) -> dict[str, Any]:
    """A selection from the query. Raises Unsupported where a part of it is none."""
    out: dict[str, Any] = {}
    for name in ("from", "to", "low", "high"):
        if text := query.get(name):
            out[name] = _number(name, text)
    if text := query.get("rank"):
        out["rank"] = int(_number("rank", text))
    if text := query.get("key"):
        out["key"] = text
    if text := query.get("class"):
        attribute, equals, value = text.partition("=")
        if not equals or not value:
            raise Unsupported(f"class {text[:80]!r}: write NAME=VALUE, such as stream=true")
        out["attribute"], out["value"] = attribute.strip(), value.strip()
    return out


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or abs(value) > 1e15:
        raise Unsupported(f"{name} {text[:40]!r}: is no number")
    return value


def _refused(request: Request, token: str, hosts: frozenset[str]) -> str | None:
    """Why a request is not answered; None where it may be."""
    if request.headers.get("host", "") not in hosts:
        return "this page is only served to the host it was opened for"
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return "another site may not ask here"
    if request.method != "GET":
        return "this page only reads"
    given = request.cookies.get(cookie_of(token), "")
    if request.url.path == "/" and "token" in request.query_params:
        given = request.query_params["token"]
    if not hmac.compare_digest(given.encode(), token.encode()):
        return "open the address that `ridgeline open` printed: it carries the token"
    return None


def _script() -> str:
    return resources.files("ridgeline.report.page").joinpath("templates", "live.js").read_text("utf-8")


def _headers(css: str, script: str) -> dict[str, str]:
    def digest(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    policy = (
        f"default-src 'none'; style-src 'sha256-{digest(css)}'; script-src 'sha256-{digest(script)}'; "
        "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return {
        "Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin",
    }  # fmt: skip
