"""Known issues: only with the exact words, only within the versions named, and never as a finding."""

from __future__ import annotations

import pytest

from ridgeline.bundle.view import view_of
from ridgeline.ladder.diagnose import diagnose
from ridgeline.ladder.known import candidates, numbers
from ridgeline.words.known import KNOWN
from tests.causes.rows import Tables, decode, event, join

ORPHAN = event("other-warning", 9, text="Received output for rid='a' but the state was deleted in TokenizerManager.")


def tables(version: str | None, text: str = "") -> Tables:
    servers = [{"server": "s", "engine": "sglang", "version": version}] if version else []
    events = event("other-warning", text=text) if text else ORPHAN
    return join({"batches": decode(12), "events": events, "servers": servers})


@pytest.mark.parametrize(
    ("version", "fits"), [("0.5.18", True), ("0.5.23.post1", True), ("0.5.17", False), (None, False), ("main", False)]
)
def test_a_candidate_needs_the_words_and_the_version(version: str | None, fits: bool) -> None:
    assert bool(candidates(view_of(tables(version)))) is fits
    assert not candidates(view_of(tables(version, "Received output for rid='a'.")))


def test_it_is_said_last_and_changes_no_finding() -> None:
    with_it, without = (diagnose(view_of(tables(version)), "slow") for version in ("0.5.18", "0.5.17"))
    assert with_it.findings == without.findings
    assert "https://github.com/sgl-project/sglang/issues/36333" in with_it.next[-1]
    assert not any("github.com" in step for step in without.next)


def test_wording_is_lower_case_and_versions_are_read() -> None:
    assert all(one.text == one.text.lower() and one.url.startswith("https://github.com/") for one in KNOWN)
    assert [numbers(v) for v in ("0.5.9.post1", "0.5", "dev", None)] == [(0, 5, 9), (0, 5), None, None]
