"""Chinese of what `decide` and `simulate` say; the same keys and figures as `messages_decide_en`."""

from typing import Final

UNTRUSTED: Final = "在这份流量上不可信：{why:join；}"
DECIDE: Final[dict[str, str]] = {
    "decide.title": "决策",
    "decide.warning": "警告：{text:phrase}",
    "decide.written": "{path}：已写入",
    "decide.nothing": "决策：没有需要决定的。",
    "decide.healthy": "没有问题：不要动生产环境。",
    "decide.unknown": "原因未知：尚无可决定的。",
    "decide.no-setting": "没有设置能解决 {cause}：{why:phrase}。[[可以做的：{instead:join；}。]]",
    "decide.no-traffic": "{cause} 无法模拟：{reason:phrase}。",
    "decide.unseen": (
        "无法模拟改动对 {cause} 的收益：证据中看不出哪些 prompt 共享前缀；请求 dump、请求日志中的 prompt 或每个请求的"
        "路由键可以说明。"
    ),
    "decide.change": "{head}[[；需要 {needs:join；需要 }]]。[[{beside:join}]][[风险：{risks:join；}。]]",
    "decide.head": "{action}：{gain}",
    "decide.head.untrusted": f"{UNTRUSTED}；最多值得先{{where:phrase}}试：{{action}}（模拟中 {{gain}}）",
    "decide.set": "设置 {flags:join，并设 }",
    "decide.flags": "{flags:join，并设 }",
    "decide.let-go": "让客户端或网关不再指定 DP rank[[，并设置 {flags:join，并设 }]]",
    "decide.let-go.try": "让客户端或网关不再指定 DP rank[[，并设置 {flags:join，并设 }]]",
    "decide.less": "代价更小的：{run}。",
    "decide.more": "收益更大的：{run}。",
    "decide.equal": "噪声内相当：{runs:join；}[[，另有 {more} 个]]。",
    "decide.cheaper": "选它是因为代价更小（{cost:phrase}）。",
    "decide.because": "选它是因为{why:phrase}。",
    "decide.run": "{what:join，并设 }（[[{share:+.0%}，]]{cost:phrase}）",
    "decide.remedy": (
        "诊断给出的 {flag} 已单独试过，{judged:phrase}（{low:+.1%}[[ 至 {high:+.1%}]]）"
        "[[：{asked} 个请求指定了 rank，任何均衡方法都移动不了它们]]。"
    ),
    "decide.none": "不值得为 {cause} 改动生产环境[[；{near}]]。[[{remedy:join}]]",
    "decide.none.untrusted": f"{UNTRUSTED}；对 {{cause}} 不作建议[[；模拟中{{near}}]]。[[{{remedy:join}}]]",
    "decide.none.hurts": "针对该原因的设置在这份流量上都没有帮助（{cause}；{near}）。[[{remedy:join}]]",
    "decide.near": "{n} 个中最好的 {name:phrase} 为 {gain}",
    "gain.none": "没有数字",
    "gain.goodput": "{after:.1%} 的请求在限值内，原为 {before:.1%}[[（{low:+.1%} 至 {high:+.1%}）]]",
    "gain.share": "{figure:phrase} {before:.1%} → {after:.1%}[[（{low:+.1%} 至 {high:+.1%}）]]",
    "gain.time": (
        "{figure:phrase} {before:.3g} s → {after:.3g} s[[（{share:+.0%}）]]"
        "[[（{surely:+.0%}，95 % 区间 {low:+.0%} 至 {high:+.0%}）]]"
    ),
    "advise.nothing": "没有可比较的：只运行了原设置。",
    "advise.none": "没有值得做的改动：{closest}。",
    "advise.none.untrusted": f"{UNTRUSTED}；不作建议：模拟中{{closest}}。",
    "advise.none.hurts": "试过的设置在这份流量上都没有帮助：{closest}。",
    "advise.closest": "最好的 {name:phrase} 为 {gain}",
    "advise.change": "{head}[[；需要 {needs:join 以及 }]][[；受损的：{pays:join、}]][[；{nobody:phrase}]]。",
    "advise.unseen": "仅限这份流量的模拟，从未与服务对照：{sentence}",
    "gate.unseen": "保真度：scenario 中没有观测到的时间，无从得知这些数字有多真实。",
    "gate.mean": "{n} 个完整观测的请求的 {name} 均值为 {predicted:.3g} s，观测为 {observed:.3g} s",
    "gate.trusted": "保真度：重现了基线[[（{told}）]][[，{held:phrase}]]：在这份流量上比较可信。",
    "gate.untrusted": "保真度：不可信（{told:phrase}）：{why:join；}。",
    "tried.apart": (
        "表中的原设置不是保真度一行的数字：它统计的是[[事故中的 {over} 个请求（共 {n} 个）]][[{every:phrase}]]"
        "[[，其中 {unseen} 个在证据中没有 {name}]][[，{repeats} 次重复的均值]]。按原样到达、有观测的 {seen} 个："
        "{figure:phrase} 观测 {observed:.3g} s，模拟 {simulated:.3g} s。"
    ),
    "tried.counted": (
        "[[{over} / ]]{n} 个请求[[（{which:phrase}）]]，重复 {repeats} 次，单位 s，按 {figure:phrase} 从好到差；"
        "时间模型：{model:phrase}"
    ),
    "tried.more": "另有 {n} 种设置：--format json 给出全部",
    "tried.rank": "名次",
    "tried.setting": "设置",
    "tried.goodput": "goodput/s",
    "tried.change": "{figure:phrase} 的变化",
    "tried.base": "原设置",
    "tried.seconds": "{delta:+.3g} s",
    "tried.moved": "{share:+.1%}（{low:+.1%} 至 {high:+.1%}）",
    "tried.moved.alone": "{share:+.1%}（无区间）",
    "tried.classes": "{name:phrase} 下各类请求的 {figure:phrase} 均值：",
    "tried.class": (
        "{class:phrase}（占请求的 {of:.0%}）：{before:.4g} s → {after:.4g} s[[（{share:+.0%}）]][[，{unsure:phrase}]]"
    ),
    "run.one": (
        "{requests} 个请求，模拟 {span_s:.1f} s，用 {cpu_s:.3g} CPU s（{settings:join、}；时间模型：{model:phrase}）"
    ),
    "run.seconds": "s",
    "run.outcomes": (
        "结局：{outcomes:phrase}；缓存命中：{hits:phrase}；retract：{retractions}；KV 最多占用 {kv} token"
    ),
    "run.goodput": "goodput：限值内每秒 {goodput:.3g} 个请求（占全部的 {share:.1%}；限值{kept:phrase}）",
    "run.interrupted": "已中断：保留 {planned} 次运行中的 {done} 次。",
    "run.bundle": "{path}：一个 bundle；下一步：ridgeline diagnose {path}",
}
