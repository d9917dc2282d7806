"""The settings a cause suggests, as variants of the present ones."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import get_type_hints

from ridgeline.sim.settings import ROUTERS, SettingError, Settings, with_changes
from ridgeline.sim.whatif.variants import Variant, variant_of
from ridgeline.words.whatif import TRIES, Price, Try

VLLM_TAKES = frozenset({"max_running_requests", "chunked_prefill_size", "max_total_num_tokens", "page_size",
                        "disable_radix_cache", "workers", "router", "schedule_policy"})  # fmt: skip
PLACED_BY_RANK = "load_balance_method"


@dataclass(frozen=True)
class Hypothesis:
    """A variant with what it costs and risks."""

    variant: Variant
    price: Price
    risk: str


def hypotheses(cause: str, base: Settings, pinned: int) -> list[Hypothesis]:
    """What to try for a cause."""
    return made_of(TRIES.get(cause, ()), base, pinned)


def made_of(tries: Iterable[Try], base: Settings, pinned: int) -> list[Hypothesis]:
    """Tries as variants; what the engine or the version does not have is left out, and what is so already."""
    out: list[Hypothesis] = []
    for one in tries:
        if one.unpin and not pinned:
            continue
        if any(text.startswith("x") and not getattr(base, key) for key, text in one.settings):
            continue  # no multiple of what is off
        settings = applied(one, base)
        if settings is None or (settings == base and not one.unpin):
            continue
        if base.decode_workers and not settings.decode_workers:
            continue  # another architecture, not a setting
        made = variant_of(base, settings)
        variant = Variant(made.changes, settings, one.unpin)
        if all(variant.settings != known.variant.settings or variant.unpin != known.variant.unpin for known in out):
            out.append(Hypothesis(variant, one.price, one.risk))
    return out


def applied(one: Try, base: Settings) -> Settings | None:
    """The settings with a `Try` on them; None where it cannot be."""
    texts: dict[str, str] = {}
    for key, text in one.settings:
        if base.engine == "vllm" and key not in VLLM_TAKES:
            return None
        if key == PLACED_BY_RANK and (base.dp_size < 2 or base.decode_workers):
            return None
        if key == PLACED_BY_RANK and text == "round_robin" and getattr(base, key) == "auto":
            return None  # which is what auto does
        if key == "router" and not text.startswith("?") and (base.workers < 2 or base.router not in ROUTERS):
            return None
        value = value_of(key, text, base)
        if value is not None:
            texts[key] = value
    if base.decode_workers and "router" in texts and "workers" in texts:
        del texts["router"]
    if "max_total_num_tokens" in texts:
        page = base.page_size
        texts["max_total_num_tokens"] = str(int(texts["max_total_num_tokens"]) // page * page)
    try:
        return with_changes(base, texts)
    except SettingError:
        return None


def value_of(key: str, text: str, base: Settings) -> str | None:
    """A relative value as a literal one; None: nothing to change."""
    now = getattr(base, key)
    if text.startswith("?"):
        return text[1:] if now == "none" else None
    if text.startswith("x"):
        value = now * float(text[1:])
        if get_type_hints(Settings)[key] is int:
            value = max(1, round(value))
            if key == "chunked_prefill_size":
                value = max(128, value // 128 * 128)
        return str(value)
    if text.startswith("+"):
        return str(now + int(text[1:]))
    return text
