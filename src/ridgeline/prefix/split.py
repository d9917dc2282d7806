"""The tokens of every prompt, split exactly by what became of them: found, or lost, and to what.

For each prompt the lengths below are nested, so their differences add up to the prompt without rest:

    found on its own rank now          hit
    found on some rank now             scattered-routing
    once held under its own key        eviction
    once held under any key            key-split        all of these in whole pages, prompt - 1 tokens at most
    seen before, to the token          page-misaligned
    equal again behind a difference    prompt-drift
    what the source shows              never-seen
    the prompt, less one               unseen: cut out of the log
    the prompt                         one token is always computed

A reason that the evidence cannot show is None; its tokens then stand in the row the note names. Page rule and limit of
prompt - 1: SIGNALS §10.
"""

from dataclasses import dataclass, fields, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from ridgeline.bundle.view import View
from ridgeline.prefix.lru import runs, simulate
from ridgeline.prefix.prompts import I64, Prompts, load, units
from ridgeline.prefix.reach import salted, steps
from ridgeline.prefix.setting import Setting, setting

REASONS: Final = ("scattered_routing", "eviction", "key_split", "page_misaligned", "prompt_drift", "never_seen")


@dataclass(frozen=True)
class Parts:
    """[n] tokens of each prompt by what became of them; None: the evidence cannot tell. They add up to `length`."""

    length: I64
    hit: I64
    scattered_routing: I64 | None
    eviction: I64 | None
    key_split: I64 | None
    page_misaligned: I64 | None
    prompt_drift: I64 | None
    never_seen: I64
    unseen: I64
    computed: I64


@dataclass(frozen=True)
class Totals:
    """Sums over some prompts, in the prompts' unit; `hit_blocks` of `blocks` where a trace counts in blocks."""

    requests: int
    tokens: int
    hit: int
    scattered_routing: int | None
    eviction: int | None
    key_split: int | None
    page_misaligned: int | None
    prompt_drift: int | None
    never_seen: int
    unseen: int
    computed: int
    hit_blocks: int | None = None
    blocks: int | None = None
    cached: int | None = (
        None  # what the engine said it found, over `cached_of` tokens of the prompts that it said it of
    )
    cached_of: int | None = None
    hit_of: int | None = None  # what this split finds on those prompts

    @property
    def lost(self) -> int:
        """Tokens that no cache entry spared although all but one of a prompt could be."""
        return self.tokens - self.hit - self.computed


@dataclass(frozen=True)
class Split:
    """One unit's prompts, their parts, what was assumed, and what could not be told."""

    prompts: Prompts
    setting: Setting
    step: int  # units of a page as the split counts them
    parts: Parts
    pages: I64  # [n] pages found on the prompt's own rank, before the limit of prompt - 1 tokens
    notes: tuple[str, ...]

    def totals(self, some: npt.NDArray[np.bool_] | None = None) -> Totals:
        """Sums over all prompts, or over those where `some` is true."""
        p, parts = self.prompts, self.parts
        mask = np.ones(p.n, np.bool_) if some is None else some
        sums = {f.name: None if (v := getattr(parts, f.name)) is None else int(v[mask].sum()) for f in fields(Parts)}
        length = sums.pop("length") or 0
        said = mask & (p.cached >= 0)
        out = Totals(requests=int(mask.sum()), tokens=length, **sums)  # type: ignore[arg-type]
        if p.blocks:
            blocks = -(-p.seen // self.step)
            out = replace(out, hit_blocks=int(self.pages[mask].sum()), blocks=int(blocks[mask].sum()))
        if said.any() and p.unit == "tokens":
            out = replace(out, cached=int(p.cached[said].sum()), cached_of=int(p.length[said].sum()))
            out = replace(out, hit_of=int(parts.hit[said].sum()))
        return out

    def by(self, numbers: I64, names: tuple[str, ...], most: int = 20) -> list[tuple[str, Totals]]:
        """Totals of each group (`numbers` index `names`; -1: none), those that lose most first."""
        groups = [(names[k], self.totals(numbers == k)) for k in np.unique(numbers[numbers >= 0]).tolist()]
        return sorted(groups, key=lambda item: (-item[1].lost, item[0]))[:most]


def split(view: View, page: int | None = None, pool: int | None = None) -> list[Split]:
    """The split of a view's prompts, one for each unit there is (tokens, then characters)."""
    out = []
    for unit, _ in units(view):
        prompts = load(view, unit)
        if prompts.n:
            out.append(split_prompts(prompts, setting(view, prompts.places, page, pool)))
    if len(out) > 1:
        others = f"{out[1].prompts.n} other prompts are known as text only: they fill no page here"
        out[0] = replace(out[0], notes=(*out[0].notes, others))
    return out


def split_prompts(prompts: Prompts, assumed: Setting) -> Split:
    """The split of prompts under a setting. Deterministic; no part is negative."""
    finest = int(prompts.grain.max())
    page = assumed.page if prompts.unit == "tokens" else None
    page = None if page is None or page % finest else page
    step = page or finest
    paged = steps(prompts, step, ends=prompts.blocks and page is None)
    limit = prompts.length - 1 if page is None else (prompts.length - 1) // page * page
    space = salted(prompts.space)
    anywhere = np.minimum(paged.reach(), limit)
    reached = paged.reach(space) if len(prompts.spaces) > 1 else paged.reach()
    own_key = np.minimum(reached, limit)
    pools = [size for size in assumed.pools if size]
    bounded = prompts.unit == "tokens" and len(pools) == len(prompts.places)
    if bounded:
        # The last token's KV is never computed; what of the output is known is among the prompt's own pages.
        whole = prompts.length + np.maximum(prompts.outputs - 1, 0)
        behind = np.maximum(whole // step - np.maximum(prompts.held, prompts.length) // step, 0)
        pages, most = simulate(runs(paged, space), prompts.place, [size // step for size in pools], behind)
        own, best = np.minimum(pages * step, limit), np.minimum(most * step, limit)
    else:
        found = paged.reach(salted(prompts.space, prompts.place)) if len(prompts.places) > 1 else reached
        pages, own, best = -(-found // step), np.minimum(found, limit), own_key
    routed = len(prompts.places) > 1 or prompts.places[0][1] is not None or assumed.alone is True
    keyed = bool((prompts.space >= 0).any())
    # The neighbour was found in the order of the source; it counts where it came earlier in time as well.
    earlier = (prompts.neighbour >= 0) & (prompts.neighbour < np.arange(prompts.n))
    common = np.where(earlier, np.minimum(prompts.common, prompts.seen), 0)
    exact = anywhere
    if page is not None:
        exact = np.maximum(steps(prompts, finest).reach(), common)
        exact = np.maximum(np.minimum(exact, prompts.length - 1), anywhere)
    shown = np.maximum(np.minimum(prompts.seen, prompts.length - 1), exact)
    drift = np.where(earlier, prompts.drift_tokens - np.maximum(exact - common, 0), 0)
    drift = np.clip(drift, 0, shown - exact)
    parts = Parts(
        length=prompts.length,
        hit=own,
        scattered_routing=best - own if routed else None,
        eviction=own_key - best if bounded else None,
        key_split=anywhere - own_key if keyed else None,
        page_misaligned=exact - anywhere if page is not None else None,
        prompt_drift=drift if prompts.drifts_known else None,
        never_seen=shown - exact - drift,
        unseen=prompts.length - 1 - shown,
        computed=np.ones(prompts.n, np.int64),
    )
    return Split(prompts, assumed, step, parts, pages, _notes(prompts, assumed, page, finest, parts))


def _notes(prompts: Prompts, assumed: Setting, page: int | None, finest: int, parts: Parts) -> tuple[str, ...]:
    """What was assumed, and where the tokens stand that could not be told apart."""
    unit = "tokens" if prompts.unit == "tokens" else "characters"
    out: list[str] = []
    if prompts.unit != "tokens":
        out.append(f"only text is there, no token ids: all lengths are in characters, compared in steps of {finest}")
    elif page is not None:
        out.append(f"page of {page} {unit} ({assumed.page_from})")
        if finest > 1:
            out.append(f"prefixes are known in steps of {finest}: page-misaligned is a lower bound")
    elif assumed.page is None:
        out.append(f"page size {assumed.page_from}: page-misaligned cannot be told; steps of {finest} {unit}")
    else:
        out.append(f"a page of {assumed.page} cannot be seen in steps of {finest}: page-misaligned cannot be told")
    if parts.page_misaligned is None and finest > 1:
        out.append(f"what agrees beyond the last whole step of {finest} {unit} stands under never-seen")
    if parts.eviction is None:
        why = assumed.pool_from if prompts.unit == "tokens" else "counted in tokens, which text does not show"
        out.append(f"size of the pool: {why}; eviction cannot be told and hits are an upper bound")
    else:
        sizes = ", ".join(f"{size:,}" for size in sorted({size for size in assumed.pools if size}))
        out.append(
            f"pool of {sizes} tokens a rank ({assumed.pool_from}); prompts and outputs fill it in order of time, the"
            " least recent pages leave first, and what runs at the moment holds nothing back"
        )
    if parts.scattered_routing is None:
        out.append(
            "the rank of the prompts is not known: one cache for all is assumed, scattered-routing cannot be told"
        )
    if parts.key_split is None:
        out.append("keys (adapter, extra key, salt) are not in the source: key-split cannot be told")
    if parts.prompt_drift is None:
        out.append("numbers of blocks show no content: prompt-drift cannot be told and stands under never-seen")
    if prompts.cut.any():
        out.append(f"{int(prompts.cut.sum())} prompts are cut and their length is not said: only what is shown counts")
    if parts.unseen.any():
        out.append("what the log cut out may have hit: with it, hits are a lower bound")
    if assumed.off:
        out.append("the prefix cache is switched off: the hits are what it would have found")
    return tuple(out)
