"""Numbers of the engine's tunables: column codes of the parameter table, one row per rank.

Everything a perturbation may change is a column here, so a timed fault is data, never code. Times are
integer picoseconds, ratios are in billionths, sizes in tokens.
"""

# step time: a + b P + c attention + d B + e S + g B [the step also prefills]
STEP_BASE, STEP_PREFILL, STEP_ATTENTION, STEP_DECODE, STEP_CONTEXT, STEP_MIXED = range(6)
POOL, PAGE, MAX_RUNNING, MAX_PREFILL, CHUNK, MIXED, DECODE_INTERVAL, PREFILL_MAX = range(6, 14)
RATIO_INIT, RATIO_MIN, RATIO_DECAY, CLIP, RETRACT_STEPS, IGNORE_EOS_FULL = range(14, 20)
ORDER, PRIORITY, PRIORITY_SIGN, PREEMPT_THRESHOLD, PREEMPT_ON = range(20, 25)
CACHE, EVICTION, TLRU_THRESHOLD, TLRU_NEXT = range(25, 29)
MAX_QUEUED, CONTEXT, ABORT_LAST, HANG, DOWN, STOLEN = range(29, 35)
LORA_SLOTS, LORA_LOAD, GRAMMAR, STORAGE, SNAPSHOT_EVERY, LOG_EVERY = range(35, 41)
TOKENIZE_BASE, TOKENIZE_TOKEN, RETURN_BASE, RETURN_TOKEN, TOKENIZERS, RETURNERS = range(41, 47)
ROLE, RESERVED, HANDSHAKE, BOOT_TIMEOUT, WAIT_TIMEOUT, ALLOCATION, LINK_TOKEN, LINK_LATENCY = range(47, 55)
DRAFT, ACCEPT, STEP_DRAFT, FAMILY, SEED, LINK_FAIL, BOOT_BLOCK, WORK, OVERLAP = range(55, 64)
PARAMS = 64

UNIFIED, PREFILL_ROLE, DECODE_ROLE = range(3)
SGLANG, VLLM = range(2)

# waiting-queue orders; USER is a function from the user's file
FCFS, LPM, DFS_WEIGHT, LOF, RANDOM, ROUTING_KEY, HRRN, SHORTEST_PREFILL, USER_ORDER = range(9)
LRU, LFU, SLRU, PRIORITY_EVICTION, TLRU, FIFO = range(6)

# how the controller of a data-parallel server picks a rank
DP_ROUND_ROBIN, DP_SHORTEST_QUEUE, DP_FOLLOW_ROOM, DP_REQUESTS, DP_TOKENS, DP_USER = range(6)
# how the gateway picks a worker
GW_NONE, GW_RANDOM, GW_ROUND_ROBIN, GW_POWER_OF_TWO, GW_CACHE_AWARE, GW_HASHING, GW_USER = range(7)

# states of a request row
NEW, FRONT, INBOX, GRAMMAR_WAIT, WAITING, PREFILLING, RUNNING, DONE = range(8)
BOOTSTRAP, INFLIGHT, PREALLOC, TRANSFER, RETRACTED = range(8, 13)

# lists of requests, one set per rank
WAIT, BOX, GRAMMARS, BOOTS, FLIGHTS, PREALLOCS, TRANSFERS, RETRACTS, BLOCKS = range(9)  # BLOCKS: free blocks (vLLM)
QUEUES = 9

# outcomes
OPEN, FINISHED, CANCELLED, QUEUE_FULL, TOO_LONG, OUT_OF_MEMORY, TIMED_OUT, FAILED, NO_WORKER = range(9)
OUTCOMES = (
    "open", "finished", "cancelled", "queue-full", "too-long", "out-of-memory", "timed-out", "failed",
    "no-worker",
)  # fmt: skip

# flags of a request
IGNORE_EOS, HAS_GRAMMAR = 1, 2

# kinds of log rows
LOG_PREFILL, LOG_DECODE, LOG_RETRACT, LOG_ABORT, LOG_TRANSFER, LOG_IDLE, LOG_LORA, LOG_PREEMPT = range(8)
LOG_STEP = 8

# cells of the globals vector
(
    G_PUSHED, G_NEXT, G_NOW, G_FREE_NODE, G_TOP_NODE, G_LIVE_NODES, G_MASK, G_LOG, G_LOGGING, G_STOP, G_EVENTS,
    G_SPARE, G_ROUTER, G_BALANCE, G_WORKERS, G_RANKS_EACH, G_LOCKSTEP, G_RATIO_CACHE, G_ABS_CACHE,
    G_REL_CACHE, G_TREE_TOKENS, G_PD, G_ROUND_ROBIN, G_WATCH, G_NEXT_WATCH, G_SEED, G_RETURNS, G_DECODE_WORKERS,
    G_PERTURBED, G_MATCHED, G_KNOWS_DOWN, G_DECODE_RR,
    G_SLOTS, G_RANKS, G_BASE, G_PERTURB, G_PERTURBS, G_ASK, G_RESIDUE, G_LORA, G_POOL,
    G_STEPS,
) = range(42)  # fmt: skip
GLOBALS = 48

# why `advance` came back before its time: a table must grow
RAN, NEED_NODES, NEED_LOG, NEED_SCRATCH = range(4)

FOREVER = 1 << 62
