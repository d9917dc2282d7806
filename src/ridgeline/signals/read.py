"""One source → rows: the kind is told from its head, then the kind's reader reads it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from ridgeline.signals import (
    answer,
    client,
    exporter,
    exposition,
    health,
    incident_bundle,
    jaeger,
    launch,
    loads,
    mooncake,
    otlp,
    prometheus_range,
    request_log,
    server_info,
    text,
    timeseries_csv,
    vllm_requests,
)
from ridgeline.signals.detect import UTF16, detect
from ridgeline.signals.dump import rows as dump
from ridgeline.signals.log import reader as log
from ridgeline.signals.prompt import files as prompts
from ridgeline.signals.rows import Reading, Rows
from ridgeline.signals.stream import GZIP_MAGIC, ZSTD_MAGIC, Blob

Reader = Callable[[Blob, Reading], Iterator[Rows]]

# Kind → reader, one line each. A kind without a line is listed as a source and not opened.
READERS: Final[dict[str, Reader]] = {
    "log": log.read,
    "request-log": request_log.read,
    "client": client.read,
    "mooncake": mooncake.read,
    "prompts": prompts.read,
    "exporter": exporter.read,
    "exposition": exposition.read,
    "prometheus-range": prometheus_range.read,
    "loads": loads.read,
    "get-load": loads.read,
    "server-info": server_info.read,
    "model-info": server_info.read,
    "health": health.read,
    "launch": launch.read,
    "answer": answer.read,
    "incident-bundle": incident_bundle.read,
    "otlp": otlp.read,
    "jaeger": jaeger.read,
    "text": text.read,
    "timeseries-csv": timeseries_csv.read,
    "vllm-requests": vllm_requests.read,
    "dump": dump.read,
}

BYTES: Final = ("dump", "otlp")  # kinds that are no text: a NUL byte is part of them


def read(blob: Blob, reading: Reading) -> Iterator[Rows]:
    """The rows of one source; sets `reading.kind`. Raises InputError where the source cannot be opened at all."""
    head = blob.head()
    reading.kind = detect(head)
    if b"\0" in head and reading.kind in READERS and not head.startswith(UTF16) and reading.kind not in BYTES:
        blob = replace(blob, drop_nul=True)
        reading.note(f"{blob.shown}: holds NUL bytes, as a log does that was cut while it was written; left out")
    if reading.kind == "empty" and incident_bundle.endpoint_in(blob.path) is not None:
        reading.kind = "health"  # there, an empty file is what a server that is well answered
    reader = READERS.get(reading.kind)
    if reader is None:
        reading.note(f"{blob.shown}: {_unread_reason(reading.kind, head)}")
        return
    yield from reader(blob, reading)


def _unread_reason(kind: str, head: bytes) -> str:
    if kind == "empty":
        return "is empty; check how it was collected"
    if kind == "binary" and head.startswith((GZIP_MAGIC, ZSTD_MAGIC)):
        return "is compressed twice; unpack it once and give what comes out"
    if kind == "binary" and not head.strip(b"\0"):
        return "begins with nothing but NUL bytes; check how it was collected"
    if kind == "binary":
        return "is binary data of no known kind; give logs, scrapes, JSON answers, traces or dumps"
    return f"is of the kind {kind}, which has no reader yet; nothing was taken from it"
