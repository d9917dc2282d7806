"""Faults of disaggregated serving."""

from typing import Final

from ridgeline.lab.faults.model import SGLANG, Change, Fault, Host, Traffic

PD = ("pd",)

FAULTS: Final = (
    Fault(
        "disagg.bootstrap", "disagg.bootstrap",
        "The handshake between the two sides takes seconds; the decode pool has room.",
        "prefill_bootstrap", "replay", changes=(Change("handshake", plus=(1.0, 2.5, 6.0)),), needs=PD, versions=SGLANG,
        rules_out=("disagg.prealloc", "disagg.transfer-slow"),
    ),
    Fault(
        "disagg.prealloc", "disagg.prealloc",
        "The decode pool is not full, but its reserve per request leaves nothing to allocate: requests wait.",
        "decode_bootstrap", "simulate", changes=(Change("reserved_decode_tokens", times=(9.0, 11.0, 14.0),
        where="decode"),),
        settings=(("max_total_num_tokens", 60_000),), needs=PD, versions=SGLANG,
        rules_out=("disagg.transfer-slow", "memory.saturation"),
    ),
    Fault(
        "disagg.transfer-slow", "disagg.transfer-slow",
        "The link between prefill and decode moves far fewer bytes per second.",
        "prefill_transfer_kv_cache", "replay", changes=(Change("link_token", times=(60, 75, 95)),), needs=PD,
        versions=SGLANG, rules_out=("disagg.prealloc", "disagg.ratio"),
    ),
    Fault(
        "disagg.transfer-stuck", "disagg.transfer-stuck",
        "Transfers start and never end; rooms wait until they time out.",
        "decode_transferred", "replay", changes=(Change("link_latency", plus=(900, 900, 900)),),
        settings=(("disaggregation_waiting_timeout", 120.0),), needs=PD, versions=SGLANG,
        rules_out=("disagg.prealloc", "disagg.transfer-slow"),
    ),
    Fault(
        "disagg.ratio", "disagg.ratio",
        "There are too few prefill servers for the traffic: they queue while decode idles.",
        "prefill_waiting", "simulate",
        traffic=(Traffic("rate", (3.6, 4.0, 4.6)), Traffic("output_times", (0.5, 0.5, 0.5))),
        settings=(("max_total_num_tokens", 800_000), ("max_running_requests", 256)), needs=PD, versions=SGLANG,
        rules_out=("disagg.transfer-slow", "disagg.prealloc"),
    ),
    Fault(
        "disagg.abort-hold", "disagg.abort-hold",
        "Clients abort in droves; each abort leaves decode memory held until its time is up.",
        "decode_bootstrap", "replay", traffic=(Traffic("cancel", (0.3, 0.4, 0.5)),),
        changes=(Change("stolen_tokens", plus=(30_000, 33_000, 36_000), where="decode", shape="ramp"),),
        host=(Host("deferred-release"),), settings=(("max_total_num_tokens", 44_000),), needs=PD, versions=("0.5.23",),
        rules_out=("disagg.transfer-slow", "memory.leak"),
    ),
    Fault(
        "disagg.peer-lost", "disagg.peer-lost",
        "A prefill server died; the decode side loses its rooms.",
        "decode_transferred", "none", scope=("server",),
        changes=(Change("hang", plus=(1, 1, 1), where="rank"), Change("down", plus=(1, 1, 1), where="rank",
        after_s=14.0)),
        host=(Host("peer-lost"),), settings=(("disaggregation_waiting_timeout", 12.0),), needs=PD, versions=SGLANG,
        rules_out=("disagg.transfer-slow", "disagg.prealloc"),
    ),
    Fault(
        "disagg.room-mismatch", "disagg.room-mismatch",
        "Metadata of another room arrives at the decode side; the requests are failed.",
        "decode_transferred", "replay", changes=(Change("link_fail", plus=(80, 200, 450)),),
        host=(Host("room-mismatch"),),
        needs=PD, versions=("0.5.9", "0.5.23"), rules_out=("disagg.transfer-slow",),
    ),
    Fault(
        "disagg.config-mismatch", "disagg.config-mismatch",
        "The decode side was restarted with another page size; every handshake fails.",
        "decode_bootstrap", "config", changes=(Change("link_fail", plus=(1000, 1000, 1000)),),
        host=(Host("page-mismatch"),), needs=PD, versions=("0.5.23",), rules_out=("disagg.transfer-slow",),
    ),
    Fault(
        "disagg.staging", "disagg.staging",
        "The staging ring is too small for the chunks: transfers wait and fall back.",
        "prefill_transfer_kv_cache", "config", changes=(Change("link_latency", plus=(1.5, 3.0, 6.0)),),
        host=(Host("staging"),), needs=PD, versions=("0.5.23",), rules_out=("disagg.prealloc",),
    ),
)  # fmt: skip
