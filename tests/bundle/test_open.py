"""From files to a view and to a bundle and back, with what readers exist: real bytes on disk."""

import gzip
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from ridgeline.bundle import store
from ridgeline.bundle.find import find
from ridgeline.bundle.open import open_sources, read_sources
from ridgeline.bundle.readin import OnProgress
from ridgeline.bundle.store import cited_lines, embed_lines, embedded_blob, write_bundle
from ridgeline.bundle.view import View
from ridgeline.ladder.diagnose import diagnose
from ridgeline.model.errors import InputError
from ridgeline.model.tables import TABLES
from ridgeline.signals.rows import Reading
from tests.bundle.made import write

DECODE = (
    "[2026-11-30 03:59:{second:02d}] Decode batch, #running-req: {running}, #token: 512, token usage: 0.12, "
    "cuda graph: False, gen throughput (token/s): 81.20, #queue-req: {queue}\n"
)
SERVER_LOG = "".join(DECODE.format(second=n, running=n % 12, queue=n) for n in range(40))


def record(event: str, rid: str, second: float, **meta: Any) -> str:
    obj = {"rid": rid, "text": "please keep this prompt private", "lora_path": "team-a/adapter",
           "sampling_params": {"max_new_tokens": 64}}  # fmt: skip
    row: dict[str, Any] = {"timestamp": f"2026-11-30T03:59:{second:09.6f}", "event": event, "rid": rid, "obj": obj}
    if meta:
        row["out"] = {"meta_info": {"id": rid, **meta}}
    return json.dumps(row) + "\n"


def request_log(count: int = 6) -> str:
    lines = []
    for i in range(count):
        at = 1796011140.0 + i
        lines.append(record("request.received", f"req-{i:04d}", i + 0.01))
        lines.append(
            record("request.finished", f"req-{i:04d}", i + 1, request_received_ts=at, e2e_latency=0.9, prompt_tokens=7,
                   completion_tokens=5, finish_reason={"type": "length", "length": 5})
        )  # fmt: skip
    return "".join(lines)


@pytest.fixture
def incident(tmp_path: Path) -> Path:
    folder = tmp_path / "incident"
    write(folder, "server.log.gz", gzip.compress(SERVER_LOG.encode()))
    write(folder, "requests.log.zst", zstandard.compress(request_log().encode()))
    return folder


@pytest.fixture(autouse=True)
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RIDGELINE_KEY_FILE", str(tmp_path / "key"))
    return tmp_path / "key"


def dump(view: View) -> dict[str, list[tuple[Any, ...]]]:
    return {name: view.query(f'SELECT * FROM "{name}"') for name in TABLES}


def test_compressed_files_of_a_folder_become_one_view(incident: Path) -> None:
    view = open_sources([str(incident)])
    assert view.query("SELECT path, kind, server, rows, unparsed FROM sources ORDER BY source") == [
        ("requests.log.zst", "request-log", "server", 12, 0),
        ("server.log.gz", "log", "server", 40, 0),
    ]
    assert view.query("SELECT count(*), max(waiting) FROM batches") == [(40, 39)]
    assert view.query("SELECT count(*), min(rid), sum(completion_tokens) FROM requests") == [(6, "req-0000", 30)]
    assert view.names == {1: "requests.log.zst", 2: "server.log.gz"}
    assert all(view.query(f'SELECT count(*) FROM "{name}"') for name in TABLES)


def test_the_same_input_gives_the_same_tables_small_or_large(incident: Path) -> None:
    small = dump(open_sources([str(incident)]))
    assert small == dump(open_sources([str(incident)]))
    large, _ = read_sources(find([str(incident)]), limit=0)
    assert large.keep is not None
    assert dump(large) == small


def test_a_cursor_sees_every_table_of_a_large_view(incident: Path) -> None:
    view, _ = read_sources(find([str(incident)]), limit=0)
    cursor = view.con.cursor()
    assert [bool(cursor.execute(f'SELECT count(*) FROM "{n}"').fetchall()) for n in TABLES] == [True] * len(TABLES)


def test_the_same_bytes_twice_are_read_once_and_that_is_said(incident: Path) -> None:
    write(incident, "copy.log", gzip.decompress((incident / "server.log.gz").read_bytes()))
    write(incident, "z/server.log.gz", (incident / "server.log.gz").read_bytes())
    view = open_sources([str(incident)])
    rows = view.query("SELECT path, kind, rows, notes FROM sources ORDER BY source")
    assert [(path, kind) for path, kind, *_ in rows] == [
        ("copy.log", "log"),
        ("requests.log.zst", "request-log"),
        ("server.log.gz", "log"),
        ("z/server.log.gz", "duplicate"),
    ]
    assert rows[3][2] == 0
    assert "has the same bytes as server.log.gz" in rows[3][3][0]


def test_bad_neighbours_cost_a_note_each_and_nothing_else(incident: Path, tmp_path: Path) -> None:
    write(incident, "empty.log", "")
    write(incident, "noise.dat", bytes(range(256)) * 8)
    long = "".join(DECODE.format(second=n % 60, running=n * 7919 % 12, queue=n * 104729 % 9973) for n in range(4000))
    cut = gzip.compress(long.encode())
    write(incident, "cut.log.gz", cut[: len(cut) // 2])
    write(incident, "stub.log.gz", cut[:12])
    view = open_sources([str(incident), str(tmp_path / "missing")])
    notes = {path: " ".join(notes) for path, notes in view.query("SELECT path, notes FROM sources")}
    assert "is empty" in notes["empty.log"]
    assert "ends early or is damaged" in notes["cut.log.gz"]
    assert "ends early or is damaged" in notes["stub.log.gz"]
    assert "is empty" not in notes["stub.log.gz"]
    ((kept,),) = view.query("SELECT rows FROM sources WHERE path = 'cut.log.gz'")
    assert 1000 < kept < 4000
    assert any("binary" in text for text in notes.values())
    assert "missing: cannot be read" in view.notes[0]
    assert view.query("SELECT count(*) FROM requests") == [(6,)]


def test_nothing_read_is_an_error_with_every_reason(tmp_path: Path) -> None:
    write(tmp_path, "a.log", "")
    write(tmp_path, "b.bin.log", b"\x00\x01\x02" * 500)
    with pytest.raises(InputError) as caught:
        open_sources([str(tmp_path)])
    assert "a.log: is empty" in str(caught.value)
    assert "b.bin.log" in str(caught.value)


def test_progress_goes_up_to_the_whole_of_each_file(incident: Path) -> None:
    told: dict[str, list[tuple[int, int]]] = {}

    def tell(path: str, done: int, total: int) -> None:
        told.setdefault(path, []).append((done, total))

    on_progress: OnProgress = tell
    open_sources([str(incident)], on_progress=on_progress)
    assert set(told) == {"requests.log.zst", "server.log.gz"}
    for path, steps in told.items():
        size = (incident / path).stat().st_size
        assert steps[-1] == (size, size)
        assert all(0 <= done <= total == size for done, total in steps)


def stored(incident: Path, out: Path, **how: Any) -> tuple[View, View]:
    view, sources = read_sources(find([str(incident)]), hash_all=True)
    write_bundle(view, sources, out, **how)
    return view, open_sources([str(out)])


def test_a_bundle_with_readable_text_holds_the_same_rows(incident: Path, tmp_path: Path) -> None:
    raw, bundle = stored(incident, tmp_path / "out", keep_text=True)
    assert dump(bundle) == dump(raw)
    assert bundle.names == raw.names
    assert not (tmp_path / "key").exists()


def test_a_stored_bundle_hides_ids_names_and_prompts_and_still_joins(incident: Path, tmp_path: Path) -> None:
    raw, bundle = stored(incident, tmp_path / "out")
    for path in (tmp_path / "out").rglob("*"):
        if path.suffix == ".parquet":
            text = json.dumps(pq.read_table(path).to_pylist(), default=str)
        elif path.is_file():
            text = path.read_text()
        else:
            continue
        assert not [word for word in ("req-000", "team-a", "private", str(tmp_path)) if word in text], path
    figures = "SELECT count(*), count(DISTINCT rid), count(DISTINCT lora), sum(e2e_s), sum(prompt_tokens) FROM requests"
    assert bundle.query(figures) == raw.query(figures)
    joined = "SELECT count(*) FROM records JOIN requests USING (rid)"
    assert bundle.query(joined) == raw.query(joined)


def test_ingest_again_gives_the_same_bytes(incident: Path, tmp_path: Path) -> None:
    stored(incident, tmp_path / "one", embed=True)
    stored(incident, tmp_path / "two", embed=True)
    one = {p.relative_to(tmp_path / "one"): p.read_bytes() for p in (tmp_path / "one").rglob("*") if p.is_file()}
    two = {p.relative_to(tmp_path / "two"): p.read_bytes() for p in (tmp_path / "two").rglob("*") if p.is_file()}
    assert one == two


def test_embedded_sources_have_neither_prompts_nor_secrets_and_the_same_lines(incident: Path, tmp_path: Path) -> None:
    write(incident, "launch.txt", "python -m sglang.launch_server --model-path m --api-key=verysecretvalue1\n")
    stored(incident, tmp_path / "out", embed=True)
    blob = embedded_blob(tmp_path / "out", "requests.log.zst")
    assert blob is not None
    text = blob.whole(Reading(0, blob.shown)).decode()
    assert "private" not in text
    assert text.count("\n") == 12
    launch = embedded_blob(tmp_path / "out", "launch.txt")
    assert launch is not None
    assert b"verysecretvalue1" not in launch.whole(Reading(0, launch.shown))
    assert embedded_blob(tmp_path / "out", "nothing") is None


def test_cited_lines_are_kept_clean_and_add_up(incident: Path, tmp_path: Path) -> None:
    view, sources = read_sources(find([str(incident)]), hash_all=True)
    out = tmp_path / "out"
    write_bundle(view, sources, out)
    embed_lines(out, cited_lines(sources, {1: [2], 2: [5]}))
    embed_lines(out, cited_lines(sources, {2: [6]}))
    kept = json.loads((out / "sources" / "server.log.gz.lines.json").read_text())
    assert kept["path"] == "server.log.gz"
    assert kept["lines"]["5"] == SERVER_LOG.splitlines()[4]
    assert list(kept["lines"]) == ["5", "6"]
    assert "private" not in (out / "sources" / "requests.log.zst.lines.json").read_text()


def test_a_folder_with_something_else_in_it_is_not_touched(incident: Path, tmp_path: Path) -> None:
    write(tmp_path, "mine/notes.txt", "keep\n")
    with pytest.raises(InputError, match="holds something else"):
        stored(incident, tmp_path / "mine")
    assert (tmp_path / "mine/notes.txt").read_text() == "keep\n"
    with pytest.raises(InputError, match="is a file"):
        stored(incident, tmp_path / "mine/notes.txt")


def test_a_bundle_is_replaced_whole(incident: Path, tmp_path: Path) -> None:
    stored(incident, tmp_path / "out")
    for stale in ("out/tables/stale.parquet", "out/diagnosis.json", "out/my-notes.txt"):
        write(tmp_path, stale, "x")
    write(incident, "more.log", SERVER_LOG.replace("03:59", "04:59"))
    _, bundle = stored(incident, tmp_path / "out")
    assert bundle.query("SELECT count(*) FROM batches") == [(80,)]
    assert not (tmp_path / "out/tables/stale.parquet").exists()
    assert not (tmp_path / "out/diagnosis.json").exists()
    assert (tmp_path / "out/my-notes.txt").read_text() == "x"
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_the_last_copy_of_evidence_is_not_replaced_unasked(incident: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    stored(incident, out)
    (incident / "requests.log.zst").unlink()
    with pytest.raises(InputError, match=r"1 of 2 sources that are not among these \(requests\.log\.zst\)"):
        stored(incident, out)
    assert open_sources([str(out)]).query("SELECT count(*) FROM requests") == [(6,)]
    _, bundle = stored(incident, out, force=True)
    assert bundle.query("SELECT count(*) FROM requests") == [(0,)]


def test_half_a_bundle_is_never_seen(incident: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    stored(incident, out)
    before = {p.relative_to(out): p.read_bytes() for p in out.rglob("*") if p.is_file()}
    view, sources = read_sources(find([str(incident)]), hash_all=True)
    written = store._write

    def stops(con: duckdb.DuckDBPyConnection, table: str, folder: Path, parted: bool) -> int:
        # what another command sees while this one is half-way, and after it died there
        assert {p.relative_to(out): p.read_bytes() for p in out.rglob("*") if p.is_file()} == before
        if table == "requests":
            raise OSError(28, "No space left on device")
        return written(con, table, folder, parted)

    monkeypatch.setattr(store, "_write", stops)
    with pytest.raises(InputError, match="No space left on device"):
        write_bundle(view, sources, out)
    assert {p.relative_to(out): p.read_bytes() for p in out.rglob("*") if p.is_file()} == before
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_what_a_killed_run_left_is_swept_and_a_live_one_left_alone(incident: Path, tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    write(tmp_path, f".out.partial-{gone.pid}/tables/x", "x")
    write(tmp_path, ".out.partial-1/tables/x", "x")
    stored(incident, tmp_path / "out")
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == [".out.partial-1"]


@pytest.mark.parametrize("damage", [b"", b"{", b'{"schema": "ridgeline.bund', b"\0" * 400, b"[1]", b'{"tables": 3}'])
def test_a_damaged_manifest_is_no_plain_folder(incident: Path, tmp_path: Path, damage: bytes) -> None:
    out = tmp_path / "out"
    stored(incident, out)
    (out / "manifest.json").write_bytes(damage)
    with pytest.raises(InputError, match=r"out: damaged manifest\.json of a bundle \(.*ingest the sources again"):
        open_sources([str(out)])
    with pytest.raises(InputError, match=r"damaged bundle.*--force"):
        stored(incident, out)
    (out / "manifest.json").unlink()
    with pytest.raises(InputError, match=r"has the tables of a bundle and no manifest\.json"):
        open_sources([str(out)])
    _, bundle = stored(incident, out, force=True)
    assert bundle.query("SELECT count(*) FROM requests") == [(6,)]


def test_a_newer_bundle_says_so(incident: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    stored(incident, out)
    (out / "manifest.json").write_text('{"schema": "ridgeline.bundle/9"}')
    with pytest.raises(InputError, match=r"schema ridgeline\.bundle/9"):
        open_sources([str(out)])


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def _replace(path: Path) -> None:
    pq.write_table(pq.read_table(path).slice(1), path)


def _other(path: Path) -> None:
    table = pq.read_table(path)
    pq.write_table(pa.table({name: ["?"] * len(table) for name in table.column_names}), path)


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        (Path.unlink, "is missing (40 rows)"),
        (_cut, "is damaged ("),
        (_replace, "holds 39 rows where the manifest has 40"),
    ],
)
def test_a_lost_table_is_said_and_the_rest_is_read(
    incident: Path, tmp_path: Path, harm: Callable[[Path], None], why: str
) -> None:
    out = tmp_path / "out"
    stored(incident, out)
    harm(out / "tables/batches.parquet")
    view = open_sources([str(out)])
    assert view.query("SELECT count(*) FROM batches") == [(0,)]
    assert view.query("SELECT count(*) FROM requests") == [(6,)]
    ((path, kind, rows, unparsed, errors, notes),) = view.query(
        "SELECT path, kind, rows, unparsed, unparsed_errors, notes FROM sources ORDER BY source"
    )[2:]
    assert (path, kind, rows, unparsed, errors) == ("tables/batches.parquet", "lost table", 0, 1, 1)
    assert why in notes[0]
    assert view.query("SELECT severity FROM unread") == [("error",)]


def test_a_log_whose_events_are_lost_was_not_watched_for_them(incident: Path, tmp_path: Path) -> None:
    # long and calm enough that it would be called healthy
    write(incident, "server.log", "".join(DECODE.format(second=n % 60, running=3, queue=0) for n in range(40)))
    write(incident, "access.log", '[2026-11-30 03:59:01] INFO:     1.2.3.4:5 - "POST /generate HTTP/1.1" 200 OK\n')
    (incident / "server.log.gz").unlink()
    out = tmp_path / "out"
    stored(incident, out)
    (out / "tables/events.parquet").unlink()
    view = open_sources([str(out)])
    assert {kind for (kind,) in view.query("SELECT kind FROM sources")} == {
        "log, events lost",
        "request-log",
        "lost table",
    }
    diagnosis = diagnose(view)
    assert diagnosis.verdict != "healthy"
    lost = [c for c in diagnosis.coverage if c.kind == "lost table"]
    assert [(c.source, c.rows, c.unparsed) for c in lost] == [("tables/events.parquet", 0, 1)]


def test_the_sources_of_a_bundle_are_known_from_its_manifest_too(incident: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    stored(incident, out)
    _cut(out / "tables/sources.parquet")
    view = open_sources([str(out)])
    assert view.query("SELECT path, kind FROM sources ORDER BY source") == [
        ("requests.log.zst", "request-log"),
        ("server.log.gz", "log"),
        ("tables/sources.parquet", "lost table"),
    ]
    for path in (out / "tables").iterdir():
        path.write_bytes(b"PAR1 but not really")
    with pytest.raises(InputError, match="no table of this bundle can be read"):
        open_sources([str(out)])


def test_a_table_with_words_for_numbers_is_a_line_not_a_crash(incident: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    stored(incident, out)
    _other(out / "tables/batches.parquet")
    with pytest.raises(duckdb.ConversionException):  # which `watched` turns into one line
        open_sources([str(out)]).query("SELECT sum(usage) FROM batches")


def test_a_bundle_of_an_older_shape_has_nulls_in_new_columns(incident: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    stored(incident, out)
    path = out / "tables/batches.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["usage"]), path)
    assert open_sources([str(out)]).query("SELECT count(*), count(usage) FROM batches") == [(40, 0)]
