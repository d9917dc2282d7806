"""Changes of traffic by name: what a fault's `Traffic` does to the requests (and, before the onset, to nothing)."""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.lab.case import HORIZON_S, Case
from ridgeline.lab.traffic import Rows, base_rows, during, joined, mark_affected, picked, service_rate

Mask = NDArray[np.bool_]
Step = Callable[[Rows, Case, float, Mask], Rows]


def more(rows: Rows, case: Case, factor: float, start_s: float, end_s: float, stream: str) -> Rows:
    """``factor - 1`` times the base rate on top, between two moments."""
    extra = base_rows(case, max(factor - 1, 0.0) * service_rate(case), stream, start_s, end_s)
    mark_affected(extra, case)
    return joined(rows, extra)


def rate(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """Arrivals times ``amount``, from the first marked request to the end."""
    start = 0.0 if on.all() else case.onset_s
    return more(rows, case, amount, start, case.end_s, "rate-always" if on.all() else "rate")


def rise(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """A slow rise to ``amount`` times the base rate at the end."""
    extra = base_rows(case, (amount - 1) * service_rate(case), "rise", 0.0, HORIZON_S)
    return joined(rows, picked(extra, extra["luck"] < extra["t"] / HORIZON_S))


def burst(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """``amount`` requests within four seconds."""
    extra = base_rows(case, amount / 4, "burst", case.onset_s, case.onset_s + 4.0)
    return joined(rows, extra)


def bursts(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """``amount`` requests within two seconds, again every minute."""
    for k, start in enumerate(np.arange(case.onset_s, case.end_s - 30.0, 60.0).tolist()):
        rows = joined(rows, base_rows(case, amount / 2, f"bursts:{k}", start, start + 2.0))
    return rows


def thin(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """Only a share of the requests."""
    return picked(rows, rows["luck"] < amount)


def quiet(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """No request for ``amount`` seconds around the onset."""
    return picked(rows, ~((rows["t"] > case.onset_s - amount / 2) & (rows["t"] < case.onset_s + amount / 2)))


def repeat(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """The second half brings the first half's requests again."""
    first = picked(rows, rows["t"] < HORIZON_S / 2)
    again = {name: values.copy() for name, values in first.items()}
    again["t"] = again["t"] + HORIZON_S / 2
    return joined(first, again)


def input_times(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """Longer own parts of the affected prompts."""
    hit = on & rows["affected"]
    rows["unique_tokens"] = np.where(hit, (rows["unique_tokens"] * amount).astype(np.int64), rows["unique_tokens"])
    return rows


def output_times(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """Longer (or shorter) outputs."""
    rows["output_tokens"] = np.where(on, np.maximum((rows["output_tokens"] * amount).astype(np.int64), 2),
                                     rows["output_tokens"])  # fmt: skip
    rows["max_new"] = np.where(
        on & (rows["max_new"] > 0), np.maximum(rows["max_new"], rows["output_tokens"]), rows["max_new"]
    )
    return rows


def max_new(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """Clients ask for up to ``amount`` new tokens."""
    rows["max_new"] = np.where(on, np.maximum(int(amount), rows["output_tokens"]), rows["max_new"])
    return rows


def no_limit(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """Affected clients send no limit; most of their outputs run on for thousands of tokens."""
    hit = on & rows["affected"]
    long = hit & (rows["serial"] % 4 > 0)
    rows["max_new"] = np.where(hit, 0, rows["max_new"])
    rows["output_tokens"] = np.where(long, 100_000, rows["output_tokens"])
    return rows


def giant(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """A few prompts of ``amount`` own tokens each, one every 25 seconds."""
    times = np.arange(case.onset_s + 1.0, case.end_s - 20, 25.0)
    extra = base_rows(case, 1.0, "giant", case.onset_s, case.end_s)
    extra = picked(extra, np.arange(len(extra["t"])) < len(times))
    extra["t"] = times[: len(extra["t"])]
    extra["unique_tokens"][:] = int(amount)
    extra["affected"][:] = True
    rows["affected"][:] = False
    return joined(rows, extra)


def long_prompts(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """One request in twelve has a prompt of ``amount`` own tokens."""
    rows["unique_tokens"] = np.where(on & (rows["serial"] % 12 == 0), int(amount), rows["unique_tokens"])
    return rows


def outlier(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """One request asks for very much."""
    if on.any():
        at = int(np.flatnonzero(on)[3 if on.sum() > 3 else 0])
        rows["output_tokens"][at], rows["max_new"][at] = 900, 1024
    return rows


def never_fits(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """One request whose prompt and asked tokens exceed the pool, though its prompt alone does not."""
    if on.any():
        at = int(np.flatnonzero(on)[0])
        rows["unique_tokens"][at], rows["max_new"][at], rows["output_tokens"][at] = 37_000, 8000, 400
        rows["prefix_tokens"][at] = 0
    return rows


def priorities(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """Every request has a priority; one in three is low and makes the affected class."""
    low = rows["luck"] < 0.34
    rows["priority"] = np.where(low, 0, 10)
    rows["affected"] = low
    return rows


def high_priority_rate(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """More of the high-priority traffic alone."""
    extra = base_rows(case, (amount - 1) * service_rate(case), "high", case.onset_s, case.end_s)
    extra["luck"] = 0.34 + 0.66 * extra["luck"]
    return joined(rows, extra)


def fresh_schemas(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """Affected requests bring a schema of their own that takes ``amount`` seconds to compile."""
    hit = on & rows["affected"]
    rows["schema"] = np.where(hit, 100 + np.arange(len(hit)), rows["schema"])
    rows["grammar_us"] = np.where(hit, int(amount * 1e6), np.where(rows["schema"] > 0, 3000, 0))
    return rows


def images(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """Image requests need encoding in front of prefill (a fifth of ``amount`` seconds)."""
    rows["work_us"] = np.where(on & rows["affected"], int(amount * 2e5), np.where(rows["affected"], 40_000, 0))
    return rows


def adapters(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """Affected requests spread over ``amount`` adapters."""
    rows["lora"] = np.where(on & rows["affected"], 1 + rows["serial"] % int(amount), rows["lora"])
    return rows


def prefix_tokens(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """Every shared prefix has about ``amount`` tokens."""
    rows["prefix_tokens"] = np.where(on, int(amount) + rows["tenant"] % 7, rows["prefix_tokens"])
    return rows


def few_groups(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """Only ``amount`` tenants."""
    rows["tenant"] = np.where(on, rows["tenant"] % int(amount), rows["tenant"])
    rows["prefix_tokens"] = np.where(
        on, rows["prefix_tokens"].max(initial=0) - 6 + rows["tenant"] % 7, rows["prefix_tokens"]
    )
    return rows


def groups(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """Prefixes of ``amount`` tenants in turn instead of a few."""
    rows["tenant"] = np.where(on, 24 + rows["serial"] % int(amount), rows["tenant"])
    return rows


def drift(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """Affected prompts begin with something that is never the same (1: a clock, 2: a counter)."""
    rows["drift"] = np.where(on & rows["affected"], int(amount), rows["drift"])
    return rows


def split_keys(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """Affected requests carry one of ``amount`` extra keys."""
    rows["space"] = np.where(on & rows["affected"], 1 + rows["serial"] % int(amount), rows["space"])
    return rows


def hot_key(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """A share ``amount`` of the requests belongs to one tenant."""
    key = int(case.rng("class").integers(2, 24))
    hit = on & (rows["luck"] < amount)
    rows["tenant"] = np.where(hit, key, rows["tenant"])
    rows["affected"] = rows["tenant"] == key
    return rows


def pinned_rank(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """A share ``amount`` of the requests, all of one client, asks for the target rank."""
    special = int(case.rng("class").integers(0, 8))
    hit = on & (rows["luck"] < amount)
    rows["rank"] = np.where(hit, case.target, rows["rank"])
    rows["client"] = np.where(hit, special, np.where(rows["client"] == special, (special + 1) % 8, rows["client"]))
    rows["affected"] = hit
    return rows


def long_on_rank(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """Round robin meets a periodic pattern: every n-th request is long, and so they share a rank."""
    n = case.dp_size
    turn = np.arange(len(rows["t"])) % n == case.target
    hit = on & turn
    rows["unique_tokens"] = np.where(hit, (rows["unique_tokens"] * amount).astype(np.int64), rows["unique_tokens"])
    return rows


def stale_load(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """Load snapshots are ``amount`` seconds apart: until the next, all go to the rank that last looked emptiest.

    That is the rank which has gone without new requests for longest.
    """
    looked = ((rows["t"] - case.onset_s) // amount).astype(np.int64)
    rows["rank"] = np.where(on, (case.target + looked) % case.dp_size, rows["rank"])
    rows["placed"] = on.copy()
    return rows


def cancel(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """A share ``amount`` of the affected requests is given up by the client after a second or two."""
    hit = on & rows["affected"] & (rows["serial"] % 1000 < 1000 * amount)
    rows["cancel_s"] = np.where(hit, 0.8 + (rows["serial"] % 97) / 97, rows["cancel_s"])
    return rows


def storage_wait(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """Prefetches take ``amount`` seconds (forty milliseconds before)."""
    spread = 0.6 + 0.8 * (rows["serial"] % 100) / 100
    rows["storage_us"] = np.where(on, (amount * 1e6 * spread).astype(np.int64), 40_000)
    return rows


def storage_hits(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """A share ``amount`` of each own part comes from the storage tier; it is not computed."""
    rows["storage_tokens"] = (rows["unique_tokens"] * amount).astype(np.int64)
    rows["storage_us"] = np.full(len(rows["t"]), 40_000, np.int64)
    return rows


def storage_lost(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """The tier finds nothing any more."""
    rows["storage_tokens"] = np.where(on, 0, rows["storage_tokens"])
    return rows


def flushes(rows: Rows, case: Case, amount: float, on: Mask) -> Rows:
    """The cache is emptied every ``amount`` seconds: what was stored before is never matched again."""
    rows["epoch"] = np.where(on, 1 + ((rows["t"] - case.onset_s) / amount).astype(np.int64), 0)
    return rows


STEPS: Final[dict[str, Step]] = {
    "rate": rate, "rise": rise, "burst": burst, "bursts": bursts, "thin": thin, "quiet": quiet, "repeat": repeat,
    "input_times": input_times, "output_times": output_times, "max_new": max_new, "no_limit": no_limit,
    "giant": giant, "long_prompts": long_prompts, "outlier": outlier, "never_fits": never_fits,
    "priorities": priorities, "high_priority_rate": high_priority_rate, "fresh_schemas": fresh_schemas,
    "images": images, "adapters": adapters, "prefix_tokens": prefix_tokens, "few_groups": few_groups,
    "groups": groups, "drift": drift, "split_keys": split_keys, "hot_key": hot_key, "pinned_rank": pinned_rank,
    "long_on_rank": long_on_rank, "cancel": cancel, "storage_wait": storage_wait, "storage_hits": storage_hits,
    "storage_lost": storage_lost, "flushes": flushes, "stale_load": stale_load,
}  # fmt: skip
ADDS: Final = frozenset({"rate", "rise", "high_priority_rate", "burst", "bursts", "giant", "repeat"})
"""Steps that add requests; they go first, so that the others see every request."""


def apply_steps(rows: Rows, case: Case) -> Rows:
    """The fault's traffic: what always holds and, unless the case is the healthy twin, what the fault changes."""
    steps = [s for s in case.fault.traffic if s.always]
    if not case.healthy:
        steps += [s for s in case.fault.traffic if not s.always]
    for step in sorted(steps, key=lambda s: (s.what not in ADDS, not s.always)):
        on = np.ones(len(rows["t"]), np.bool_) if step.always else during(rows, case)
        rows = STEPS[step.what](rows, case, case.strength(step.amount), on)
    return rows
