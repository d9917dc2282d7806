"""A scenario as a Mooncake trace: JSON lines of timestamp (ms), input_length, output_length and hash_ids.

Format: kvcache-ai/Mooncake, FAST25-release/traces. A block is 512 tokens, the last one may be shorter; two requests
have the same id at one place exactly where their prompts agree up to the end of that block.
"""

from __future__ import annotations

import json
from typing import IO, Final

from ridgeline.scenario.model import PS, Scenario

BLOCK: Final = 512
MS: Final = PS // 1000


def write(traffic: Scenario, out: IO[str]) -> int:
    """Requests written. Block ids count from 0 in the order in which they are first seen."""
    chains: dict[tuple[int, int], int] = {}
    blocks: dict[tuple[int, int], int] = {}
    arrivals, inputs = traffic["arrival_ps"].tolist(), traffic["input_tokens"].tolist()
    outputs, spaces = traffic["output_tokens"].tolist(), traffic["namespace"].tolist()
    offsets, ids, tokens = traffic.offsets.tolist(), traffic.segment_id.tolist(), traffic.segment_tokens.tolist()
    for i in range(traffic.n):
        pieces = list(zip(ids[offsets[i] : offsets[i + 1]], tokens[offsets[i] : offsets[i + 1]], strict=True))
        rest = inputs[i] - sum(length for _, length in pieces)
        pieces += [(-1 - i, rest)] if rest > 0 else []  # content nobody else has
        found, chain, end = [], -1 - spaces[i], 0
        reached = 0
        for segment, length in pieces:
            chain = chains.setdefault((chain, segment), len(chains))
            end = min(inputs[i], end + length)
            while (edge := min(inputs[i], (reached + 1) * BLOCK)) <= end and reached * BLOCK < inputs[i]:
                found.append(blocks.setdefault((chain, edge), len(blocks)))
                reached += 1
        line = {
            "timestamp": arrivals[i] // MS, "input_length": inputs[i], "output_length": outputs[i], "hash_ids": found,
        }  # fmt: skip
        out.write(json.dumps(line) + "\n")
    return traffic.n
