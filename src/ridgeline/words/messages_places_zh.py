"""Chinese sentences of the measures outside one engine: ranks and gateway, cache, pairs, clients, and what changed."""

from typing import Final

MORE_OR_LESS: Final = "{of:word}为 {now:.3g} s，之前为 {then:.3g} s（{ratio:.3g} 倍）"

RANKS: Final[dict[str, str]] = {
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
    "tier.off": "没有服务器把 KV 存到 GPU 之外（未设 --enable-hierarchical-cache）",
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

PLACES: Final[dict[str, str]] = {**RANKS, **CACHE, **PAIR, **CLIENT, **CHANGES}
