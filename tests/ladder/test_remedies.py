"""Remedies name flags of the engine that is in the evidence."""

from ridgeline.bundle.view import view_of
from ridgeline.ladder.remedies import fitting
from ridgeline.model.cause import Remedy

CAP = Remedy("fix", "raise the running limit", "--max-running-requests", True)
ONLY_SGLANG = Remedy("mitigate-now", "admit less at once", "--schedule-conservativeness (raise)", True)


def test_an_sglang_server_gets_its_own_flags() -> None:
    view = view_of({"servers": [{"engine": "sglang"}]})
    assert fitting((CAP, ONLY_SGLANG), view) == (CAP, ONLY_SGLANG)


def test_a_vllm_server_gets_vllm_flags_or_none() -> None:
    cap, only = fitting((CAP, ONLY_SGLANG), view_of({"servers": [{"engine": "vllm"}]}))
    assert cap.flag == "--max-num-seqs"
    assert only.flag is None
    assert only.action == ONLY_SGLANG.action
