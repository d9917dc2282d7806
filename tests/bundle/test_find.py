import gzip
import os
import threading
from pathlib import Path

import pytest

from ridgeline.bundle.find import Label, find, is_bundle, label_of
from ridgeline.model.errors import InputError
from tests.bundle.made import write


def shown(*arguments: object) -> list[str]:
    return [b.shown for b in find([str(a) for a in arguments]).blobs]


def test_a_folder_is_read_sorted_and_named_from_its_root(tmp_path: Path) -> None:
    write(tmp_path, "b.log", "b\n")
    write(tmp_path, "a/z.prom", "z\n")
    write(tmp_path, "a/b/c.json", "{}\n")
    assert shown(tmp_path) == ["b.log", "a/z.prom", "a/b/c.json"]


def test_one_file_is_named_by_its_name_alone(tmp_path: Path) -> None:
    path = write(tmp_path, "home/alice/server.log", "x\n")
    assert shown(path) == ["server.log"]


def test_files_globs_and_folders_mix_and_each_file_counts_once(tmp_path: Path) -> None:
    a = write(tmp_path, "logs/a.log", "a\n")
    write(tmp_path, "logs/b.log.gz", gzip.compress(b"b\n"))
    write(tmp_path, "more/c.txt", "c\n")
    assert shown(a, tmp_path / "logs/*", tmp_path / "more") == ["logs/a.log", "logs/b.log.gz", "more/c.txt"]


def test_a_file_whose_name_looks_like_a_glob_is_read_as_a_file(tmp_path: Path) -> None:
    path = write(tmp_path, "run[1].log", "x\n")
    write(tmp_path, "run1.log", "y\n")
    assert shown(path) == ["run[1].log"]


def test_hidden_and_irrelevant_entries_are_left_out_of_folders_and_said(tmp_path: Path) -> None:
    write(tmp_path, "server.log", "x\n")
    write(tmp_path, ".secret", "x\n")
    write(tmp_path, ".git/config", "x\n")
    write(tmp_path, "plot.png.gz", "x\n")
    write(tmp_path, "__pycache__/a.pyc", "x\n")
    found = find([str(tmp_path)])
    assert [b.shown for b in found.blobs] == ["server.log"]
    assert len(found.notes) == 1
    assert "4 hidden or irrelevant entries were skipped" in found.notes[0]


def test_what_is_named_is_read_whatever_its_name(tmp_path: Path) -> None:
    assert shown(write(tmp_path, ".hidden.png", "x\n")) == [".hidden.png"]


def test_each_thing_that_cannot_be_used_costs_one_line_and_the_rest_goes_on(tmp_path: Path) -> None:
    good = write(tmp_path, "server.log", "x\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "gone.log").symlink_to(tmp_path / "nowhere")
    found = find([str(tmp_path / n) for n in ("missing.log", "empty", "*.nothing", "gone.log")] + [str(good)])
    assert [b.shown for b in found.blobs] == ["server.log"]
    assert len(found.notes) == 4
    assert "missing.log: cannot be read (No such file or directory)" in found.notes[0]
    assert "empty: holds no file that can be read" in found.notes[1]
    assert "*.nothing: matches no file" in found.notes[2]
    assert "gone.log: cannot be read" in found.notes[3]


def test_nothing_left_is_an_error_that_names_every_argument(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.log: cannot be read.*; .*b\.log: cannot be read"):
        find([str(tmp_path / "a.log"), str(tmp_path / "b.log")])
    with pytest.raises(InputError, match="no source was given"):
        find([])
    with pytest.raises(InputError, match="is an address, not a file"):
        find(["http://127.0.0.1:30000"])


def test_a_device_is_no_source(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither a file nor a folder"):
        find(["/dev/null"])


def test_a_pipe_is_read_into_memory(tmp_path: Path) -> None:
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    writer = threading.Thread(target=fifo.write_bytes, args=(b"hello\n",))
    writer.start()
    (blob,) = find([str(fifo)]).blobs
    writer.join()
    assert (blob.shown, blob.data) == ("pipe", b"hello\n")


def test_a_bundle_is_opened_alone(tmp_path: Path) -> None:
    bundle = tmp_path / "b"
    write(bundle, "manifest.json", '{"schema": "ridgeline.bundle/1"}')
    log = write(tmp_path, "server.log", "x\n")
    assert is_bundle(bundle)
    assert find([str(bundle)]).bundle == bundle
    with pytest.raises(InputError, match="opened alone"):
        find([str(bundle), str(log)])
    assert shown(tmp_path) == ["server.log"]  # found in a folder it is no source


def test_a_foreign_manifest_is_just_a_file(tmp_path: Path) -> None:
    write(tmp_path, "manifest.json", '{"schema": "something.else"}')
    assert shown(tmp_path) == ["manifest.json"]


def test_labels_name_a_role_and_add_their_file(tmp_path: Path) -> None:
    a, b = write(tmp_path, "a.log", "a\n"), write(tmp_path, "b.log", "b\n")
    found = find([str(a)], [f"decode:d-1={b}", f"prefill={a}"])
    assert [x.shown for x in found.blobs] == ["a.log", "b.log"]
    assert found.labels["b.log"] == Label("decode", "d-1", str(b))
    assert found.labels["a.log"].role == "prefill"


@pytest.mark.parametrize("text", ["decode", "worker=a.log", "=a.log", "decode="])
def test_a_bad_label_is_refused_with_the_roles(text: str) -> None:
    with pytest.raises(InputError, match="unified, prefill, decode, gateway, client"):
        label_of(text)


def test_a_pipe_without_a_writer_costs_a_note_and_the_rest_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ridgeline.signals.stream.PIPE_WAIT_S", 0.05)
    (tmp_path / "a.log").write_text("x\n")
    os.mkfifo(tmp_path / "pipe")
    for given in ([str(tmp_path)], [str(tmp_path / "a.log"), str(tmp_path / "pipe")]):
        found = find(given)
        assert [b.shown for b in found.blobs] == ["a.log"]
        assert any("pipe" in note for note in found.notes)
