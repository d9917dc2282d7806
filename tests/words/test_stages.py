import pytest

from ridgeline.words.stages import STAGE_NAMES, STAGES, canonical_stage, containing, stages_of


@pytest.mark.parametrize(
    ("raw", "name"),
    [("dispatch", "api_server_dispatch"), ("dc_dispatch", "dpc_dispatch"), ("decode_loop", "decode_loop"),
     (" prefill_forward ", "prefill_forward")],
)  # fmt: skip
def test_old_names_find_the_present_stage(raw: str, name: str) -> None:
    stage = canonical_stage(raw)
    assert stage is not None
    assert stage.name == name


@pytest.mark.parametrize("raw", ["decode_prealloc", "decode_transfer", "", "Req"])
def test_names_no_version_emits_are_no_stages(raw: str) -> None:
    assert canonical_stage(raw) is None


def test_containers_exist_and_end() -> None:
    assert containing("spec_verify") == ("decode_loop", "decode_forward")
    assert containing("prefill_forward") == ()
    for stage in STAGES:
        assert set(containing(stage.name)) <= STAGE_NAMES


def test_a_role_lists_only_top_level_stages_of_its_own() -> None:
    for role in ("unified", "prefill", "decode"):
        names = stages_of(role)
        assert len(names) == len(set(names))
        for name in names:
            stage = canonical_stage(name)
            assert stage is not None
            assert stage.within is None
            assert stage.role in ("any", role)
    assert stages_of("gateway") == ()


def test_every_stage_points_to_a_layer() -> None:
    layers = {"queue", "prefill", "decode", "memory", "cache", "routing", "disagg", "frontend", "storage"}
    assert {stage.layer for stage in STAGES} <= layers
