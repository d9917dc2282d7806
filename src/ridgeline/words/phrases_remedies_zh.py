"""Chinese of what to do, what it loses and what it risks, by the English text of the remedies."""

from typing import Final

ACTIONS: Final[dict[str, str]] = {
    "take a stack dump of every rank (py-spy dump --pid of each scheduler), then restart":
        "先对每个 rank 取堆栈（对每个调度器 py-spy dump --pid），再重启",
    "replay the crash dump's last requests against a clean server": "把 crash dump 中最后的请求对干净的服务回放",
    "restart; keep the crash dump and the last lines": "重启；保留 crash dump 和最后的日志行",
    "replay the dump, then minimise it to the request that brings it": "回放 dump，再缩减到能触发它的那个请求",
    "take the server out and compare answers with a clean one": "摘除该服务，并与干净的服务比较输出",
    "replay the aborted requests by class": "按类别回放被 abort 的请求",
    "give the pool more of the device: raise its share": "给 KV 池更多显存：调高它的占比",
    "lower the running limit or shed load": "调低运行上限，或削减负载",
    "a smaller KV type, or more replicas": "用更小的 KV 类型，或增加副本",
    "admit less at once: raise the conservativeness": "一次少准入一些：调高 conservativeness",
    "restart in a quiet moment": "在空闲时重启",
    "find the class of requests after which the idle level rises, and replay it":
        "找出哪一类请求之后空闲水位会上升，并回放它",
    "lower the running limit, or a smaller page": "调低运行上限，或用更小的页",
    "lower the pool's share where CUDA ran out outside the pool; raise it where the pool itself did":
        "若显存在 KV 池之外耗尽，就调低池的占比；若是池本身耗尽，就调高",
    "lower the running limit to the slots there are": "把运行上限降到现有槽位数",
    "raise the container's limit or shrink host caches": "提高容器的内存上限，或缩小主机侧缓存",
    "set max_tokens (and stop) in the client, or a default at the gateway":
        "在客户端设 max_tokens（以及 stop），或在网关设默认值",
    "abort the requests that run on": "中止那些停不下来的请求",
    "nothing is broken: tune eviction or the memory fraction if room is needed":
        "没有故障：需要空间时再调整驱逐策略或显存比例",
    "raise or drop the limit on the pool's tokens, where one is set": "若设了 KV 池的 token 上限，就提高或去掉它",
    "split or re-hash the hot key, or pin it to a larger share of ranks":
        "拆分或重新散列热点键，或让它固定到更多的 rank",
    "balance by load with affinity as a preference only": "按负载均衡，亲和性只作为偏好",
    "balance by tokens instead of requests": "按 token 而不是按请求数均衡",
    "bring the worker back: health, registration, circuit breaker": "让 worker 恢复：检查健康状态、注册与熔断",
    "publish snapshots more often": "更频繁地发布快照",
    "take the pair out of rotation; check registration and reachability both ways":
        "把这一对摘出轮转；检查双向的注册与可达性",
    "find why decode never sends its indices: its log some 300 s before the timeout":
        "查明 decode 为何一直没有发送它的 index：看超时之前约 300 s 的日志",
    "lower the reserve for each request, or raise the running limit of decode":
        "降低每个请求的预留，或提高 decode 的运行上限",
    "check links, device choice and the number of transfer threads": "检查链路、网卡选择和传输线程数",
    "take the pair out of rotation": "把这一对摘出轮转",
    "look the same rooms up in the prefill log: queued, computed, or failed to send":
        "在 prefill 日志中查同样的 room：是在排队、已计算，还是发送失败",
    "move servers from the idle side to the busy one": "把服务从空闲的一侧移到繁忙的一侧",
    "shorten the hold (30 s by default)": "缩短保留时间（默认 30 s）",
    "restart the lost side; read its last lines": "重启失联的一侧；查看它最后的日志行",
    "make gateway and servers agree on which rank serves a room": "让网关与服务对“哪个 rank 处理哪个 room”达成一致",
    "align the setting named in the evidence on both sides": "把证据中指出的设置在两侧调成一致",
    "a larger staging pool (4096 MB by default)": "加大 staging 池（默认 4096 MB）",
    "shed or reroute load until arrivals fit the throughput": "削减或改道负载，直到到达量与吞吐相称",
    "add replicas in proportion to arrivals over throughput": "按到达量与吞吐之比增加副本",
    "bound the queue so that excess fails fast": "给队列设上限，让多出的请求快速失败",
    "smooth arrivals at the gateway or keep headroom for the burst": "在网关平滑到达，或为突发预留余量",
    "raise the running limit while the pool has room; watch token usage and decode step time":
        "KV 池有空间时提高运行上限；同时观察 token usage 与 decode 步耗时",
    "send less to this server": "少往这个服务发请求",
    "lower the conservativeness so that less is reserved for outputs that stay short":
        "调低 conservativeness，为其实很短的输出少预留一些",
    "have clients ask for the max_new_tokens they need": "让客户端按需要设置 max_new_tokens",
    "cut long prompts into smaller chunks so that others fit beside them":
        "把长 prompt 切成更小的 chunk，让其他请求能并行",
    "let short prompts pass long ones": "让短 prompt 先于长 prompt",
    "send long prompts to servers of their own": "把长 prompt 发到专用的服务",
    "send the starved class elsewhere or raise its priority": "把饿死的一类发到别处，或提高其优先级",
    "bound how long a low priority may wait": "限制低优先级最多等待多久",
    "restart the server in a quiet moment": "在空闲时重启服务",
    "upgrade to a version that frees a slot when its client goes": "升级到客户端离开时会释放槽位的版本",
    "raise the pool or the context limit, or reject such requests at the gateway":
        "提高 KV 池或上下文上限，或在网关拒绝这类请求",
    "retry with backoff at the gateway": "在网关退避重试",
    "raise the queue limit only where waiting that long is useful": "仅当等那么久仍有意义时才提高队列上限",
    "keep overlap scheduling on and lower per-step work (logprobs, grammar, many stops)":
        "保持 overlap 调度开启，并减少每步的工作（logprobs、grammar、过多的 stop）",
    "send the long prompts to servers of their own": "把长 prompt 发到专用的服务",
    "add prefill capacity in proportion to uncached tokens": "按未命中的 token 增加 prefill 容量",
    "go back to the version or arguments before the onset": "回到出问题之前的版本或参数",
    "profile one prefill of each and compare kernels": "前后各 profile 一次 prefill，比较 kernel",
    "warm the usual shapes before taking traffic; keep the compile cache": "接流量前先预热常见形状；保留编译缓存",
    "reuse few schemas so that compiled grammars hit their cache": "复用少量 schema，让已编译的 grammar 命中缓存",
    "use a faster grammar backend or simplify the schema": "换更快的 grammar 后端，或简化 schema",
    "scale preprocessing on its own, or cache processed items": "单独扩展预处理，或缓存处理结果",
    "allow more adapters in one batch": "允许一个 batch 使用更多 adapter",
    "route one adapter's requests to the same server": "把同一 adapter 的请求路由到同一个服务",
    "lower the running limit to the step time you need": "把运行上限降到所需的步耗时",
    "spread the load over more replicas": "把负载分散到更多副本",
    "profile decode steps of both and compare kernels": "前后各 profile decode 步，比较 kernel",
    "capture graphs up to the batch sizes in use": "把 graph 捕获到实际使用的 batch 大小",
    "draft fewer tokens, or switch speculation off for this traffic": "减少 draft 的 token，或对这类流量关闭推测解码",
    "take the rank out of rotation": "把该 rank 摘出轮转",
    "check clocks, throttling, ECC and links of that device": "检查该 GPU 的频率、降频、ECC 与链路",
    "let decodes ride along with each prefill chunk": "让 decode 与每个 prefill chunk 一起执行",
    "give decode some steps between prefills": "在 prefill 之间留给 decode 若干步",
    "cut prefill into smaller chunks": "把 prefill 切成更小的 chunk",
    "restart the server after a stack dump of all ranks": "对所有 rank 取堆栈之后重启服务",
    "flush in quiet hours; warm the common prefixes after it": "在空闲时段清空；之后预热常用前缀",
    "move what changes (clock, ids) to the end of the prompt": "把会变化的内容（时间、id）移到 prompt 末尾",
    "a larger pool, a host tier, or routing by prefix": "更大的 KV 池、主机层缓存，或按前缀路由",
    "a smaller page, where the kernels allow it": "kernel 允许时用更小的页",
    "route by prefix or key at the gateway": "在网关按前缀或键路由",
    "use fewer distinct keys for prompts that may share": "可以共享的 prompt 少用不同的 key",
    "start without this flag; where it is not set, use a cache class that serves this model":
        "启动时去掉这个参数；若没有设置，就换用支持该模型的缓存类型",
    "read counters or cached_tokens of requests instead of the gauge":
        "不看 gauge，改看 counter 或请求的 cached_tokens",
    "bound the prefetch, or recompute short prefixes": "限制预取，或对短前缀重新计算",
    "check the store's capacity and its links": "检查存储的容量与链路",
    "run more tokenizer workers, or send token ids": "增加 tokenizer worker，或直接发送 token id",
    "stream in larger intervals": "加大流式输出的间隔",
    "run more detokenizer or API workers": "增加 detokenizer 或 API worker",
    "serve such requests without the parser, or parse at the client": "这类请求不用 parser，或在客户端解析",
    "move long work off the API server's loop; run more API workers":
        "把耗时的工作移出 API 服务的事件循环；增加 API worker",
    "measure at the gateway: connection pools, buffering of streams, retries": "在网关测量：连接池、流的缓冲、重试",
    "read the stream faster or ask for a larger stream interval": "更快地读取流，或要求更大的流式间隔",
    "correct the parameters the server names": "改正服务指出的参数",
    "find who sends the abort: client timeout, gateway, or user": "查明是谁发出 abort：客户端超时、网关还是用户",
    "use more client processes or connections": "增加客户端进程或连接",
}  # fmt: skip

# What the ladder says instead, or adds, once it has seen the server in the evidence.
SUITED: Final[dict[str, str]] = {
    "find out who killed it before anything else: dmesg -T of the host, OOMKilled in the container's last state, "
    "memory.events of its cgroup, the orchestrator's and the shell's history":
        "先查明是谁杀的：主机的 dmesg -T、容器上次状态中的 OOMKilled、其 cgroup 的 memory.events、编排系统与 shell "
        "的历史",
    "restart; keep the last lines of every process": "重启；保留每个进程最后的日志行",
    "give the host or the container more memory where the kernel killed it": "若是内核杀的，给主机或容器更多内存",
    "learn first how full the pool is (no working gauge tells it); where it has room, raise it":
        "先弄清 KV 池有多满（没有可用的指标说明）；若有空间再提高",
    "admit less at once: lower the running limit": "一次少准入一些：调低运行上限",
    "send the last requests to a clean server of the same version (vLLM dumps none)":
        "把最后的请求发给同版本的干净服务（vLLM 不会 dump）",
    "lower num_speculative_tokens, or leave speculation out": "调低 num_speculative_tokens，或不用推测解码",
    "switch the prefix cache on": "开启前缀缓存",
    "let short prompts pass long ones by their priority": "用优先级让短 prompt 先于长 prompt",
    "balance by load at the router, affinity as a preference only": "在路由器按负载均衡，亲和性只作为偏好",
    "balance by tokens instead of requests at the router": "在路由器按 token 而不是按请求数均衡",
    "route by prefix or key at the router": "在路由器按前缀或键路由",
    "let the clients or the gateway stop asking for a DP rank ({asked} of {requests} requests do, and no method moves "
    "those); {action}":
        "让客户端或网关不再指定 DP rank（{requests} 个请求中有 {asked} 个指定了，任何均衡方法都移动不了它们）；"
        "{action}",
    "{action}, at the gateway": "{action}（在网关上）",
    "{action} (vLLM: no counterpart known)": "{action}（vLLM：没有已知的对应参数）",
    "{action} (set to {now} today)": "{action}（目前为 {now}）",
    "{action} ({flag} came with {since})": "{action}（{flag} 自 {since} 起才有）",
    "{action} ({flag} came later than {version})": "{action}（{flag} 在 {version} 之后才有）",
}  # fmt: skip

PRICES: Final[dict[str, str]] = {
    "running requests": "运行中的请求",
    "running requests and the cache": "运行中的请求与缓存",
    "CUDA OOM outside the pool when nothing is left for activations": "激活值没有空间时，KV 池之外 CUDA OOM",
    "throughput": "吞吐",
    "quality": "质量",
    "long answers": "长输出",
    "their answers": "它们的输出",
    "its cache hits": "它的缓存命中",
    "cache hits": "缓存命中",
    "a little overhead": "少量开销",
    "retractions on decode": "decode 上的 retract",
    "device memory": "显存",
    "the shed requests": "被削减的请求",
    "cost": "成本",
    "late requests": "晚到的请求",
    "longer decode steps; retractions where the pool then fills": "decode 步变长；KV 池因此变满时会 retract",
    "load on the others": "其他服务的负载",
    "retractions where outputs do run long": "输出确实很长时会 retract",
    "cut answers": "输出被截断",
    "throughput of long prompts": "长 prompt 的吞吐",
    "starving long prompts": "长 prompt 饿死",
    "more load": "更多负载",
    "a profile costs speed": "profile 会拖慢服务",
    "KV pool": "KV 池空间",
    "hot spots": "热点",
    "throughput; requests wait instead": "吞吐；请求改为排队",
    "memory for graphs": "graph 占用的显存",
    "speed of well-drafted traffic": "draft 效果好的流量的速度",
    "its share of capacity": "它那份容量",
    "time to first token": "首 token 延迟",
    "prefill throughput": "prefill 吞吐",
    "speed": "速度",
    "smoothness of the stream": "流的平滑度",
}  # fmt: skip
