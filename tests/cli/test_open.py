"""The live page: who may ask, what a brush does, and the way from a cell to a raw line."""

from __future__ import annotations

import http.client
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from ridgeline.bundle.open import open_sources
from ridgeline.facts.pictures.differs import differs
from ridgeline.facts.pictures.marks import Selection, latency, listed, size
from ridgeline.facts.pictures.who import waterfall
from ridgeline.facts.timeline import twin
from ridgeline.ladder.diagnose import diagnose
from ridgeline.model.diagnosis import Window
from ridgeline.report.page.words import said
from tests.report.page.browser import FAULTS, chromium, opened

INCIDENT: Final = str(Path(__file__).resolve().parents[2] / "examples" / "incident")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    command = [sys.executable, "-m", "ridgeline", "open", INCIDENT, "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        line = child.stdout.readline().strip()
        assert line.startswith("http://127.0.0.1:"), line
        yield line
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=20)
    assert said == ""


def get(address: str, path: str, cookie: str = "", host: str = "", method: str = "GET", **more: str) -> Any:
    parts = urlsplit(address)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=30)
    headers = {"Host": host or parts.netloc, **({"Cookie": cookie} if cookie else {}), **more}
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    answer.text = answer.read().decode()  # type: ignore[attr-defined]
    connection.close()
    return answer


def test_only_the_token_opens_and_only_for_this_host(address: str) -> None:
    token = address.partition("?token=")[2]
    path = f"/?token={token}"
    assert get(address, "/").status == 403
    assert get(address, "/?token=wrong").status == 403
    assert get(address, "/facets").status == 403
    assert get(address, "/facets?token=" + token).status == 403  # the token opens the page, nothing else
    assert get(address, path, host="evil.example").status == 403
    first = get(address, path)
    assert first.status == 303 and first.getheader("location") == "/"
    cookie = first.getheader("set-cookie")
    assert "HttpOnly" in cookie and "samesite=strict" in cookie.lower()
    cookie = cookie.split(";")[0]
    assert get(address, "/facets", cookie).status == 200
    assert get(address, "/facets", cookie, host="evil.example:80").status == 403
    assert get(address, "/facets", cookie, host="127.0.0.1").status == 403  # another port
    assert get(address, "/facets", cookie, method="POST").status == 403
    assert get(address, "/facets", cookie, **{"Sec-Fetch-Site": "cross-site"}).status == 403
    page = get(address, "/", cookie)
    policy = page.getheader("content-security-policy")
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert page.getheader("x-content-type-options") == "nosniff"
    assert token not in page.text


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/part/picture/latency?from=abc", "no number"),
        ("/part/picture/latency?from=nan", "no number"),
        ("/part/picture/nonsense", "no picture"),
        ("/part/size?class=x", "NAME=VALUE"),
        ("/part/request?rid=none-such", "no request"),
    ],
)
def test_a_bad_question_is_one_line(address: str, path: str, words: str) -> None:
    cookie = get(address, f"/?{urlsplit(address).query}").getheader("set-cookie").split(";")[0]
    answer = get(address, path, cookie)
    assert answer.status == 400 and words in answer.text and "\n" not in answer.text


def turned(page: Any, n: int) -> str:
    page.wait_for_selector(f"body[data-turn='{n}']", timeout=30_000)
    return str(page.inner_text("#status"))


def test_brush_filter_and_follow(address: str) -> None:
    view = open_sources([INCIDENT])
    whole = size(view, Selection())[0]
    own = address.partition("?")[0]
    with chromium() as browser, opened(browser, address, own=own) as (page, heard):
        assert turned(page, 1).startswith(f"{whole} of {whole} requests")
        page.wait_for_selector("body[data-story='ready']", timeout=60_000)
        assert "routing.hot-key" in page.inner_text("#summary")
        assert page.evaluate(FAULTS) == []

        # brush: drag over the middle of the heatmap; fewer requests, and the numbers are those of that window
        box = page.locator("#slot-heat svg").bounding_box()
        y = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + box["width"] * 0.5, y)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.8, y, steps=3)
        page.mouse.up()
        told = turned(page, 2)
        n = int(told.split(" ")[0])
        assert 0 < n < whole
        assert page.locator("#slot-heat .brush").count() == 1  # it stays drawn
        ends = [float(v) for v in re.findall(r"(?:from|to)=([\d.]+)", heard_last(page))]
        picked = Selection(*ends)
        assert size(view, picked)[0] == n
        read = page.evaluate("[...document.querySelectorAll('#picture-latency td data')].map((e) => Number(e.value))")
        wanted = latency(view, [("selection", "incident", picked)])
        mine = [row for row in wanted.rows if row[1] == "selection"]
        wide = numbers(mine)
        per = len(wide) // len(mine)
        rows = [read[k : k + per] for k in range(0, len(read), per)]
        assert rows[1::2] == [pytest.approx(wide[k : k + per], rel=1e-9) for k in range(0, len(wide), per)]

        # a rank: fewer still, then everything again
        page.select_option("#rank", "1")
        assert int(turned(page, 3).split(" ")[0]) == size(view, Selection(*ends, rank=1))[0] < n
        page.click("#clear")
        assert turned(page, 4).startswith(f"{whole} of {whole}")
        page.fill("#class", "routing_key=tenant-7")
        page.press("#class", "Enter")
        assert int(turned(page, 5).split(" ")[0]) == size(view, Selection(key="tenant-7"))[0]
        page.click("#clear")
        turned(page, 6)

        # a cell → its requests → one of them → its raw line
        cell = page.locator("#slot-heat rect.c").last
        count = int(cell.get_attribute("data-n"))
        cell.click()
        page.wait_for_selector(f"#request-rows tbody tr:nth-child({count}):last-child")
        assert numbers_in(page, "#request-rows") == pytest.approx(of_cell(page, view, cell), rel=1e-11)
        rid = page.locator("#request-rows [data-rid]").first
        name = rid.inner_text()
        rid.click()
        page.wait_for_selector("#picture-request svg")
        assert name in page.inner_text("#picture-request figcaption")
        drawn = waterfall(view, [(name, twin(view, name))])
        assert numbers_in(page, "#picture-request") == pytest.approx(numbers(drawn.rows), rel=1e-11)
        page.locator("#request [data-cite]").first.click()
        page.wait_for_selector("pre.lines")
        assert name in page.inner_text("pre.lines")

        # what differs, and the ladder again, on a stretch chosen by keyboard
        page.focus("#from")
        for _ in range(5):
            page.keyboard.press("PageUp")
        turned(page, 11)
        page.click("#differs")
        page.wait_for_selector("#picture-differs")
        ends = [float(v) for v in re.findall(r"(?:from|to)=([\d.]+)", heard_last(page))]
        assert f"{size(view, Selection(*ends))[0]} of {whole} requests" in page.inner_text("#picture-differs")
        page.click("#rungs")
        page.wait_for_selector("#answer .ladder", timeout=120_000)
        first = diagnose(view, sources=(INCIDENT,))
        again = diagnose(view, incident=Window(*ends), baseline=first.baseline, sources=(INCIDENT,))
        told = page.inner_text("#answer")
        assert again.findings[0].cause == "routing.hot-key" and again.findings[0].cause in told
        for a in again.ladder:
            assert a.state == "not-reached" or said(a.answer, "en") in told, a.rung

        # the same for one rank only: the ladder is asked of its requests alone
        page.select_option("#rank", "1")
        turned(page, 12)
        page.evaluate("document.getElementById('answer').replaceChildren()")
        page.click("#differs")
        page.wait_for_selector("#picture-differs")
        marks = differs(view, Selection(*ends, rank=1))
        assert numbers_in(page, "#picture-differs") == pytest.approx(numbers(marks.rows), rel=1e-11) and marks.rows
        page.evaluate("document.getElementById('answer').replaceChildren()")
        page.click("#rungs")
        page.wait_for_selector("#answer .ladder", timeout=120_000)
        assert page.inner_text("#answer") != told
    assert (heard.console, heard.asked, heard.dialogs) == ([], [], [])


def numbers_in(page: Any, at: str) -> list[float]:
    """The numbers that a part of the page shows, as it holds them for programs."""
    return list(page.evaluate(f"[...document.querySelectorAll('{at} td data')].map((e) => Number(e.value))"))


def numbers(rows: Any) -> list[float]:
    return [v for row in rows for v in row if isinstance(v, int | float) and not isinstance(v, bool)]


def of_cell(page: Any, view: Any, cell: Any) -> list[float]:
    """The numbers of the requests of one cell of the heatmap, asked of the view itself."""
    at = {k: float(v) for k, v in page.evaluate("({...document.querySelector('#slot-heat .cells').dataset})").items()
          if k in ("from", "to", "bins")}  # fmt: skip
    edges = [float(v) for v in page.get_attribute("#slot-heat .cells", "data-edges").split(" ")]
    x, y = (int(cell.get_attribute(f"data-{k}")) for k in "xy")
    step = (at["to"] - at["from"]) / at["bins"]
    since = at["from"] + step * x
    last = 1e-6 if x == at["bins"] - 1 else 0.0
    low, high = (None if y == 0 else edges[y]), (None if y == len(edges) - 2 else edges[y + 1])
    return numbers(listed(view, Selection(since, since + step + last, low_s=low, high_s=high)))


def heard_last(page: Any) -> str:
    """The address of the last question for latencies that the page asked."""
    asked = page.evaluate("performance.getEntriesByType('resource').map((e) => e.name)")
    return [name for name in asked if "/part/picture/latency" in name][-1]
