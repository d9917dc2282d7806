"""A stored bundle: hashes are keyed, and the split is the same as that of the sources."""

import json
from pathlib import Path

import pytest

from ridgeline.bundle.open import open_sources
from ridgeline.cli import main
from ridgeline.prefix.split import split


def test_keyed_hashes_split_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIDGELINE_KEY_FILE", str(tmp_path / "key"))
    log = tmp_path / "requests.log"
    heads = ([1, 2, 3, 4, 5, 6], [1, 2, 3, 9], [7, 8], [1, 2, 3, 4, 5, 6, 7, 8])
    log.write_text(
        "".join(
            json.dumps(
                {
                    "timestamp": f"2026-11-30T03:41:0{n}.5",
                    "event": "request.finished",
                    "rid": f"r{n}",
                    "obj": {"rid": f"r{n}", "input_ids": ids, "extra_key": "k" if n == 1 else None},
                    "out": {"meta_info": {"id": f"r{n}", "prompt_tokens": len(ids), "completion_tokens": 1}},
                }
            )
            + "\n"
            for n, ids in enumerate(heads)
        )
    )
    stored: list[list[list[int]]] = []
    for name, more in (("plain", ["--keep-text"]), ("keyed", [])):
        with pytest.raises(SystemExit) as end:
            main(["ingest", str(log), "-o", str(tmp_path / name), "--quiet", *more])
        assert end.value.code == 0
        view = open_sources([str(tmp_path / name)])
        stored.append([h for (h,) in view.query("SELECT hashes FROM prompts ORDER BY line")])
        (s,) = split(view, page=1)
        assert s.parts.hit.tolist() == [0, 0, 0, 6]
        assert s.parts.key_split is not None and s.parts.key_split.tolist() == [0, 3, 0, 0]
    plain, keyed = ([h for hashes in one for h in hashes] for one in stored)
    assert len(plain) == len(keyed) == 20
    assert not set(plain) & set(keyed)
