"""Sources on object storage: addresses such as ``s3://bucket/logs/*.log``, through fsspec (extra ``ray``)."""

import importlib
from typing import IO, Any

from ridgeline.model.errors import InputError, Unsupported


def fsspec_module() -> Any:
    """Fsspec itself.

    Raises:
        Unsupported: it is not installed.
    """
    try:
        return importlib.import_module("fsspec")
    except ImportError as e:
        raise Unsupported("addresses of object storage need the ray extra: pip install 'ridgeline[ray]'") from e


def is_address(text: str) -> bool:
    """Whether an argument is an address of storage and not a path or a server."""
    scheme, mark, rest = text.partition("://")
    return bool(mark and rest) and scheme.isalnum() and scheme not in ("http", "https", "ray")


def addresses(text: str) -> list[str]:
    """The files an address stands for: itself, what its pattern matches, or all below it, sorted.

    Raises:
        InputError: nobody gives access, or there is no such thing.
        Unsupported: fsspec is not installed.
    """
    fsspec = fsspec_module()
    try:
        fs, path = fsspec.core.url_to_fs(text)
        if any(mark in path for mark in "*?["):
            found = fs.glob(path)
        elif fs.isdir(path):
            found = fs.find(path)
        else:
            found = [path] if fs.exists(path) else []
        return sorted(fs.unstrip_protocol(name) for name in found)
    except (OSError, ValueError, ImportError, RuntimeError) as e:
        raise InputError(f"{text}: cannot be looked at ({str(e)[:160]}); check the address and access") from e


def size_of(address: str) -> int:
    """Bytes of one file; 0 where storage does not say."""
    fs, path = fsspec_module().core.url_to_fs(address)
    return int(fs.info(path).get("size") or 0)


def open_address(address: str) -> IO[bytes]:
    """The bytes of one file.

    Raises:
        InputError: it cannot be opened.
    """
    try:
        handle: IO[bytes] = fsspec_module().open(address, "rb").open()
    except (OSError, ValueError, RuntimeError) as e:
        raise InputError(f"{address}: cannot be read ({str(e)[:160]}); check the address and access") from e
    return handle
