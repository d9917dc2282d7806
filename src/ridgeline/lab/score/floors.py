"""What to beat: the constant answer, a random one, and a doctor of ten thresholds over log and scrapes."""

import random
import re
from pathlib import Path
from typing import Final

from ridgeline.lab.faults import FAULTS

CONSTANT: Final = "queue.arrival-overload"
USAGE: Final = re.compile(r"token usage: (\d\.\d+).*?#running-req: (\d+), #queue-req: (\d+)")
DECODE: Final = re.compile(r"Decode batch[.,] #running-req: (\d+).*?token usage: (\d\.\d+).*?#queue-req: (\d+)")
CAP: Final = re.compile(r"max_running_requests=(\d+), context_len")
VLLM: Final = re.compile(r"Running: (\d+) reqs, Waiting: (\d+) reqs.*?usage: ([\d.]+)%")


def causes() -> list[str]:
    """Every cause the lab has, and healthy."""
    return sorted({f.cause for f in FAULTS})


def random_answer(seed: int) -> list[str]:
    """Three causes drawn without looking."""
    return random.Random(seed).sample(causes(), 3)


def doctor(folder: Path) -> str:
    """Ten thresholds, in order; the first that holds names the cause."""
    text = "".join(path.read_text(encoding="utf-8", errors="replace") for path in sorted(folder.rglob("server.log")))
    if "CUDA out of memory" in text:
        return "memory.oom-crash"
    if "watchdog timeout" in text.lower():
        return "fault.hang"
    if "hit an exception" in text or "crashed with exit code" in text:
        return "fault.crash"
    if "in KVPoll." in text or "Decode transfer failed" in text:
        return "disagg.transfer-stuck"
    if text.count("Retract requests") > 20:
        return "memory.retraction-storm"
    half = text[len(text) // 2 :]
    rows = [(int(a), float(b), int(c)) for a, b, c in DECODE.findall(half)]
    rows += [(int(a), float(c) / 100, int(b)) for a, b, c in VLLM.findall(half)]
    if not rows:
        return "healthy"
    running = sorted(r for r, _, _ in rows)[len(rows) // 2]
    usage = sorted(u for _, u, _ in rows)[len(rows) // 2]
    waiting = sorted(w for _, _, w in rows)[len(rows) // 2]
    cap = CAP.search(text)
    if waiting > 0 and usage > 0.9:
        return "memory.saturation"
    if waiting > 0 and cap is not None and running >= int(cap[1]):
        return "queue.running-cap"
    if waiting > 4:
        return "queue.arrival-overload"
    prefills = [int(q) for _, _, q in USAGE.findall(half)]
    if prefills and sorted(prefills)[len(prefills) * 9 // 10] > 8:
        return "prefill.regression"
    return "healthy"
