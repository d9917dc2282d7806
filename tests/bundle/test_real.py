"""The recorded runs: what the view holds equals what a plain reading of the raw files counts."""

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ridgeline.bundle.open import open_sources
from ridgeline.bundle.view import View

pytestmark = pytest.mark.shared
PREFIX = re.compile(r"^\[[^\]]*\] ?")


def json_lines(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    return [json.loads(PREFIX.sub("", line)) for line in text.splitlines()]


@pytest.fixture(scope="module")
def single(shared_dir: Path) -> tuple[Path, View]:
    folder = shared_dir / "real/sglang_0.5.23/single_full"
    return folder, open_sources([str(folder)])


@pytest.fixture(scope="module")
def pair(shared_dir: Path) -> tuple[Path, View]:
    folder = shared_dir / "real/sglang_0.5.23/pd_mooncake_tcp"
    return folder, open_sources([str(folder)])


def ended(folder: Path) -> list[dict[str, Any]]:
    log = json_lines(folder / "request_log/vm_0.log.gz")
    return [d["out"]["meta_info"] for d in log if d["event"] == "request.finished"]


def test_all_sources_of_a_run_are_one_server(single: tuple[Path, View]) -> None:
    assert single[1].query("SELECT DISTINCT server FROM sources") == [("server",)]


def test_every_arrival_is_one_logical_request(single: tuple[Path, View]) -> None:
    folder, view = single
    log = json_lines(folder / "request_log/vm_0.log.gz")
    arrivals = [d["rid"] for d in log if d["event"] == "request.received"]
    sql = "SELECT count(DISTINCT coalesce(parent_rid, rid)) FROM requests WHERE role = 'unified'"
    assert view.query(sql) == [(len(arrivals),)]
    sent = len(json_lines(folder / "client.jsonl"))
    crash = len(json_lines(folder / "client_crash.jsonl"))
    assert sent == 260
    assert len(arrivals) == sent + crash + 1  # and one health check
    assert view.query(f"{sql} AND NOT probe") == [(sent + crash,)]
    assert view.query("SELECT count(*) FROM requests WHERE role = 'client'") == [(sent + crash,)]


def test_queue_full_aborts_are_rejections(single: tuple[Path, View]) -> None:
    folder, view = single
    full = [m for m in ended(folder) if "queue is full" in str(m["finish_reason"])]
    assert len(full) == 101
    sql = """
        SELECT count(*), sum(completion_tokens) FROM requests
        WHERE role = 'unified' AND state = 'rejected' AND abort_message LIKE '%queue is full%'
    """
    assert view.query(sql) == [(101, sum(m["completion_tokens"] for m in full))]


def test_finished_requests_have_the_figures_of_their_records(single: tuple[Path, View]) -> None:
    folder, view = single
    want = {
        m["id"]: (m["prompt_tokens"], m["completion_tokens"], m["cached_tokens"], m["num_retractions"])
        for m in ended(folder)
        if m["finish_reason"]["type"] != "abort"
    }
    rows = view.query(
        """
        SELECT rid, prompt_tokens, completion_tokens, cached_tokens, retractions, e2e_s, ttft_s, queue_s
        FROM requests WHERE role = 'unified' AND state = 'finished'
        """
    )
    assert {rid: tuple(rest[:4]) for rid, *rest in rows} == want
    times = {
        m["id"]: (m["e2e_latency"], m["first_token_latency"], m["queue_time"]) for m in ended(folder) if m["id"] in want
    }
    assert {rid: tuple(rest[4:]) for rid, *rest in rows} == times


def test_clients_aborts_and_the_crash_are_not_left_as_hanging(single: tuple[Path, View]) -> None:
    folder, view = single
    clients = json_lines(folder / "client.jsonl")
    went = {i for c in clients if c.get("client_aborted") or c.get("error") == "cancelled" for i in c["server_ids"]}
    finished = {m["id"] for m in ended(folder)}
    sql = "SELECT rid FROM requests WHERE role = 'unified' AND state IN ('aborted', 'finished', 'rejected', 'error')"
    known = {rid for (rid,) in view.query(sql)}
    assert went - finished <= known
    left = view.query("SELECT count(*) FROM requests WHERE role = 'unified' AND censored")
    assert left[0][0] <= 5  # what the scheduler's death left, less what the client saw fail


def test_the_clients_view_is_joined_by_the_servers_id(single: tuple[Path, View]) -> None:
    folder, view = single
    clients = [c for c in json_lines(folder / "client.jsonl") if c["server_ids"]]
    joined = view.query(
        """
        SELECT DISTINCT c.client_rid FROM requests AS c
        JOIN requests AS s ON s.rid = c.rid AND s.role = 'unified'
        WHERE c.role = 'client' AND c.client_rid IS NOT NULL
        """
    )
    assert {c["client_rid"] for c in clients if c["server_ids"][0] != c["client_rid"]} <= {rid for (rid,) in joined}


def test_derived_times_are_whole(single: tuple[Path, View]) -> None:
    _, view = single
    ((most, least, negative),) = view.query(
        """
        SELECT max(unaccounted_s), min(unaccounted_s),
            count(*) FILTER (WHERE unaccounted_s IS NULL AND retractions = 0)
        FROM requests WHERE role = 'unified' AND state = 'finished'
        """
    )
    assert 0 <= least <= most
    assert negative == 0
    # the engine's own prefix fills: 0 tokens for the client, 1 in the scheduler; nothing else is in conflict
    sql = "SELECT DISTINCT parent_rid IS NOT NULL AND choice IS NULL FROM requests WHERE {}"
    told = "role = 'unified' AND state = 'finished' AND retractions = 0 AND conflicts > 0"
    assert view.query(sql.format(told)) == [(True,)]


def test_all_rooms_of_the_pair_are_joined(pair: tuple[Path, View]) -> None:
    folder, view = pair
    rooms = {
        side: {d["obj"]["bootstrap_room"] for d in json_lines(folder / side / "request_log/vm_0.log.gz")}
        for side in ("prefill", "decode")
    }
    both = rooms["prefill"] & rooms["decode"]
    assert len(both) == 120
    joined = view.query(
        """
        SELECT p.room FROM requests AS p
        JOIN requests AS d ON d.request = p.pair AND d.pair = p.request
        WHERE p.role = 'prefill' AND d.role = 'decode' AND p.room = d.room
        """
    )
    assert {room for (room,) in joined} == both
    assert len(joined) == 120
    assert view.query("SELECT server, count(*) FROM requests WHERE role <> 'client' GROUP BY ALL ORDER BY ALL") == [
        ("decode", 120),
        ("prefill", 120),
    ]


def test_every_source_of_the_pair_has_its_side(pair: tuple[Path, View]) -> None:
    for path, server in pair[1].query("SELECT path, server FROM sources WHERE kind NOT IN ('client', 'otlp')"):
        assert server == re.split(r"[./]", path)[0], path


def test_the_pairs_clocks_agree(pair: tuple[Path, View]) -> None:
    ((offset, error),) = pair[1].query("SELECT offset_s, error_s FROM clocks WHERE clock = 'decode - prefill'")
    assert abs(offset) < 0.05
    assert error < 0.2


def test_a_vllm_run_has_one_row_per_answer_and_a_year(shared_dir: Path) -> None:
    folder = shared_dir / "real/vllm_0.32.0/run1"
    view = open_sources([str(folder)])
    with gzip.open(folder / "server.log.gz", "rt") as f:
        arrived = Counter(re.findall(r"Received request (\S+): params: SamplingParams\(n=(\d+)", f.read()))
    want = {rid for rid, _ in arrived}
    got = view.query("SELECT rid, count(*) FROM requests WHERE role IS DISTINCT FROM 'client' GROUP BY rid")
    assert {rid for rid, _ in got} == want
    assert {rid: n for rid, n in got if n > 1}.keys() <= {rid for rid, n in arrived if n != "1"}
    spans = (folder / "otlp_spans.jsonl").read_text()
    ((tokens,),) = view.query("SELECT sum(completion_tokens) FROM requests WHERE role IS DISTINCT FROM 'client'")
    pattern = r'"gen_ai\.usage\.completion_tokens", "value": \{"intValue": "(\d+)"'
    assert tokens == sum(map(int, re.findall(pattern, spans)))
    ((first,),) = view.query("SELECT min(ts) FROM batches")
    assert first > 1796010900
