"""Chinese sentences of the measures; the same keys and figures as `messages_measures_en`."""

from typing import Final

QUEUED_OF: Final = "{waiting} 个请求在排队，{busy:.3g} 个在运行（{n} 个负载采样点中有排队的 {queued} 个的中位数）"
RUNAWAY: Final = (
    "{running:.3g} 个运行中的请求每个占 {per_request:.4g} 个 token，KV 池使用率 {usage:.0%}；"
    "{steps} 步中有 {own} 步只因自己的 decode 而增长"
)
GIANTS: Final = "{slow} 次慢启动中有 {behind} 次与 {giants} 个超长 prompt 之一的 prefill 重叠"
NO_HALT: Final = "准入正常：没有请求运行时，排队的请求都被准入了"
ORPHANS: Final = "{rids} 个客户端已离开的请求仍有 {lines} 次输出"
NO_ORPHAN: Final = "没有客户端已离开的请求仍在输出"
NO_TRAIN: Final = "在有流输出时，没有连续很久的 prefill batch"
MORE_OR_LESS: Final = "{of:word}为 {now:.3g} s，之前为 {then:.3g} s（{ratio:.3g} 倍）"

QUEUE: Final[dict[str, str]] = {
    "waiting_share": "{n} 个负载采样点中有 {queued} 个出现排队，占 {value:.0%} 的时间，最多 {peak:.3g} 个",
    "waiting_share.zero": "{n} 个负载采样点上都没有请求排队",
    "queue_pressure": QUEUED_OF,
    "queue_pressure.none": "{n} 个负载采样点上都没有请求排队",
    "pool_queue.prealloc": "decode 侧有 {waiting:.3g} 个请求在等待 KV 池空间（{busy:.3g} 个在运行）",
    "pool_queue.felt": "KV 池已满时，每二十个请求中有一个等待 {seconds:.3g} s 以上；等待占较慢请求 TTFT 的 {share:.0%}",
    "queued.felt": "最慢的十分之一的请求等待 {seconds:.3g} s 以上；等待占较慢请求 TTFT 的 {share:.0%}",
    "queued.chunks": (
        "prefill batch 已满（{budget:g} 个 token 中用了 {typical:g} 个），{share:.0%} 的时间里有请求在等下一个 batch"
    ),
    "arrival_spike": "某十秒内到达 {most} 个请求，平时为 {usual:.3g} 个",
    "arrival_spike.zero": "没有哪十秒明显超过平时的 {usual:.3g} 个请求（最多 {most} 个）",
    "rush_felt": "在最拥挤的十秒内到达的 {many} 个请求首 token 延迟为 {rushed:.3g} s，其余为 {usual:.3g} s",
    "ends_together": "{together:.3g} 个回答在 {silence:.3g} s 无任何结束之后一起结束，共 {stalls:.3g} 次",
    "group_ratio.nobody": "没有请求带有 {attribute} 输出",
    "plain_answers": "{value} 个回答没有已知的解析器处理过",
    "burst.waits": "百分之一的请求等待 {seconds:.3g} s 以上",
    "queue_motion": (
        "所有 rank 的队列{value:word}：开始 {first:.3g}，结束 {last:.3g}，峰值 {peak:.3g}（{n} 个负载采样点）"
    ),
    "queue_motion.none": "{n} 个负载采样点上都没有队列",
    "queue_peak": "最长的队列为 {value:.3g}（{n} 个负载采样点）",
    "at_cap_share": "有排队的 {n} 个负载采样点中有 {hits} 个运行数达到上限 {cap}（{basis:phrase}）",
    "at_cap_share.zero": "有排队的 {n} 个负载采样点上，运行数都没有达到上限 {cap}（{basis:phrase}）",
    "running_cap": "一个 rank 的运行上限是 {value}",
    "slack_share": "有排队的 {n} 个负载采样点中有 {hits} 个上 KV 池使用率低于 {usage_below:.0%} 且 batch 未满",
    "slack_share.zero": "有排队的 {n} 个负载采样点中，没有一个 KV 池使用率低于 {usage_below:.0%} 且 batch 未满",
    "usage_when_queued": "KV 池使用率 {usage:.0%}（有排队的 {n} 个负载采样点的中位数，最高 {peak:.0%}）",
    "backlog_s": "待处理的 prefill 工作为 {seconds:.3g} s（按 {tps:.4g} token/s，{n} 行 prefill 日志）",
    "priority_gap": (
        "优先级 {slow_class} 等待 {slow_s:.3g} s，优先级 {fast_class} 等待 {fast_s:.3g} s（{ratio:.3g} 倍）"
    ),
    "overload.arrivals": "每秒到达 {now:.3g} 个请求，之前为 {then:.3g} 个（{ratio:.3g} 倍）",
    "overload.backlog": "按 {tps:.4g} token/s，待处理的 prefill 工作为 {seconds:.3g} s，队列{motion:word}",
    "giants.waits": GIANTS,
    "giants.chunks": "一个超长 prompt（{tokens} 个 token）逐个 batch 单独 prefill，其他请求在等待",
    "refused": "{value} 个请求因队列已满被拒绝",
    "refused.zero": "没有请求因队列已满被拒绝",
    "device_busy": "GPU 有 {value:.0%} 的时间在执行 forward（{n} 个值的中位数）",
    "load_points": "{n} 个负载采样点[[，跨度 {span_s:.4g} s]]，来自 {places} 个 rank 或副本",
    "rated_points": "{value} 个采样点有吞吐数据",
    "arrival_rate": "每秒收到 {rate:.3g} 个请求",
    "reserve_ratio": "请求平均预留 {asked:.4g} 个输出 token，实际输出 {got:.4g} 个（{ratio:.3g} 倍）",
    "reserve_pressure": (
        "按典型值，准入要预留的量是空闲量的 {value:.2g} 倍[[：为队首请求和运行中请求可能的后续输出需要 {needed:.4g} 个 "
        "token，空闲 {free:.4g} 个]]"
    ),
    "reserve.prefill-bound": (
        "prefill batch 已满（{budget:.4g} 个 token 中用了 {typical:.4g} 个）：限制在于 prefill，不在于预留"
    ),
    "prefill_fill": "有请求排队时，prefill batch 在 {budget:.4g} 个 token 中用了 {typical:.4g} 个",
    "decode_demand": "所需的是每秒 {rate:.3g} 个请求，每个输出 {length:.4g} 个 token",
    "decode_demand.given": "decode 速度为 {given:.4g} token/s",
    "head_blocked": (
        "有 {span_s:.3g} s 没有任何请求运行，KV 池是空的，却有 {least:.3g} 到 {most:.3g} 个请求在等待[[（{place}）]]"
    ),
    "head_blocked.zero": NO_HALT,
    "head.none": NO_HALT,
    "ceiling_loss": "同时运行数的最大值从 {early:.3g} 变为 {late:.3g}",
    "ceiling.fell": "同时运行数的最大值从 {early:.3g} 变为 {late:.3g}[[，KV 池使用率 {usage:.0%}]]",
    "ceiling.fell.zero": "同时运行数的最大值没有因缺少槽位而下降（先 {early:.3g}，后 {late:.3g}）",
    "orphan_outputs": ORPHANS,
    "orphan_outputs.zero": NO_ORPHAN,
    "orphans.outputs": ORPHANS,
    "orphans.none": NO_ORPHAN,
}

MEMORY: Final[dict[str, str]] = {
    "usage": (
        "KV 池使用率 {value:.0%}（{n} 个负载采样点的{stat:word}；开始 {first:.0%}，结束 {last:.0%}，峰值 {peak:.0%}）"
    ),
    "retractions": "{requests} 个请求被 retract {value} 次",
    "retractions.zero": "没有 retract",
    "retractions_per_min": "{events} 次 retract[[，{span_s:.3g} s 之内]]",
    "retractions_per_min.zero": "没有 retract[[，{span_s:.3g} s 之内]]",
    "tokens_per_running": "每个运行中的请求占 {each:.4g} 个 token；KV 池约为 {pool:.4g} 个",
    "pool_tokens": "KV 池有 {pool:.4g} 个 token（{basis:phrase}）",
    "pool.small": "KV 池有 {pool:.4g} 个 token（{basis:phrase}）；一个长上下文就要 {bound}",
    "runaway_outputs": RUNAWAY,
    "outputs.runaway": RUNAWAY,
    "outputs.unlimited": (
        "{n} 个请求中有 {cut} 个因长度结束，其中 {unset} 个没有设 max_new_tokens[[（最长 {longest}）]]"
    ),
    "outputs.identical": "{n} 个请求中有 {cut} 个因长度结束，都是 {common} 个 token：是明确设定的上限",
    "pool.shrunk": "最近一次启动的 KV 池为 {pool} 个 token；之前为 {before} 个",
    "unowned_share": "锁住了 {tokens:.4g} 个 token，而所有在途请求合计最多占 {could:.4g} 个（KV 池 {pool:.4g}）",
    "idle_usage": "空闲 {span_s:.3g} s 之后，KV 池仍有 {value:.0%} 被锁住[[（第一次为 {first:.0%}）]]",
    "evictable_share": "KV 池的 {share:.0%} 是可驱逐的缓存（{evictable:.4g} 个 token）",
    "allocation_failures": (
        "{value} 次分配失败[[：申请 {asked} 个 token，空闲 {free} 个]][[（{free_pages} 页，每页 {page}）]]"
        "[[，另有 {evictable} 个可驱逐]]"
    ),
    "output_tokens": "平均输出 {value:.0f} 个 token（{n} 个请求）",
    "leak.check": "引擎自己的空闲检查没有找齐 KV 池的全部 token：{text}",
    "leak.each": (
        "每个运行中的请求似乎占 {now:.4g} 个 token，之前为 {then:.4g} 个（{ratio:.3g} 倍），而 prompt 和输出都没有变长"
    ),
}

EXECUTION: Final[dict[str, str]] = {
    "prefill_s": "prefill 耗时中位数 {seconds} s（{n} 个请求）",
    "prompt_tokens": "每个请求平均 {value:.0f} 个 prompt token（{n} 个请求）",
    "fresh_tokens": "每个请求平均 {value:.0f} 个未命中缓存的 prompt token（{n} 个请求）",
    "prefill_cost": "每个未命中的 token 耗时 {per_token} s（{n} 个请求）",
    "switched_on": "{setting} 为 {now}",
    "prefill_over_step": "prefill 耗时是之前的 {prefill} 倍，decode 步是之前的 {step} 倍",
    "prefill_excess": "同样多的 token，prefill 耗时是基线拟合值的 {ratio} 倍",
    "prefill_excess.steps": (
        "两次 decode 报告之间，1,000 个未命中的 token 耗时 {actual:.3g} s，按基线拟合为 {expected:.3g} s"
    ),
    "giant_prefill": "有请求等待时，最长的一串单请求 prefill batch：{value} 个 token",
    "giant_prefill.zero": "有请求等待时，没有成串的单请求 prefill batch",
    "waits_behind_giants": GIANTS,
    "waits_behind_giants.zero": "没有慢启动与超长 prompt 的 prefill 重叠",
    "cold_start_ratio.tokens": "启动后首批请求每个 token 用 {first:.3g} s，之后的用 {later:.3g} s",
    "cold_start_ratio": "启动后首批请求的首 token 延迟为 {first:.3g} s，之后的为 {later:.3g} s",
    "step_s": "运行 {running:.3g} 个时，一个 decode 步耗时 {step:.3g} s（{n} 个值的中位数）",
    "step_excess": "运行 {running:.3g} 个时，一个 decode 步耗时 {step:.3g} s，按基线拟合为 {expected:.3g} s",
    "batch_size": "decode batch 的中位数为 {value:.3g}（{n} 个采样点）",
    "graph_lost": "{n} 行 decode 日志中有 {missed} 行没有使用 CUDA graph[[，用到 graph 的最大 batch 为 {largest}]]",
    "graph_lost.beyond": (
        "{n} 行 decode 日志中有 {missed} 行没有使用 CUDA graph，其 batch 超过已捕获的最大值 {captured}："
        "每个请求 {beyond:.3g} token/s，有 graph 时为 {below:.3g}"
    ),
    "graph_lost.zero": "batch 大小有 graph 时，没有 decode 行不用 CUDA graph（{n} 行）",
    "graph_miss_share": (
        "{n} 行 decode 日志中有 {missed} 行没有使用 CUDA graph[[（用到 graph 的最大 batch 为 {largest_with}）]]"
    ),
    "accept_length": "每个 verify 步接受 {accept:.3g} 个 token（{n} 个值的中位数）",
    "stalled_points": "{hits} 个负载采样点上有请求在运行，每个却不到每秒一个 token",
    "stalled_points.zero": "没有持续出现每个运行中请求不到每秒一个 token 的情况",
    "prefill_train": "在有流输出时，连续的 prefill batch 一共处理了 {value} 个 token",
    "prefill_train.zero": NO_TRAIN,
    "prefill_train.none": NO_TRAIN,
    "halts": "调度器沉默的时间超过了它的步与 prefill 所能解释的（最长 {worst:.3g} s；{n} 行 batch 日志）",
    "halts.zero": "没有反复出现步与 prefill 都无法解释的沉默（{n} 行 batch 日志）",
    "prefill_pause": "一个 {tokens:.0f} 个 token 的长 prefill batch 让正在输出的流停顿 {pause:.3g} s",
    "prefill_pause.grew": (
        "一个 {tokens:.0f} 个 token 的长 prefill batch 让正在输出的流停顿 {pause:.3g} s，之前为 {then:.3g} s"
    ),
    "stream_gap_ratio": "一个流的最长间隔为 {typical:.3g} s，平时为 {usual:.3g} s（中位数）",
    "slow_rank_ratio": "{place}：一个 decode 步耗时 {slow:.3g} s，其他为 {usual:.3g} s",
    "seconds": "{what:word}：{q:quantile} {seconds:.3g} s（{n} 个请求）[[；其中 {censored} 个未完成]]",
    "observed": "{what:word}：{q:quantile}在 {at_least:.3g} 与 {at_most:.3g} s 之间（{n} 次观测，直方图）",
    "slice.observed": "{part:word}：{of_s:.4g} s 中占 {spent_s:.4g} s（{n} 次观测，直方图之和）",
    "slice_share": "{part:word}：{of_s:.4g} s 中占 {spent_s:.4g} s，为较慢的 {n} 个请求之和",
    "outcome_share": "{n} 个请求中有 {hits} 个{what:word}",
    "outcome_share.zero": "{n} 个请求中没有一个{what:word}",
    "typical_return": "典型请求的返回路径占 {value:.0%}（{n} 个请求的中位数 {return_s:.3g} s）",
    "return_follows_length": "返回路径与输出长度的相关系数：{value_3}（中位数 {return_s:.3g} s）",
    "group_ratio": (
        "{what:word}：长度相同时，带 {attribute} 的为 {with_s:.3g} s，不带的为 {without_s:.3g} s"
        "（{n} 个请求中的 {members} 个）"
    ),
    "adapters.off": "未启用 adapter",
    "adapters.limit": (
        "一个 batch 最多 {limit} 个 adapter（{stated:phrase}），运行 {busy:.3g} 个，排队 {waiting:.3g} 个"
        "[[，KV 池使用率 {usage:.0%}]]"
    ),
    "grammar.queue": "grammar 队列 {queue:.3g} 个（峰值 {peak:.3g}），等待队列 {waiting:.3g} 个",
    "link.moved": "传输一个请求的 KV 平均用 {now:.3g} s，此前为 {then:.3g} s",
    "policy_spread": "网关按 {now} 选择 worker[[，此前按 {then}]]",
    "places.policy": "网关改为按 {now} 在 {places} 个 worker 中选择（此前为 {then}）：前缀不再固定在一处",
    "drift.class": "带有 {value} 的请求此前有 {then:.0%} 的 prompt 命中缓存，此后为 {now:.0%}，其他请求不变",
    "affected": "{n} 个请求中有 {hits} 个受影响（{who}）[[；共同之处：{value}]]",
    "class.best": (
        "{value}：其 {members} 个请求中有 {hits} 个慢（提升度 {lift:.3g}），占 {slow} 个慢请求的 {coverage:.0%}"
    ),
    "class.none": "{n} 个请求中的 {slow} 个慢请求没有任何共同属性",
    "class.outlier": "{n} 个请求中只有一个慢：是离群值，不成一类",
}

FAULTS: Final[dict[str, str]] = {
    "event_count": "{value} 行“{kinds:word}”[[：{text}]]",
    "event_count.zero": "没有“{kinds:word}”的日志行",
    "event_count.none": "没有“{kinds:word}”的日志行",
    "corrupt_outputs.zero": "没有迹象表明输出不可信",
    "corrupt_outputs": "{value} 处迹象表明输出不可信[[：{text}]]",
    "frozen_s": "有工作却完全不动的最长时间：{value:.0f} s",
    "silent_arrivals": "最后一行 batch 日志之后收到 {value} 个请求，一个都没有完成[[（{silent_s:.3g} s）]]",
    "silent_arrivals.zero": "没有迹象表明最后一行 batch 日志之后还有请求被搁置",
    "hang.watchdog": "watchdog 触发[[，此前 {seconds:.3g} s 没有进展]]",
    "hang.frozen": (
        "{place}：{still_s:.3g} s 内什么都没有动，运行 {running:.3g} 个，排队 {waiting:.3g} 个，到达 {arrived} 个"
    ),
    "hang.alive": "请求仍在到达，{silent_s:.3g} s 没有 batch 日志，但调度器仍在统计它的队列",
    "hang.unanswered": (
        "/health 没有应答[[，调度器的数据已有 {age:.3g} s 没有更新]][[，{still_s:.3g} s 内什么都没有动]]，"
        "运行 {running:.3g} 个，排队 {waiting:.3g} 个"
    ),
    "hang.stale": (
        "调度器的数据 {held_s:.3g} s 没有变化（已有 {age:.3g} s 之久），运行 {running:.3g} 个，排队 {waiting:.3g} 个"
    ),
    "hang.silent": "请求仍在到达，{silent_s:.3g} s 没有 batch 日志，也没有请求完成",
    "hang.none": "没有 watchdog 日志，也没有停住",
    "short_share": (
        "{n} 个输出中有 {hits} 个在一两个 token 后自行停止[[，带 {name} 的 {of} 个中有 {inside} 个]]"
        "[[；之前为 {then:.2%}]]"
    ),
    "short_share.zero": "几乎没有输出在一两个 token 后自行停止",
    "snapshot_held_s": "{n} 次负载应答都是同一时刻的数据，已有 {age:.3g} s 之久",
    "snapshot_held_s.zero": "负载数据在更新",
    "unanswered": "{value} 次 /health 轮询失败或没有应答，最后几次都在其中",
    "unanswered.zero": "/health 有应答",
    "told_aborts": "有人要求服务中止 {value} 个请求",
    "told_aborts.zero": "没有人要求服务中止请求",
    "told_share": "已知请求的 {value:.0%} 因有人要求服务中止而结束",
    "told_share.zero": "已知请求中没有一个因有人要求服务中止而结束",
    "server_aborts": "{n} 个请求中有 {hits} 个因服务端错误而结束[[：{message}]]",
    "server_aborts.zero": "{n} 个请求中没有一个因服务端错误而结束",
    "error_lines": "{value} 行疑似错误，没有任何结论能解释",
    "error_lines.zero": "没有未解析的疑似错误行",
    "bad_events": "{value} 个异常事件（最多的是：{most:word}）",
    "bad_events.zero": "没有异常事件",
    "changes_near_onset": "起点附近有 {value} 处变化：{kinds:word}",
    "changes_near_onset.zero": "起点附近没有重启，也没有设置、权重、缓存或 adapter 的变化",
}

PLACES: Final[dict[str, str]] = {
    "free_places": (
        "{places} 个 rank 或副本中有 {free} 个没有队列；{place} 有 {most:.3g} 个在排队，{busy:.3g} 个在运行（均值）"
    ),
    "arrival_skew": "按 {by:word} 计，{place} 分到的是 {places} 处公平份额的 {ratio:.3g} 倍",
    "top_key_share": (
        "路由键 {routing_key} 带来 {share:.0%} 的工作；它的请求有 {sticky:.0%} 去往同一个 rank（共 {keys} 个键）"
    ),
    "snapshot_age_s": "负载应答已有 {age:.3g} s 之久（最旧的 {oldest:.3g} s）",
    "gateway_skew": "网关统计：{worker} 上有 {most:.3g} 个请求在途，{workers} 个 worker 中有 {idle} 个几乎没有",
    "gateway_skew.zero": "没有出现一个 worker 繁忙而另一个空闲的情况（共 {workers} 个 worker）",
    "herds": "{n} 个有排队的时刻中，有 {uneven} 个某处的队列不到最长者的四分之一，最长者换了 {turns} 次",
    "herds.zero": "没有成群涌向一处：队列不均时最长的总是同一处（{n} 个时刻）",
    "inflight_piles": "{place} 的 inflight 队列从 {first:.3g} 变为 {last:.3g} 个请求（首尾三分之一的均值）",
    "answered_share": "{n} 个应答中有 {hits} 个的状态码是 {status} 一类（{value:.1%}）",
    "answered_share.zero": "{n} 个应答中没有失败的状态码",
    "unended_share": "{n} 个已开始的应答中，{left} 个没有结束的日志行",
    "unended_share.zero": "{n} 个已开始的应答都有结束的日志行",
    "admission_stops": (
        "{place} 最后一次 prefill 之后，运行数从 {first} 降到 {last}，而有 {waiting} 个在等待，池占用 {usage:.0%}"
    ),
    "admission_stops.zero": "日志结尾没有出现批次变空而队列增长的情况",
    "boot_pace": "启动后最初十个请求每个 token 用 {first:.3g} s，之后为 {later:.3g} s（{value:.3g} 倍）",
    "itl_over_step": "客户端每 {heard_s:.3g} s 收到一个 token，引擎每 {made_s:.3g} s 产生一个（{value:.3g} 倍）",
    "pick_skew": "{candidates} 个 worker 中，{picks} 次选择有 {share:.0%} 落在 {worker}（为平均份额的 {value:.3g} 倍）",
    "idle_places": "{places} 个 rank 或副本中有 {idle} 个几乎没有请求，而 {place} 有 {most:.3g} 个（均值）",
    "idle_places.zero": "没有出现一个 rank 或副本繁忙而另一个空闲的情况（共 {places} 个）",
    "workers.away": "网关认为 {workers} 个 worker 中有 {value} 个不健康或处于熔断[[：{worker}]]",
    "workers.away.zero": "网关认为 {workers} 个 worker 都在轮转中",
    "workers.named": "worker {worker} 被摘除（{n} 行）",
    "workers.one": "{n} 次选择都落在唯一的候选 {worker} 上，而它并没有缓存的 block 作为理由",
    "workers.left": "{workers} 个服务中有 {value} 个之前有请求，之后再也没有[[：{worker}]]",
    "workers.empty": "{places} 个 worker 中有 {value} 个一直是空的[[（{worker}）]]",
    "workers.empty.zero": "{places} 个 worker 都不是空的",
    "workers.several": "选择分布在 {workers} 个 worker 上",
    "places.one": "一个 rank 处理全部请求",
    "places.spread": "同一个键的请求平均由 {places:.3g} 个 rank 或服务处理，之前为 {then:.3g} 个",
    "places_per_key": "同一个键的请求平均由 {value} 个 rank 处理（{keys} 个键）",
}

CACHE: Final[dict[str, str]] = {
    "flush.none": "没有清空、重启或权重更新",
    "flush.seen": "缓存被清空 {events} 次（{kinds:word}）",
    "flush.back": "缓存被清空过（{kinds:word}）；到最后 prompt token 的命中率恢复到 {end:.0%}",
    "flush.again": "缓存被清空 {events} 次（{kinds:word}），一直到时段结束",
    "flush.lasting": "清空之后损失仍在持续（{kinds:word}）：到最后 prompt token 的命中率只有 {end:.0%}",
    "setting.same": "{setting} 一直是 {now}",
    "setting.changed": "{setting} 自重启后为 {now}，之前为 {then}",
    "page.grew": "自重启后每页 {now} 个 token，之前为 {then} 个",
    "keys.none": "{n} 个请求都没有 extra key 或 adapter",
    "keys.same": "{n} 个请求中有 {keys} 个 extra key 或 adapter[[，之前为 {keys_then} 个]]",
    "keys.split": (
        "{n} 个请求中有 {keys} 个 extra key 或 adapter，之前为 {keys_then} 个：它们的 token 命中 {hit:.0%}，"
        "其他的命中 {without:.0%}"
    ),
    "cached_each": "每个请求平均命中缓存 {value:.4g} 个 token（{n} 个请求）",
    "drift.none": "本该共享开头的 prompt 确实相同",
    "drift.other": "命中率降到 {ratio:.0%}，但每个请求命中的缓存 token 与之前一样多：只是 prompt 变长了",
    "drift.left": "命中降到 {ratio:.0%}，没有清空、设置、键、放置或池满可以解释：剩下的只有 prompt 本身",
    "drift.differs": "本该相同的 prompt 开头不同：{kind}",
    "hit_ratio": "{all:.6g} 个 prompt token 中有 {hit:.6g} 个命中缓存（{ratio:.0%}，来自 {basis:phrase}）",
    "hit_ratio.zero": "{all:.6g} 个 prompt token 没有一个命中缓存（来自 {basis:phrase}）",
    "cache.off": "前缀缓存被关闭",
    "cache.on": "前缀缓存已开启",
    "sequences_without_hit": (
        "{seqs} 个约 {prompt:.4g} 个 token 的序列没有命中任何缓存 token[[（KV 池使用率最高 {usage:.0%}）]]"
    ),
    "sequences_without_hit.zero": "{seqs} 个约 {prompt:.4g} 个 token 的序列命中了 {hit} 个缓存 token",
    "cumulative_rate": "打印的命中率从 {first:.0%} 到 {last:.0%}，步幅越来越小（运行 {running:.3g} 个）",
    "cumulative_rate.zero": "打印的命中率（先 {first:.0%}，后 {last:.0%}）不像启动以来的累计值",
    "gauge_against_hits": "{n} 次抓取中有 {zeros} 次 gauge 为 0，而 prompt token 命中了 {real:.0%}",
    "page.little": "每页 {page} 个 token 时，典型的 {prompt} 个 token 的 prompt 最多损失 {most} 个",
    "page_loss": "每页 {page} 个 token 时，典型的 {prompt} 个 token 的 prompt 整页能匹配 {usable} 个",
    "hits_cost_time": (
        "TTFT 从 {ttft_first:.3g} s 变为 {ttft_last:.3g} s，同时命中率从 {hit_first:.0%} 变为 {hit_last:.0%}"
    ),
    "written_never_read": "{n} 个请求向缓存写入 {value} 个 token，读取 {read} 个",
    "drifting_head": "本该相同的 prompt 开头不同：{value}",
    "evicted_tokens": "驱逐了 {value} 个 token",
    "evicted_tokens.zero": "没有驱逐 token",
    "split_by_key": "{n} 个 prompt 中有 {share:.0%} 与它最相近的 prompt 在另一个键之下",
    "prefix_loss": (
        "{of:.6g} 个 prompt {counts:phrase} 中有 {lost:.6g} 个因{reason:word}而损失（占 {share:.0%}；命中 {hit:.0%}），"
        "共 {n} 个 prompt"
    ),
    "prefix_loss.zero": "{n} 个 prompt 没有 {counts:phrase} 因{reason:word}而损失",
    "first_difference": (
        "{n} 个本该共享的 prompt 中有 {prompts} 个在位置 {position:.6g} 处因 {value} 而不同；"
        "其后有 {lost} 个 {counts:phrase} 是相同的"
    ),
    "first_difference.none": "{n} 个 prompt 中没有一个与它本该共享的不同",
    "tier_lost": (
        "主机与存储层每个请求给出 {now:.3g} 个 token，之前为 {then:.3g} 个；GPU 为 {device:.3g} 个，"
        "之前为 {device_then:.3g} 个"
    ),
}

PAIR: Final[dict[str, str]] = {
    "pd_queue": "{queue} 队列：中位数 {value:.3g}（开始 {first:.3g}，结束 {last:.3g}，峰值 {peak:.3g}；{n} 个采样点）",
    "pd_queue_frozen": "{queue} 队列停在 {length:.3g} 达 {span_s:.3g} s",
    "pd_queue_frozen.zero": "{queue} 队列没有停住",
    "real_prefills": "prefill batch 中每个请求最多 {largest:.4g} 个 token[[，bootstrap 队列最多 {bootstrap:.3g}]]",
    "kvpoll_timeouts": "{value} 个 room 在 {state} 状态超时[[，{waited:.4g} s 之后]]",
    "kvpoll_timeouts.zero": "没有 room 在 {state} 状态超时",
    "transfer_failures": "{failed} 次传输或握手失败，其中 {late} 次是超时",
    "transfer_failures.zero": "没有传输或握手失败",
    "stuck.timeout": "{value} 个 room 在 {state} 状态超时[[，{waited:.4g} s 之后]]",
    "stuck.copy": "{value} 个传输在超时后被放弃",
    "stuck.queue": "{queue} 队列停在 {length:.3g} 达 {span_s:.3g} s",
    "stuck.none": "没有传输停住",
    "entry_wait_s": "{n} 个请求中有 {hits} 个在传输之前等了 {typical:.3g} s（{least:.3g} 到 {most:.3g} s）",
    "entry_wait_s.zero": "在传输之前等待的请求太少，无关紧要（{n} 个中的 {hits} 个）",
    "handshake.steady": "{hits} 个请求等待握手 {typical:.3g} s，长短相同（{least:.3g} 到 {most:.3g} s）",
    "handshake.timeout": "{value} 个请求在 {state} 状态超时[[，{waited:.4g} s 之后]]",
    "standing_queue": "{places} 个 rank 或副本中有 {standing} 个在每个采样点都有请求排队，而运行数一直是 {running:.3g}",
    "grammar_queue": "{queue} 个请求在等待语法编译（最多 {peak:.3g} 个）",
    "adapters_full": "{slots:.3g} 个适配器槽位全部占用，{waiting} 个请求在等待",
    "adapters_full.zero": "{slots:.3g} 个适配器槽位中占用 {used:.3g} 个",
    "tier_short": (
        "自启动以来，较慢的层级有 {share:.0%} 的 token 没有保留或没有取回（丢弃 {dropped:.4g}，未取到 {missed:.4g}）"
        "[[，主要原因：{reason}]]"
    ),
    "handshake.unreachable": "握手失败，且无法访问 bootstrap 服务[[：{text}]]",
    "handshake.probes": (
        "bootstrap 队列从 {first:.3g} 到 {last:.3g}，而 prefill batch 每个只有 {largest} 个 token：只有探测请求能通过"
    ),
    "handshake.probes.zero": ("bootstrap 队列从 {first:.3g} 到 {last:.3g}（峰值 {peak:.3g}）：没有握手在阻挡请求"),
    "handshake.none": "没有握手超时",
    "prealloc.waits": "{n} 个请求中有 {hits} 个等待 decode 的 KV {typical:.3g} s（{least:.3g} 到 {most:.3g} s）",
    "prealloc.queue": "{queue} 队列从 {first:.3g} 到 {last:.3g}（峰值 {peak:.3g}）",
    "prealloc.bootstrap": (
        "prefill 侧的 bootstrap 队列最多 {peak:.3g}，而真实的 prompt 仍在流动，几乎没有请求在等 prefill"
    ),
    "prealloc.bootstrap.zero": "prefill 侧的 bootstrap 队列最多 {peak:.3g}：看不到等待 decode KV 的积压",
    "transfer_slowed": "传输速度 {now:.3g} GB/s，之前为 {then:.3g} GB/s（{ratio:.3g} 倍）",
    "transfer_speed": "传输速度中位数 {speed:.3g} GB/s[[，每个 {mb:.3g} MB]]（{n} 个请求）",
    "kv_released_early": (
        "{value} 个请求的 KV 在 decode 读取之前就被释放[[（租期 {lease_s} s，{late_s} s 之后才读取）]]"
    ),
    "kv_released_early.zero": "没有 KV 在 decode 读取之前就被释放",
    "sides": (
        "饱和的一侧：{value:word}（prefill 排队 {prefill_waiting:.3g}，decode 排队 {decode_waiting:.3g}"
        "[[，其 KV 池使用率 {decode_usage:.0%}]]）"
    ),
    "decode_usage": "decode 的 KV 池使用率 {usage:.0%}（{n} 个采样点的中位数）",
    "clash.said": "服务自己报告设置不一致[[：{text}]]",
    "clash.lease": "KV 在 decode 读取之前就被释放[[（{lease_s} s 后释放，{late_s} s 之后才读取）]]",
    "clash.none": "没有指出任何冲突的设置",
}

CLIENT: Final[dict[str, str]] = {
    "client_gap_share": "客户端看到的首 token 延迟 {seen_s:.3g} s，引擎 {engine_s:.3g} s（中位数）",
    "generator_lag_s": "请求发出的时间比计划晚 {lag:.3g} s（95 % 分位数 {p95:.3g} s）",
    "aligned_stalls": ("{held} 个请求在进入调度器之前被卡住，并在 {stalls} 个时刻一起放行[[（最长 {worst:.3g} s）]]"),
    "aligned_stalls.zero": "没有许多请求在进入调度器之前被卡住后一起放行的时刻",
    "tokenize_s": "tokenize 耗时 {seconds:.3g} s（95 % 分位数 {p95:.3g} s）",
    "backlogged_streams": "{value} 个流有 chunk 堆积[[（客户端 {client} 的最多）]]",
    "backlogged_streams.zero": "没有因读得慢而堆积 chunk 的日志行",
}

CHANGES: Final[dict[str, str]] = {
    "change": "{of:word}为 {now:.4g}，之前为 {then:.4g}（{ratio:.3g} 倍）",
    **{f"change.{of}_s": MORE_OR_LESS for of in ("tokenize", "prefill", "transfer", "return", "e2e", "tpot", "ttft")},
    "change.step_s": MORE_OR_LESS,
    "change.batch_size": "一个 decode batch 有 {now:.3g} 个请求，之前为 {then:.3g} 个（{ratio:.3g} 倍）",
    "change.hit_ratio": "prompt token 命中缓存 {now:.0%}，之前为 {then:.0%}",
    "change.arrival_rate": "每秒到达 {now:.3g} 个请求，之前为 {then:.3g} 个（{ratio:.3g} 倍）",
    "change.none": "{of:word}为 {now:.4g}，之前为 0",
}

MEASURES: Final[dict[str, str]] = {
    **QUEUE, **MEMORY, **EXECUTION, **FAULTS, **PLACES, **CACHE, **PAIR, **CLIENT, **CHANGES,
}  # fmt: skip
