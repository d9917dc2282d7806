"""The list of faults: ids, causes, and that everything a fault names exists."""

import pytest

from ridgeline.lab.emit.model import VERSIONS
from ridgeline.lab.faults import FAULTS, fault_of
from ridgeline.lab.faults.model import Fault
from ridgeline.lab.front import EFFECTS
from ridgeline.lab.host import EVENTS
from ridgeline.lab.score.twins import IDS, PAIRS
from ridgeline.lab.service import OURS
from ridgeline.lab.steps import STEPS
from ridgeline.sim.settings import Settings
from ridgeline.sim.tables import PERTURBABLE

# the closed list of the design, layer by layer
CAUSES = {
    "queue": "arrival-overload burst running-cap over-reservation head-of-line priority-starvation slot-leak "
    "never-fits "
    "limit-rejected scheduler-overhead",
    "prefill": "prompt-mix regression cold-start grammar multimodal lora",
    "decode": "batch-growth regression graph-miss spec-acceptance slow-rank prefill-interference token-stall",
    "memory": "saturation retraction-storm leak oom-crash slots-exhausted host-oom no-token-limit retained-cache "
    "pool-misconfigured",
    "cache": "flushed prompt-drift key-split page-misaligned eviction scattered-routing disabled metric-artefact",
    "routing": "hot-key token-skew worker-out stale-load",
    "disagg": "bootstrap prealloc transfer-slow transfer-stuck ratio abort-hold peer-lost room-mismatch "
    "config-mismatch staging",
    "frontend": "tokenizer detokenizer output-parser blocked-loop gateway slow-client",
    "storage": "tier-stall tier-miss",
    "fault": "hang crash wrong-output abort",
    "client": "request-config cancelled load-generator",
}
ALL = {f"{layer}.{name}" for layer, names in CAUSES.items() for name in names.split()} | {"healthy", "unknown"}


def test_enough_faults_with_ids_after_their_causes() -> None:
    ids = [f.id for f in FAULTS]
    assert len(ids) == len(set(ids))
    assert len([f for f in FAULTS if f.cause not in ("healthy", "unknown") and not f.second]) >= 36
    assert len([f for f in FAULTS if f.cause == "healthy"]) == 7
    assert len([f for f in FAULTS if f.cause == "unknown"]) == 2
    assert len([f for f in FAULTS if f.second]) >= 2
    assert fault_of("queue.burst") is not None
    assert fault_of("queue.nonsense") is None


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.id)
def test_a_fault_names_only_what_exists(fault: Fault) -> None:
    assert fault.id == fault.cause or fault.id.startswith(f"{fault.cause}/")
    assert {fault.cause, *fault.second, *fault.rules_out} <= ALL
    assert fault.route in ("replay", "simulate", "profile", "config", "none")
    assert set(fault.versions) <= {*VERSIONS, "vllm"}
    assert {t.what for t in fault.traffic} <= set(STEPS)
    assert {c.parameter for c in fault.changes} <= {*PERTURBABLE, "step_time"}
    assert {f.what for f in fault.front} <= set(EFFECTS)
    assert {h.what for h in fault.host} <= set(EVENTS)
    known = set(Settings.__dataclass_fields__) | OURS
    assert {name for name, _ in (*fault.settings, *fault.deploy)} <= known
    assert fault.cause not in fault.rules_out
    assert fault.mechanism.endswith(".")


@pytest.mark.parametrize("fault", [f for f in FAULTS if not f.harmless], ids=lambda f: f.id)
def test_a_fault_does_something(fault: Fault) -> None:
    changes = [t for t in fault.traffic if not t.always]
    assert changes or fault.changes or fault.front or fault.host or fault.deploy


def test_twins_are_causes() -> None:
    assert set(IDS.values()) <= ALL
    assert {name for pair in PAIRS for name in pair} <= set(IDS)
