"""The plain view of requests is taken only where it is the careful one."""

from pathlib import Path

from ridgeline.bundle.open import open_sources
from ridgeline.bundle.view import View, view_of
from ridgeline.facts.points import ARRIVALS, ASKS, ASKS_PLAIN

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
