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

MEASURES: Final[dict[str, str]] = {**QUEUE, **MEMORY, **EXECUTION, **FAULTS}
