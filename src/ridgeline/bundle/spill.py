"""Where rows wait between reading and the final tables: Arrow in memory while little, Parquet parts once it is much."""

import shutil
import tempfile
import weakref
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from ridgeline.signals.rows import Rows

SMALL_BYTES: Final = 64 << 20
PART_BYTES: Final = 16 << 20
# Texts that hardly repeat, and numbers: a dictionary of them is built and thrown away.
DISTINCT: Final = frozenset(("rid", "client_rid", "parent_rid", "trace_id", "session_id", "text"))


class Spill:
    """Rows of every table in the order they were added.

    Up to `limit` bytes stay in memory. Beyond, the fullest table goes to a part file whenever all of them hold
    `PART_BYTES`, in a folder of its own that is removed with this object or at exit, so memory stays flat however much
    is read.
    """

    def __init__(self, limit: int = SMALL_BYTES, folder: Path | None = None) -> None:
        """``folder``: where parts go, kept afterwards; by default one of its own that is removed."""
        self._limit = limit
        self._held: dict[str, list[pa.Table]] = defaultdict(list)
        self._bytes: dict[str, int] = defaultdict(int)
        self._parts: dict[str, list[Path]] = defaultdict(list)
        self._folder = folder

    @property
    def folder(self) -> Path:
        """The folder for part files, made when first asked for."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="ridgeline-"))
            self._finalizer = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        return self._folder

    @property
    def large(self) -> bool:
        """True once anything was written to disk."""
        return any(self._parts.values())

    def tables(self) -> tuple[str, ...]:
        """The tables that have rows."""
        return tuple(sorted({name for name in (*self._held, *self._parts) if self.has(name)}))

    def adopt(self, table: str, parts: Sequence[Path]) -> None:
        """Take over part files that another process wrote, behind the rows that are here: they get numbers of this one,
        because ids of rows are made of them.
        """
        if self._held.get(table):
            self._write(table)
        self._parts[table] += [part.rename(self._next(table, at)) for at, part in enumerate(parts)]

    def has(self, table: str) -> bool:
        """Whether any row of this table was added."""
        return bool(self._held.get(table) or self._parts.get(table))

    def add(self, rows: Rows) -> None:
        """Keep some rows; writes parts where memory would grow beyond the limit."""
        if rows.data.num_rows == 0:
            return
        self._held[rows.table].append(rows.data)
        self._bytes[rows.table] += rows.data.nbytes
        if self.large:
            # All tables together, not each: what a long log holds back is no more than what a short one does.
            while sum(self._bytes.values()) >= PART_BYTES:
                self._write(max(self._bytes, key=lambda name: self._bytes[name]))
        elif sum(self._bytes.values()) > self._limit:
            for name in list(self._held):
                self._write(name)

    def memory(self, table: str) -> pa.Table | None:
        """What of one table is in memory, as one table with the columns any of its rows have."""
        held = self._held.get(table)
        # in one piece: a scan of thousands of small ones costs DuckDB a row group each
        return pa.concat_tables(held, promote_options="default").combine_chunks() if held else None

    def parts(self, table: str) -> tuple[Path, ...]:
        """The part files of one table, in the order written. In large mode the rest is written first."""
        if self.large and self._held.get(table):
            self._write(table)
        return tuple(self._parts.get(table, ()))

    def _next(self, table: str, after: int = 0) -> Path:
        return self.folder / f"{table}-{len(self._parts[table]) + after:05d}.parquet"

    def _write(self, table: str) -> None:
        if not self._held[table]:
            return
        data = pa.concat_tables(self._held[table], promote_options="default")
        path = self._next(table)
        words = [field.name for field in data.schema if pa.types.is_string(field.type) and field.name not in DISTINCT]
        # read once or twice and removed: writing has to be cheap, not small
        pq.write_table(data, path, compression="lz4", use_dictionary=words)
        self._parts[table].append(path)
        self._held[table] = []
        self._bytes[table] = 0
        del data
        pa.default_memory_pool().release_unused()  # else freed rows stay with the process, more with every part
