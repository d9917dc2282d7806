"""Only this host is sent to, unless another was named."""

import socket
from collections.abc import Callable

import pytest

from ridgeline.model.errors import InputError, SourceUnavailable
from ridgeline.replay.target import alive, health, target_of
from tests.replay.conftest import Server, free_port


@pytest.mark.parametrize("url", ["http://127.0.0.1:30000", "http://localhost:30000/", "http://[::1]:30000"])
def test_this_host_is_fine(url: str) -> None:
    assert target_of(url).port == 30000 and not target_of(url).base.endswith("/")


def test_another_host_must_be_named() -> None:
    with pytest.raises(InputError, match=r"--allow-host 192\.0\.2\.1"):
        target_of("http://192.0.2.1:30000")
    assert target_of("http://192.0.2.1:30000", ["192.0.2.1"]).addresses == ("192.0.2.1",)
    with pytest.raises(InputError, match="--allow-host"):
        target_of("http://192.0.2.1:30000", ["192.0.2.10"])


def test_a_name_counts_by_where_it_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    def lookup(*_: object, **__: object) -> list[tuple[object, ...]]:
        return [(2, 1, 6, "", ("127.0.0.1", 80)), (2, 1, 6, "", ("203.0.113.7", 80))]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    with pytest.raises(InputError, match=r"203\.0\.113\.7"):
        target_of("http://looks-local.example:80")


@pytest.mark.parametrize(("url", "words"), [
    ("ftp://127.0.0.1", "not a server's URL"), ("127.0.0.1:30000", "not a server's URL"),
    ("http://", "not a server's URL"), ("http://127.0.0.1:99999", "not a server's URL"),
    ("http://user:secret@127.0.0.1:1", "--api-key-env"), ("http://no-such-name.invalid:1", "cannot be resolved"),
])  # fmt: skip
def test_what_is_no_target(url: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        target_of(url)
    assert "secret" not in str(caught.value)


def test_a_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARGET_KEY", "abc123")
    assert target_of("http://127.0.0.1:1", key_env="TARGET_KEY").headers == (("Authorization", "Bearer abc123"),)
    with pytest.raises(InputError, match="holds no key"):
        target_of("http://127.0.0.1:1", key_env="NOT_SET_AT_ALL")


def test_a_dead_target_is_one_line() -> None:
    target = target_of(f"http://127.0.0.1:{free_port()}")
    assert health(target).refused
    with pytest.raises(SourceUnavailable, match="nothing answers"):
        alive(target, 1.0)


def test_the_name_is_not_looked_up_again(serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve()
    target = target_of(server.url.replace("127.0.0.1", "localhost"))
    looked: list[object] = []
    real = socket.getaddrinfo

    def lookup(host: str | None, *rest: object, **more: object) -> object:
        looked.append(host)
        return real(host, *rest, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    assert health(target).up
    assert "localhost" not in looked
