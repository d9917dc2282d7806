"""Chinese of what `compare` says; the same keys and figures as `messages_compare_en`."""

from typing import Final

COMPARE: Final[dict[str, str]] = {
    "verdict.figure": "{name:phrase}[[ {statistics}]]",
    "verdict.move": "{name} {before:phrase} → {after:phrase}",
    "verdict.bound": "{name} {after:phrase}，限值 {bound:phrase}",
    "verdict.rest": "{name} {after:phrase}，曾为 {before:phrase}，BASELINE {good:phrase}",
    "verdict.no-figure": "两侧没有共同的、用户可感的指标（TTFT、TPOT、E2E、错误率）",
    "verdict.uncomputed": "{names:join、}无法在两侧都算出",
    "verdict.explained": "本应为“{verdict:word}”（{why}），然而：{reasons:join；}。建议：{todo:join；}",
    "verdict.countered": "{sure:join、}{way:word}，但{doubt:join、}可能{other:word}：尚不能排除偶然",
    "verdict.better": "变好：{figures:join、}（{moves:join，}）；用户可感的指标没有变差",
    "verdict.worse": "变差：{figures:join、}（{moves:join，}）；没有变好的",
    "verdict.hidden": "没有超出偶然的差异，{figures:join、} 仍可能藏有差异",
    "verdict.no-change": "用户可感的每项指标都在原值的容差之内",
    "verdict.traded": (
        "变好：{better:join、}（{better_moves:join，}）；变差：{worse:join、}（{worse_moves:join，}）：请用 --slo "
        "说明以何为准"
    ),
    "verdict.traded.whole": (
        "以整个请求（E2E）为准；变好：{better:join、}（{better_moves:join，}）；变差：{worse:join、}"
        "（{worse_moves:join，}）"
    ),
    "verdict.slo.already": "INCIDENT 已满足 SLO：无从谈恢复",
    "verdict.slo.worse": "比 INCIDENT 更差：{figures:join、}（{moves:join，}），且超出 SLO：{bounds:join；}",
    "verdict.slo.beyond": "仍超出 SLO：{bounds:join；}",
    "verdict.slo.unclear": "不足以判断是否满足 SLO：{bounds:join；}",
    "verdict.slo.chance": "AFTER 满足 SLO，但 {figures:join、} 比 INCIDENT 好得未超出偶然：可能复发",
    "verdict.slo.met": "AFTER 满足 SLO（{bounds:join；}），且明显好于 INCIDENT：{figures:join、}",
    "verdict.base.worse": "比 INCIDENT 更差，且高于 BASELINE：{figures:join、}（{rest:join；}）",
    "verdict.base.unharmed": "用户可感的指标上，INCIDENT 比 BASELINE 差得未超出偶然：无法判断恢复",
    "verdict.base.above": "仍高于 BASELINE：{figures:join、}（{rest:join；}）",
    "verdict.base.unclear": "不足以判断是否回到 BASELINE：{figures:join、}（{rest:join；}）",
    "verdict.base.chance": "已回到 BASELINE，但比 INCIDENT 好得未超出偶然：{figures:join、}（{rest:join；}）",
    "verdict.base.back": "已回到 BASELINE：{figures:join、}（{rest:join；}）",
    "compare.span": "{from} 至 {to}",
    "compare.needs": "需要",
    "compare.note": "说明：{text:phrase}",
    "compare.comparable": "可比？",
    "compare.incident": "事故",
    "compare.after": "之后",
    "compare.baseline": "基线",
    "compare.alike": "相近",
    "compare.argument": "参数",
    "compare.not-set": "未设置",
    "compare.changed": "已变",
    "compare.more": "另有 {n} 个参数不同；--format json 给出全部",
    "compare.figure": "指标",
    "compare.ratio": "之后 / 事故（95 %）",
    "compare.worth": "n（有效）",
    "compare.n": "n",
    "compare.change": "变化",
    "compare.class": "类别",
    "compare.basis": "来自{basis:join、}；请求共处同一段坏时间时，有效的 n 少于计数",
    "compare.rule": (
        "变好或变差：相差超过 {margin:g} %，且对参与判断的 {n} 项指标校正后仍超出偶然（{alpha:g} %）；相同：整个区间都"
        "在该容差之内"
    ),
    "compare.star": "* 其自身区间排除了无变化，但对 {n:join 或 } 项指标校正后不再成立",
    "compare.range": "{least:phrase} 至 {most:phrase}",
    "compare.times": "x{ratio}（{low} 至 {high}）",
    "compare.points": "{difference}（{low} 至 {high}）个百分点",
    "compare.plain": "{difference}（{low} 至 {high}）",
    "compare.not-alike": "不相近：{text:phrase}",
    "compare.moved": "参数 `{key}`：{before:phrase} → {after:phrase}",
    "compare.slo.met": "满足",
    "compare.slo.missed": "未满足",
    "compare.slo.unclear": "不明",
    "compare.settle": "需要：{text:phrase}",
}
