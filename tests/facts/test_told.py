"""Requests that someone told the server to end: the client's record and the server's line of one request are one."""

from ridgeline.bundle.view import view_of
from ridgeline.facts import ask

LOG = {"source": 1, "path": "server.log", "kind": "log"}


def aborted(rid: str, line: int, **more: object) -> dict[str, object]:
    return {"kind": "abort", "rid": rid, "text": f"Request {rid} aborted.", "source": 1, "line": line, **more}


def test_vllm_says_it_under_its_own_id() -> None:
    events = [aborted("cmpl-req-9-0", 4), aborted("chatcmpl-req-8", 9)]
    alone = ask(view_of({"sources": [LOG], "events": events}), "told_aborts")
    assert (alone.value, alone.n) == (2, 2)
    client = [
        {"source": 2, "line": n, "kind": "client", "role": "client", "rid": rid, "client_rid": mine, "state": "aborted"}
        for n, (rid, mine) in enumerate((("cmpl-req-9", "req-9"), ("chatcmpl-req-8", "req-8")), 1)
    ]
    both = ask(view_of({"sources": [LOG], "events": events, "records": client}), "told_aborts")
    assert both.value == 2 and both.n == 4  # two requests, four rows that say so


def test_other_words_about_aborts_are_not_counted() -> None:
    events = [{**aborted("r1", 1), "text": "Abort requests that waited too long"}]
    assert ask(view_of({"sources": [LOG], "events": events}), "told_aborts").value == 0
