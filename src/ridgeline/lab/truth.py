"""The truth beside a recording: what was done, to whom, from when; never inside the evidence."""

from typing import Any, Final

import numpy as np

from ridgeline.lab.case import Case
from ridgeline.lab.emit.meta import lora_id
from ridgeline.lab.emit.stamp import iso_zone
from ridgeline.lab.people import adapter_names
from ridgeline.lab.play import Ran
from ridgeline.lab.shown import level_two
from ridgeline.lab.traffic import ENDPOINTS, client_names, tenant_keys

SCHEMA: Final = "ridgeline.truth/1"


def scope_of(ran: Ran) -> dict[str, list[str]]:
    """The values of each dimension the fault is confined to; empty where it hits everyone."""
    case, rows = ran.case, ran.rows
    out: dict[str, list[str]] = {}
    hit = rows["affected"]
    if case.fault.by is not None and case.fault.by != "routing_key" and hit.all():
        return out
    first = int(np.flatnonzero(hit)[0]) if hit.any() else -1
    for name in case.fault.scope:
        if name == "dp_rank":
            out[name] = [str(case.target)]
        elif name in ("worker", "server"):
            worker = int(np.bincount(ran.front.count["worker"][hit & (ran.front.count["worker"] >= 0)]).argmax()) \
                if name == "worker" and case.fault.by == "routing_key" and hit.any() else case.target  # fmt: skip
            out[name] = [f"10.4.0.{11 + worker}"]
        elif first < 0:
            continue
        elif name == "client":
            out[name] = [client_names(case)[int(rows["client"][first])]]
        elif name == "routing_key":
            out[name] = [tenant_keys(case)[int(rows["tenant"][first])]]
        elif name == "endpoint":
            out[name] = [ENDPOINTS[int(rows["endpoint"][first])]]
        elif name == "priority":
            out[name] = ["0"]
        elif name == "schema_set":
            out[name] = ["true"]
        elif name == "modality":
            out[name] = ["image"]
        elif name == "lora":
            adapters = adapter_names(case)
            named = sorted({adapters[int(v)] for v in rows["lora"][hit] if v})
            out[name] = [*named, *(lora_id(text) for text in named)]
        elif name == "prompt_tokens":
            total = (rows["prefix_tokens"] + rows["unique_tokens"])[hit & (rows["t"] >= case.onset_s)]
            out[name] = [str(int(total.min())), str(int(total.max()))]
        else:
            out[name] = ["*"]
    return out


def answerable(case: Case) -> str:
    """full, or coarse where the evidence cannot show more than the layer: a changed prompt without token ids."""
    if case.fault.cause == "cache.prompt-drift" and not level_two(case):
        return "coarse"
    return case.fault.answerable


def truth_of(ran: Ran, harm: dict[str, Any] | None = None) -> dict[str, Any]:
    """The truth as JSON-ready values."""
    case: Case = ran.case
    fault = case.fault
    well = fault.cause == "healthy"
    return {
        "schema": SCHEMA,
        "fault": fault.id,
        "cause": fault.cause,
        "layer": fault.layer,
        "mechanism": fault.mechanism,
        "healthy": well,
        "scope": {} if well else scope_of(ran),
        "stage": fault.stage,
        "onset": None if well else iso_zone(case.base_ts + case.onset_s),
        "end": None if well else iso_zone(case.base_ts + case.end_s),
        "severity": case.severity,
        "share": case.share,
        "second": list(fault.second),
        "ruled_out": list(fault.rules_out),
        "route": fault.route,
        "answerable": answerable(case),
        "parameters": {"seed": case.seed, "version": case.version, "size": case.size, "rate": case.rate,
                       "ranks": case.ranks, "pd": case.pd},
        "harm": harm,
    }  # fmt: skip
