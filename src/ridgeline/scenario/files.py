"""Scenarios on disk: one Parquet file, one row per request, segments as list columns."""

from pathlib import Path

import numpy as np

from ridgeline.scenario.model import COLUMNS, Scenario, ScenarioError, make

FORMAT = "ridgeline.scenario/1"


def write_scenario(scenario: Scenario, path: Path) -> None:
    """Write ``scenario`` (zstd; the same scenario gives the same bytes).

    Raises:
        OSError: the file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    offsets = pa.array(scenario.offsets.astype(np.int32))
    arrays = [pa.array(scenario[name]) for name in COLUMNS]
    arrays += [pa.ListArray.from_arrays(offsets, pa.array(values)) for values in
               (scenario.segment_id, scenario.segment_tokens)]  # fmt: skip
    names = [*COLUMNS, "segment_id", "segment_tokens"]
    table = pa.table(arrays, names=names).replace_schema_metadata({"format": FORMAT, "source": scenario.source})
    pq.write_table(table, path, compression="zstd")


def read_scenario(path: Path) -> Scenario:
    """Read what `write_scenario` wrote.

    Raises:
        ScenarioError: no such file, not a scenario, or one that cannot be.
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
    columns = {name: np.asarray(table[name].to_numpy(), np.int64) for name in COLUMNS}
    lists = [table[name].combine_chunks() for name in ("segment_id", "segment_tokens")]
    ids, tokens = (np.asarray(values.flatten().to_numpy(zero_copy_only=False), np.int64) for values in lists)
    lengths = np.asarray(lists[0].value_lengths().to_numpy(zero_copy_only=False), np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return make(columns, (offsets, ids, tokens), meta.get(b"source", b"").decode())
