"""Chinese of what `compare` says as plain texts: checks, what to do about them, what is still needed, notes."""

from typing import Final

CHECKS: Final[dict[str, str]] = {
    **{f"the {en} is not known on both sides": f"两侧的{zh}不全已知"
       for en, zh in (("engine", "引擎"), ("model", "模型"), ("version", "版本"))},
    **{f"the {en} is the same": f"{zh}相同"
       for en, zh in (("engine", "引擎"), ("model", "模型"), ("version", "版本"))},
    **{f"the {en} went from {{before}} to {{after}}": f"{zh}从 {{before}} 变为 {{after}}"
       for en, zh in (("engine", "引擎"), ("model", "模型"), ("version", "版本"))},
    **{f"capture AFTER on the same {en}": f"用相同的{zh}重新采集 AFTER"
       for en, zh in (("engine", "引擎"), ("model", "模型"), ("version", "版本"))},
    "the request rate is not known on both sides": "两侧的请求速率不全已知",
    "the request rate is alike": "请求速率相近",
    "AFTER carried {times} times the requests per second": "AFTER 每秒请求数是 INCIDENT 的 {times} 倍",
    "capture AFTER again at about {rate} requests/s": "以约 {rate} 请求/s 重新采集 AFTER",
    **{text.format(en=en): said.format(zh=zh)
       for en, zh in (("prompt lengths", "prompt 长度"), ("output lengths", "输出长度"))
       for text, said in (
           ("{en} are not known on both sides", "两侧的{zh}不全已知"),
           ("{en} are alike (means)", "{zh}相近（均值）"), ("{en} are alike", "{zh}相近"),
           ("the mix of {en} is another one (mean {{times}} times)", "{zh}的分布不同（均值 {{times}} 倍）"),
           ("the mix of {en} (which a fix may change) is another one (mean {{times}} times)",
            "{zh}（修复也可能改变它）的分布不同（均值 {{times}} 倍）"))},
    "capture AFTER under the same traffic, or replay the incident's": "在相同流量下采集 AFTER，或回放事故的流量",
    "the share of streams is not known": "流式占比未知",
    "the share of streams is alike": "流式占比相近",
    "streams and single answers measure TTFT differently": "流式与非流式的 TTFT 含义不同",
    "compare the same kind of requests on both sides": "两侧比较同类请求",
    "besides {asked} other arguments changed: {few}": "除 {asked} 之外还有其他参数改变：{few}",
    "change one thing at a time": "一次只改一项",
    "how much was in service is not known": "在服务中的请求数未知",
    "about as much is in service": "在服务中的请求数相近",
    "{times} times as much is in service": "在服务中的请求数为 {times} 倍",
    "AFTER served more at once than INCIDENT: {now}, {most}": "AFTER 同时服务的多于 INCIDENT：{now}，{most}",
    "AFTER served fewer at once than INCIDENT: {now}, {most}": "AFTER 同时服务的少于 INCIDENT：{now}，{most}",
    "AFTER carried {times} times the work, and only the wait changed: near the limit so little decides that":
        "AFTER 的工作量为 {times} 倍，且只有等待变了：接近上限时，这点差别就足以决定等待",
    "capture AFTER for longer, or under the incident's traffic": "更久地采集 AFTER，或用事故的流量",
}  # fmt: skip

VALUES: Final[dict[str, str]] = {
    "not known": "未知",
    "beyond the last bucket": "超出最后一个桶",
    "not set": "未设置",
    "{n} requests/s": "{n} 请求/s",
    "{n} in service": "{n} 个在服务中",
    "{n} tokens/s": "{n} token/s",
    "mean {n} tokens": "均值 {n} token",
    "mean {n}, p90 {high} tokens": "均值 {n}，p90 {high} token",
    "{share} stream": "{share} 流式",
    "engine": "引擎",
    "model": "模型",
    "version": "版本",
    "load": "负载",
    "prompt tokens": "prompt token",
    "completion tokens": "输出 token",
    "output tokens": "输出 token",
    "stream": "流式占比",
    "running": "在服务中",
    "arguments": "参数",
    "errors": "错误率",
    "hit ratio": "命中率",
    "histograms": "直方图",
    "summary": "汇总",
    "too few": "样本不足",
    "too few*": "样本不足*",
    **{f"{low} to {high}": f"{low} 至 {high}"
       for low, high in ((0, 256), (256, 1024), (1024, 4096), (4096, 16384), (16384, 65536))},
    "from 65536": "65536 以上",
}  # fmt: skip

NEEDS: Final[dict[str, str]] = {
    "{figure} of INCIDENT: {why}": "INCIDENT 的 {figure}：{why}",
    "{figure} of AFTER: {why}": "AFTER 的 {figure}：{why}",
    "{figure} lies at the very limit: more of the same will not settle it":
        "{figure} 正好在界限上：再多同样的证据也无法断定",
    "{figure} lies so near the limit that more of the same will not settle it":
        "{figure} 离界限太近：再多同样的证据也无法断定",
    "{figure} lies within one histogram bucket: request rows would tell (--log-requests or the metrics exporter), or "
    "finer buckets":
        "{figure} 落在同一个直方图桶内：需要逐请求的记录（--log-requests 或 metrics exporter），或更细的桶",
    "{figure}: about {long} in all on either side ({times} times as much) would settle it if the difference stays what "
    "it is":
        "{figure}：若差异保持不变，每侧共约 {long}（为现在的 {times} 倍）即可断定",
    "{figure}: about {n} requests on either side ({times} times as much) would settle it if the difference stays what "
    "it is":
        "{figure}：若差异保持不变，每侧约 {n} 个请求（为现在的 {times} 倍）即可断定",
    "values in {n} stretches of time, {least} are needed": "只有 {n} 段时间有值，需要 {least} 段",
    "{n} values; at least {least} over time are needed": "{n} 个值；至少需要分布在一段时间内的 {least} 个",
    "needs {least} requests, has {n}": "需要 {least} 个请求，只有 {n} 个",
    "{n} values over too few scrapes": "{n} 个值，采集次数太少",
    "nothing was counted": "没有计数",
    "{n} cases over too few moments": "{n} 例，时刻太少",
}  # fmt: skip

NOTES: Final[dict[str, str]] = {
    "the same requests (by rid) are on every side: each is held against itself":
        "两侧是相同的请求（按 rid）：逐个与自身对照",
    **{f"{side}: {en}": f"{side}：{zh}"
       for side in ("INCIDENT", "AFTER", "BASELINE")
       for en, zh in (
           ("only the time of its capture, not what its logs held before", "只取采集期间，不含日志中更早的内容"),
           ("the window is its diagnosis's", "时段取自其诊断"),
           ("the good time of INCIDENT's diagnosis", "INCIDENT 诊断中的正常时段"),
           ("counters began anew {n} times (a restart); what came after each is counted",
            "counter 重新计数 {n} 次（重启）；之后的都计入"),
           ("{n} requests were not over at the end; long waits count with the time so far",
            "结束时有 {n} 个请求未完成；长等待按已等的时间计"),
           ("requests carry no times; their order in the file stands in for it", "请求没有时间；以文件中的顺序代替"),
           ("holds no request times that the other side has too", "没有另一侧也有的请求时间"))},
}  # fmt: skip

COMPARING: Final[dict[str, str]] = {**CHECKS, **VALUES, **NEEDS, **NOTES}
