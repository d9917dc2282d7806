"""Servers beside each other: one that only its scrapes show is a place as well, and the gateway knows its workers."""

from __future__ import annotations

import pytest

from ridgeline.bundle.view import View
from tests.causes.rows import Tables, decode, gauge, requests
from tests.facts.test_measures import value, view

BUSY: Tables = {"batches": decode(60, server="a", waiting=20, running=24)}


def scraped(server: str, running: float, waiting: float) -> Tables:
    tables = gauge(1, "num_running_reqs", [running] * 24)
    queue = gauge(2, "num_queue_reqs", [waiting] * 24)
    return {
        "series": [{**head, "server": server} for head in (*tables["series"], *queue["series"])],
        "samples": [*tables["samples"], *queue["samples"]],
    }


def beside(server: str, waiting: float = 0.0) -> View:
    return view(BUSY, scraped(server, 0.0, waiting), {"requests": requests(60, 0, 2, server="a")})


@pytest.mark.parametrize(
    ("server", "waiting", "free", "skew"),
    [("b", 0.0, 0.5, 2.0), ("b", 18.0, 0.0, 2.0), ("a", 0.0, None, None)],
)
def test_an_idle_server_is_seen_in_its_scrapes_alone(
    server: str, waiting: float, free: float | None, skew: float | None
) -> None:
    seen = beside(server, waiting)
    assert value(seen, "free_places") == free
    assert value(seen, "arrival_skew", by="requests") == skew


@pytest.mark.parametrize(("known", "missing"), [(True, 0), (False, 1)])
def test_an_empty_worker_is_in_rotation_where_the_gateway_says_so(known: bool, missing: int) -> None:
    empty = (
        gauge(1, "num_running_reqs", [0.0] * 12, dp_rank="0"),
        gauge(2, "num_running_reqs", [5.0] * 12, dp_rank="1"),
        gauge(3, "num_queue_reqs", [0.0] * 12, dp_rank="0"),
        gauge(4, "num_queue_reqs", [2.0] * 12, dp_rank="1"),
    )
    health = [gauge(5 + i, "worker_health", [1.0] * 12, worker=f"http://w{i}") for i in range(2)] if known else []
    assert value(view(*empty, *health), "missing_workers") == missing
