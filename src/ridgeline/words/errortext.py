"""Words of the engines' own error messages. A clause made of nothing else tells nothing about anybody's prompt."""

from __future__ import annotations

from typing import Final

from ridgeline.words.known import KNOWN

WORDS: Final = frozenset(
    """
    a after again all already an and any are as at be because been before below beyond both but by can cannot could did
    do does down due during either enough for from given has have if in into is it its less many may might more most
    must no none not of off on only one or other out over per please s should so such than that the their then there
    this to too try under up was were when which while will with within without would yet you your
    abort aborted abortreq aborting abortreq accept acquire active adapter adapters add admitted alive alloc allocate
    allocated allocation allocator allowed api argument arguments array asgi assertion async attempt attempts attention
    attribute available backend bad batch batches before block blocks body bootstrap bootstrapping broken bucket buffer
    bytes cache cached call called cancel canceled cancelled cancellation capacity change chat check chunk chunked
    client close closed code compile compiled compilation completion connect connected connection connections context
    could count cpu crash crashed create cuda dead decode decoding deferred delete deleted dependency deployment
    deserialize destination detected detokenizer device dict died disaggregated disaggregation disconnect disconnected
    discovery dispatch dp draft drop dropped early ebnf eight embedding empty encode end ended endpoint engine entity
    entry error errors eviction exceed exceeded exceeding exceeds exception exist exists exit exited expect expected
    expired extra fail failed failing failure fault field fields file final find finish finished first flight flush
    forbidden format forward found four full function gateway generate generated generation get gpu grammar greater
    group handle handshake health healthy held higher hit hold host http id ids idle ignored image implemented index
    indices info init initialize input inputs instance instances insufficient int integer internal interrupted invalid
    io is item items iterations job join json key keys kill killed kv kvcache kvpoll large larger largest last late
    later layer least length level limit limited limits list load loaded local lock long longer lora lost loop low lower
    make max maximum memory message metadata method min minimum missing mode model mooncake ms multimodal name nccl
    negative network new next nixl node null number object of offset ok old oom open operation option order out output
    outputs overflow overload overloaded page pages param parameter parameters parse parsed parser parsing part path
    peer pending pool port pp prealloc preempt preempted prefill prefix priority process processes processing progress
    prompt prompts proxy put queue queued queues ran range rank rate ray reach reached reachable read ready reason
    receive received receiver receiving recompute refused regex register registered reject rejected release released
    remote remove removed req reqs request requests required reset resource resources response restart restarted result
    retract retracted retraction retries retry return returned rid room router routing run running runtime same sampling
    scheduler schema second seconds seed select send sender sending sent sequence sequences server service session
    set shape shut shutdown shutting size sizes slot slots small smaller socket span spans speculative spec start
    started state status step stop stopped stopping storage stream streaming string structural success supported
    syntax system tag task tcp temporarily terminated text than thread throughput time timed timeout times timestamp
    token tokenize tokenizer tokenizermanager tokens tool tools top total tp transfer transferring true false type
    unable unauthorized unavailable unclosed unexpected unhealthy unified unknown unprocessable unreachable unrecognized
    unsupported unterminated upstream url usage use used user uvicorn valid validation value values version vision vllm
    sglang wait waited waiting waitingforinput warmup weight weights window worker workers write wrong zero n m r
    asyncio auto char connector column completion default enable fit gib line messages mib negative non preprocessing
    provided reduce requested shorter ssl starting traceback tried truncate
    """.split()  # noqa: SIM905 (a list of words is read as words)
) | frozenset(word for known in KNOWN for word in known.text.replace("_", " ").split() if word.isalpha())
# What causes look for in messages (facts/): said on even where the clause around it is hidden.
PHRASES: Final = (
    *("queue is full", "timed out", "timeout", "disconnect", "Aborted by AbortReq", "Aborted by", "unclosed span"),
    *("out of memory", "context length", "maximum number of tokens", "higher priority"),
    *(known.text for known in KNOWN),
)
