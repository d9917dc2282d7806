"""Chinese of what `prefix` and `request` say as plain texts: where tokens went, what was assumed, whose view it is."""

from typing import Final

WENT: Final[dict[str, str]] = {
    "found in the cache of its own rank": "在本 rank 的缓存中命中",
    "another rank held it": "在另一个 rank 上",
    "it had been held, and was evicted": "曾在缓存中，已被驱逐",
    "held under another adapter, extra key or salt": "在另一个 adapter、extra key 或 salt 之下",
    "seen before, beyond the last whole page": "见过，但在最后一个整页之外",
    "equal to an earlier prompt, behind a difference": "与先前的 prompt 相同，但在不同之处以后",
    "never seen before": "从未见过",
    "cut out of the log: cannot be told": "日志中被截去：无法判断",
    "the one token of each prompt that is always computed": "每个 prompt 总要计算的一个 token",
    "class": "类别",
    "key": "键",
    "(none)": "（无）",
    "clock or date": "时间或日期",
    "number": "数字",
    "counter": "计数器",
    "random value": "随机值",
    "whitespace or template": "空白或模板",
    "order of parts": "各部分的顺序",
    "tool-schema order": "tool schema 的顺序",
    "namespace": "命名空间",
    "changing text": "变化的文本",
    "token ids": "token id",
    "prompts or their ids": "prompt 或其 token id",
}  # fmt: skip

ASSUMED: Final[dict[str, str]] = {
    "{n} other prompts are known as text only: they fill no page here": "另有 {n} 个 prompt 只有文本：此处不占页",
    "only text is there, no token ids: all lengths are in characters, compared in steps of {n}":
        "只有文本，没有 token id：长度均以字符计，按 {n} 个字符一步比较",
    "page of {n} {unit} ({from})": "页为 {n} {unit}（{from}）",
    "prefixes are known in steps of {n}: page-misaligned is a lower bound":
        "前缀只能按 {n} 一步得知：page-misaligned 为下界",
    "page size {from}: page-misaligned cannot be told; steps of {n} {unit}":
        "页大小{from}：page-misaligned 无法判断；按 {n} {unit} 一步",
    "a page of {n} cannot be seen in steps of {step}: page-misaligned cannot be told":
        "按 {step} 一步看不出大小为 {n} 的页：page-misaligned 无法判断",
    "what agrees beyond the last whole step of {n} {unit} stands under never-seen":
        "最后一个整步（{n} {unit}）之后相同的部分计入 never-seen",
    "size of the pool: {why}; eviction cannot be told and hits are an upper bound":
        "KV 池大小：{why}；eviction 无法判断，命中为上界",
    "counted in tokens, which text does not show": "以 token 计，文本看不出",
    "pool of {sizes} tokens a rank ({from}); prompts and outputs fill it in order of time, the least recent pages "
    "leave first, and what runs at the moment holds nothing back":
        "每 rank 的 KV 池为 {sizes} token（{from}）；prompt 与输出按时间顺序填入，最久未用的页先离开，正在运行的请求"
        "不额外占住",
    "the rank of the prompts is not known: one cache for all is assumed, scattered-routing cannot be told":
        "prompt 所在的 rank 未知：假定共用一个缓存，scattered-routing 无法判断",
    "keys (adapter, extra key, salt) are not in the source: key-split cannot be told":
        "来源中没有键（adapter、extra key、salt）：key-split 无法判断",
    "numbers of blocks show no content: prompt-drift cannot be told and stands under never-seen":
        "块编号看不出内容：prompt-drift 无法判断，计入 never-seen",
    "{n} prompts are cut and their length is not said: only what is shown counts":
        "{n} 个 prompt 被截断且没有长度：只计显示的部分",
    "what the log cut out may have hit: with it, hits are a lower bound": "日志截去的部分可能命中：命中为下界",
    "the prefix cache is switched off: the hits are what it would have found":
        "前缀缓存已关闭：命中是指它若开启会命中的",
    "servers": "服务给出",
    "given": "用户给定",
    "not stated": "未给出",
    "not stated: taken as endless": "未给出：按无限计",
    "servers, not of every rank": "服务给出，但并非每个 rank",
    "servers, which differ ({pages}); the largest was taken": "服务给出但不一致（{pages}）；取最大者",
    "servers, the host tier of {n} times the pool counted": "服务给出，计入 {n} 倍于 KV 池的主机层",
    "a tier of unknown size stands behind the pool: taken as endless": "KV 池之后有大小未知的一层：按无限计",
}  # fmt: skip

SEEN: Final[dict[str, str]] = {
    "{what}, as {who} saw it ({at})": "{what}，{who}所见（{at}）",
    "{what}, as {who} saw it": "{what}，{who}所见",
    "this request": "该请求",
    "this request by the client's id": "该请求（按客户端的 id）",
    "a request whose id begins so": "id 以此开头的请求",
    "a normal one of its shape": "形状相近的正常请求",
    "the client": "客户端",
    "the gateway": "网关",
    "the server": "服务",
    "the prefill server": "prefill 侧服务",
    "the decode server": "decode 侧服务",
    "no stage known": "各阶段未知",
    ", and no other request of its lengths is": "，而同长度的其他请求都不慢",
}  # fmt: skip

PREFIX: Final[dict[str, str]] = {**WENT, **ASSUMED, **SEEN}
