"""Pictures from made rows: what is drawn is what the rows say, and what is missing is said."""

from __future__ import annotations

import pytest

from ridgeline.bundle.view import View, view_of
from ridgeline.facts.behind import behind, recording
from ridgeline.facts.pictures.differs import differs
from ridgeline.facts.pictures.load import pair, ranks
from ridgeline.facts.pictures.marks import EXACT, Selection, _from_bins, heat, latency, listed, size
from ridgeline.facts.pictures.part import part_of
from ridgeline.facts.pictures.slices import PARTS, slices
from ridgeline.facts.pictures.times import heat as whole_heat
from ridgeline.facts.pictures.times import latency as whole_latency
from ridgeline.facts.pictures.who import classes, prefix, waterfall
from ridgeline.ladder.diagnose import diagnose
from ridgeline.model.chart import Heat, Panels, Picture, Stacks
from ridgeline.model.diagnosis import Window
from tests.causes.rows import T0, decode, requests, sources


def rows(n: int = 200) -> list[dict[str, object]]:
    """Two hundred requests, one a second; every fourth on rank 1 waits two seconds."""
    slow = [i % 4 == 1 for i in range(n)]
    return requests(
        n, server="s", role="unified", dp_rank=[0, 1, 0, 0], routing_key=["a", "hot", "b", "a"],
        queue_s=[0.01, 2.0, 0.01, 0.01], ttft_s=[0.12, 2.11, 0.12, 0.12], e2e_s=[2.2, 4.2, 2.2, 2.2],
        stream=[not s for s in slow],
    )  # fmt: skip


def made() -> View:
    return view_of({"sources": sources("log", "request-log"), "requests": rows(), "batches": decode(100, server="s")})


def test_nothing_gives_pictures_that_say_what_is_missing() -> None:
    view = view_of({})
    shown: list[Picture] = [
        whole_heat(view), whole_latency(view), ranks(view), slices(view), classes(view), waterfall(view, []),
        pair(view), prefix(view), heat(view, Selection(), None), latency(view, [("all", "incident", Selection())]),
        differs(view, Selection()),
    ]  # fmt: skip
    assert all(p.drawing is None and p.missing and p.missing[0].how for p in shown)


def test_the_heatmap_counts_every_request_once() -> None:
    for p in (whole_heat(made()), heat(made(), Selection(), None)):
        assert isinstance(p.drawing, Heat)
        assert sum(sum(row) for row in p.drawing.counts) == 200 == sum(row[1] for row in p.rows)
        assert p.drawing.y_edges[0] <= 0.12 and p.drawing.y_edges[-1] >= 2.11
        fast = sum(sum(row) for row, low in zip(p.drawing.counts, p.drawing.y_edges, strict=False) if low < 1)
        assert fast == 150


def test_latency_is_told_for_each_window() -> None:
    view = made().window(Window(T0 + 100, T0 + 199), Window(T0, T0 + 99))
    p = whole_latency(view)
    told = {(row[0], row[1]): row for row in p.rows}
    assert told["ttft_s", "incident"][2:4] == (100, pytest.approx(0.12))
    assert told["queue_s", "baseline"][5] == pytest.approx(2.0)
    assert isinstance(p.drawing, Panels) and len(p.drawing.panels) == 3


def test_a_selection_narrows_by_time_rank_key_class_and_latency() -> None:
    view = made()
    assert size(view, Selection())[0] == 200
    assert size(view, Selection(from_ts=T0 + 50, to_ts=T0 + 99))[0] == 50
    assert size(view, Selection(rank=1))[0] == 50 == size(view, Selection(key="hot"))[0]
    assert size(view, Selection(attribute="stream", value="false"))[0] == 50
    assert size(view, Selection(low_s=1.0))[0] == 50
    assert size(view, Selection(rank=1, high_s=1.0))[0] == 0
    assert [row[3] for row in listed(view, Selection(), 3)] == ["hot"] * 3


def test_what_differs_in_a_selection_is_found() -> None:
    p = differs(made(), Selection(low_s=1.0))
    assert {"dp_rank=1", "routing_key=hot", "stream=false"} & {row[0] for row in p.rows}
    assert p.rows[0][3] == 1.0 and p.rows[0][7] == 1.0
    assert differs(made(), Selection()).says == "picture.differs.all"


def test_a_part_is_a_view_that_the_ladder_can_be_asked_about() -> None:
    part = part_of(made(), Selection(rank=1))
    assert part.one("SELECT count(*), min(dp_rank), max(dp_rank) FROM requests") == (50, 1, 1)
    assert diagnose(part).verdict in ("finding", "healthy", "inconclusive")


def test_slices_add_up_to_the_whole_request() -> None:
    p = slices(made())
    assert isinstance(p.drawing, Stacks)
    for bar, row in zip(p.drawing.bars, p.rows, strict=True):
        assert sum(v for _, _, v in bar.parts) == pytest.approx(row[2]) == pytest.approx(sum(row[3:]))
    slow = dict(zip((name for name, _ in PARTS), p.rows[0][3:], strict=True))
    assert p.rows[0][:2] == ("slowest tenth", 50) and slow["queue"] == pytest.approx(2.0)


def test_binned_quantiles_are_within_a_percent() -> None:
    import math

    values = [0.001 * 1.01**k for k in range(1000)]
    bins: dict[int, int] = {}
    for v in values:
        at = math.floor(math.log2(v) * 64)
        bins[at] = bins.get(at, 0) + 1
    n, told = _from_bins(sorted(bins.items()))
    assert n == 1000 and n < EXACT
    assert told[10] == pytest.approx(values[500], rel=0.02)


def test_ranks_are_lines_with_true_peaks() -> None:
    lines = [
        *decode(60, dp_rank=0, server="s"),
        *decode(60, 0.5, first_line=501, dp_rank=1, server="s", waiting=[9, 0, 0]),
    ]
    p = ranks(view_of({"sources": sources("log"), "batches": lines}), ("1",))
    assert [row[0] for row in p.rows] == ["DP0", "DP1"]
    assert p.rows[1][2] == 9.0 and p.rows[0][2] == 0.0
    assert isinstance(p.drawing, Panels)
    assert {c.name: c.tone for c in p.drawing.panels[0].curves} == {"DP0": "other", "DP1": "marked"}


def test_a_pair_told_by_two_sources_is_counted_once() -> None:
    log = decode(40, role="decode", server="d", prealloc=4, transfer=2)
    loads = [
        {"source": 2, "line": i + 1, "server": "d", "role": "decode", "ts": T0 + 2 * i, "dp_rank": 0, "running": 8,
         "waiting": 0, "prealloc": 4, "transfer": 2}
        for i in range(40)
    ]  # fmt: skip
    p = pair(view_of({"sources": sources("log", "loads"), "batches": log, "loads": loads}))
    assert {row[0]: row[4] for row in p.rows} == {"prealloc": 4.0, "transfer": 2.0}


def test_behind_a_figure_stand_its_statement_and_rows_it_cites() -> None:
    view = made()
    d = diagnose(view)
    asked = recording(view.window(d.incident, d.baseline))
    found = {name: behind(asked, fact) for name, fact in d.evidence}
    seconds = next(name for name, fact in d.evidence if fact.measure == "seconds")
    assert found[seconds].queries and found[seconds].rows[0].table == "requests"
    assert len(found[seconds].rows[0].rows) == 50 < found[seconds].rows[0].n
    for name, fact in d.evidence:
        for some in found[name].rows:
            assert len(some.rows) <= 50 and len(some.cites) == len(some.rows)
            assert all(cite.partition(":")[0] in {s.partition(":")[0] for s in fact.sources} for cite in some.cites)


def test_the_prefix_split_adds_up() -> None:
    hashes = [[1, 2, 3], [1, 2, 4], [1, 2, 3], [9, 8, 7]] * 10
    prompts = [
        {"rid": f"r{i}", "server": "s", "namespace": "", "unit": "tokens", "basis": "ids", "grain": 16, "tokens": 48,
         "seen_tokens": 48, "held_tokens": 48, "hashes": h, "source": 2, "line": i + 1}
        for i, h in enumerate(hashes)
    ]  # fmt: skip
    view = view_of({"sources": sources("log", "request-log"), "requests": rows(40), "prompts": prompts})
    p = prefix(view)
    assert isinstance(p.drawing, Stacks)
    assert sum(v for _, _, v in p.drawing.bars[0].parts) == pytest.approx(1.0, abs=1e-3)
    assert p.drawing.bars[0].parts[0][0] == "hit" and p.drawing.bars[0].parts[0][2] > 0.5


def test_scrapes_alone_give_a_heatmap_of_their_buckets() -> None:
    series = [{"series": 1, "name": "time_to_first_token_seconds", "kind": "histogram", "labels": "{}", "source": 1}]
    scrapes = [
        {"series": 1, "ts": T0 + 10 * k, "le": [0.1, 1.0, 10.0, float("inf")], "cumulative": cumulative, "sum": 1.0,
         "count": cumulative[-1], "source": 1, "line": k}
        for k, cumulative in enumerate([[5.0, 5, 5, 5], [9.0, 10, 10, 10], [9.0, 10, 13, 14], [2.0, 2, 2, 2]])
    ]  # fmt: skip
    p = whole_heat(view_of({"sources": sources("metrics"), "series": series, "histograms": scrapes}))
    assert isinstance(p.drawing, Heat)
    assert p.drawing.y_edges == (0.05, 0.1, 1.0, 10.0, 20.0)
    assert p.drawing.counts == ((4, 0, 2), (1, 0, 0), (0, 3, 0), (0, 1, 0))  # the last scrape is of a new boot
