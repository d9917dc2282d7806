"""A function over many items on a Ray cluster: bounded in flight, retried where a worker dies, results by place.

``where`` is what ``--on`` takes: ``local-ray`` (a cluster of this machine's cores that ends with the process) or
``ray://HOST[:PORT]``. The functions are the ones that run locally, so the bytes that come out are the same.
"""

import atexit
import importlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from ridgeline.model.errors import InputError, Unsupported

LOCAL: Final = "local-ray"
RETRIES: Final = 3
"""How often a task whose worker died is begun again; a task that raises is not."""
SOCKET_ROOM: Final = 20
"""Bytes of the temporary folder's path that leave room for Ray's names below it in the 107 a socket may have."""
AHEAD: Final = 2
"""Tasks in flight per core: enough to keep workers busy, few enough that results are not piled up."""


def ray_module() -> Any:
    """Ray itself.

    Raises:
        Unsupported: the ``ray`` extra is not installed.
    """
    try:
        return importlib.import_module("ray")
    except ImportError as e:
        raise Unsupported("--on needs the ray extra: pip install 'ridgeline[ray]'") from e


def connect(where: str, cores: int | None = None) -> Any:
    """Join the cluster, or begin a local one of ``cores`` workers; joined twice it is the same.

    Raises:
        InputError: ``where`` is neither form, or nobody answers there.
        Unsupported: the ``ray`` extra is not installed.
    """
    if where != LOCAL and not where.startswith("ray://"):
        raise InputError(f"--on {where}: want {LOCAL} or ray://HOST:PORT")
    # a usage report would leave the machine; a killed worker's tasks are told of by their retries
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    ray = ray_module()
    if ray.is_initialized():
        return ray
    _tell_on_standard_error()
    quiet = {"log_to_driver": False, "logging_level": "ERROR", "include_dashboard": False}
    try:
        if where == LOCAL:
            place = _temporary(ray)
            ray.init(num_cpus=cores or os.cpu_count() or 1, _node_ip_address="127.0.0.1", _temp_dir=place, **quiet)
        else:
            ray.init(address=where, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, TimeoutError, RuntimeError, ValueError) as e:
        raise InputError(f"--on {where}: no cluster answers there ({str(e).splitlines()[0][:160]})") from e
    return ray


def _temporary(ray: Any) -> str | None:
    """A folder for the local cluster's sockets and logs, removed at exit; None (Ray's own, which it leaves behind)
    where the path would be too long for a socket."""
    if len(tempfile.gettempdir()) > SOCKET_ROOM:
        return None
    place = tempfile.mkdtemp(prefix="ridgeline-ray-")

    def removed() -> None:
        ray.shutdown()
        shutil.rmtree(place, ignore_errors=True)

    atexit.register(removed)
    return place


def _tell_on_standard_error() -> None:
    """Ray prints what it has to say of a lost worker on standard output, whatever it was told of logs: it would stand
    in the midst of our JSON."""
    worker = importlib.import_module("ray._private.worker")
    said = getattr(worker, "print_to_stdstream", None)
    if said is None or getattr(said, "of_ridgeline", False):
        return

    def elsewhere(data: Mapping[str, Any], ignore_prefix: bool = False) -> None:
        said({**data, "is_err": True}, ignore_prefix)

    elsewhere.of_ridgeline = True  # type: ignore[attr-defined]
    worker.print_to_stdstream = elsewhere  # type: ignore[attr-defined]


def over(
    where: str, function: Callable[..., Any], items: Sequence[Any], shared: Any = None, cores: int | None = None
) -> Iterator[tuple[int, Any]]:
    """(place of the item, ``function(shared, item)``) as they come.

    ``shared`` goes to the cluster once. A worker that dies costs its tasks a retry and nothing else.

    Raises:
        InputError, Unsupported: see `connect`; InputError also where a task's worker died `RETRIES` times over.
        Whatever ``function`` raises.
    """
    ray = connect(where, cores)
    run = ray.remote(function).options(max_retries=RETRIES, num_cpus=1)
    held = ray.put(shared)
    most = max(1, int(ray.cluster_resources().get("CPU", 1))) * AHEAD
    waiting: dict[Any, int] = {}
    following = 0
    try:
        while following < len(items) or waiting:
            while following < len(items) and len(waiting) < most:
                waiting[run.remote(held, items[following])] = following
                following += 1
            ready, _ = ray.wait(list(waiting), num_returns=1)
            for reference in ready:
                place = waiting.pop(reference)
                try:
                    result = ray.get(reference)
                except ray.exceptions.RayTaskError as e:
                    raise e.as_instanceof_cause() from None
                except ray.exceptions.RayError as e:
                    why = str(e).splitlines()[0][:160] if str(e) else type(e).__name__
                    raise InputError(f"--on {where}: task {place + 1} was lost {RETRIES + 1} times ({why})") from e
                yield place, result
    finally:
        for reference in waiting:
            ray.cancel(reference, force=False)
