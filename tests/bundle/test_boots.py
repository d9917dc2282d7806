from typing import Any

from ridgeline.bundle.boots import boots, restarts
from tests.bundle.made import assembled, source

T = 1796011121.0


def row(source: int, line: int, **more: Any) -> dict[str, Any]:
    from ridgeline.model.tables import TABLES

    return {**dict.fromkeys(TABLES["servers"]), "server": "server", "source": source, "line": line, **more}


KINDS = {1: "log", 2: "server-info", 3: "log"}


def test_what_sources_say_of_one_boot_is_one_row_and_the_live_answer_is_believed() -> None:
    merged = boots(
        [
            row(1, 18, boot_ts=T, args_hash="a", max_running=64, page_size=1),
            row(1, 57, boot_ts=T + 300, pool_tokens=4096),  # weights took five minutes: no second boot
            row(2, 1, args_hash="b", version="0.5.23", max_running=12),
        ],
        KINDS,
    )
    assert len(merged) == 1
    got = {n: merged[0][n] for n in ("boot_ts", "version", "max_running", "page_size", "pool_tokens", "line")}
    assert got == {
        "boot_ts": T,
        "version": "0.5.23",
        "max_running": 12,
        "page_size": 1,
        "pool_tokens": 4096,
        "line": 18,
    }


def test_arguments_printed_again_by_one_file_are_a_new_boot_by_another_file_a_node() -> None:
    again = [row(1, 18, boot_ts=T, args_hash="a"), row(1, 900, boot_ts=T + 600, args_hash="a")]
    assert [b["line"] for b in boots(again, KINDS)] == [18, 900]
    nodes = [row(1, 18, boot_ts=T, args_hash="a"), row(3, 18, boot_ts=T + 60, args_hash="c")]
    assert len(boots(nodes, KINDS)) == 1


def test_every_boot_after_the_first_is_a_restart() -> None:
    rows = [row(1, 18, boot_ts=T), row(1, 900, boot_ts=T + 600), row(1, 2, server="other", boot_ts=T)]
    assert [(e["server"], e["ts"], e["line"]) for e in restarts(rows)] == [("server", T + 600, 900)]


def test_a_restart_that_the_reader_saw_is_not_told_twice() -> None:
    servers = [
        {"source": 1, "line": 1, "boot_ts": T, "args_hash": "a"},
        {"source": 1, "line": 500, "boot_ts": T + 600, "args_hash": "a"},
        {"source": 1, "line": 900, "boot_ts": T + 1200, "args_hash": "a"},
    ]
    events = [{"source": 1, "line": 500, "ts": T + 600, "kind": "restart"}]
    for limit in (0, 1 << 20):
        view = assembled({"servers": servers, "events": events}, [source(1, "server.log")], limit)
        assert view.query("SELECT line, ts FROM events WHERE kind = 'restart' ORDER BY line") == [
            (500, T + 600),
            (900, T + 1200),
        ]
        assert view.query("SELECT server, boot_ts FROM servers ORDER BY boot_ts") == [
            ("server", T), ("server", T + 600), ("server", T + 1200)
        ]  # fmt: skip
