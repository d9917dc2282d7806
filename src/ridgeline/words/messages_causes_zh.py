"""Chinese statements of the findings; the same keys and figures as `messages_causes_en`."""

from typing import Final

CAUSES: Final[dict[str, str]] = {
    "cause.queue.arrival-overload": (
        "到达的请求超过了处理能力：{queued__waiting} 个在排队，{queued__busy:.3g} 个在运行，而运行上限和 KV "
        "池都没有限制它们。"
    ),
    "cause.queue.burst": "一次突发使队列升到 {queue_peak__value} 个请求，随后自行排空，其他都没有变化。",
    "cause.queue.running-cap": (
        "{queued__waiting} 个请求在排队，而运行数停在上限 {at_cap_share__cap}（{at_cap_share__basis:phrase}）"
        "[[，运行中的请求只占 KV 池的 {usage_when_queued__usage:.0%}]]。"
    ),
    "cause.queue.over-reservation": (
        "{queued__waiting} 个请求在排队，但在有排队的 {slack_share__n} 个负载采样点中，有 {slack_share__hits} 个上 "
        "KV 池和 "
        "batch 都没有满[[：请求平均为输出预留 {over_reserved__asked:.0f} 个 token，实际输出 "
        "{over_reserved__got:.0f} 个]]"
        "[[；为队首请求和运行中请求可能的后续输出，准入需要 {over_reserved__needed:.0f} 个 token，"
        "空闲 {over_reserved__free:.0f} 个]]。"
    ),
    "cause.queue.head-of-line": (
        "其他请求排在一个超长 prompt 之后[[（单独 prefill 了 {giant_prefill__value} 个 token）]]。"
    ),
    "cause.queue.priority-starvation": (
        "长度相近时，优先级 {priority_gap__slow_class} 等待 {priority_gap__slow_s:.3g} s，"
        "优先级 {priority_gap__fast_class} 只等 {priority_gap__fast_s:.3g} s。"
    ),
    "cause.queue.slot-leak": (
        "槽位一直被无人等待的请求占用[[（{slots_held__rids} 个客户端已离开的请求仍有 {slots_held__lines} 次输出）]]"
        "[[（同时运行数的最大值从 {ceiling_loss__early:.3g} 降到 {ceiling_loss__late:.3g}）]]。"
    ),
    "cause.queue.never-fits": (
        "有一个请求永远无法被准入[[：{unfittable__text}]][[，以致 {unfittable__span_s:.3g} s 内没有任何请求运行，"
        "{unfittable__most:.3g} 个在空的 KV 池旁等待]]。"
    ),
    "cause.queue.limit-rejected": "{refused__value} 个请求因队列达到上限而被拒绝。",
    "cause.queue.scheduler-overhead": "有请求在运行时，GPU 只有 {device_busy__busy:.0%} 的时间在忙。",
    "cause.prefill.prompt-mix": (
        "每个请求平均有 {change_fresh_tokens__now:.0f} 个 token 未命中缓存，之前为 {change_fresh_tokens__then:.0f} 个"
        "[[；每 token 的开销基本不变（{prefill_excess__ratio:.2f} 倍）]]。"
    ),
    "cause.prefill.regression": "同样多的未命中 token，prefill 耗时是之前的 {prefill_excess__ratio:.2f} 倍。",
    "cause.prefill.cold-start": (
        "启动后首批请求的首 token 延迟是之后的 {cold_start_ratio__ratio:.3g} 倍"
        "（{cold_start_ratio__first:.3g} s，之后为 {cold_start_ratio__later:.3g} s）。"
    ),
    "cause.prefill.grammar": (
        "结构化输出的请求在等待 grammar[[（有 grammar 的 {grammar_wait__with_s:.3g} s，"
        "没有的 {grammar_wait__without_s:.3g} s）]][[（grammar 队列 {grammar_wait__queue:.3g} 个）]]。"
    ),
    "cause.prefill.multimodal": (
        "多模态请求在 prefill 之前花了 {group_ratio_multimodal_before_prefill__with_s:.3g} s，同样长度的文本请求为 "
        "{group_ratio_multimodal_before_prefill__without_s:.3g} s。"
    ),
    "cause.prefill.lora": (
        "请求在等待 adapter：一个 batch 最多 {adapter_wait__limit} 个 adapter（{adapter_wait__stated:phrase}），"
        "运行 {adapter_wait__busy:.3g} 个，排队 {adapter_wait__waiting:.3g} 个"
        "[[，KV 池使用率 {adapter_wait__usage:.0%}]]。"
    ),
    "cause.decode.batch-growth": (
        "batch 是基线的 {change_batch_size__ratio:.2f} 倍，decode 步也随之变长"
        "[[：同样大小的 batch，每步耗时是之前的 {step_excess__ratio:.2f} 倍]]。"
    ),
    "cause.decode.regression": (
        "同样大小的 batch，一个 decode 步耗时 {step_excess__step:.3g} s，之前为 {step_excess__expected:.3g} s"
        "（{step_excess__ratio:.2f} 倍）。"
    ),
    "cause.decode.graph-miss": (
        "{graph_lost__n} 行 decode 日志中有 {graph_lost__missed} 行没有使用 CUDA graph"
        "[[，而它们的 batch 大小原本有 graph（最大 {graph_lost__largest}）]][[：batch 超过已捕获的最大值 "
        "{graph_lost__captured}，每个请求只有 {graph_lost__beyond:.3g} token/s，而非 {graph_lost__below:.3g}]]。"
    ),
    "cause.decode.spec-acceptance": (
        "推测解码每步接受 {change_accept_length__now:.3g} 个 token，之前为 {change_accept_length__then:.3g} 个。"
    ),
    "cause.decode.slow-rank": (
        "{slow_rank_ratio__place} 的一个 decode 步耗时 {slow_rank_ratio__slow:.3g} s，"
        "其他为 {slow_rank_ratio__usual:.3g} s。"
    ),
    "cause.decode.prefill-interference": (
        "流还在 decode 时执行了很长的 prefill batch，其间这些流都停住了"
        "[[（连续的 prefill batch 一共 {prefill_train__value} 个 token）]]。"
    ),
    "cause.decode.token-stall": "请求留在 batch 中，却每次都有数秒得不到 token。",
    "cause.memory.saturation": (
        "KV 池使用率 {usage_when_queued__usage:.0%}[[（{usage_when_queued__which}）]]，"
        "{pool_queue__waiting} 个请求在排队，{pool_queue__busy:.3g} 个在运行。"
    ),
    "cause.memory.retraction-storm": (
        "{retractions__requests} 个请求被放回队列（retract，vLLM 称为抢占）并重新计算"
        "[[，发生在 {retractions_per_min__span_s:.3g} s 之内]]。"
    ),
    "cause.memory.leak": (
        "KV 池里的 KV 与现有请求对不上[[：{leaked__total} 个 token 中少了 {leaked__missing} 个]]"
        "[[：比 {leaked__total} 个 token 的池多数出 {leaked__surplus} 个]][[（引擎自己的空闲检查：{leaked__text}）]]。"
    ),
    "cause.memory.oom-crash": (
        "一次分配失败[[：申请 {allocation_failures__asked} 个 token，空闲 {allocation_failures__free} 个]]"
        "[[（{allocation_failures__free_pages} 页，每页 {allocation_failures__page}）]]"
        "[[，另有 {allocation_failures__evictable} 个可驱逐]]。[[日志原文：{event_count_cuda_oom_pool_full__text}]]"
    ),
    "cause.memory.slots-exhausted": "请求槽位用尽[[：{event_count__text}]]",
    "cause.memory.host-oom": "有进程被杀，很可能是因为主机内存[[：{killed__text}]]",
    "cause.memory.no-token-limit": (
        "输出没有上限，一直进行[[：运行中的 {unlimited_outputs__running:.3g} 个请求每个占 "
        "{unlimited_outputs__per_request:.4g} 个 token]]"
        "[[；{unlimited_outputs__unset} 个请求没有设 max_new_tokens，因长度而结束]]。"
    ),
    "cause.memory.retained-cache": (
        "内存是有意保留的缓存：KV 池的 {evictable_share__share:.0%} 可以驱逐，命中率 {hit_ratio__ratio:.0%}。"
    ),
    "cause.memory.pool-misconfigured": (
        "KV 池只有 {pool_too_small__pool} 个 token（{pool_too_small__basis:phrase}）"
        "[[；使用率 {pool_pinches__usage:.0%}]]"
        "[[，{pool_queue__waiting} 个请求在排队，{pool_queue__busy:.3g} 个在运行]]"
        "[[；命中率 {pool_pinches__now:.0%}，之前为 {pool_pinches__then:.0%}]]。"
    ),
    "cause.cache.flushed": (
        "prompt token 的命中率只有 {change_hit_ratio__now:.0%}，之前为 {change_hit_ratio__then:.0%}："
        "缓存被清空过（{flush_explains__kinds:word}，{flush_explains__events} 次）。"
    ),
    "cause.cache.prompt-drift": (
        "本该共享开头的 prompt 不再相同[[：{content_changed__kind}]]"
        "[[（由排除法得知：命中率降到 {content_changed__ratio:.0%}，却没有清空、设置、键、放置或池满可以解释；"
        "没有看到 prompt 本身）]]。"
    ),
    "cause.cache.eviction": (
        "prompt token 的命中率只有 {change_hit_ratio__now:.0%}，之前为 {change_hit_ratio__then:.0%}，"
        "而运行中的请求最多占 "
        "KV 池的 {evicting__peak:.0%}：缓存的前缀还没有再次用到就被驱逐了。"
    ),
    "cause.cache.page-misaligned": (
        "只有整页才能匹配，而 prompt 的共享部分在页中间结束[[（典型 prompt 有 {pages_bite__prompt} 个 token，每页 "
        "{pages_bite__page} 个时，整页最多能匹配 {pages_bite__usable} 个）]]。"
    ),
    "cause.cache.scattered-routing": (
        "同一个键的请求比之前分散到了更多的 rank 或服务，每处都要重新计算前缀：prompt token 的命中率 "
        "{change_hit_ratio__now:.0%}，之前为 {change_hit_ratio__then:.0%}。"
    ),
    "cause.cache.key-split": "相同的 prompt 带着不同的 key 或 adapter，无法共享。",
    "cause.cache.disabled": "没有一个 prompt token 被复用：前缀缓存被关闭，或者从不匹配。",
    "cause.cache.metric-artefact": (
        "打印出来的命中率有误导[[（打印值从 {misread_rate__first:.0%} 到 {misread_rate__last:.0%}，"
        "是启动以来的累计值）]]"
        "[[；prompt token 实际命中 {misread_rate__real:.0%}]]。"
    ),
    "cause.routing.hot-key": (
        "{free_places__place} 有 {free_places__most:.3g} 个在排队（均值），而 {free_places__places} 个 rank 或副本中有 "
        "{free_places__free} 个没有队列[[（路由键 {top_key_share__routing_key} 带来 {top_key_share__share:.0%} "
        "的工作）]]。"
    ),
    "cause.routing.token-skew": (
        "请求分配均匀，token 却不均匀：{arrival_skew_tokens__place} 分到的 token 是其份额的 "
        "{arrival_skew_tokens__ratio:.3g} 倍。"
    ),
    "cause.routing.worker-out": "请求没有到达每一个 worker[[（证据中提到 {missing_workers__worker}）]]。",
    "cause.routing.stale-load": "放置所依据的负载数据已过时 {snapshot_age_s__age:.3g} s。",
    "cause.disagg.bootstrap": (
        "请求在等待一直没有到来的握手[[（在 {handshake_stuck__state} 状态等了 {handshake_stuck__waited} s，随后放弃）]]"
        "[[（bootstrap 队列从 {handshake_stuck__first:.3g} 到 {handshake_stuck__last:.3g}）]]"
        "[[：{handshake_stuck__text}]]。"
    ),
    "cause.disagg.prealloc": (
        "请求积压，等待 decode 侧的 KV：{prealloc_backlog__queue} 队列最多 {prealloc_backlog__peak:.3g} 个"
        "[[，decode 的 KV 池使用率 {decode_usage__usage:.0%}]]。"
    ),
    "cause.disagg.transfer-slow": (
        "KV 传输速度为 {transfer_slowed__now:.3g} GB/s，之前为 {transfer_slowed__then:.3g} GB/s。"
    ),
    "cause.disagg.transfer-stuck": (
        "KV 一直没有到[[：{stuck_transfers__given_up} 个传输被放弃]]"
        "[[：transfer 队列停在 {stuck_transfers__length:.3g} 个，{stuck_transfers__span_s:.3g} s 没有变化]]"
        "[[（在 {stuck_transfers__state} 状态停了 "
        "{stuck_transfers__waited} s；等待在日志行出现之前这么久就开始了）]]。"
    ),
    "cause.disagg.ratio": "{sides__value:word} 一侧已饱和，另一侧还有余量。",
    "cause.disagg.abort-hold": "被 abort 的请求一直占着 decode 的 KV，直到超时[[：{event_count__text}]]",
    "cause.disagg.peer-lost": "对端失联[[：{event_count_peer_lost__text}]]",
    "cause.disagg.room-mismatch": "room 与数据对不上[[：{event_count__text}]]",
    "cause.disagg.config-mismatch": (
        "是设置的问题[[：{settings_clash__text}]][[：KV 在 {settings_clash__lease_s} s 后被释放，"
        "decode 在 {settings_clash__late_s} s 之后才读取]]。"
    ),
    "cause.disagg.staging": "staging 缓冲区太小[[：{event_count__text}]]",
    "cause.frontend.tokenizer": "一个请求的 tokenize 耗时 {tokenize_s__seconds:.3g} s。",
    "cause.frontend.detokenizer": (
        "较慢请求的 {slice_share_return__of_s:.4g} s 中，返回路径占 {slice_share_return__spent_s:.4g} s，"
        "与请求内容无关。"
    ),
    "cause.frontend.output-parser": (
        "需要解析的响应（tools、schema、reasoning）返回花了 {group_ratio_parsed_return__with_s:.3g} s，普通响应为 "
        "{group_ratio_parsed_return__without_s:.3g} s。"
    ),
    "cause.frontend.blocked-loop": (
        "一个事件循环在 {loop_blocked__stalls} 个时刻停住"
        "[[：{loop_blocked__held} 个请求在进入调度器之前被卡住后一起放行（最长 {loop_blocked__worst:.3g} s）]]"
        "[[：{loop_blocked__together} 个回答在一段沉默之后一起结束]]。"
    ),
    "cause.frontend.gateway": (
        "客户端看到的首 token 延迟是 {client_gap_share__seen_s:.3g} s，引擎侧是 {client_gap_share__engine_s:.3g} s。"
    ),
    "cause.frontend.slow-client": "{backlogged_streams__value} 个流被读得太慢。",
    "cause.storage.tier-stall": (
        "首 token 之前要等待较慢的存储层[[：在较慢请求 {slice_share_storage__of_s:.4g} s 的 TTFT 中占 "
        "{slice_share_storage__spent_s:.4g} s]][[：TTFT 从 {hits_cost_time__ttft_first:.3g} s 变为 "
        "{hits_cost_time__ttft_last:.3g} s，而命中率从 {hits_cost_time__hit_first:.0%} 升到 "
        "{hits_cost_time__hit_last:.0%}]]。"
    ),
    "cause.storage.tier-miss": (
        "GPU 之后的存储层给出的不如从前[[：每个请求 {tier_lost__now:.3g} 个 token，之前 {tier_lost__then:.3g} 个]]"
        "[[：存储失败 {event_count_storage__value} 次]]。"
    ),
    "cause.fault.hang": (
        "有调度器停住了[[（watchdog 触发时已有 {stands_still__seconds:.3g} s 没有进展）]]"
        "[[（/health 没有应答，{stands_still__mute} 次轮询）]][[（它的数据已有 {stands_still__age:.3g} s 没有更新）]]"
        "[[（{stands_still__still_s:.3g} s 内什么都没有动）]]"
        "[[（请求仍在到达，却有 {stands_still__silent_s:.3g} s 没有日志）]]；停住是在那之前这么久就开始的。"
    ),
    "cause.fault.crash": "有进程退出[[：{event_count_crash__text}]]",
    "cause.fault.wrong-output": (
        "输出不可信[[：{wrong_outputs__text}]][[：{wrong_outputs__n} 个输出中有 {wrong_outputs__hits} 个在一两个 "
        "token 后"
        "自行停止（{wrong_outputs__name}）]]。"
    ),
    "cause.fault.abort": (
        "{server_aborts__n} 个请求中有 {server_aborts__hits} 个因服务端错误而结束[[：{server_aborts__message}]]"
    ),
    "cause.client.request-config": (
        "{outcome_share_invalid__n} 个请求中有 {outcome_share_invalid__hits} 个因格式错误被拒绝。"
    ),
    "cause.client.cancelled": (
        "{told_aborts__value} 个请求因有人要求服务中止而结束[[（占已知请求的 {told_share__value:.0%}）]]。"
    ),
    "cause.client.load-generator": "请求离开客户端的时间比计划晚 {generator_lag_s__lag:.3g} s。",
}
