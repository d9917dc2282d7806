"""English sentences of ladder C: which shortage of memory, who holds it, and whether it comes back."""

from typing import Final

MEMORY: Final[dict[str, str]] = {
    "question.C0": "Which shortage of memory is it?",
    "question.C1": "How full is the pool over time, and what does usage count here?",
    "question.C2": "How many requests run, and what does each of them hold?",
    "question.C3": "Why do outputs end: by themselves, by a limit, or not at all?",
    "question.C4": "Is it cache that is kept on purpose?",
    "question.C5": "Does usage stay when nothing runs?",
    "c0.none": "no allocation failed, nothing was killed and nobody was put back",
    "c0.host-oom": "the host killed a process for its own memory, not the device's[[; also {others}]]",
    "c0.cuda-oom": (
        "the device ran out outside the KV pool: a smaller pool leaves room (lower --mem-fraction-static)[[; also "
        "{others}]]"
    ),
    "c0.slots-exhausted": "request slots ran out while tokens may be free: a matter of how many run[[; also {others}]]",
    "c0.pool-full": (
        "the KV pool ran out: a larger pool helps (raise --mem-fraction-static)[[: {asked:.4g} tokens asked, "
        "{free:.4g} free]][[; also {others}]]"
    ),
    "c0.pages": (
        "the KV pool ran out of whole pages, not of tokens: {free:.4g} tokens are free and {asked:.4g} were asked[[ "
        "({free_pages} whole pages of {page})]]"
    ),
    "c0.disk-full": "a disk or shared memory is full, not the device[[; also {others}]]",
    "c0.request-too-large": "one request is larger than any room there is; the server lives[[; also {others}]]",
    "c0.retraction": "{times} retractions: requests were put back and computed anew, nothing ran out",
    "c0.preemption": "{times} preemptions: requests were put back and computed anew, nothing ran out",
    "c1.sglang": (
        "the pool is {usage:.0%} full[[, by {which}]] (median; {first:.0%} at first, {last:.0%} at the end, {peak:.0%} "
        "at most)[[ of {pool:.6g} tokens]]; SGLang's token usage counts what requests lock, never cache that can be "
        "evicted"
    ),
    "c1.vllm": (
        "the pool is {usage:.0%} full (median; {first:.0%} at first, {last:.0%} at the end, {peak:.0%} at most)[[ of "
        "{pool:.6g} tokens]]; vLLM's cache usage counts what requests hold, never cache that can be evicted"
    ),
    "c2.held": (
        "a running request holds {each:.4g} tokens[[, {batch:.3g} run at once]][[, an answer has {length:.4g} tokens "
        "on average]]"
    ),
    "c2.small": (
        "a running request holds {each:.4g} tokens[[, {batch:.3g} run at once]]: the pool[[ of {pool:.6g} tokens]] is "
        "small for that"
    ),
    "c3.unlimited": (
        "{unset} of the {cut} answers that ended by length had no max_new_tokens[[ (up to {longest} tokens)]]: the "
        "client sets no limit"
    ),
    "c3.runaway": "the pool fills by what running requests decode themselves: a few outputs run on",
    "c3.limit": "all {cut} answers that ended by length have {common} tokens: somebody set that limit",
    "c3.bounded": "outputs end by themselves or at a limit that was asked for",
    "c4.kept": (
        "{evictable:.0%} of the pool is cache that can be given back, and {hits:.0%} of prompt tokens hit: kept on "
        "purpose; tune eviction or the memory fraction if the room is needed"
    ),
    "c4.cold": "{evictable:.0%} of the pool is cache that can be given back, though few prompts hit it",
    "c4.not": "hardly any of it is cache that could be given back ({evictable:.0%} of the pool)",
    "c4.locked": (
        "this usage is what requests lock, so that cache kept on purpose does not show in it: back to who holds it[[; "
        "{hits:.0%} of prompt tokens hit]] (eviction policy and memory fraction remain a weak lead)"
    ),
    "c5.idle": "{idle:.0%} of the pool stays locked while nothing runs or waits: it is lost",
    "c5.unowned": "{unowned:.0%} of the pool is locked beyond all that the requests in flight could hold: it is lost",
    "c5.missing": "the engine's own check at idle finds {missing:#token} of the pool's {total} with no owner: lost",
    "c5.surplus": (
        "the engine's own check at idle counts {surplus:#token} more than the pool's {total}, as if given back twice"
    ),
    "c5.check": "the engine's own check at idle does not find all of the pool",
    "c5.none": "what was locked came back when it was no longer needed",
}
