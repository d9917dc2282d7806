"""The client's TTFT beside what the engine says of a request, where that is only how long the whole took."""

import pytest

from ridgeline.bundle.view import view_of
from ridgeline.facts.client import client_gap_share
from tests.causes.rows import T0


def rows(role: str, e2e_s: float) -> list[dict[str, object]]:
    """Twenty requests: the client waits 1.0 s for the first token and 3.0 s for all; the engine says `e2e_s`."""
    out: list[dict[str, object]] = []
    for i in range(20):
        same = {"rid": f"r{i}", "received_ts": T0 + i, "source": 1}
        out.append({**same, "line": i + 1, "kind": "client", "role": "client", "ttft_s": 1.0, "e2e_s": 3.0})
        out.append({**same, "line": i + 101, "kind": "finished", "role": role, "e2e_s": e2e_s})
    return out


@pytest.mark.parametrize(
    ("role", "e2e_s", "share"),
    [
        ("unified", 2.4, 0.6),
        ("unified", 1.5, None),  # more is missing than the whole TTFT: it is missing behind the first token
        ("prefill", 2.4, None),  # one side of a pair is no engine of a whole request
        ("decode", 2.4, None),
    ],
)
def test_what_of_the_ttft_lies_outside(role: str, e2e_s: float, share: float | None) -> None:
    value = client_gap_share(view_of({"records": rows(role, e2e_s)})).value
    assert value == (None if share is None else pytest.approx(share))
