"""Scenarios on disk: one Parquet file, one row per request, segments as list columns.

A sampled scenario carries what was observed of its requests in further columns (``observed_ttft_s`` …): seconds, NaN
where nobody said, and NaN in every one where the request does not count in figures.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.scenario.model import COLUMNS, Scenario, ScenarioError, make

FORMAT = "ridgeline.scenario/1"
SEEN: Final = "observed_"


def write_scenario(scenario: Scenario, path: Path, observed: Mapping[str, NDArray[np.float64]] | None = None) -> None:
    """Write ``scenario`` (zstd; the same scenario gives the same bytes), with what was ``observed`` of its requests.

    Raises:
        OSError: the file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    offsets = pa.array(scenario.offsets.astype(np.int32))
    arrays = [pa.array(scenario[name]) for name in COLUMNS]
    arrays += [pa.ListArray.from_arrays(offsets, pa.array(values)) for values in
               (scenario.segment_id, scenario.segment_tokens)]  # fmt: skip
    arrays += [pa.array(values) for values in (observed or {}).values()]
    names = [*COLUMNS, "segment_id", "segment_tokens", *(f"{SEEN}{name}" for name in observed or {})]
    table = pa.table(arrays, names=names).replace_schema_metadata({"format": FORMAT, "source": scenario.source})
    pq.write_table(table, path, compression="zstd")


def read_scenario(path: Path) -> Scenario:
    """Read what `write_scenario` wrote.

    Raises:
        ScenarioError: no such file, not a scenario, or one that cannot be.
    """
    return read_both(path)[0]


def read_both(path: Path) -> tuple[Scenario, dict[str, NDArray[np.float64]]]:
    """The scenario, and what was observed of its requests by name (nothing where the file holds none).

    Raises:
        ScenarioError: as `read_scenario`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.is_file():
        raise ScenarioError(f"{path}: no such file")
    try:
        table = pq.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise ScenarioError(f"{path}: not a readable Parquet file: {str(error).splitlines()[0]}") from error
    meta = table.schema.metadata or {}
    if meta.get(b"format") != FORMAT.encode():
        raise ScenarioError(f"{path}: not a scenario ({FORMAT}); make one with `ridgeline scenario`")
    missing = [name for name in (*COLUMNS, "segment_id", "segment_tokens") if name not in table.column_names]
    if missing:
        raise ScenarioError(f"{path}: column {missing[0]} is missing")
    holes = [name for name in COLUMNS if table[name].null_count]
    if holes:
        raise ScenarioError(f"{path}: column {holes[0]} has {table[holes[0]].null_count} values missing")
    columns = {name: whole_numbers(path, name, table[name].to_numpy()) for name in COLUMNS}
    lists = [table[name].combine_chunks() for name in ("segment_id", "segment_tokens")]
    ids, tokens = (np.asarray(values.flatten().to_numpy(zero_copy_only=False), np.int64) for values in lists)
    lengths = np.asarray(lists[0].value_lengths().to_numpy(zero_copy_only=False), np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    made = make(columns, (offsets, ids, tokens), meta.get(b"source", b"").decode())
    seen = {name.removeprefix(SEEN): np.asarray(table[name].to_numpy(), np.float64) for name in table.column_names
            if name.startswith(SEEN)}  # fmt: skip
    return made, seen


def whole_numbers(path: Path, name: str, values: NDArray[Any]) -> NDArray[np.int64]:
    """The values as integers. Raises ScenarioError for text, NaN and infinity, naming the first row."""
    if values.dtype.kind not in "iuf":
        raise ScenarioError(f"{path}: column {name} holds no numbers")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ScenarioError(f"{path}: column {name} holds {values[row]} for request {row + 1}")
    return np.asarray(values, np.int64)
