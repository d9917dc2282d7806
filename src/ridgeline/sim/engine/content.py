"""What tokens a request holds, without the tokens: segments with ids, compared and hashed by position.

Two requests share a token prefix exactly as far as their segment lists agree: the same id at the same
place means the same text, up to the shorter of the two. After the last listed segment comes the request's
own output segment, without end. Hashes are pairs of residues of two 31-bit primes, so that nothing ever
overflows a signed 64-bit integer (and plain Python gives the same numbers).
"""

from ridgeline.sim.engine.jit import jit
from ridgeline.sim.engine.state import State
from ridgeline.sim.engine.tables import reqs, segs

PRIME_A = 2147483647
PRIME_B = 2147483629
ENDLESS = 1 << 30


@jit
def mix(h: int, v: int) -> int:
    """Fold the integer ``v`` into the hash ``h`` (62 bits)."""
    a = ((h >> 31) * 48271 + v % PRIME_A + 11) % PRIME_A
    b = ((h & 0x7FFFFFFF) * 69621 + v % PRIME_B + 7) % PRIME_B
    return (a << 31) | b


@jit
def draw(seed: int, stream: int, who: int, turn: int) -> int:
    """A 31-bit draw that depends on nothing but its four keys (counter-based)."""
    h = mix(mix(mix(mix(88172645463325252 >> 2, seed), stream), who), turn)
    x = (h >> 31) ^ (h & 0x7FFFFFFF)
    x = ((x ^ (x >> 15)) * 739982445) % PRIME_A
    return ((x ^ (x >> 13)) * 1274126177) % PRIME_A


@jit
def seg_id(st: State, i: int, k: int) -> int:
    """Identity of the ``k``-th segment of request ``i``."""
    at = reqs(st)[i].seg_lo + k
    return int(segs(st)[at].id if at < reqs(st)[i].seg_hi else reqs(st)[i].out_seg)


@jit
def seg_end(st: State, i: int, k: int) -> int:
    """Position one past the ``k``-th segment of request ``i``."""
    at = reqs(st)[i].seg_lo + k
    return segs(st)[at].end if at < reqs(st)[i].seg_hi else ENDLESS


@jit
def agree(st: State, a: int, b: int, k: int, start: int, limit: int) -> int:
    """First position in ``[start, limit]`` where requests ``a`` and ``b`` part.

    They must agree on ``[0, start)``, and ``k`` must be the segment that holds ``start``.
    """
    at = start
    while at < limit:
        if seg_id(st, a, k) != seg_id(st, b, k):
            break
        end_a = seg_end(st, a, k)
        end_b = seg_end(st, b, k)
        at = min(end_a, end_b, limit)
        if end_a != end_b:
            break
        k += 1
    return at


@jit
def seg_at(st: State, i: int, k: int, position: int) -> int:
    """The segment that holds ``position``, searched upwards from ``k``."""
    while seg_end(st, i, k) <= position:
        k += 1
    return k


@jit
def page_hash(st: State, i: int, k: int, start: int, end: int, h: int) -> int:
    """Fold the content of positions ``[start, end)`` of request ``i`` into ``h`` (``k`` holds ``start``)."""
    at = start
    while at < end:
        stop = min(seg_end(st, i, k), end)
        h = mix(mix(h, seg_id(st, i, k)), stop - at)
        at = stop
        k += 1
    return h
