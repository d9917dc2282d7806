"""Chinese of what to switch on: the same asks, in the same order of parts, as `messages_asks_en`."""

from typing import Final

CLIENT: Final = "客户端文件（bench_serving、GuideLLM、AIPerf，或带发送时间与 chunk 时间的 JSONL）"
GAPS: Final = "带 chunk 时间的客户端文件（bench_serving --output-details）"
KILLER: Final = "主机的 dmesg -T，以及容器的上次状态（OOMKilled）与其 cgroup 的 memory.events"
CLEAN: Final = "把同样的请求发给同版本的干净服务，比较输出"
BEFORE: Final = "或者也给出出问题之前的证据"

# ask → (what it tells, how SGLang supplies it, how vLLM supplies it)
ASKS: Final[dict[str, tuple[str, str, str]]] = {
    "load": (
        "随时间的运行数、排队数和 KV 池使用率",
        "服务日志（prefill 与 decode 行）、{loads}，或 {metrics}",
        "服务日志（统计行，除非 --disable-log-stats 否则默认开启），或轮询 GET /metrics",
    ),
    "requests": (
        "每个请求及其结束方式",
        "{request-log}",
        "--enable-log-requests 加 --otlp-traces-endpoint URL，或客户端文件（仅凭 vLLM 的日志看不出请求如何结束）",
    ),
    "stages": (
        "每个请求在各阶段的耗时",
        "--enable-metrics 加 {exporter}，或 {time-stats}",
        "--otlp-traces-endpoint URL（每个请求的排队、prefill 与 decode 时间）",
    ),
    "ends": (
        "入队之前与返回路径的时间",
        "--enable-metrics 加 {exporter}，或 {time-stats}",
        "在引擎记录之外再给一份客户端文件（vLLM 两处都没有时间戳）",
    ),
    "histograms": ("延迟直方图", "{metrics}，至少抓取两次", "GET /metrics，至少抓取两次"),
    "log": ("服务日志", "保留服务的标准输出与标准错误", "保留服务的标准输出与标准错误"),
    "pair": (
        "PD 两侧的队列",
        "prefill 与 decode 两个服务的日志，或两者的 {pd-queues}",
        "prefill 与 decode 两个服务的日志与 GET /metrics",
    ),
    "transfers": (
        "KV 传输的速度与失败",
        "在 prefill 服务上 {time-stats}，或其 kv_transfer_ 指标",
        "日志中的 KV Transfer metrics 行，或 GET /metrics 中的 vllm:nixl_",
    ),
    "parameters": (
        "max_new_tokens 与实际输出长度的对照",
        "{request-log}",
        "--otlp-traces-endpoint URL（每个请求的 max_tokens 与 completion tokens）",
    ),
    "in-flight": (
        "每个在途请求及其长度",
        "{request-log}",
        "--otlp-traces-endpoint URL 加 --enable-log-requests",
    ),
    "attributes": (
        "三十个带时间与属性的请求",
        "{request-log}",
        "--enable-log-requests 加 --otlp-traces-endpoint URL",
    ),
    "prompts": (
        "prompt 的内容（文本或 token id）",
        "{prompt-ids}、{request-dump}，或 prompt 文件",
        "--enable-log-requests 加 VLLM_LOGGING_LEVEL=DEBUG（prompt 以明文写出），或 prompt 文件",
    ),
    "cached": (
        "命中缓存的 token 数",
        "日志的 prefill 行、{metrics}，或请求日志（cached_tokens）",
        "GET /metrics 中的 prefix_cache_queries 与 prefix_cache_hits，或 --enable-prompt-tokens-details",
    ),
    "evictions": (
        "前缀缓存的驱逐",
        "/metrics 中的 evicted_tokens_total（0.5.6 起），抓取两次",
        "--kv-cache-metrics（block 在驱逐前存活与空闲多久）",
    ),
    "evictable": (
        "KV 池中有多少是可驱逐的缓存",
        "/metrics 中的 kv_evictable_tokens（0.5.23 起）",
        "vLLM 没有这个数字：kv_cache_usage_perc 只统计已分配的 block",
    ),
    "settings": (
        "启动设置（上限、KV 池、页、缓存）",
        "{server-info}，或日志的启动行",
        "日志的启动行（non-default args、KV cache size），或启动命令",
    ),
    "ranks": (
        "每个 rank 或副本的队列",
        "{loads}，或每个 rank 与副本的日志和 /metrics",
        "每个引擎与副本的日志和 GET /metrics",
    ),
    "placed": (
        "每个请求所在的 rank",
        "请求日志（dp_rank，0.5.23 起），或网关的记录",
        "路由器的记录（vLLM 不说请求由哪个引擎处理）",
    ),
    "keys": ("路由键", "{routing-key}，并开启请求日志", "路由器的记录（vLLM 没有路由键）"),
    "workers": (
        "每个 worker 分到了什么",
        "一分钟内对每个副本的抓取，或网关日志",
        "一分钟内对每个副本的抓取，或路由器日志",
    ),
    "snapshot": (
        "负载数据的新旧",
        "轮询 GET /v1/loads（0.5.23 起）",
        "vLLM 没有负载端点：它的 gauge 就是抓取那一刻的值",
    ),
    "decode-lines": (
        "随时间的 decode 步",
        "服务日志（decode 行）",
        "GET /metrics 中的 inter_token_latency_seconds，抓取两次（vLLM 不打印 decode 行）",
    ),
    "prefill-lines": (
        "随时间的 prefill batch",
        "服务日志（prefill 行）",
        "--otlp-traces-endpoint URL（每个请求的 prefill 时间；vLLM 不打印 prefill 行）",
    ),
    "retractions": (
        "retract 次数",
        "服务日志，或 /metrics 中的 num_retracted_requests_total（0.5.9 起）",
        "GET /metrics 中的 num_preemptions，或统计行中的 Preemptions",
    ),
    "hang": (
        "调度器是否还在推进",
        "服务日志（watchdog 行），或轮询 {loads} 一分钟",
        "轮询 GET /metrics 一分钟（vLLM 没有 watchdog 行）",
    ),
    "killer": ("谁发出了 SIGKILL", KILLER, KILLER),
    "graphs": (
        "decode 是否使用了 CUDA graph",
        "服务日志（decode 行的 cuda graph）",
        "vLLM 不会逐步打印；启动行会说明 graph 是否开启（--enforce-eager：关闭）",
    ),
    "acceptance": (
        "推测的 token 有多少被接受",
        "服务日志（decode 行的 accept len），或 /metrics 中的 spec_accept_length",
        "日志的 SpecDecoding 行，或 GET /metrics 中的 spec_decode_num_accepted_tokens",
    ),
    "device": ("GPU 有多忙", "{gpu-time}", "vLLM 没有这个数字：需要对 GPU 做 profile"),
    "idle": ("没有请求运行时的使用率", "负载结束后空闲一分钟的抓取", "负载结束后空闲一分钟的抓取"),
    "gaps": ("chunk 之间的间隔", GAPS, GAPS),
    "client": ("客户端时间与引擎时间的对照", CLIENT, CLIENT),
    "slow-readers": (
        "被读得太慢的流",
        "0.5.23 或更新版本的服务日志，或带 chunk 时间的客户端文件",
        "带 chunk 时间的客户端文件（vLLM 不记录读得慢的一方）",
    ),
    "correct": ("输出是否正确", CLEAN, CLEAN),
    "rates": ("打印出来的命中率", "更长时间的服务日志，或轮询 {metrics}", "更长时间的日志统计行"),
    "rounds": ("各轮的 TTFT 与命中率", "多轮压测打印的表格", "多轮压测打印的表格"),
    "usage-records": ("请求对缓存的写入与读取", "客户端的 usage 记录", "客户端的 usage 记录"),
    "both": ("两类请求", "同时包含两类请求的时段", "同时包含两类请求的时段"),
    "onset": ("何时开始", f"--from 与 --to，{BEFORE}", f"--from 与 --to，{BEFORE}"),
    "baseline": ("可供对照的正常时段", f"--baseline FROM..TO，{BEFORE}", f"--baseline FROM..TO，{BEFORE}"),
    "longer": ("同一来源更长的一段", "同样的文件，时间更长", "同样的文件，时间更长"),
}

HELD: Final[dict[str, str]] = {
    "held.file": "证据中已有（{file}），但其中没有这个时段可用的内容：请给出更多",
    "held.on": "服务表明它已开启：请把它的文件也给出来（ridgeline capture URL --logs FILES，或加在这里）",
}

MESSAGES: Final[dict[str, str]] = {
    f"ask.{name}.{part}": text
    for name, texts in ASKS.items()
    for part, text in zip(("signal", "sglang", "vllm"), texts, strict=True)
} | HELD
