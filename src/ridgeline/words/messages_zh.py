"""The Chinese catalogue: the same keys and figures as `messages_en`. Flags, metrics and causes keep their names."""

from typing import Final

from ridgeline.words.messages_asks_zh import MESSAGES as ASKS
from ridgeline.words.messages_causes_zh import CAUSES
from ridgeline.words.messages_compare_zh import COMPARE
from ridgeline.words.messages_decide_zh import DECIDE
from ridgeline.words.messages_measures_zh import MEASURES
from ridgeline.words.messages_memory_zh import MEMORY
from ridgeline.words.messages_page_zh import PAGE
from ridgeline.words.messages_places_zh import PLACES
from ridgeline.words.messages_report_zh import REPORT
from ridgeline.words.messages_verbs_zh import VERBS

FATES: Final = "（{unfinished} 个未完成[[，{refused} 个被拒绝]][[，{told} 个因收到中止要求而结束]]）"
SEEN: Final = {
    "both": "{points} 个负载采样点[[，跨度 {span_s:.4g} s]]，{requests} 个请求" + FATES,
    "points": "{points} 个负载采样点[[，跨度 {span_s:.4g} s]]，没有单个请求的记录",
    "requests": "{requests} 个请求" + FATES + "，没有负载采样点",
    "nothing": "既没有负载采样点，也没有请求记录",
}
WINDOWS: Final = {
    "given": "时段由用户给定[[；此前十分钟内的变化：{changes:word}]]",
    "change-point": "由“{signal:word}”的突变定出起点，此前的时间作为基线[[；起点附近的变化：{changes:word}]]",
    "none": "没有哪一刻特别突出，因此没有可供对照的先前时段",
}

QUEUED: Final = "{waiting} 个请求在排队，{busy:.3g} 个在运行（{n} 个负载采样点中有排队的 {queued} 个的中位数）"
MIND: Final = "[[。注意：{guards:each guard.*}]]"
RUNGS: Final[dict[str, str]] = {
    "question.A0": "看到了什么、在哪段时间，这些数字看不到什么？",
    "question.A1": "全局还是局部：所有请求，还是部分 rank、副本、路由键？",
    "question.A1b": "队列处于哪种状态？",
    "question.A2": "请求的时间花在哪一段？",
    "question.A2b": "流式输出的感受如何，客户端看到了什么？",
    "question.A3": "哪些请求慢？",
    "question.A4": "走哪条离线路线？",
    "question.A5": "离线路线的结论是什么？",
    "question.B0": "PD 如何配置，两侧是否一致？",
    "question.B1": "放置：请求的分配能否解释积压？",
    "question.B2": "在哪个阶段、哪一侧？",
    "question.B3": "PD 的哪个队列在增长或停滞？",
    "question.B4": "传输后端本身呢？",
    "question.D0": "缓存是被清空、被关闭，还是只有指标误导？",
    "question.D1": "本该共享的 prompt 是否真的相同？",
    "question.D2": "KV 池是否满到缓存的前缀必须让位？",
    "question.D3": "整页匹配损失多少？",
    "question.D4": "同一个键的请求是否比之前分散到更多 rank？",
    "rung.cannot-tell": "无法判断，缺少：{asks:each ask.*.signal}",
    **{f"a0.{seen}.{how}": f"{SEEN[seen]}；{WINDOWS[how]}" for seen in SEEN for how in WINDOWS},
    "a1.local": "局部：{place} 有 {most:.3g} 个在排队，而 {places} 个 rank 或副本中有 {free} 个没有队列",
    "a1.slow-rank": "局部：{slow_place} 的一个 decode 步耗时 {slow:.3g} s，其他为 {usual:.3g} s",
    "a1.global": (
        "不是局部：没有哪个 rank 或副本的积压特别突出（最长的在 {place}：{most:.3g} 个在排队；"
        "{places} 个中有 {free} 个没有队列）"
    ),
    "a1.arrivals": "最忙的 rank 分到的请求是其应得份额的 {skew:.2g} 倍",
    "a1.alone": "只有一个服务、一个 rank：没有可比较的对象，因此谈不上局部",
    "a1b.cap": (
        f"{QUEUED}；其中 {{capped:.0%}} 的采样点上运行数达到上限[[，KV 池使用率 {{usage:.0%}}]][[：{{named}}]]"
    ),
    "a1b.pool": f"{QUEUED}，KV 池已满[[（{{usage:.0%}}）]][[：{{named}}]]",
    "a1b.slack": (
        f"{QUEUED}；在 {{slack_of}} 个中的 {{slack}} 个上，KV 池和 batch 都没有满"
        "[[（KV 池使用率 {usage:.0%}）]][[：{named}]]"
    ),
    "a1b.queued": f"{QUEUED}[[，KV 池使用率 {{usage:.0%}}]][[：{{named}}]]",
    "a1b.frozen": "停滞：请求仍在到达，却什么都不动[[：{named}]]",
    "a1b.calm": "谈不上排队：{n} 个负载采样点中有 {queued} 个出现等待",
    "a1b.unfelt": "谈不上排队：几乎没有请求等待，等待也不久",
    "a2.slices": (
        "时间主要花在：{largest:word}（较慢的请求[[；TTFT 中排队占 {queue:.0%}]][[；TTFT 中入队之前占 {pre_queue:.0%}]]"
        "[[；TTFT 中 prefill 占 {prefill:.0%}]][[；E2E 中 decode 占 {decode:.0%}]][[；E2E 中返回路径占 {return:.0%}]]"
        "[[；E2E 中没有任何时间戳的占 {unaccounted:.0%}]]）"
    ),
    "a2.queue": "较慢请求的全部时间中有 {queue:.0%} 在排队[[（E2E 中位数 {e2e_s:.3g} s）]]",
    "a2.times": "[[TTFT 中位数 {ttft_s:.3g} s]][[；E2E 中位数 {e2e_s:.3g} s]]；其中各段都没有时间戳",
    "a2b.stream": (
        "[[；流的最长间隔是平时的 {gaps:.3g} 倍（{gap_s:.3g} s）]]"
        "[[；在有流输出时，连续的 prefill batch 一共处理了 {train} 个 token]]"
        "[[；没有在流输出期间连续很久的 prefill batch（共见到 {no_train} 行 prefill 日志）]]"
        "[[；{backlog} 个流被读得太慢]]"
        "[[；客户端 TTFT 的 {client:.0%} 在引擎之外]]"
        "[[；压测客户端的发送比计划晚 {lag:.3g} s]]"
    ),
    "a3.class": (
        "{value} 是它们的标志：{slow} 个慢请求中 {coverage:.0%} 有此属性，是随机情况的 {lift:.3g} 倍"
        "[[；见 {rid}]][[，以及相似的正常请求 {twin}]]"
    ),
    "a3.none": "{n} 个请求中的 {slow} 个慢请求没有任何共同属性[[；见 {rid}]][[，以及相似的正常请求 {twin}]]",
    "a3.calm": "{n} 个请求中没有哪个明显比其他的慢",
    "b0.clash": "两侧配置不匹配[[：{text}]][[（KV 在 {lease_s} s 后被释放，{late_s} s 之后才被读取）]]",
    "b0.settings": "没有指出任何冲突的设置（{settings}）",
    "b1.skewed": (
        "{place} 分到的[[请求是其份额的 {requests:.3g} 倍，]]token 是其份额的 {tokens:.3g} 倍，"
        f"并有 {{most:.3g}} 个在那里排队：是放置问题{MIND}"
    ),
    "b1.slow": (
        "请求分配均匀（按请求计为公平份额的 {requests:.3g} 倍[[，按 token 计为 {tokens:.3g} 倍]]），"
        f"{{place}} 却有 {{most:.3g}} 个在排队：是该处本身慢{MIND}"
    ),
    "b1.backlog": f"{{place}} 有 {{most:.3g}} 个在排队；不知道它是否分到了更多的工作{MIND}",
    "b1.even": (
        "没有哪一处独自积压[[；按请求计，分配最多为公平份额的 {requests:.3g} 倍]][[，按 token 计 {tokens:.3g} 倍]]"
        f"[[；负载数据已有 {{age:.3g}} s 之久]]{MIND}"
    ),
    "b.no-sides": "证据中没有 prefill 或 decode 侧",
    "b2.stage": (
        "[[；饱和的一侧：{side:word}]][[；传输之前 {wait:.3g} s]][[；传输中 {moved:.3g} s]]"
        f"[[；在等待队列中 {{queue_s:.3g}} s]][[；decode 的 KV 池使用率 {{usage:.0%}}]]（中位数）{MIND}"
    ),
    "b3.queues": (
        "[[；bootstrap 从 {bootstrap_first:.3g} 到 {bootstrap_last:.3g}（峰值 {bootstrap_peak:.3g}）]]"
        "[[；inflight 从 {inflight_first:.3g} 到 {inflight_last:.3g}（峰值 {inflight_peak:.3g}）]]"
        "[[；prealloc 从 {prealloc_first:.3g} 到 {prealloc_last:.3g}（峰值 {prealloc_peak:.3g}）]]"
        "[[；transfer 从 {transfer_first:.3g} 到 {transfer_last:.3g}（峰值 {transfer_peak:.3g}）]]"
        "[[；retracted 从 {retracted_first:.3g} 到 {retracted_last:.3g}（峰值 {retracted_peak:.3g}）]]"
        f"[[；{{stuck}} 个传输停滞不动]]{MIND}"
    ),
    "b4.none": "日志中没有失败的传输、失联的对端，也没有错乱的 room",
    "b4.backend": (
        "[[；{failed} 次传输或握手失败]][[；{lost} 行对端失联]][[；{mixed} 行 room 错乱]][[；{speed:.3g} GB/s]]"
        f"[[；每个请求 {{mb:.3g}} MB]][[；速度为之前的 {{slowed:.3g}} 倍]]{MIND}"
    ),
    "guard.uneven": "仅凭负载不均不能证明是路由问题：请求的分配情况未知",
    "guard.old": "负载数据已过时：调度器停住之后，仍会返回它最后的快照",
    "guard.small": "请求太少，样本不足",
    "guard.contains": "decode 的传输时间包含 prefill 的排队和计算：不等于链路时间",
    "guard.short": "decode 缺 KV，表现为 prefill 侧的 bootstrap 积压",
    "guard.retracted": "decode 上有请求被 retract：此时既不分配也不轮询，平坦的传输队列其实是内存问题",
    "guard.placement": "停在传输阶段也可能是放置问题",
    "guard.bytes": "请求搬运的字节很少：GB/s 不是链路速度",
    "d0.off": "前缀缓存被关闭",
    "d0.flushed": "缓存被清空过，这足以解释损失",
    "d0.emptied": "缓存被清空过；要比较清空前后的命中，才知道这能否解释损失",
    "d0.misread": "只是指标误导：token 实际命中了",
    "d0.neither": "没有清空、重启或权重更新能解释损失，见到的设置也没有关闭缓存",
    "d1.keys": "相同的 prompt 带着不同的 key 或 adapter",
    "d1.drift": "prompt 的开头不再相同",
    "d1.same": "本该共享开头的 prompt 确实相同",
    "d1.grew": "每个请求命中的缓存 token 与之前一样多：只是 prompt 变长了（由命中的 token 得知）",
    "d2.full": "运行中的请求最多占 KV 池的 {peak:.0%}：缓存的前缀必须让位",
    "d2.room": "运行中的请求最多占 KV 池的 {peak:.0%}；其余可供缓存的前缀使用",
    "d3.bites": "整页匹配使共享的部分损失掉了",
    "d3.little": "整页匹配的损失很小",
    "d4.spread": "同一个键的请求比之前分散到了更多的 rank 或服务",
    "d4.one": "一个 rank 处理全部请求",
    "d4.kept": "同一个键的请求仍在原处",
    "a4.simulate": "{cause} 属于调度、放置或容量问题：对流量采样，模拟其他设置",
    "a4.replay": "{cause} 属于功能问题：把同样的请求发给同版本的干净服务",
    "a4.profile": "{cause} 在执行层面：先与之前的版本比较；仍不够时才做 profile",
    "a4.config": "{cause} 是设置问题：修改后做前后对比",
    "a4.none": "{cause}：回放和模拟都不会带来新的信息",
    "a4.no-cause": "没有指出可以用回放或模拟来验证的原因",
    "a5.not-reached": "尚未运行：用“下一步”中的命令开始",
    "a5.decided": "离线试验的结论：{sentence}",
    "summary.finding": "{cause}（可信度{confidence:word}），以及 {more}",
    "summary.one": "{cause}（可信度{confidence:word}）",
    "summary.stopped": (
        "有进程退出或停住：{stopped}（可信度{stopped_confidence:word}）；在此之前或同时还有 "
        "{cause}（可信度{confidence:word}）"
    ),
    "summary.healthy": "读到的内容中没有问题",
    "summary.inconclusive": "无法断定；最可能的层是 {layer}",
    "summary.inconclusive.unknown": "无法断定，没有哪一层更可能",
    "missing": "{signal:phrase}：未测量（需要 {how:phrase}）",
    "cause.unknown": (
        "不足以指出原因[[（{why:each why.*}）]][[（见到：{kinds:word}）]][[，最早在 {at}]]；最可能是 {layer}；"
        "仍有可能的层：{layers}。"
    ),
    "cause.unknown.any": (
        "不足以指出原因[[（{why:each why.*}）]][[（见到：{kinds:word}）]][[，最早在 {at}]]；仍有可能的层：{layers}。"
    ),
    "cause.unknown.outside": (
        "已读的引擎证据没有异常；如果用户受到影响，问题可能在证据之外：最可能是 {layer}；仍有可能的层：{layers}。"
    ),
    "cause.unknown.hang": (
        "[[；/health 没有应答（{mute} 次轮询）]][[；调度器的数据已有 {age:.3g} s 没有更新]]：怀疑是 hang，重启之前先对"
        "调度器做 py-spy dump；仅凭这一点还不能证明，仍有可能的层：{layers}。"
    ),
    "why.hang": "可能是 hang，尚未证实",
    "why.few-points": "负载采样点少于五个",
    "why.no-rate": "没有随时间的吞吐数据",
    "why.queue": "有请求在排队",
    "why.pool-full": "KV 池接近满",
    "why.events": "日志中有异常事件",
    "why.unread-errors": "有未能解析的疑似错误行",
    "why.worse": "耗时明显变差",
    "why.rush": "在最拥挤的十秒内到达的请求开始得晚",
    "why.slow-start": "启动后的首批请求比空缓存所能解释的更慢",
    "why.pd-queues": "PD 队列中积压了许多请求",
    "why.errors": "有请求失败",
    "why.told-to-stop": "日志显示的是有序退出：有人要求服务停止",
    "why.backlog": "读取过慢，输出分块在堆积",
    "why.standing-queue": "始终有请求在排队，而运行数不变",
    "why.late-tokens": "token 到达客户端远慢于引擎产生它的速度",
    "why.symptom-unseen": "这些证据本来就看不到所述的症状",
    "why.open-cause": "有一个原因只得到部分印证，既未证实也未排除",
}

MESSAGES: Final[dict[str, str]] = {
    **RUNGS, **MEMORY, **MEASURES, **PLACES, **CAUSES, **ASKS, **PAGE, **REPORT, **DECIDE, **COMPARE, **VERBS,
}  # fmt: skip
