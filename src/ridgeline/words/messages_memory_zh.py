"""Chinese sentences of ladder C; the same keys and figures as `messages_memory_en`."""

from typing import Final

MEMORY: Final[dict[str, str]] = {
    "question.C0": "是哪一种内存不足？",
    "question.C1": "KV 池随时间有多满，这里的使用率统计的是什么？",
    "question.C2": "有多少请求在运行，每个占多少？",
    "question.C3": "输出为何结束：自行结束、到达上限，还是根本不结束？",
    "question.C4": "是否是有意保留的缓存？",
    "question.C5": "空闲时使用率是否仍居高不下？",
    "c0.none": "没有分配失败，没有进程被杀，也没有请求被 retract",
    "c0.host-oom": "主机因自身内存（而非显存）不足杀掉了进程[[；另有 {others}]]",
    "c0.cuda-oom": "显存在 KV 池之外耗尽：缩小池可以腾出空间（调低 --mem-fraction-static）[[；另有 {others}]]",
    "c0.slots-exhausted": "请求槽位用尽，而 token 可能仍有空余：取决于同时运行的请求数[[；另有 {others}]]",
    "c0.pool-full": (
        "KV 池耗尽：扩大池有用（调高 --mem-fraction-static）[[：申请 {asked:.4g} 个 token，剩余 {free:.4g} 个]]"
        "[[；另有 {others}]]"
    ),
    "c0.pages": (
        "KV 池用尽的是整页而不是 token：还有 {free:.4g} 个空闲 token，申请了 {asked:.4g} 个"
        "[[（{free_pages} 个整页，每页 {page}）]]"
    ),
    "c0.disk-full": "是磁盘或共享内存满了，不是显存[[；另有 {others}]]",
    "c0.request-too-large": "有一个请求大到怎样都放不下；服务仍然存活[[；另有 {others}]]",
    "c0.retraction": "{times} 次 retract：请求被放回队列并重新计算，并没有耗尽什么",
    "c0.preemption": "{times} 次抢占：请求被放回队列并重新计算，并没有耗尽什么",
    "c1.sglang": (
        "KV 池使用率 {usage:.0%}[[（{which}）]]（中位数；开始 {first:.0%}，结束 {last:.0%}，最高 {peak:.0%}）"
        "[[，共 {pool:.6g} 个 token]]；SGLang 的 token usage 只统计被请求锁住的部分，不含可驱逐的缓存"
    ),
    "c1.vllm": (
        "KV 池使用率 {usage:.0%}（中位数；开始 {first:.0%}，结束 {last:.0%}，最高 {peak:.0%}）"
        "[[，共 {pool:.6g} 个 token]]；vLLM 的 cache usage 只统计被请求占用的部分，不含可驱逐的缓存"
    ),
    "c2.held": (
        "每个运行中的请求占 {each:.4g} 个 token[[，同时运行 {batch:.3g} 个]][[，平均输出 {length:.4g} 个 token]]"
    ),
    "c2.small": (
        "每个运行中的请求占 {each:.4g} 个 token[[，同时运行 {batch:.3g} 个]]：KV 池[[（{pool:.6g} 个 token）]]"
        "对此来说太小"
    ),
    "c3.unlimited": (
        "{cut} 个因长度结束的输出中有 {unset} 个没有设 max_new_tokens[[（最长 {longest} 个 token）]]：客户端没有设上限"
    ),
    "c3.runaway": "KV 池是被运行中请求自己的 decode 填满的：少数输出停不下来",
    "c3.limit": "{cut} 个因长度结束的输出都是 {common} 个 token：这个上限是有人设的",
    "c3.bounded": "输出要么自行结束，要么到达所要求的上限",
    "c4.kept": (
        "KV 池的 {evictable:.0%} 是可以归还的缓存，prompt token 的命中率 {hits:.0%}：是有意保留的；"
        "若需要空间，可调整驱逐策略或显存比例"
    ),
    "c4.cold": "KV 池的 {evictable:.0%} 是可以归还的缓存，但很少有 prompt 命中",
    "c4.not": "其中几乎没有可以归还的缓存（占 KV 池的 {evictable:.0%}）",
    "c4.locked": (
        "这里的使用率只统计被请求锁住的部分，有意保留的缓存不会体现在其中：应回头看是谁占用"
        "[[；prompt token 的命中率 {hits:.0%}]]（驱逐策略与显存比例仍是较弱的线索）"
    ),
    "c5.idle": "没有请求运行或等待时，KV 池仍有 {idle:.0%} 被锁住：已经丢失",
    "c5.unowned": "KV 池的 {unowned:.0%} 被锁住，却不属于任何在途请求：已经丢失",
    "c5.missing": "引擎自己的空闲检查发现 KV 池 {total} 个 token 中有 {missing} 个无主：已经丢失",
    "c5.surplus": "引擎自己的空闲检查数出的 token 比 KV 池的 {total} 个多 {surplus} 个，像是被归还了两次",
    "c5.check": "引擎自己的空闲检查没有找齐整个 KV 池",
    "c5.none": "被锁住的部分在不再需要之后都还回来了",
}
