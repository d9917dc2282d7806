"""Lines that state one request's transfer time or its hits in an external KV store → `records`, `request_attrs`.

Hits that LMCache reports at admission are no cached tokens of a fresh prompt: a preempted request looks up, and
loads, its own tokens. They are kept as attributes of the request and never as `cached_tokens`.
"""

import re
from typing import Any, Final

import numpy as np

from ridgeline.signals.lines import LogLines, Parsed
from ridgeline.signals.log.rules import matching, ranks_of, table_rows
from ridgeline.signals.rows import Reading

MARKS: Final = r"KV cache transfer for request |LMCache hit tokens: "
TOOK: Final = re.compile(r"KV cache transfer for request (\S{1,300}) took ([\d.]{1,20}) ?(ms|s)\b")
LOOKUP: Final = re.compile(
    r"Reqid: (\S{1,300}), Total tokens:? (\d{1,12}), LMCache hit tokens: (\d{1,12})"
    r"(?=\D)(?:, need to load: (-?\d{1,12})(?=\D))?"
)
NAMES: Final = ("external_lookup_tokens", "external_hit_tokens", "external_load_tokens")


def parse(lines: LogLines, reading: Reading) -> Parsed:
    """Transfer times (seconds) as records, store look-ups (tokens) as attributes."""
    understood = matching(lines.body, MARKS)
    records: list[dict[str, Any]] = []
    attrs: list[dict[str, Any]] = []
    for i in np.flatnonzero(understood).tolist():
        text = lines.body[i].as_py()[:4000] + "\n" * bool(lines.ended[i])  # a cut file's last number has no end
        at = {"source": reading.source, "line": int(lines.line[i])}
        ts = None if np.isnan(lines.ts[i]) else float(lines.ts[i])
        if took := TOOK.search(text):
            value = _number(took[2])
            record = {"kind": "vllm-log", "event": "transfer", "rid": took[1], "role": "decode", "logged_ts": ts}
            scale = 1e-3 if took[3] == "ms" else 1.0
            transfer = {
                "transfer_s": value * scale if value is not None else None,
                "clock": "naive" if reading.tz is None else "wall",
            }
            records.append({**at, **record, **transfer, "dp_rank": ranks_of(lines, i)[0]})
        elif found := LOOKUP.search(text):
            attrs.extend(
                {**at, "rid": found[1], "name": name, "number": float(value)}
                for name, value in zip(NAMES, found.groups()[1:], strict=True)
                if value is not None
            )
        else:
            understood[i] = False
    return Parsed([*table_rows("records", records), *table_rows("request_attrs", attrs)], understood)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
