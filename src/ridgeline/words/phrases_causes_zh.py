"""Chinese of the causes' own pages: what each looks like and how it differs, by its English text."""

from typing import Final

LOOKS: Final[dict[str, str]] = {
    # fault
    "Queue, running and usage stand still while requests still arrive; a watchdog fires late.":
        "请求仍在到达，队列、运行数和使用率却都停住不动；watchdog 很晚才触发。",
    "Nothing moves at all; in a stall of one queue the rest goes on.":
        "什么都不动；如果只是某个队列停住，其余部分会继续。",
    "A process died of an exception, a signal or a child's death.": "有进程因异常、信号或子进程退出而退出。",
    "Not for lack of memory: those have causes of their own.": "不是因为内存不足：那些另有各自的原因。",
    "Answers are wrong, corrupt or repeat themselves, while times look normal.":
        "输出错误、损坏或不断重复，而耗时看起来正常。",
    "The fault is in what is said, not in when.": "问题在于输出的内容，不在于快慢。",
    "The server itself ends many requests with an error.": "服务自己以错误结束了许多请求。",
    "Nobody told it to; refusals for a full queue and timeouts of PD have causes of their own.":
        "没有人要求它这样做；队列已满的拒绝和 PD 超时另有各自的原因。",
    # memory
    "Requests wait because the pool is full of running requests' KV.": "KV 池被运行中请求的 KV 占满，请求只能排队。",
    "The pool is full and hardly anyone is put back; with retractions it is a storm.":
        "KV 池满，却几乎没有请求被 retract；若有大量 retract 就是风暴。",
    "Running requests are put back again and again and computed anew.": "运行中的请求一再被放回队列并重新计算。",
    "The pool not only is full: work already done is thrown away.": "不仅 KV 池满：已完成的计算也被丢弃。",
    "Locked KV stays although nothing runs or waits.": "没有请求运行或等待，却仍有 KV 被锁住。",
    "Only usage at idle tells: load, however high, is no leak.": "只有空闲时的使用率才能说明问题：负载再高也不是泄漏。",
    "The device or the pool's allocator ran out and the process died.": "显存或 KV 池分配器耗尽，进程退出。",
    "An allocation failed; a retraction (also the old words 'Decode out of memory happened') is none.":
        "是一次分配失败；retract（包括旧版的“Decode out of memory happened”）不算。",
    "The table of request slots ran out.": "请求槽位表用尽。",
    "Tokens were free; rows of req_to_token were not.": "还有空闲 token，但 req_to_token 没有空行。",
    "The kernel or the container runtime killed a process for memory.": "内核或容器运行时因内存杀掉了进程。",
    "Host memory, not the device's.": "是主机内存，不是显存。",
    "Outputs run on without a bound and fill the pool by themselves.": "输出没有上限，自己把 KV 池填满。",
    "Few requests, each huge, growing by their own decode: neither a leak nor load.":
        "请求不多，每个都很大，靠自己的 decode 增长：既不是泄漏也不是负载。",
    "Memory looks full because cache is kept on purpose.": "内存看起来满，其实是有意保留的缓存。",
    "The tokens are evictable: they are given back when asked for.": "这些 token 可以驱逐：需要时就会归还。",
    "The pool is so small that a handful of requests fills it.": "KV 池太小，少数几个请求就把它填满。",
    "Not the load but the size of the pool is out of proportion.": "不相称的不是负载，而是 KV 池的大小。",
    # routing
    "One rank queues while others idle: a key or session sends its work to one place.":
        "一个 rank 在排队而其他空闲：某个键或会话把工作都送到一处。",
    "Arrivals themselves are uneven; with even arrivals the rank or its tokens are the fault.":
        "请求的分配本身就不均匀；若分配均匀，问题就在该 rank 或它的 token。",
    "Ranks get equal numbers of requests and unequal work.": "各 rank 的请求数相同，工作量却不同。",
    "Counts are even; tokens are not.": "请求数均匀，token 不均匀。",
    "A worker gets nothing, the others get its share.": "某个 worker 什么都分不到，它的份额都给了其他 worker。",
    "The place is out of rotation, not merely less liked.": "它已被摘出轮转，而不只是较少被选中。",
    "Placement follows load figures that are too old.": "放置所依据的负载数据太旧。",
    "The snapshots' age exceeds what a decision needs; a hung rank still answers with its last.":
        "快照的年龄超过了决策所能接受的；停住的 rank 仍会返回最后的快照。",
    # disagg
    "Requests wait on the prefill side for a handshake that does not come.": "请求在 prefill 侧等待一直不来的握手。",
    "The handshake itself fails or never starts; with requests still flowing it is decode's preallocation.":
        "握手本身失败或从未开始；如果请求仍在流动，则是 decode 的预分配问题。",
    "Decode gives out KV slowly: requests pile up before their transfer, on either side.":
        "decode 分配 KV 很慢：请求在传输之前积压在任一侧。",
    "The decode pool is not full: a reserve, slots or the order hold them.":
        "decode 的 KV 池并没有满：是预留、槽位或顺序卡住了它们。",
    "KV moves, but slowly: transfer time grows with tokens.": "KV 在传，但很慢：传输时间随 token 增长。",
    "Transfers finish; nothing stands still. Small prompts say nothing about the link.":
        "传输都能完成，没有停住的。小 prompt 说明不了链路的快慢。",
    "Decode waits for KV that never comes; a timeout ends the wait minutes later.":
        "decode 等待一直不来的 KV；几分钟后才因超时结束等待。",
    "It stands still instead of being slow; the wait also covers prefill's own queue and compute.":
        "是停住而不是慢；这段等待还包含 prefill 自己的排队和计算。",
    "One side is saturated, the other idles, steadily.": "一侧持续饱和，另一侧持续空闲。",
    "Nothing fails: the numbers of prefill and decode servers do not fit the traffic.":
        "没有失败：prefill 与 decode 服务的数量与流量不相称。",
    "Aborted requests keep decode KV until a timeout.": "被 abort 的请求一直占着 decode 的 KV，直到超时。",
    "Aborts come first; slots stay taken for a fixed time.": "先有 abort；槽位随后被占用固定的时间。",
    "The other side's server went away.": "对端服务不在了。",
    "Heartbeats failed: its own log holds the reason. A failure within a fraction of a second is none.":
        "心跳失败：原因在对端自己的日志里。不到一秒内的失败不属于此类。",
    "Data of another room arrived, or room and rank conflict.": "收到了别的 room 的数据，或 room 与 rank 冲突。",
    "The mapping is wrong, not the link.": "错的是映射，不是链路。",
    "The two sides are set up so that they cannot work together, or a lease is shorter than the wait.":
        "两侧的配置使它们无法协作，或者租期比等待时间短。",
    "A setting is at fault; link and load are not.": "问题在设置，不在链路和负载。",
    "The staging buffer is too small for the chunks sent through it.": "staging 缓冲区对经过它的 chunk 来说太小。",
    "The transfer engine itself is fine.": "传输引擎本身没有问题。",
    # queue
    "Everyone waits, throughput stands at its plateau, more comes in than is served.":
        "所有请求都在排队，吞吐停在平台，到达的多于处理的。",
    "No limit and no full pool holds the queue: the work itself exceeds what the engine can do.":
        "没有上限、也没有池满在限制队列：工作量本身超过了引擎的能力。",
    "A short spike of waiting that empties by itself.": "短暂的排队尖峰，自行排空。",
    "The queue drains within the window without any change; overload does not.":
        "队列在时段内不经任何改变就排空；过载则不会。",
    "Requests wait while the running count stands at its limit and the pool has room.":
        "运行数停在上限，KV 池还有空间，请求却在排队。",
    "The limit itself is reached; in over-reservation running stays below it.":
        "达到的是上限本身；过度预留时运行数低于上限。",
    "Requests wait although neither the pool nor the batch is full.": "KV 池和 batch 都没有满，请求却在排队。",
    "What admission reserves for outputs is far above what they really produce.":
        "准入时为输出预留的量远高于实际输出。",
    "Short requests wait exactly while a giant prompt is prefilled.": "恰在超长 prompt 做 prefill 时，短请求在等待。",
    "The waiting ones are short and arrivals are as usual: something big stands before them.":
        "等待的都是短请求，到达速率如常：前面挡着一个大的。",
    "Only requests of low priority wait.": "只有低优先级的请求在排队。",
    "Equal lengths, unequal waits: the order decides, not the capacity.":
        "长度相同，等待不同：起作用的是顺序，不是容量。",
    "Fewer and fewer requests run while others wait and the pool is nearly empty.":
        "运行的请求越来越少，其他在排队，而 KV 池几乎是空的。",
    "Slots stay taken by requests nobody waits for; the limit itself has not changed.":
        "槽位被无人等待的请求占着；上限本身没有变。",
    "A request that can never be admitted waits, or is refused each time.":
        "一个永远无法准入的请求在等待，或每次都被拒绝。",
    "The size of the request itself exceeds a limit; more capacity at the same limit does not help.":
        "请求本身的大小超过了上限；上限不变，增加容量也没有用。",
    "Requests are refused at once because the queue is at its limit.": "队列达到上限，请求立刻被拒绝。",
    "The refusals are the fault seen by users; what fills the queue is another cause, where one is found.":
        "用户看到的是拒绝；把队列填满的是另一个原因（如果能找到）。",
    "The device idles while requests run: the scheduler's own work fills the time.":
        "有请求在运行，GPU 却空闲：时间被调度器自己的工作占去。",
    "Steps are long although the device is busy for a small part of each.": "每步都很长，但 GPU 只忙其中一小部分。",
    # prefill
    "Prefill takes longer because there is more to compute for each request.":
        "每个请求要计算的更多，prefill 因此更久。",
    "The cost of one uncached token is unchanged; only their number grew.":
        "单个未命中 token 的开销不变；只是数量变多了。",
    "The same prompts take longer to compute than before.": "同样的 prompt 计算得比之前久。",
    "Seconds for one uncached token rose at every length.": "各种长度下，单个未命中 token 的耗时都上升了。",
    "The first requests after a boot are slow, later ones are not.": "启动后的首批请求慢，之后的不慢。",
    "It decays by itself: first-seen shapes are compiled or captured once.":
        "会自行消退：首次出现的形状只需编译或捕获一次。",
    "Requests with a schema or regex are late before they are even queued.":
        "带 schema 或 regex 的请求在入队之前就已经晚了。",
    "Requests of the same length without one are as fast as ever.": "同样长度而不带的请求与平时一样快。",
    "Requests with images, audio or video are late before the scheduler sees them.":
        "带图像、音频或视频的请求在到达调度器之前就已经晚了。",
    "Text requests of the same length are as fast as ever.": "同样长度的文本请求与平时一样快。",
    "Requests wait for their adapter while the engine has room.": "引擎有空间，请求却在等待自己的 adapter。",
    "Requests for the base model, or for adapters already loaded, are not held.":
        "请求基础模型或已加载 adapter 的并不受影响。",
    # decode
    "Tokens come slower because more requests share each step.": "每步由更多请求共享，token 因此变慢。",
    "The step time lies on the same curve over the batch size as before.":
        "步耗时与 batch 大小的关系仍在原来的曲线上。",
    "A decode step of the same batch takes longer than before.": "同样大小的 batch，decode 步比之前久。",
    "The curve itself moved: same batch, same context, more seconds.":
        "曲线本身变了：同样的 batch、同样的上下文，耗时更多。",
    "Decode runs without a graph at batch sizes that had one.": "原本有 graph 的 batch 大小，decode 却没有使用 graph。",
    "The graph flag on decode lines is off; past the largest captured size only where it halves the speed.":
        "decode 行上的 graph 标志为关；超过已捕获最大值的 batch 只有在速度减半时才算。",
    "Speculation accepts fewer tokens for each verify step.": "推测解码每个 verify 步接受的 token 变少。",
    "Steps take as long as before; each just yields less.": "每步耗时与之前一样；只是产出变少。",
    "One rank's steps take longer than the others' at the same load.": "负载相同，某个 rank 的步比其他的久。",
    "Arrivals are even; the rank, not its share of work, is slow.": "分配均匀；慢的是该 rank 本身，不是它分到的工作。",
    "All running streams pause together while prompts are prefilled.": "在做 prefill 时，所有正在输出的流一起停顿。",
    "Steps between the pauses are as fast as ever.": "停顿之间的步与平时一样快。",
    "Requests are in the batch and hardly a token comes out.": "请求在 batch 中，却几乎没有 token 输出。",
    "The scheduler still reports: it runs, but yields nothing (a hang reports nothing new).":
        "调度器仍在报告：它在运行但没有产出（hang 则不再有新的报告）。",
    # cache
    "The hit ratio falls at once after a flush, a restart or a weight update.":
        "清空、重启或权重更新之后，命中率立刻下降。",
    "It comes back by itself as the cache fills again.": "缓存重新填充后会自行恢复。",
    "Prompts that should share a head differ near its beginning.": "本该共享开头的 prompt 在开头附近就不同。",
    "The ids themselves differ: no cache could hit.": "token id 本身不同：任何缓存都无法命中。",
    "The same prefixes hit less because they are evicted before they return.":
        "同样的前缀命中变少，因为还没再次用到就被驱逐了。",
    "Content is unchanged and the pool is near its end.": "内容没有变，KV 池接近用满。",
    "Short prompts hit less than they share because only whole pages match.":
        "只有整页才能匹配，短 prompt 的命中少于实际共享的部分。",
    "The loss is less than one page for each request, by arithmetic.": "按算术，每个请求损失不到一页。",
    "Requests of one key are served by many ranks, each with a cold cache.":
        "同一个键的请求由许多 rank 处理，每个 rank 的缓存都是冷的。",
    "On one rank the same requests hit.": "在同一个 rank 上，这些请求就会命中。",
    "Identical prompts miss across adapters, salts or extra keys.":
        "相同的 prompt 因 adapter、salt 或 extra key 不同而不命中。",
    "They hit inside one key only.": "只在同一个 key 之内命中。",
    "Not one token ever hits.": "没有任何 token 命中过。",
    "Neither eviction nor a page edge can lose everything.": "驱逐和页边界都不会损失全部。",
    "The printed hit rate does not say what it seems to say.": "打印出来的命中率与它看起来的意思不同。",
    "The tokens hit as they should; only the gauge misleads.": "token 命中正常；只是指标误导。",
    # storage
    "Requests wait for their prefix to come back from a slower tier.": "请求在等待自己的前缀从较慢的存储层取回。",
    "They hit, and the hit is what costs the time.": "它们命中了，而耗时正是这次命中。",
    "The external tier fails to keep or give back what was stored.": "外部存储层没能保存或归还已存的内容。",
    "Requests are served; they only hit less.": "请求都得到处理，只是命中变少。",
    # frontend
    "Requests are late before the scheduler because tokenizing takes long.":
        "tokenize 很久，请求在到达调度器之前就已经晚了。",
    "The time lies in tokenizing itself and follows prompt length; a blocked loop holds everyone at once.":
        "时间花在 tokenize 本身，且随 prompt 长度增长；事件循环被阻塞时则是所有请求同时被卡住。",
    "The scheduler finishes early, the response comes late.": "调度器很早就完成了，响应却很晚才到。",
    "The way back grows with output length and every stage on the device is normal.":
        "返回路径随输出长度增长，而 GPU 上的各阶段都正常。",
    "Only responses with tools or reasoning come back late.": "只有带 tools 或 reasoning 的响应返回得晚。",
    "Plain responses of the same length come back at once.": "同样长度的普通响应立刻返回。",
    "Requests of all kinds are held before the scheduler and let go together.":
        "各种请求都在进入调度器之前被卡住，然后一起放行。",
    "The holds end at the same moments: one event loop stood still for everyone.":
        "卡住在相同的时刻结束：是一个事件循环让所有请求都停住了。",
    "The engine answers in time and the client sees it late.": "引擎按时应答，客户端却很晚才看到。",
    "Most of the client's TTFT lies outside the engine, and the client sent on time.":
        "客户端 TTFT 的大部分在引擎之外，而且客户端是按时发送的。",
    "Chunks pile up because a reader takes them slowly.": "读取方读得慢，chunk 堆积起来。",
    "The engine produced them in time; only some clients' streams coalesce.":
        "引擎按时产出了；只有部分客户端的流被合并。",
    # client
    "Requests are refused as malformed, or carry parameters that cannot work.":
        "请求因格式错误被拒绝，或带着行不通的参数。",
    "The server says so (HTTP 4xx); a missing output limit is memory.no-token-limit.":
        "服务自己这样说（HTTP 4xx）；没有输出上限属于 memory.no-token-limit。",
    "Requests end early because someone told the server to abort them.": "有人要求服务中止，请求提前结束。",
    "The reason says it was told to; nothing failed on the server before.":
        "结束原因说明是被要求的；此前服务上没有失败。",
    "The load generator sends later than it planned; the server is not the bottleneck.":
        "压测客户端的发送比计划晚；服务不是瓶颈。",
    "The delay lies before the request leaves the client.": "延迟发生在请求离开客户端之前。",
}  # fmt: skip
