"""Faults of the routing layer."""

from typing import Final

from ridgeline.lab.faults.model import SGLANG, Change, Fault, Host, Traffic

FAULTS: Final = (
    Fault(
        "routing.hot-key", "routing.hot-key",
        "One routing key sends most of the traffic; the gateway keeps it on one worker while the others idle.",
        "prefill_waiting", "simulate", scope=("routing_key", "worker"), by="routing_key",
        traffic=(Traffic("hot_key", (0.6, 0.7, 0.85)), Traffic("rate", (1.15, 1.2, 1.25))),
        settings=(("router", "consistent_hashing"), ("max_running_requests", 24)), needs=("workers",), versions=SGLANG,
        rules_out=("decode.slow-rank", "queue.arrival-overload"),
    ),
    Fault(
        "routing.hot-key/pinned", "routing.hot-key",
        "One client asks for a fixed DP rank; that rank queues while the others idle.",
        "prefill_waiting", "simulate", scope=("dp_rank", "client"), by="client",
        traffic=(Traffic("pinned_rank", (0.6, 0.7, 0.85)), Traffic("rate", (1.15, 1.2, 1.25))),
        settings=(("max_running_requests", 24),), needs=("ranks",), versions=SGLANG,
        rules_out=("decode.slow-rank", "queue.arrival-overload"),
    ),
    Fault(
        "routing.token-skew", "routing.token-skew",
        "Every rank gets the same number of requests, but the long ones keep landing on one of them.",
        "prefill_waiting", "simulate", scope=("dp_rank",), traffic=(Traffic("long_on_rank", (4.0, 5.0, 6.5)),),
        settings=(("max_total_num_tokens", 160_000),), needs=("ranks",), versions=SGLANG,
        rules_out=("routing.hot-key", "decode.slow-rank"),
    ),
    Fault(
        "routing.worker-out", "routing.worker-out",
        "The gateway took one worker out of rotation; the others carry its share.",
        "prefill_waiting", "none", scope=("worker",), changes=(Change("down", plus=(1, 1, 1), where="rank"),),
        traffic=(Traffic("rate", (1.15, 1.25, 1.4), always=True),),
        settings=(("router", "round_robin"), ("max_running_requests", 24)), host=(Host("worker-out"),),
        needs=("workers",), versions=SGLANG, rules_out=("queue.arrival-overload", "routing.hot-key"),
    ),
    Fault(
        "routing.stale-load", "routing.stale-load",
        "Ranks publish their load too rarely: until the next snapshot every request goes where it last looked empty.",
        "prefill_waiting", "simulate", traffic=(Traffic("stale_load", (14.0, 22.0, 27.0)),),
        settings=(("load_balance_method", "total_requests"), ("max_running_requests", 8)), needs=("ranks",),
        versions=("0.5.23",), rules_out=("routing.hot-key", "decode.slow-rank", "queue.running-cap"),
    ),
)  # fmt: skip
