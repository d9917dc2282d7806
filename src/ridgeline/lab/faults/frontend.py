"""Faults of the front end: API server, gateway, return path, slow readers."""

from typing import Final

from ridgeline.lab.faults.model import SGLANG, Change, Fault, Front

FAULTS: Final = (
    Fault(
        "frontend.tokenizer", "frontend.tokenizer",
        "Tokenizing takes long for every request: they reach the scheduler late.",
        "tokenize", "replay", changes=(Change("tokenize", plus=(0.42, 0.48, 0.56)),), versions=("0.5.9", "0.5.23"),
        rules_out=("queue.arrival-overload", "prefill.regression"),
    ),
    Fault(
        "frontend.detokenizer", "frontend.detokenizer",
        "Turning tokens into text cannot keep up: the scheduler is done long before the response is.",
        "return", "replay", front=(Front("return_token", (0.0032, 0.0042, 0.006)),), versions=SGLANG,
        rules_out=("decode.batch-growth", "decode.regression"),
    ),
    Fault(
        "frontend.output-parser", "frontend.output-parser",
        "Parsing structured output takes time that grows with its square; only those requests return late.",
        "return", "replay", scope=("schema_set",), by="schema", front=(Front("parser", (4.0, 8.0, 16.0)),),
        versions=SGLANG,
        rules_out=("decode.regression", "prefill.grammar"),
    ),
    Fault(
        "frontend.blocked-loop", "frontend.blocked-loop",
        "The API server's event loop stands still for seconds at a time; everything it handles waits together.",
        "tokenize", "replay", front=(Front("stall", (2.5, 4.0, 7.0)),), versions=SGLANG,
        rules_out=("queue.arrival-overload", "frontend.tokenizer"),
    ),
    Fault(
        "frontend.gateway", "frontend.gateway",
        "The gateway in front holds requests before it forwards them; the servers are fine.",
        "gateway", "none", front=(Front("gateway", (1.0, 2.5, 6.0)),), needs=("workers",), versions=SGLANG,
        rules_out=("queue.arrival-overload", "client.load-generator"),
    ),
    Fault(
        "frontend.slow-client", "frontend.slow-client",
        "One client reads its streams slowly; chunks pile up behind it.",
        "return", "none", scope=("client",), by="client", front=(Front("slow_client", (0.05, 0.1, 0.25)),),
        versions=("0.5.23",), rules_out=("decode.regression", "frontend.detokenizer"),
    ),
)  # fmt: skip
