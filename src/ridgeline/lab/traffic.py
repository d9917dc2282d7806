"""The requests of a case: what arrives when, of what shape, with which content and attributes."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.lab.case import HORIZON_S, Case, names
from ridgeline.scenario.model import PS, Scenario, make

Column = NDArray[Any]
Rows = dict[str, Column]
"""One array per attribute, one entry per request, in order of time ``t`` (virtual seconds)."""

TENANTS: Final = 24
CLIENTS: Final = 8
ENDPOINTS: Final = ("/v1/chat/completions", "/v1/completions", "/generate")
UNIQUE: Final = 1_000_000
"""Segment ids from here on belong to one request; below, to a shared prefix."""


def base_rows(case: Case, rate: float, stream: str, start_s: float, end_s: float) -> Rows:
    """Poisson arrivals of ``rate`` requests per second with everything about them drawn."""
    rng = case.rng(f"traffic:{stream}")
    n = int(rng.poisson(rate * (end_s - start_s)))
    t = np.sort(start_s + rng.random(n) * (end_s - start_s))
    weights = 1.0 / np.arange(1, TENANTS + 1) ** 0.6
    tenant = rng.choice(TENANTS, size=n, p=weights / weights.sum())
    prefix = case.rng("prefixes").integers(300, 900, TENANTS)
    ask = rng.choice(np.array([256, 512, 1024]), size=n, p=[0.4, 0.4, 0.2])
    client = (tenant * 5 + rng.integers(0, 3, n)) % CLIENTS
    return {
        "t": t,
        "tenant": tenant.astype(np.int64),
        "prefix_tokens": prefix[tenant].astype(np.int64),
        "unique_tokens": np.clip(rng.lognormal(5.9, 0.6, n), 20, 6000).astype(np.int64),
        "output_tokens": np.minimum(np.clip(rng.lognormal(4.6, 0.6, n), 4, 4000).astype(np.int64), ask),
        "max_new": ask.astype(np.int64),
        "stream": rng.random(n) < 0.85,
        "endpoint": rng.choice(3, size=n, p=[0.6, 0.25, 0.15]).astype(np.int64),
        "client": client.astype(np.int64),
        "schema": np.where(rng.random(n) < 0.06, rng.integers(1, 5, n), 0).astype(np.int64),
        "lora": np.zeros(n, np.int64),
        "priority": np.full(n, -1, np.int64),
        "image": np.zeros(n, np.bool_),
        "space": np.zeros(n, np.int64),
        "drift": np.zeros(n, np.int64),
        "epoch": np.zeros(n, np.int64),
        "rank": np.full(n, -1, np.int64),
        "placed": np.zeros(n, np.bool_),  # its rank is the balancer's choice, which no client asked for
        "cancel_s": np.zeros(n),
        "storage_us": np.zeros(n, np.int64),
        "storage_tokens": np.zeros(n, np.int64),
        "grammar_us": np.zeros(n, np.int64),
        "work_us": np.zeros(n, np.int64),
        "ignore_eos": np.zeros(n, np.bool_),
        "affected": np.zeros(n, np.bool_),
        "luck": rng.random(n),
        "serial": rng.integers(1, 2**40, n),
    }


def joined(a: Rows, b: Rows) -> Rows:
    """Both sets of requests in order of time."""
    order = np.argsort(np.concatenate([a["t"], b["t"]]), kind="stable")
    return {name: np.concatenate([a[name], b[name]])[order] for name in a}


def picked(rows: Rows, mask: NDArray[np.bool_]) -> Rows:
    """The requests where ``mask`` holds."""
    return {name: values[mask] for name, values in rows.items()}


def during(rows: Rows, case: Case) -> NDArray[np.bool_]:
    """Which requests arrive while the fault is on."""
    mask: NDArray[np.bool_] = (rows["t"] >= case.onset_s) & (rows["t"] < case.end_s)
    return mask


def mark_affected(rows: Rows, case: Case) -> None:
    """Choose the affected class by the fault's attribute, so that its share of requests is the case's.

    The class exists before the onset and in the healthy twin as well.
    """
    by = case.fault.by
    hit = rows["luck"] < case.share
    if by in (None, "priority", "routing_key"):
        if by is None:
            rows["affected"][:] = True
        return
    if by == "client":
        special = int(case.rng("class").integers(0, CLIENTS))
        moved = (special + 1 + (rows["serial"] % (CLIENTS - 1))) % CLIENTS
        rows["client"] = np.where(hit, special, np.where(rows["client"] == special, moved, rows["client"]))
    elif by == "schema":
        rows["schema"] = np.where(hit, 1 + rows["serial"] % 4, 0)
    elif by == "lora":
        rows["lora"] = np.where(hit, 1 + rows["serial"] % 3, 0)
    elif by == "modality":
        rows["image"] = hit.copy()
    elif by == "endpoint":
        special = int(case.rng("class").integers(0, 3))
        other = (special + 1 + rows["serial"] % 2) % 3
        rows["endpoint"] = np.where(hit, special, other)
    elif by == "band":
        total = rows["prefix_tokens"] + rows["unique_tokens"]
        low = np.quantile(total, 0.5) if len(total) else 0.0
        high = np.quantile(total, min(1.0, 0.5 + 0.5 * case.share)) if len(total) else 0.0
        hit = (total >= low) & (total < max(high, low + 1))
    rows["affected"] = hit


def segments(rows: Rows) -> tuple[Column, Column, Column]:
    """Content as segments: offsets, ids, tokens. A drifting prompt differs after its first few tokens."""
    ids: list[int] = []
    tokens: list[int] = []
    offsets = [0]
    own = rows["unique_tokens"] - rows["storage_tokens"]
    columns = (rows["tenant"], rows["prefix_tokens"], own, rows["drift"])
    for i, (tenant, prefix, unique, drift) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
        shared = 1 + tenant
        if drift and prefix > 40:
            head = 18 if drift == 1 else 2
            parts = [
                (shared, head),
                (UNIQUE + 2 * i + 1, 12),
                (10_000 + tenant, prefix - head - 12),
                (UNIQUE + 2 * i, unique),
            ]
        elif prefix:
            parts = [(shared, prefix), (UNIQUE + 2 * i, unique)]
        else:
            parts = [(UNIQUE + 2 * i, unique)]
        ids += [a for a, _ in parts]
        tokens += [b for _, b in parts]
        offsets.append(len(ids))
    return np.array(offsets, np.int64), np.array(ids, np.int64), np.array(tokens, np.int64)


def computed_tokens(rows: Rows) -> Column:
    """Prompt length per request without what comes from the storage tier (the engine never sees that part)."""
    total: Column = rows["prefix_tokens"] + rows["unique_tokens"] - rows["storage_tokens"]
    return total


def to_scenario(rows: Rows, dispatch_s: Column, context: int) -> Scenario:
    """The rows as the simulator takes them, arriving at ``dispatch_s`` (which must not decrease)."""
    prompt = computed_tokens(rows)
    asked = np.where(rows["max_new"] > 0, rows["max_new"], np.maximum(context - prompt - 1, 1))
    columns = {
        "arrival_ps": np.round(dispatch_s * PS).astype(np.int64),
        "input_tokens": prompt,
        "output_tokens": rows["output_tokens"],
        "max_new_tokens": asked,
        "routing_key": rows["tenant"] + 1,
        "dp_rank": rows["rank"],
        "lora": rows["lora"],
        "priority": np.maximum(rows["priority"], 0),
        "namespace": rows["space"] + 1000 * rows["epoch"],
        "kind": rows["affected"].astype(np.int64),
        "ignore_eos": rows["ignore_eos"].astype(np.int64),
        "grammar_us": rows["grammar_us"],
        "storage_us": rows["storage_us"],
        "cancel_ps": np.where(rows["cancel_s"] > 0, np.round((dispatch_s + rows["cancel_s"]) * PS), 0).astype(np.int64),
        "work_us": rows["work_us"],
    }
    return make(columns, segments(rows), "lab")


def tenant_keys(case: Case) -> list[str]:
    """The routing key of each tenant."""
    return names(case, "keys", "key", TENANTS + 400)


def client_names(case: Case) -> list[str]:
    """What clients call themselves."""
    return names(case, "clients", "svc", CLIENTS)


def service_rate(case: Case) -> float:
    """Requests per second of the whole service."""
    return case.rate * (case.workers - 1 if case.pd else case.workers * case.dp_size)


def everything(case: Case) -> Rows:
    """The undisturbed traffic of a case over the whole recording."""
    rows = base_rows(case, service_rate(case), "base", 0.0, HORIZON_S)
    mark_affected(rows, case)
    return rows
