"""Evidence taken away: the same case with less to see. Each arm changes a folder in place.

Its files may be other names of the originals: they are removed or replaced, never written into.
"""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

SCRAPE: Final = re.compile(rb"(?m)^#### scrape ts=([\d.]+)")
STAMP: Final = re.compile(r"^\[(\d{4}-\d\d-\d\d) (\d\d):(\d\d):(\d\d)")


def files(folder: Path) -> list[Path]:
    """Every file below."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def replaced(path: Path, raw: bytes) -> None:
    """Another file under the same name."""
    path.unlink()
    path.write_bytes(raw)


def keep_only(folder: Path, wanted: Callable[[Path], bool]) -> None:
    """Remove every file that is not wanted."""
    for path in files(folder):
        if not wanted(path):
            path.unlink()


def logs_only(folder: Path) -> None:
    """Server logs alone."""
    keep_only(folder, lambda path: path.name == "server.log")


def exporter_only(folder: Path) -> None:
    """Exporter files alone (request logs where the release has no exporter)."""
    has = any(path.parent.name == "exporter" for path in files(folder))
    wanted = "exporter" if has else "request_log"
    logs = () if has else ("server.log",)
    keep_only(folder, lambda path: path.parent.name == wanted or path.name in logs)


def one_scrape(folder: Path) -> None:
    """The last answer of each polled endpoint alone."""
    keep_only(folder, lambda path: path.name in ("metrics.txt", "loads.txt", "server_info.json"))
    for path in files(folder):
        if path.suffix == ".txt":
            raw = path.read_bytes()
            starts = [m.start() for m in SCRAPE.finditer(raw)]
            if starts:
                replaced(path, raw[starts[-1] :])


def metrics_only(folder: Path) -> None:
    """Polled endpoints alone."""
    keep_only(folder, lambda path: path.name in ("metrics.txt", "loads.txt", "server_info.json"))


def tenth(folder: Path) -> None:
    """One request in ten in every request-level source; logs and scrapes stay."""
    for path in files(folder):
        if path.name == "spans.jsonl" or path.name == "client.jsonl" or path.parent.name in ("exporter", "request_log"):
            kept = [line for line in path.read_bytes().splitlines(keepends=True) if sampled(line)]
            replaced(path, b"".join(kept))


RID: Final = re.compile(rb'"(?:rid|id|client_rid|stringValue)": "([0-9a-f]{32})"')


def sampled(line: bytes) -> bool:
    """Whether a request's line is kept: by its id, so that every source keeps the same ones."""
    found = RID.search(line)
    return found is not None and int(found[1][-4:], 16) % 10 == 0


def one_missing(folder: Path) -> None:
    """The last server's folder is gone (where there are several)."""
    hosts = [path for path in sorted(folder.iterdir()) if path.is_dir() and path.name[0].isdigit()]
    if len(hosts) > 1:
        for path in files(hosts[-1]):
            path.unlink()


def skewed(folder: Path) -> None:
    """The client's clock is 1.3 seconds ahead."""
    path = folder / "client.jsonl"
    if not path.is_file():
        return
    out = []
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        for name, value in record.items():
            if name.endswith("_ts") and value is not None:
                record[name] = value + 1.3
        out.append(json.dumps(record))
    replaced(path, "".join(f"{line}\n" for line in out).encode())


def truncated(folder: Path) -> None:
    """Every file is cut in the middle of a line at nine tenths."""
    for path in files(folder):
        raw = path.read_bytes()
        replaced(path, raw[: len(raw) * 9 // 10])


def no_baseline(folder: Path, onset_ts: float) -> None:
    """Nothing from before the onset: logs, scrapes and requests begin twenty seconds after it."""
    start = onset_ts + 20.0
    for path in files(folder):
        if path.suffix == ".pkl":
            path.unlink()
        elif path.name in ("metrics.txt", "loads.txt"):
            raw = path.read_bytes()
            marks = [(m.start(), float(m[1])) for m in SCRAPE.finditer(raw)]
            first = next((at for at, ts in marks if ts >= start), len(raw))
            replaced(path, raw[first:])
        elif path.suffix in (".log", ".jsonl"):
            kept = [
                line for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if line_ts(line) >= start
            ]
            replaced(path, "".join(kept).encode())


TIMES: Final = re.compile(r'"(?:timestamp": "([\dT:.-]+)"|(?:request_received_ts|recv_ts|send_ts)": ([\d.]+))')


def line_ts(line: str) -> float:
    """When a line was written, as far as it says; a line that does not is taken as late."""
    found = STAMP.match(line)
    if found:
        day = datetime.fromisoformat(f"{found[1]}T{found[2]}:{found[3]}:{found[4]}").replace(tzinfo=UTC)
        return day.timestamp()
    said = TIMES.search(line)
    if said is None:
        return float("inf")
    return float(said[2]) if said[2] else datetime.fromisoformat(said[1]).replace(tzinfo=UTC).timestamp()


ARMS: Final[dict[str, Callable[[Path], None]]] = {
    "logs": logs_only, "one-scrape": one_scrape, "exporter": exporter_only, "metrics": metrics_only, "tenth": tenth,
    "one-missing": one_missing, "skew": skewed, "truncated": truncated,
}  # fmt: skip
NAMES: Final = ("full", *ARMS, "no-baseline")
DESCRIBED: Final = {
    "full": "everything", "logs": "server logs alone", "metrics": "polled endpoints alone",
    "one-scrape": "one answer of each endpoint", "exporter": "request exporter alone", "tenth": "one request in ten",
    "one-missing": "one server's evidence is missing", "no-baseline": "nothing from before the onset",
    "skew": "the client's clock 1.3 s ahead", "truncated": "every file cut at nine tenths",
}  # fmt: skip
"""What is left of the evidence, in the order of the page."""
