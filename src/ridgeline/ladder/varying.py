"""What a simulation tries for a cause: today's setting first, then others in the direction that could help.

The names are those of the server in the evidence: SGLang's arguments, or vLLM's for a vLLM server.
"""

from __future__ import annotations

from typing import Final

from ridgeline.ladder.context import Context
from ridgeline.words.whatif import BALANCES, DOWN, LESS, PLACING, ROUTERS, SWITCHED, SWITCHED_VLLM, VARY

SERVICE: Final = """
SELECT max(dp_size) AS dp_size, min(pool_tokens) AS pool, max(max_running) AS cap, max(page_size) AS page,
    max(chunked_prefill_size) AS chunk,
    count(DISTINCT server) FILTER (WHERE coalesce(role, 'unified') = 'unified') AS whole,
    count(DISTINCT server) FILTER (WHERE role = 'prefill') AS prefill,
    count(DISTINCT server) FILTER (WHERE role = 'decode') AS decode,
    (SELECT count(DISTINCT dp_rank) FROM points) AS ranks, (SELECT max(running) FROM points) AS busiest
FROM servers
"""
STATED: Final = """
SELECT max(try_cast(value AS DOUBLE)) FROM config WHERE replace(lower(key), '-', '_') = $name
"""


def varies(context: Context, cause: str) -> str | None:
    """The options of `ridgeline simulate` that try other settings for this cause; None where it has none to try."""
    dp_size, pool, cap, page, chunk, whole, prefill, decode, ranks, busiest = context.book.view.one(SERVICE)
    of = context.served
    if cause == "queue.arrival-overload":
        now = max(whole, 1)
        return f"--set router=power_of_two --vary workers={now},{now + 1},{2 * now + (now == 1)}"
    if cause in PLACING:
        places = max(dp_size or 1, ranks or 1)
        if whole > 1:
            return f"--set workers={whole} --vary router={ROUTERS}"
        methods = None if of.vllm or places < 2 else balances(of.version)
        return f"--set dp_size={places} --vary load_balance_method={methods}" if methods else None
    if cause == "disagg.ratio":
        apart = max(prefill + decode, 2) + 1
        tries = ",".join(str(n) for n in range(1, apart))
        return f"--set workers={apart} --set router=power_of_two --vary decode_workers={tries}"
    words = (SWITCHED_VLLM if of.vllm else SWITCHED).get(cause)
    if words is not None:
        return f"--vary {words.name}={','.join(words.values)}"
    axis = VARY.get(cause)
    name = None if axis is None else axis.vllm if of.vllm else axis.sglang
    if axis is None or name is None:
        return None
    known = {
        "max_running_requests": cap or dict(context.book.ask("at_cap_share").statement.figures).get("cap") or busiest,
        "chunked_prefill_size": chunk,
        "max_total_num_tokens": pool,
        "num_gpu_blocks_override": pool // (page or 16) if pool else None,
    }
    known["max_num_seqs"] = known["max_running_requests"]
    stated = context.book.view.one(STATED, {"name": name})[0]
    today = stated if stated is not None else known.get(name) or axis.usual
    tried = values(today, LESS if of.vllm and cause in DOWN else axis.times)
    if tried is None:
        return None
    apart = max(prefill, 1) + max(decode, 1)
    sides = f"--set workers={apart} --set decode_workers={max(decode, 1)} --set router=random "
    before = sides if cause.startswith("disagg.") else "--set enable_lora=true " if cause == "prefill.lora" else ""
    return f"{before}--vary {name}={tried}"


def values(today: float, times: tuple[float, ...]) -> str | None:
    """Today's value and its multiples, in the kind of number it is; None where there is nothing to multiply."""
    if today <= 0:
        return None
    whole = float(today).is_integer() and all(float(t).is_integer() or today * t >= 2 for t in times) and today > 4
    tried = [round(today * t) if whole else round(today * t, 2) for t in times]
    return ",".join(f"{v:g}" if isinstance(v, float) else str(v) for v in dict.fromkeys(tried))


def balances(version: str | None) -> str | None:
    """Values of --load-balance-method worth trying in this version; of a recent one where none is known."""
    if version is None:
        return BALANCES[0][1]
    numbers = tuple(int(part) for part in version.split(".")[:3] if part.isdigit())
    return next((names for since, names in BALANCES if numbers >= since), None)
