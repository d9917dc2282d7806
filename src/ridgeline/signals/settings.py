"""Settings as text: the rows of `config`, and the columns of `servers` that follow from them.

Text is as in every reader of settings: strings bare, everything else JSON (`true`, `null`, `[1, 2]`). Secrets are
`<secret>`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ridgeline.signals.answers import whole
from ridgeline.signals.rows import Reading, Rows, rows_of
from ridgeline.signals.secrets import clean

VALUE_CHARS: Final = 500
KEY_LIMIT: Final = 5000
DEPTH_LIMIT: Final = 6
# Setting → column of `servers`; where several name one column the first that is set counts.
SERVER_COLUMNS: Final = (
    ("tp_size", "tp_size"),
    ("tensor_parallel_size", "tp_size"),
    ("dp_size", "dp_size"),
    ("data_parallel_size", "dp_size"),
    ("pp_size", "pp_size"),
    ("pipeline_parallel_size", "pp_size"),
    ("page_size", "page_size"),
    ("block_size", "page_size"),
    ("max_total_num_tokens", "pool_tokens"),
    ("max_total_tokens", "pool_tokens"),
    ("effective_max_running_requests_per_dp", "max_running"),
    ("max_running_requests", "max_running"),
    ("max_num_seqs", "max_running"),
    ("max_prefill_tokens", "max_prefill_tokens"),
    ("chunked_prefill_size", "chunked_prefill_size"),
    ("max_num_batched_tokens", "chunked_prefill_size"),
    ("context_length", "context_len"),
    ("max_model_len", "context_len"),
)
ROLES: Final = {"null": "unified", "None": "unified", "": "unified", "prefill": "prefill", "decode": "decode"}


def flat(value: Mapping[str, Any], skip: Iterable[str] = ()) -> dict[str, str]:
    """Scalars and lists of scalars of a nested mapping, keys joined by dots, values as text, secrets taken out."""
    out: dict[str, str] = {}
    left_out = frozenset(skip)
    for key, item in _leaves("", {k: v for k, v in value.items() if k not in left_out}, 0):
        if len(out) >= KEY_LIMIT:
            break
        out[key] = shown(key, item)
    return out


def shown(key: str, item: Any) -> str:
    """A value as text; a secret that is set is not shown."""
    text = item if isinstance(item, str) else json.dumps(item, default=str)
    if item is None or item is False or item == "":
        return text
    return (clean(key, text) or "")[:VALUE_CHARS]


def config_rows(reading: Reading, rows: Iterable[Mapping[str, Any]]) -> Iterator[Rows]:
    """Rows of `config` from mappings with key, value, origin, line and perhaps dp_rank and ts."""
    listed = list(rows)
    if listed:
        names = ("key", "value", "origin", "dp_rank", "ts", "line")
        columns = {name: [row.get(name) for row in listed] for name in names}
        yield rows_of("config", {**columns, "source": [reading.source] * len(listed)})


def server_columns(settings: Mapping[str, str]) -> dict[str, int | None]:
    """The numbers of `servers` that the settings say."""
    out: dict[str, int | None] = {}
    for key, column in SERVER_COLUMNS:
        if out.get(column) is None:
            out[column] = _integer(settings.get(key))
    return out


def _integer(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return whole(json.loads(text))
    except (ValueError, RecursionError):
        return None


def _leaves(prefix: str, value: Mapping[str, Any], depth: int) -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        name = f"{prefix}{key}"
        if isinstance(item, dict):
            if item and depth < DEPTH_LIMIT:
                yield from _leaves(name + ".", item, depth + 1)
        elif not isinstance(item, list) or not any(isinstance(part, dict | list) for part in item):
            yield name, item
