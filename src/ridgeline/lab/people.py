"""Names and texts of a case: servers, models, adapters, schemas, prompts. Drawn by seed, telling nothing."""

from typing import Any, Final

import numpy as np

from ridgeline.lab.case import Case, names
from ridgeline.lab.emit.meta import hash_text
from ridgeline.lab.emit.model import VLLM_VERSION, Server
from ridgeline.lab.service import Boot
from ridgeline.lab.traffic import UNIQUE
from ridgeline.sim.settings import Settings

MODELS: Final = ("llama-3.1-8b-instruct", "qwen3-14b", "mistral-small-24b", "gemma-3-12b-it")
SHOWN: Final = (
    "schedule_policy", "load_balance_method", "schedule_conservativeness", "enable_priority_scheduling",
    "disable_priority_preemption", "disable_radix_cache", "radix_eviction_policy", "enable_mixed_chunk", "enable_lora",
    "max_loras_per_batch", "num_reserved_decode_tokens", "tokenizer_worker_num",
    "disable_overlap_schedule",
)  # fmt: skip
VOCABULARY: Final = 128_000
DECODE_LOG_INTERVAL: Final = 40


def roles(case: Case) -> list[str]:
    """The role of each worker."""
    if case.pd:
        return ["prefill"] * (case.workers - 1) + ["decode"]
    return ["unified"] * case.workers


def launch_args(settings: Settings, boot: Boot, version: str) -> tuple[tuple[str, Any], ...]:
    """What the server shows of its arguments besides the sizes."""
    found: dict[str, Any] = {name: getattr(settings, name) for name in SHOWN}
    if version == "0.5.3":
        del found["tokenizer_worker_num"]
    if settings.max_queued_requests:
        found["max_queued_requests"] = settings.max_queued_requests
    if settings.speculative_num_draft_tokens:
        found |= {
            "speculative_algorithm": "EAGLE",
            "speculative_num_draft_tokens": settings.speculative_num_draft_tokens,
            "speculative_num_steps": settings.speculative_num_draft_tokens - 1,
            "speculative_eagle_topk": 1,
        }
    found |= {
        k: v for k, v in boot.shown if k in ("random_seed", "enable_hierarchical_cache", "hicache_storage_backend")
    }
    return tuple(found.items())


def server_of(case: Case, boot: Boot, k: int, worker: int, boot_ts: float) -> Server:
    """The ``k``-th boot of a worker."""
    rng = case.rng("people")
    model = MODELS[int(rng.integers(0, len(MODELS)))]
    tp = int(rng.choice([1, 2, 4]))
    pid = int(rng.integers(300, 30_000))
    port = int(rng.choice([30000, 8000, 18000]))
    s = boot.settings
    return Server(
        case.engine, VLLM_VERSION if case.engine == "vllm" else case.version, roles(case)[worker],
        f"10.4.0.{11 + worker}", port, pid + 400 * k + 7 * worker, model, boot_ts, case.dp_size, tp, s.page_size,
        s.max_total_num_tokens, s.max_running_requests, s.max_prefill_tokens, s.chunked_prefill_size, s.context_length,
        DECODE_LOG_INTERVAL, launch_args(s, boot, case.version),
    )  # fmt: skip


def adapter_names(case: Case) -> list[str]:
    """Names of LoRA adapters (number 0: none)."""
    return ["", *names(case, "adapters", "adapter", 64)]


def extra_keys(case: Case) -> list[str]:
    """Extra keys by namespace number (0: none)."""
    return ["", *names(case, "extra", "u", 500)]


def schema_text(case: Case, number: int) -> str | None:
    """A JSON schema; different numbers differ in a property's name."""
    if number == 0:
        return None
    name = f"f{hash_text(f'{case.seed}:{number}') % 0xFFFFF:05x}"
    return f'{{"type": "object", "properties": {{"{name}": {{"type": "string"}}}}, "required": ["{name}"]}}'


def rid_of(case: Case, serial: int) -> str:
    """A request id: 32 hex digits, as the server makes them."""
    return f"{hash_text(f'{case.seed}:{serial}'):016x}{hash_text(f'{serial}:{case.seed}'):016x}"


def segment_ids(segment: int, tokens: int) -> list[int]:
    """The token ids of a segment: the same for the same segment, unlike any other's."""
    step = 2 * (segment * 2_654_435_761 % 60_000) + 1
    start = segment * 40_503 % VOCABULARY
    ids: list[int] = (256 + (start + step * np.arange(tokens, dtype=np.int64)) % VOCABULARY).tolist()
    return ids


def output_ids(serial: int, tokens: int) -> tuple[int, ...]:
    """The token ids of an answer."""
    return tuple((256 + (serial + 31 * np.arange(tokens, dtype=np.int64)) % VOCABULARY).tolist())


def input_ids(tenant: int, prefix: int, unique: int, drift: int, index: int) -> tuple[int, ...]:
    """The prompt's token ids, in step with `ridgeline.lab.traffic.segments`."""
    own = segment_ids(UNIQUE + 2 * index, unique)
    if drift and prefix > 40:
        head = 18 if drift == 1 else 2
        moving = segment_ids(UNIQUE + 2 * index + 1, 12)
        rest = segment_ids(10_000 + tenant, prefix - head - 12)
        return tuple(segment_ids(1 + tenant, head) + moving + rest + own)
    return tuple(segment_ids(1 + tenant, prefix) + own)
