"""Two policies of one's own, for `ridgeline simulate --policy examples/policies/least_waiting.py:NAME`.

What a policy is given is listed in `ridgeline.sim.policies`. Plain integer code; it is compiled before the run.
"""


def route_least_waiting(candidates, request):
    """The worker (or rank) with the fewest waiting tokens; among equals the one with the most free KV."""
    best = -1
    for row in range(candidates.shape[0]):
        if candidates[row, 1] == 0:
            continue
        if best < 0:
            best = row
            continue
        mine = candidates[row, 7]
        other = candidates[best, 7]
        free = candidates[row, 5] - candidates[row, 4]
        if mine < other or (mine == other and free > candidates[best, 5] - candidates[best, 4]):
            best = row
    return best


def order_shortest_first(request, rank):
    """Fewest prompt tokens first, but nobody waits for more than two seconds on that account."""
    if rank[0] - request[2] > 2_000_000_000_000:
        return -1
    return request[3]
