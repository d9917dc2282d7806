"""Chinese of what `prefix`, `request` and `classes` say; the same keys and figures as `messages_verbs_en`."""

from typing import Final

VERBS: Final[dict[str, str]] = {
    "prefix.no-prompts": "没有读到 prompt，无法按原因拆分损失的 token；没有它们也能知道的：",
    "prefix.nothing": "没有读到 prompt，也没有其他信息说明缓存了多少 prompt token",
    "prefix.missing": "缺少：",
    "prefix.lacks": "{signal:phrase}：{how:phrase}",
    "prefix.head": "{requests:,} 个 prompt，{tokens:,} {unit:phrase}",
    "prefix.untold": "无法判断",
    "prefix.blocks": "按块计：{blocks:,} 块中命中 {hit:,} 块（{share:.1%}）",
    "prefix.engine": "引擎有记录之处命中 {tokens:,} token 中的 {cached:,}（{share:.1%}）；此处算得 {ours:.1%}",
    "prefix.by": "按{what:phrase}，损失多的在前：",
    "prefix.group": (
        "{name:phrase}：{requests:,} 个 prompt，命中 {hit:.1%}，损失 {lost:,}[[，主要是 {reason}（{most:,}）]]"
    ),
    "prefix.first": "本该共享的 prompt 最先不同之处：",
    "prefix.difference": (
        "{kind:phrase}：{prompts:,} 个 prompt，其后有 {tokens:,} {unit:phrase}；位于 {position:,}（prompt 的 "
        "{share:.0%} 处，中位数）；例如 {where}"
    ),
    "prefix.note": "说明：{text:phrase}",
    "request.facts": "{rid}（{label}）：{stages:phrase}；{facts}",
    "request.no-twin": "没有见到形状相近且已完成的请求",
    "classes.slow": "{n} 个请求中有 {slow} 个慢（{what} 至少 {threshold:.3g} s）",
    "classes.outlier": "一个离群请求，不成类：{rid}",
    "classes.none": "没有任何输入属性能标出它们",
    "classes.by-length": "仅由长度即可解释：",
    "classes.no-peers": "没有相同长度的请求可比较：",
    "classes.class": (
        "{attributes:join 且 }：{n} 个中有 {slow} 个慢（{low:.0%} 至 {high:.0%}），lift {lift:.2f}"
        "[[，同长度内 {within:.2f}]][[{alone:phrase}]]，占慢请求的 {coverage:.0%}"
    ),
    "classes.same": "与 {attributes:join 且 } 是同一批请求",
    "classes.rest": "{n} 个慢请求不在其中任何一类",
}
