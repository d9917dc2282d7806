"""The served lab, asked for nonsense: an answer below 500 each time, and it goes on serving."""

import http.client
import json
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lab.serve.conftest import Served

PATHS = ("/generate", "/v1/completions", "/v1/chat/completions", "/abort_request", "/flush_cache", "/lab/fault",
         "/configure_logging", "/v1/loads", "/server_info", "/metrics", "/nothing/../here")  # fmt: skip
KEYS = ("text", "input_ids", "prompt", "messages", "sampling_params", "max_tokens", "n", "stream", "rid", "fault",
        "off", "severity", "abort_all", "log_requests", "log_requests_level", "model", "stop", "room")  # fmt: skip
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=6,
)
bodies = st.dictionaries(st.sampled_from(KEYS), values, max_size=4).map(lambda v: json.dumps(v).encode())
bodies = bodies | st.binary(max_size=40)


@pytest.fixture(scope="module")
def server(lab_serve: Callable[..., Served]) -> Served:
    return lab_serve("--size", "fast")


@given(st.sampled_from(PATHS), st.sampled_from(("GET", "POST", "PUT", "DELETE", "BREW")), bodies)
@settings(max_examples=120, deadline=None)
def test_any_request_is_answered_in_words(server: Served, path: str, method: str, body: bytes) -> None:
    status, said = asked(server, path, method, body)
    assert 200 <= status < 500, (path, method, body, said)
    assert "Traceback" not in said


def test_it_still_serves(server: Served) -> None:
    asked(server, "/lab/fault", "DELETE", b"")
    assert asked(server, "/health", "GET", b"")[0] == 200


def asked(server: Served, path: str, method: str, body: bytes) -> tuple[int, str]:
    parts = urlsplit(server.gate)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=30)
    try:
        connection.request(method, path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read(200_000).decode("utf-8", "replace")
    finally:
        connection.close()
