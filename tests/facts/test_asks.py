"""The plain view of requests is taken only where it is the careful one."""

from pathlib import Path

from ridgeline.bundle.open import open_sources
from ridgeline.bundle.view import View, view_of
from ridgeline.facts.asks import ARRIVALS, ASKS, ASKS_PLAIN
from ridgeline.facts.points import ready

INCIDENT = Path(__file__).resolve().parents[2] / "examples" / "incident"


def both(view: View) -> tuple[bool, bool]:
    """Whether the plain way may be taken, and whether it gives what the careful way gives."""
    found = []
    for made in (ASKS, ASKS_PLAIN):
        view.con.execute(made)
        found.append(view.query("SELECT * FROM asks ORDER BY request"))
        view.con.execute("DROP VIEW asks")
    return bool(view.one(ARRIVALS)[0]), found[0] == found[1]


def test_an_incident_whose_requests_all_arrived() -> None:
    assert both(open_sources([str(INCIDENT)])) == (True, True)


def test_requests_without_arrival_and_clients_alone() -> None:
    timed = {"request": 1, "rid": "a", "role": "unified", "logged_ts": 9.0, "queue_s": 2.0, "forward_s": 1.0}
    client = {"request": 2, "rid": "b", "role": "client", "received_ts": 1.0}
    for rows in ([timed], [client], [timed, client]):
        assert both(view_of({"requests": rows})) == (False, False)
    assert both(view_of({"requests": [{**timed, "received_ts": 5.0}, client]})) == (True, True)


def test_what_only_a_client_saw_of_a_request_fills_what_the_server_does_not_say() -> None:
    rows = []
    for k in range(30):
        arrival = {"request": k, "rid": f"r{k}", "state": "received", "received_ts": 10.0 + k, "censored": True}
        if k == 29:  # traced: what the server says stands
            arrival |= {"state": "finished", "prompt_tokens": 7, "e2e_s": 2.5, "ttft_s": 0.25, "censored": False}
        seen = {"request": 100 + k, "rid": f"r{k}", "role": "client", "state": "finished", "received_ts": 12.0 + k,
                "prompt_tokens": 900, "ttft_s": 0.5, "e2e_s": 3.0, "source": 4, "line": k}  # fmt: skip
        rows += [arrival, seen] if k else [arrival]  # of the first one no client tells
    view = ready(view_of({"requests": rows}))
    told = view.query("SELECT rid, state, prompt_tokens, ttft_s, finished_ts, censored, source FROM asks")
    assert told[0] == ("r0", "received", None, None, None, True, None)
    assert told[1] == ("r1", "finished", 900, 0.5, 14.0, False, 4)
    assert told[29] == ("r29", "finished", 7, 0.25, None, False, None)
    assert len(told) == 30
