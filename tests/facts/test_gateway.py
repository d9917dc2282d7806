"""A gateway's own counts per worker, under its names of today and of before it was renamed."""

from pathlib import Path

import pytest

from ridgeline.bundle.open import open_sources
from ridgeline.bundle.view import view_of
from ridgeline.facts.gateway import gateway_skew, pick_skew
from ridgeline.facts.ranks import idle_places
from ridgeline.ladder.diagnose import diagnose


def scrape(folder: Path, name: str, loads: list[int]) -> Path:
    path = folder / "gateway.prom"
    lines = [f"# TYPE {name} gauge"]
    lines += [f'{name}{{worker="http://w{i}:30000"}} {load}' for i, load in enumerate(loads)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("name", ["smg_worker_requests_active", "sgl_router_running_requests"])
def test_one_worker_has_all(tmp_path: Path, name: str) -> None:
    view = open_sources([str(scrape(tmp_path, name, [480, 0, 1, 0]))])
    fact = gateway_skew(view)
    told = dict(fact.statement.figures)
    assert fact.value == 0.75
    assert (told["worker"], told["most"], told["idle"], told["workers"]) == ("http://w0:30000", 480, 3, 4)
    (finding,) = diagnose(view, "slow").findings
    assert (finding.cause, finding.layer) == ("unknown", "routing")


@pytest.mark.parametrize("loads", [[12, 10, 11], [3, 0, 0]])
def test_even_or_nearly_idle_workers_say_nothing(tmp_path: Path, loads: list[int]) -> None:
    assert gateway_skew(open_sources([str(scrape(tmp_path, "smg_worker_requests_active", loads))])).value == 0


def test_one_worker_has_no_other_to_compare_it_with() -> None:
    assert gateway_skew(view_of({})).value is None


def test_picks_that_no_cached_block_accounts_for(tmp_path: Path) -> None:
    log = tmp_path / "frontend.log"
    head = "2026-10-09T21:40:{:02d}.000000Z  INFO dynamo_llm::kv_router::scheduler: "
    with log.open("w") as out:
        for i in range(30):
            for worker in (7, 8, 9):
                out.write(head.format(i) + f"Formula for {worker} with 0 cached blocks: 9.0 = 0.0 * p + 9.0\n")
            out.write(head.format(i) + "Selected worker: 7, logit: 9.000, cached blocks: 0, total blocks: 2859\n")
    fact = pick_skew(open_sources([str(log)]))
    told = dict(fact.statement.figures)
    assert (fact.value, told["worker"], told["candidates"], told["share"]) == (3.0, "7", 3, 1.0)


def test_replicas_that_do_nothing_beside_loaded_ones(tmp_path: Path) -> None:
    paths = []
    for i, running in enumerate((85, 86, 0)):
        path = tmp_path / f"{i}.prom"
        named = f'{{engine="0",model_name="m",pod="decode-{i}"}}'
        path.write_text(
            f"# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{named} {running}\n"
            f"# TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting{named} 0\n"
        )
        paths.append(str(path))
    fact = idle_places(view := open_sources(paths))
    assert fact.value == pytest.approx(1 / 3)
    assert diagnose(view, "slow").findings[0].layer == "routing"
