from ridgeline.model.tables import TABLES
from ridgeline.words.fields import field
from ridgeline.words.logkeys import LOG_KEYS
from ridgeline.words.metrics import metric
from ridgeline.words.queues import QUEUES, queue, queues_of
from ridgeline.words.stages import STAGE_NAMES


def test_a_queue_names_only_signals_that_exist() -> None:
    raws = {key.raw for key in LOG_KEYS}
    for entry in QUEUES:
        assert entry.column in {**TABLES["batches"], **TABLES["loads"]}
        if entry.gauge:
            assert metric(entry.gauge).kind == "gauge"
        assert entry.log_key is None or entry.log_key in raws
        assert entry.load_key is None or field("load", entry.load_key) is not None
        assert entry.stage is None or entry.stage in STAGE_NAMES


def test_a_role_has_its_own_queues_in_order() -> None:
    assert [entry.name for entry in queues_of("decode")][:2] == ["prealloc", "host-receive"]
    assert [entry.name for entry in queues_of("unified")] == ["grammar", "waiting", "paused"]
    assert len(queues_of("no such role")) == len(QUEUES)


def test_full_decode_shows_on_the_prefill_side() -> None:
    assert "decode" in queue("bootstrap").waits_for
