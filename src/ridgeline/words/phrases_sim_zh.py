"""Chinese of what a what-if says as plain texts: prices, risks, reasons not to trust it, warnings, what was assumed."""

from typing import Final

CHOICE: Final[dict[str, str]] = {
    "no restart": "无需重启",
    "no server restarts": "无需重启服务",
    "a restart": "需重启",
    "a restart and more memory": "需重启并增加显存",
    "more servers": "需增加服务",
    "no rank asked for": "不再指定 rank",
    "{settings}, no rank asked for": "{settings}，不再指定 rank",
    "base": "原设置",
    "on one server": "在一个服务上",
    "beside production": "在生产环境之外",
    "it places by load, whatever traffic comes next": "它按负载放置，不受后续流量影响",
    "it is the smaller step or the lesser risk": "它改动更小或风险更低",
    "it needs fewer servers": "它所需的服务更少",
    "it needs less memory": "它所需的显存更少",
    "helps only at the cost of another figure": "以另一项指标为代价才有帮助",
    "changes nothing here": "在此没有变化",
    "is worse here": "在此更差",
    "does not help here": "在此没有帮助",
    "no class pays": "没有哪一类受损",
    "within its interval of no change": "在无变化的区间之内",
    "pays: {class}": "受损的：{class}",
    "it is a fault of function, not of a setting: replay the requests on a clean server":
        "这是功能故障而非设置问题：在干净的服务上回放请求",
    "it is put right by removing what is wrong in the configuration or the caller, not by tuning":
        "需去掉配置或调用方中的错误，调参无济于事",
    "execution itself is slower: profile it": "执行本身变慢：做 profile",
    "it lies outside of what the server's settings govern": "它不在服务设置的管辖范围内",
    "the simulator has no setting for it": "模拟器没有对应的设置",
}  # fmt: skip

RISKS: Final[dict[str, str]] = {
    "cost of another server": "增加服务的成本",
    "the pool must fit beside weights and activations, else CUDA OOM at start":
        "KV 池须与权重和激活值一起放得下，否则启动时 CUDA OOM",
    "larger batches: each token takes longer": "batch 变大：每个 token 更慢",
    "requests wait instead of running slowly": "请求改为排队，而不是慢慢运行",
    "long prompts may starve": "长 prompt 可能饿死",
    "smaller chunks lengthen long prompts, larger ones pause streams": "chunk 变小则长 prompt 更慢，变大则流会停顿",
    "prefill slows while streams run": "有流运行时 prefill 变慢",
    "prefixes move once: a cold cache for a minute": "前缀会迁移一次：缓存冷约一分钟",
    "a prefix that stood on one rank is computed on each": "原在一个 rank 上的前缀会在每个 rank 上重新计算",
    "retractions where outputs run long": "输出很长时会 retract",
    "fewer requests run at once": "同时运行的请求变少",
    "high priority waits with the others": "高优先级与其他请求一起排队",
    "late answers instead of refusals": "回答变晚，而不是被拒绝",
    "adapters take device memory": "adapter 占用显存",
    "what was once hot stays": "曾经热的内容会滞留",
    "requests without a shared prefix may starve": "没有共享前缀的请求可能饿死",
    "the attention backend must take this page size": "attention 后端须支持该 page size",
    "none known": "未知风险",
    "decode retracts where outputs run long": "输出很长时 decode 会 retract",
    "the other side gets fewer servers": "另一侧的服务变少",
    "the burst is over: worth it where such bursts come again": "突发已经过去：只有这样的突发会再来时才值得",
    "long requests may meet on one rank": "长请求可能落在同一个 rank 上",
}  # fmt: skip

TYPED: Final[dict[str, str]] = {
    "without --{flag}": "去掉 --{flag}",
    "your own policy for {key}": "{key} 用自定义策略",
    "gateway --{flag}": "网关 --{flag}",
    "gateway without --{flag}": "网关去掉 --{flag}",
    "{n} servers behind the gateway": "网关后 {n} 个服务",
    "{n} servers behind a gateway with --policy {policy}": "{n} 个服务，前置网关 --policy {policy}",
    "{n} of the servers with --disaggregation-mode decode, the others with prefill":
        "{n} 个服务用 --disaggregation-mode decode，其余用 prefill",
    "{n} servers": "{n} 个服务",
    "a load-aware router in front": "前面加一个按负载的路由器",
    "a cache-aware router in front": "前面加一个感知缓存的路由器",
    "a round-robin router in front": "前面加一个轮询路由器",
    "a router that hashes the key in front": "前面加一个按键哈希的路由器",
    "a router that draws at random in front": "前面加一个随机路由器",
    "a {policy} router in front": "前面加一个 {policy} 路由器",
    "the policy built into the server or gateway": "把策略做进服务或网关",
    "no flag sets it": "没有参数可设",
    "SGLang {version} or later": "SGLang {version} 或更新版本",
    "another SGLang version": "其他 SGLang 版本",
    "SGLang {since} to {until}": "SGLang {since} 至 {until}",
    "SGLang to {until}": "SGLang {until} 及之前",
    "an SGLang version with {key} {value}": "支持 {key} {value} 的 SGLang 版本",
    "SGLang's gateway": "SGLang 的网关",
    "SGLang: vLLM has no such flag": "SGLang：vLLM 没有该参数",
}  # fmt: skip

STATISTICS: Final = {"mean": "均值", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99"}
TIMES: Final[dict[str, str]] = {
    **{f"{en} {name}": f"{zh} {said}"
       for en, zh in (("TTFT", "TTFT"), ("E2E", "E2E"), ("TPOT", "TPOT"), ("time per token", "TPOT"),
                      ("time per output token", "TPOT"), ("queue", "排队"), ("queue time", "排队时间"),
                      ("the figure it hurts", "受影响的指标"))
       for name, said in STATISTICS.items()},
    "time per token p90 ({share})": "TPOT p90 ({share})",
    "mean": "均值",
    "the figure it hurts": "受影响的指标",
    "requests without an answer": "没有得到回答的请求",
    "time per token": "TPOT",
    "time per output token": "TPOT",
    "queue time": "排队时间",
    "time to first token": "首 token",
    "per output token": "每输出 token",
    "gap between tokens": "token 间隔",
    "whole request": "整个请求",
}  # fmt: skip

TRUST: Final[dict[str, str]] = {
    "nothing was observed to compare with": "没有可对照的观测",
    "nothing to compare": "没有可比较的",
    "no figure compares": "没有可比较的数字",
    "requests held out from the fit are predicted": "拟合时留出的请求也预测准确",
    "step times are a preset, not fitted on this server": "步耗时是预设值，未在该服务上拟合",
    "cached tokens: predicted {guess}, observed {seen}; which prompts share a prefix is not in the evidence, or the "
    "cache works otherwise":
        "缓存 token：预测 {guess}，观测 {seen}；证据中看不出哪些 prompt 共享前缀，或缓存另有机制",
    "retractions: predicted {guess}, observed {seen}; the pool's size or max_new_tokens may be other than read":
        "retract：预测 {guess}，观测 {seen}；KV 池大小或 max_new_tokens 可能与读到的不同",
    "refused requests: predicted {guess}, observed {seen}": "被拒绝的请求：预测 {guess}，观测 {seen}",
    "requests of a rank: off by {share} of all requests; the balancing method may be other than read":
        "某 rank 的请求数偏差为全部请求的 {share}；均衡方法可能与读到的不同",
    "held out: {reason}": "留出部分：{reason}",
    "{figure}: predicted {guess} s, observed {seen} s ({error}, bound {bound})":
        "{figure}：预测 {guess} s，观测 {seen} s（{error}，界限 {bound}）",
    "{figure}: predicted {guess} s, observed 0 s": "{figure}：预测 {guess} s，观测 0 s",
    "{figure} was not observed in the predicted part": "预测部分没有观测到 {figure}",
    "{figure}: the interval is wider than the figure itself": "{figure}：区间比数字本身还宽",
    "too few requests with observed times before the split to fit a time model":
        "分割点之前带观测时间的请求太少，无法拟合时间模型",
}  # fmt: skip

WARNINGS: Final[dict[str, str]] = {
    "the incident is reproduced with {times} times the configured reserve: the decode side holds back about {held} "
    "tokens for each request, and not {tokens}":
        "把配置的预留放大到 {times} 倍才能复现该事故：decode 侧为每个请求预留约 {held} token，而不是 {tokens}",
    "request {at} has a prompt of {tokens} tokens, more than the KV pool of {pool} tokens can ever hold "
    "(max_total_num_tokens; {n} such requests)":
        "第 {at} 个请求的 prompt 有 {tokens} token，KV 池（{pool} token）永远放不下（max_total_num_tokens；"
        "这样的请求有 {n} 个）",
    "{pinned} of {n} requests ask for a rank of their own: no balancing method moves them unless the callers stop "
    "asking":
        "{n} 个请求中有 {pinned} 个指定了 rank：除非调用方不再指定，任何均衡方法都移动不了它们",
    "{pinned} of {n} requests ask for a rank of their own: no balancing method moves them; --unpin lets it decide":
        "{n} 个请求中有 {pinned} 个指定了 rank：任何均衡方法都移动不了它们；--unpin 让均衡方法决定",
    "which prompts share a prefix is not in the evidence: what {named} changes in reuse is not simulated":
        "证据中看不出哪些 prompt 共享前缀：{named} 对复用的影响未作模拟",
    "step times are extrapolated (more than {times} times the base's {kv} KV tokens in use): {names}":
        "步耗时为外推（KV 占用超过原设置 {kv} token 的 {times} 倍）：{names}",
    "changes nothing on this traffic: {names}": "在这份流量上没有变化：{names}",
    "{name}: overloaded: {waiting} of {n} requests still wait when the last one arrives":
        "{name}：过载：最后一个请求到达时，{n} 个请求中仍有 {waiting} 个在等待",
    "{name}: {lost} requests do not finish ({outcomes})": "{name}：{lost} 个请求没有完成（{outcomes}）",
    "the baseline's TTFT is not reproduced ({error})": "未能重现基线的 TTFT（{error}）",
}  # fmt: skip

BANDS: Final[dict[str, str]] = {
    "prompts up to {n} tokens": "不超过 {n} token 的 prompt",
    "prompts of {low} to {high} tokens": "{low} 至 {high} token 的 prompt",
    "prompts above {n} tokens": "超过 {n} token 的 prompt",
    "every other routing_key": "其余 routing_key",
    "every other priority": "其余 priority",
    "every other lora": "其余 lora",
    "every other dp_rank": "其余 dp_rank",
    "no lora": "无 lora",
    "no dp_rank": "无 dp_rank",
    "routing_key number {n}": "第 {n} 号 routing_key",
    "lora number {n}": "第 {n} 号 lora",
}  # fmt: skip

CLASSES: Final[dict[str, str]] = {
    **BANDS,
    **{f"{en} ({{share}})": f"{zh}（{{share}}）" for en, zh in BANDS.items()},
    "the incident's": "事故时段的",
    "all requests": "全部请求",
    "default settings": "默认设置",
    "fitted on {n} requests": "在 {n} 个请求上拟合",
    "fitted on {n} prefills and {lines} decode lines": "在 {n} 次 prefill 与 {lines} 行 decode 日志上拟合",
    "kept": "满足",
    "not kept": "未满足",
    "unknown": "未知",
    "default: 8B dense model on one 80 GB accelerator, orders of magnitude only; fit your own":
        "default：一张 80 GB 卡上的 8B 稠密模型，只有数量级意义；请拟合自己的",
    "large: 70B dense model on four 80 GB accelerators, orders of magnitude only; fit your own":
        "large：四张 80 GB 卡上的 70B 稠密模型，只有数量级意义；请拟合自己的",
}  # fmt: skip

ASSUMED: Final[dict[str, str]] = {
    "fitting step times": "正在拟合步耗时",
    "checking the simulator on held-out requests": "正在用留出的请求检验模拟器",
    "too few requests with times: step times are not fitted": "带时间的请求太少：未拟合步耗时",
    "too few prefill times: step times are not fitted": "prefill 时间太少：未拟合步耗时",
    "too few decode batch lines: step times are not fitted, default ones hold":
        "decode batch 日志行太少：未拟合步耗时，用默认值",
    "too few prefill requests: step times are not fitted, default ones hold":
        "prefill 请求太少：未拟合步耗时，用默认值",
    "{n} ranks: fitted on rank {rank}, the one with most requests": "{n} 个 rank：在请求最多的 rank {rank} 上拟合",
    "{n} requests came before the last restart: left out": "{n} 个请求早于最后一次重启：略去",
    "prefill and decode are apart: the {side} side's requests are the traffic":
        "prefill 与 decode 分离：以 {side} 侧的请求为流量",
    "{n} servers: only {name}, the one with most requests, is taken": "{n} 个服务：只取请求最多的 {name}",
    "{n} requests were turned away at the door (queue full, lost connections): left out":
        "{n} 个请求在入口被拒（队列已满、连接丢失）：略去",
    "{n} requests name no prompt length: left out": "{n} 个请求没有 prompt 长度：略去",
    "{n} requests had not ended and name no prompt length: that of their like stands for it":
        "{n} 个请求未结束且没有 prompt 长度：以同类请求的代替",
    "{n} parts of n > 1 requests left no record: put back beside their sibling":
        "n > 1 的请求有 {n} 份没有记录：按其同组补回",
    "max_new_tokens is not in the logs: the output length stands for it (log requests at level 1)":
        "日志中没有 max_new_tokens：以输出长度代替（请以 level 1 记录请求）",
    "the prefix cache was off: what prompts of a group share is taken as long as the shortest of them":
        "前缀缓存关闭：同组 prompt 的共享部分按其中最短的计",
    "which prompts share a prefix is inferred: requests of one routing key hit equally far":
        "由推断得出哪些 prompt 共享前缀：同一路由键的请求命中同样远",
    "nothing shows which prompts share a prefix: sharing is ignored, the pool's effective size fitted":
        "看不出哪些 prompt 共享前缀：忽略共享，拟合 KV 池的有效大小",
    "the gateway's policy {policy} is not simulated; {how}: {router} is assumed":
        "网关策略 {policy} 未作模拟；{how}：假定为 {router}",
    "the gateway's policy: nothing names it; {how}: {router} is assumed": "网关策略不明；{how}：假定为 {router}",
    "every server took as many": "各服务承担相同",
    "servers took unequal shares": "各服务承担不等",
    "engine: nothing names it, SGLang is assumed": "引擎不明，假定为 SGLang",
    "KV pool: nothing names its size, taken as never short": "KV 池大小不明，按永不短缺计",
    "running limit: nothing names it; the engine's default and the most seen running are tried":
        "运行上限不明；试引擎默认值与见到的最大运行数",
    "pipelined scheduling: nothing says, both are tried and the better fit kept":
        "是否流水调度不明，两种都试，保留拟合较好的",
    "max_num_batched_tokens: nothing names it, 2048 is assumed": "max_num_batched_tokens 不明，假定为 2048",
    "no request has an arrival, a prompt length and an output length: nothing to simulate":
        "没有请求同时带到达时间、prompt 长度与输出长度：无可模拟",
}  # fmt: skip

SIM: Final[dict[str, str]] = {**CHOICE, **RISKS, **TYPED, **TIMES, **TRUST, **WARNINGS, **CLASSES, **ASSUMED}
