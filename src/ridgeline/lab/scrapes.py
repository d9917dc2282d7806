"""Polled endpoints of a server over all its boots: metrics, loads, and the gateway's metrics."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.lab.case import HORIZON_S, Case
from ridgeline.lab.counters import tally_of
from ridgeline.lab.decoys import noisy
from ridgeline.lab.emit import buckets, gateway, loads, sglang_metrics, vllm_metrics
from ridgeline.lab.emit.exposition import Family, Histogram, page, scrape
from ridgeline.lab.gauges import gauges_at, snapshots_at
from ridgeline.lab.host import has
from ridgeline.lab.play import Ran
from ridgeline.lab.shown import Seen

EVERY_S: Final = 10.0
TOOK_S: Final = 0.0061
FIRST_S: Final = 2.0


def moments(seen: Seen, offset_s: float) -> list[float]:
    """When this boot answers, in virtual seconds."""
    times = np.arange(FIRST_S + offset_s, HORIZON_S, EVERY_S)
    return [float(t) for t in times if seen.up_s <= t < seen.gone_s]


def away(boots: list[Seen], offset_s: float) -> list[float]:
    """When no boot answers."""
    times = np.arange(FIRST_S + offset_s, HORIZON_S, EVERY_S)
    return [float(t) for t in times if not any(b.up_s <= t < b.gone_s for b in boots)]


def metric_pages(case: Case, boots: list[Seen]) -> str:
    """Every scrape of ``/metrics`` of one server."""
    url = f"http://{boots[0].server.host}:{boots[0].server.port}/metrics"
    parts: list[tuple[float, str]] = []
    for b in boots:
        times = moments(b, 0.0)
        if not times:
            continue
        gauges = gauges_at(case, b, times)
        vllm = b.server.engine == "vllm"
        bounds = vllm_metrics.bounds_of if vllm else lambda concept, b=b: sglang_metrics.bounds_of(b.server, concept)
        tally = tally_of(case, b)
        if vllm:
            known = {name for name, _, _ in vllm_metrics.HISTOGRAMS}
            tally.values = {key: v for key, v in tally.values.items() if key[0] in known}
        else:
            known = {name for name, *_ in sglang_metrics.HISTOGRAMS}
            tally.values = {key: v for key, v in tally.values.items() if key[0] in known}
        for k, (t, counted) in enumerate(zip(times, tally.upto(times, bounds, gauges), strict=True)):
            found = vllm_metrics.families(b.server, counted) if vllm else sglang_metrics.families(b.server, counted)
            if not vllm and b.server.at > 0:
                found.append(
                    Family("sglang:routing_keys_active", "gauge", "Routing keys in flight", (((), noisy(case, k)),))
                )
            parts.append((t, scrape(case.base_ts + t, TOOK_S, 200, url, page(found))))
    parts += [(t, scrape(case.base_ts + t, 0.0012, 0, url, "")) for t in away(boots, 0.0)]
    return "".join(text for _, text in sorted(parts))


def load_answers(case: Case, boots: list[Seen]) -> str:
    """Every answer about load of one server."""
    first = boots[0].server
    url = f"http://{first.host}:{first.port}{loads.path(first)}"
    parts: list[tuple[float, str]] = []
    for b in boots:
        times = moments(b, 5.0)
        for t, snapshots in zip(times, snapshots_at(case, b, times), strict=True):
            body = loads.answer(b.server, case.base_ts + t, snapshots) + "\n"
            parts.append((t, scrape(case.base_ts + t, 0.0031, 200, url, body)))
    parts += [(t, scrape(case.base_ts + t, 0.0012, 0, url, "")) for t in away(boots, 5.0)]
    return "".join(text for _, text in sorted(parts))


def gateway_pages(ran: Ran, servers: list[list[Seen]], ends_s: NDArray[Any]) -> str:
    """Scrapes of the gateway; ``ends_s``: when each request left it (NaN: not yet)."""
    case = ran.case
    url = "http://10.4.0.9:29000/metrics"
    sent = ran.path.sent_s
    worker = ran.front.count["worker"]
    status = np.full(len(sent), 200)
    for boots in servers:
        for b in boots:
            for i, r in zip(b.index, b.requests, strict=True):
                if r.role != "decode":
                    status[i] = r.status
    status[ran.boot == -1] = 502
    took = ends_s - sent
    policy = ran.boots[0].settings.router
    out: list[str] = []
    urls = [f"http://{boots[0].server.host}:{boots[0].server.port}" for boots in servers]
    for t in np.arange(FIRST_S + 7.0, HORIZON_S, EVERY_S).tolist():
        ended = ends_s <= t
        hist = np.zeros(len(buckets.GATEWAY) + 1, np.int64)
        np.add.at(hist, np.searchsorted(np.asarray(buckets.GATEWAY, np.float64), took[ended], "left"), 1)
        workers = []
        for w, target in enumerate(urls):
            mine = worker == w
            out_of_it = has(case, "worker-out") and w == case.target and t >= case.onset_s
            workers.append(
                gateway.Worker(
                    target,
                    int((mine & (sent <= t) & ~(ended)).sum()),
                    not out_of_it,
                    int((mine & (sent <= t)).sum()),
                    int((mine & ended & (status >= 500)).sum()),
                    int(out_of_it),
                )
            )
        responses = {int(code): int((ended & (status == code)).sum()) for code in np.unique(status)}
        failed = {"backend_error": int((ended & (status >= 500)).sum())}
        # the policy named by the last boot that is up
        last = [b for b in ran.boots if b.from_s <= t] or [ran.boots[0]]
        policy = last[-1].settings.router
        body = page(
            gateway.families(
                policy,
                tuple(workers),
                responses,
                Histogram(tuple(int(n) for n in hist), float(np.nansum(took[ended]))),
                failed,
            )
        )
        out.append(scrape(case.base_ts + t, 0.004, 200, url, body))
    return "".join(out)
