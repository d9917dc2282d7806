"""vLLM lines that are known and carry nothing to keep: start-up chatter, routes, banners, library noise."""

from typing import Any, Final

import numpy as np
import pyarrow.compute as pc

from ridgeline.signals.lines import LogLines, Parsed
from ridgeline.signals.log.rules import matching
from ridgeline.signals.log.unread import ERROR_LIKE
from ridgeline.signals.rows import Reading

# Source files whose informational lines tell of loading, compiling and listening only.
STARTUP_FILES: Final = (
    r"api_server|api_utils|arg_utils|backends|base_loader|bitsandbytes_loader|cache|compilation|config|"
    r"core|cpu|cpu_model_runner|cpu_worker|cuda|cuda_communicator|cuda_graph|custom_all_reduce|decorators|"
    r"default_loader|distributed_gpu_executor|entry|factories|fa_utils|flash_attn|gpu_executor|"
    r"gpu_model_runner|gpu_worker|hf|importing|interface|kernel|kv_cache_utils|launcher|llm_engine|loader|"
    r"model|model_runner|model_runner_v1|monitor|multiproc_executor|multiproc_worker_utils|"
    r"ompmultiprocessing|parallel|parallel_state|platform|pynccl|pynccl_wrapper|ray_distributed_executor|"
    r"ray_utils|registry|request_logger|rocm|scheduler|selector|serving_chat|serving_completion|"
    r"serving_models|serving_responses|system_utils|topk_topp_sampler|utils|vllm|weight_utils|worker|"
    r"worker_v1|xgrammar_utils"
)
FILE: Final = r"(?:^|[ /])(?:" + STARTUP_FILES + r")\.py:\d+$"
# Texts that mean nothing for serving, whatever their severity word; anchored at the start of the body.
KNOWN: Final = "|".join(
    (
        r"^Route: /",
        r"^Available routes are:",
        r"^Loading (?:pt|safetensors|checkpoint)[\w ]*shards",
        r"^Capturing CUDA graph",
        r"^Found ulimit of \d+ and failed to automatically increase",
        r"^(?:Enforce eager set|Inductor compilation was disabled|Default (?:vLLM )?sampling parameters)",
        r"^(?:Triton is (?:not )?installed|Model Runner V\d requires Triton)",
        r"^(?:libtcmalloc|libiomp) is not found in LD_PRELOAD",
        r"^Failed to create oneDNN linear, fallback to torch linear",
        r"^nanobind: ",
        r"^ - (?:leaked (?:type|instance|function)|\.\.\. skipped remainder)",
        r"^See https://nanobind\.",
        r"^\[W\d{3,4} .{0,60}\] Warning: ",
        r"^/[^ ]{1,300}\.py:\d+: \w*(?:Warning|warning): ",
        r"^  (?:warnings?\.warn\(|if hasattr\(value|wrapper = lookup\()",
        r"^\(?INFO:     (?:Started server process|Waiting for application|Application (?:startup|shutdown) complete"
        r"|Uvicorn running|Shutting down|Finished server process)",
        r"^[\s█▄▀▌▐▁-▏]*(?:version|model)? *[\w./-]*$",
    )
)


def parse(lines: LogLines, reading: Reading) -> Parsed:
    """No rows; the lines it knows count as understood. Lines with error-like words are left alone."""
    known = matching(lines.body, KNOWN)
    quiet: Any = pc.fill_null(pc.equal(lines.severity, "info"), False)
    informational = np.asarray(quiet.to_numpy(zero_copy_only=False), np.bool_) & matching(lines.logger, FILE)
    for i in np.flatnonzero(informational & ~known).tolist():
        informational[i] = ERROR_LIKE.search(lines.body[i].as_py()[:500]) is None
    return Parsed([], known | informational)
