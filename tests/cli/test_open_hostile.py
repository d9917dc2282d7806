"""The live page, asked for nonsense by whoever holds its cookie: one line, never a trace of the program."""

from urllib.parse import quote, urlsplit

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.test_open import address, get

__all__ = ["address"]  # the fixture

PATHS = ("/", "/facets", "/part/picture/latency", "/part/picture/strips", "/part/size", "/part/request", "/part/lines",
         "/part/show", "/static/..%2f..%2fetc%2fpasswd", "/follow", "/%00", "/part/" + "x" * 3000)  # fmt: skip
KEYS = ("from", "to", "class", "rid", "evidence", "source", "line", "lang", "token", "n")
words = st.text(max_size=12) | st.sampled_from(
    ("nan", "-inf", "1e400", "E1", "dp_rank=1", "a=b=c", "' OR 1=1 --", "\0")
)
COOKIES: dict[str, str] = {}


@given(st.sampled_from(PATHS), st.dictionaries(st.sampled_from(KEYS), words, max_size=3))
@settings(max_examples=80, deadline=None)
def test_any_question(address: str, path: str, asked: dict[str, str]) -> None:
    if address not in COOKIES:
        COOKIES[address] = get(address, f"/?{urlsplit(address).query}").getheader("set-cookie").split(";")[0]
    query = "&".join(f"{key}={quote(value, errors='replace')}" for key, value in asked.items() if key != "token")
    answer = get(address, f"{path}?{query}", COOKIES[address])
    assert answer.status < 500, (path, query, answer.text[:300])
    assert "Traceback" not in answer.text and "root:x:" not in answer.text
    if answer.status == 400:
        assert "\n" not in answer.text.strip()
