"""vLLM's server log (V0 and V1, vllm-ascend): stats, requests, start-up facts, failures; the known rest is quiet."""

from collections.abc import Callable
from typing import Final

import numpy as np

from ridgeline.signals.lines import LogLines, Parsed
from ridgeline.signals.log import vllm_quiet, vllm_requests, vllm_startup, vllm_stats, vllm_transfers
from ridgeline.signals.log.orderly import after_shutdown
from ridgeline.signals.log.rules import apply_rules, in_turn, matching
from ridgeline.signals.log.vllm_rules import RULES
from ridgeline.signals.rows import Reading

# Without one of these, lines are not vLLM's: its chatter rules must not swallow another program's lines.
SIGNS: Final = (
    r"(?:Avg (?:prompt|generation) throughput|SpecDecoding metrics): |SamplingParams\(|non-default args: \{"
    r"|LLM engine \(v|^Generated response |KV cache size: [\d,]+ tokens"
)
PROCESS: Final = r"(?:^| )(?:APIServer|ApiServer|EngineCore|Worker|VllmWorker)[\w =-]* pid=\d|^vllm\."


def parse(lines: LogLines, reading: Reading) -> Parsed:
    """What is vLLM's of some lines: `batches`, `records`, `config`, `servers`, `events`, `request_attrs`."""
    late = lines.line[after_shutdown(lines)]
    parts: list[Callable[[LogLines, Reading], Parsed]] = [
        vllm_stats.parse,
        vllm_requests.parse,
        vllm_startup.parse,
        vllm_transfers.parse,
        lambda rest, r: apply_rules(RULES, rest, r, np.isin(rest.line, late)),
    ]
    if matching(lines.logger, PROCESS).any() or matching(lines.body, SIGNS).any():
        parts.append(vllm_quiet.parse)
    return in_turn(parts, lines, reading)
