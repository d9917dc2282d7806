"""The server that is sent to: only one on this host, unless its name was allowed; looked up once and kept to."""

import ipaddress
import os
import socket
import ssl
import urllib.parse
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException

import msgspec

from ridgeline.model.errors import InputError, SourceUnavailable, Unsupported


@dataclass(frozen=True)
class Target:
    """A server's base URL and the addresses its name had when it was checked; nothing else is connected to."""

    base: str  # without credentials
    host: str
    port: int
    addresses: tuple[str, ...]
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Health:
    """One answer of /health: `status` 0 where no answer came, then `reason` says why."""

    status: int
    reason: str

    @property
    def up(self) -> bool:
        """Healthy, or a server that has no such path."""
        return self.status in (200, 404)

    @property
    def refused(self) -> bool:
        """Nothing listens there."""
        return self.status == 0 and "refused" in self.reason


def target_of(url: str, allow_hosts: Sequence[str] = (), key_env: str | None = None) -> Target:
    """The checked target.

    Raises InputError for no URL, for a host that is not loopback and not allowed, or a name that resolves to nothing.
    """
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    except ValueError as e:
        raise InputError(f"{url}: not a server's URL ({e}); write http://HOST:PORT") from e
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"{url}: not a server's URL; write http://HOST:PORT")
    if parts.username or parts.password:
        raise InputError(f"{parts.hostname}: leave user and password out of the URL; give the key with --api-key-env")
    host = parts.hostname.lower()
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as e:
        raise InputError(f"{host}: cannot be resolved ({e}); check the name in --to") from e
    addresses = tuple(dict.fromkeys(str(info[4][0]) for info in found))
    outside = [a for a in addresses if not ipaddress.ip_address(a.partition("%")[0]).is_loopback]
    if outside and host not in {name.lower() for name in allow_hosts}:
        raise InputError(f"{host}: is not this host ({outside[0]}); replay sends to it: agree with --allow-host {host}")
    shown = f"[{host}]" if ":" in host else host
    base = f"{parts.scheme}://{shown}:{port}{parts.path.rstrip('/')}"
    return Target(base, host, port, addresses, _key(key_env))


def _key(name: str | None) -> tuple[tuple[str, str], ...]:
    if name is None:
        return ()
    value = os.environ.get(name, "")
    if not value or not value.isascii() or not value.isprintable():
        raise InputError(f"--api-key-env {name}: this environment variable holds no key")
    return (("Authorization", f"Bearer {value}"),)


def http_library() -> None:
    """Raises Unsupported, naming what to install, where aiohttp is missing."""
    try:
        import aiohttp  # noqa: F401
    except ImportError as e:
        raise Unsupported("sending requests needs aiohttp: pip install 'ridgeline[live]'") from e


def fetch(target: Target, path: str, timeout_s: float) -> tuple[int, bytes]:
    """(status, at most 1 MiB of body) of one GET; status 0 and the reason where no answer came. Follows no redirect."""
    base = urllib.parse.urlsplit(target.base)
    reason: Exception = OSError("no address")
    for address in target.addresses:
        connection = HTTPConnection(target.host, target.port, timeout=timeout_s)
        try:
            connection.sock = _connected(target, address, base.scheme == "https", timeout_s)
            connection.request("GET", base.path + path, headers=dict(target.headers))
            answer = connection.getresponse()
            return answer.status, answer.read(1 << 20) if answer.status < 300 else b""
        except (OSError, HTTPException, ValueError) as e:
            reason = e
        finally:
            connection.close()
    said = reason.strerror if isinstance(reason, OSError) and reason.strerror else str(reason) or type(reason).__name__
    return 0, said.lower().encode()


def _connected(target: Target, address: str, tls: bool, timeout_s: float) -> socket.socket:
    """A connection to one of the checked addresses: the name is not looked up again."""
    sock = socket.create_connection((address, target.port), timeout_s)
    if not tls:
        return sock
    try:
        return ssl.create_default_context().wrap_socket(sock, server_hostname=target.host)
    except OSError:
        sock.close()
        raise


def health(target: Target, timeout_s: float = 25.0) -> Health:
    """Ask /health once. SGLang answers 503 while it starts, and after 20 s where nothing comes back from the engine."""
    status, body = fetch(target, "/health", timeout_s)
    return Health(status, body.decode("utf-8", "replace") if status == 0 else f"HTTP {status}")


def alive(target: Target, timeout_s: float = 25.0) -> None:
    """Raises SourceUnavailable, with what to do, where the target cannot be sent to."""
    found = health(target, timeout_s)
    if found.status == 0:
        raise SourceUnavailable(f"{target.base}: nothing answers ({found.reason}); start the server, or check --to")
    if not found.up and found.status not in (401, 403):
        raise SourceUnavailable(f"{target.base}: /health says {found.reason}: not ready; wait, or restart it")


def model_name(target: Target) -> str:
    """The first name of /v1/models, which OpenAI endpoints want; `default` where the target has none."""
    status, body = fetch(target, "/v1/models", 10.0)
    try:
        listed = msgspec.json.decode(body)["data"] if status == 200 else []
        return str(listed[0]["id"]) if listed else "default"
    except (msgspec.DecodeError, LookupError, TypeError):
        return "default"
