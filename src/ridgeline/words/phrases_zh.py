"""Chinese of texts that are no entry of the catalogue: switches, next steps, public threads; by their English text.

A text may hold named figures like a template of the catalogue; what stands in their place is put into Chinese by
itself where it is such a text again.
"""

from typing import Final

from ridgeline.words.messages_asks_en import ASKS as ASKS_EN
from ridgeline.words.messages_asks_en import HELD as HELD_EN
from ridgeline.words.messages_asks_zh import ASKS, HELD
from ridgeline.words.phrases_causes_zh import LOOKS
from ridgeline.words.phrases_compare_zh import COMPARING
from ridgeline.words.phrases_notes_zh import NOTES
from ridgeline.words.phrases_page_zh import NAMED
from ridgeline.words.phrases_prefix_zh import PREFIX
from ridgeline.words.phrases_remedies_zh import ACTIONS, PRICES, SUITED
from ridgeline.words.phrases_sim_zh import SIM

SWITCHES: Final[dict[str, str]] = {
    "no load endpoint in this version: use /metrics or the log": "该版本没有负载端点：请用 /metrics 或日志",
    "keep the server's standard output": "保留服务的标准输出",
    "header x-smg-routing-key on each request": "每个请求带上 header x-smg-routing-key",
    "header X-Data-Parallel-Rank or field routed_dp_rank": "header X-Data-Parallel-Rank 或字段 routed_dp_rank",
    "py-spy dump --pid PID of the scheduler": "对调度器 py-spy dump --pid PID",
    "the line `non-default args` of the start-up log": "启动日志中的 `non-default args` 行",
    "GET /metrics with --enable-metrics": "GET /metrics（需 --enable-metrics）",
    "default; do not pass --disable-log-stats": "默认开启；不要传 --disable-log-stats",
    "default; GET /metrics": "默认开启；GET /metrics",
    "no stamps of its own: stages are laid end to end from their durations": "自身没有时间戳：各阶段按时长首尾相接",
    "a view from outside: the server's own records tell its queue and stages":
        "这是外部的视角：服务自己的记录才能说明其排队与各阶段",
    "queue time not known (needs {how})": "排队时间未知（需要 {how}）",
    "{how} ({since} on)": "{how}（{since} 起）",
    "{signal} (not in {engine})": "{signal}（{engine} 没有）",
}  # fmt: skip

NEXT: Final[dict[str, str]] = {
    "to tell {what}: {how}": "要弄清“{what}”：{how}",
    "to try other settings offline, record each request first: {how}": "要离线试验其他设置，先记录每个请求：{how}",
    "send the requests of {dump} to a clean server of the same version: does the fault come back?":
        "把 {dump} 中的请求发给同版本的干净服务：故障会重现吗？",
    "send the same requests to a clean server of the same version; to have them next time: {keep}":
        "把同样的请求发给同版本的干净服务；为下次留存请求：{keep}",
    "--crash-dump-folder DIR, or dump_requests_folder by POST /configure_logging":
        "--crash-dump-folder DIR，或用 POST /configure_logging 设 dump_requests_folder",
    "only if it is still unexplained: POST /start_profile "
    '{"num_steps": 20, "activities": ["CPU", "GPU"], "profile_by_stage": true, "output_dir": "/tmp/profile"} '
    "while the incident shows (never sent by ridgeline; slows serving for those steps; one trace file for each rank)":
        '仍无法解释时才做：在问题出现期间 POST /start_profile {"num_steps": 20, "activities": ["CPU", "GPU"], '
        '"profile_by_stage": true, "output_dir": "/tmp/profile"}（ridgeline 绝不会自己发送；这些步内服务会变慢；'
        "每个 rank 一个 trace 文件）",
    "candidate ({version}, same words in a public thread; read it before believing it): {says} {url}":
        "候选（{version}，公开讨论中有相同的文字；先读再信）：{says} {url}",
    "a version not known here": "版本未知",
}  # fmt: skip

THREADS: Final[dict[str, str]] = {
    "a client that leaves mid-stream is not aborted: its request decodes on and holds its slot":
        "客户端中途离开后没有被 abort：它的请求继续 decode 并占着槽位",
    "the idle check finds tokens missing since 0.5.3.post3, not in 0.5.3":
        "空闲检查自 0.5.3.post3 起发现缺少 token，0.5.3 没有",
    "the idle check ends the server although tokens are only counted twice (page size above 1)":
        "空闲检查使服务退出，而 token 只是被重复计数（page size 大于 1）",
    "the idle check of 0.5.18 ends the server under speculative decoding": "0.5.18 的空闲检查在推测解码下使服务退出",
    "metadata slots of two requests collide at high concurrency between prefill and decode":
        "高并发时，prefill 与 decode 之间两个请求的 metadata 槽位冲突",
    "a slot that is used again still names its former room: a false alarm where transfers go over TCP":
        "复用的槽位仍带着之前的 room：经 TCP 传输时是误报",
    "with a large page admission counts fewer tokens than whole pages take":
        "页较大时，准入计算的 token 少于整页实际占用的",
    "at a high request rate the handshake stops and requests end after the bootstrap timeout":
        "请求速率高时握手停止，请求在 bootstrap 超时后结束",
    "after hours without traffic the first requests through the router fail":
        "数小时没有流量之后，经路由器的首批请求失败",
    "prefill frees KV after its time-out and decode reads what is no longer there":
        "prefill 超时后释放 KV，decode 读取的已不存在",
    "with asynchronous scheduling decode reads before the time-out of prefill is set":
        "异步调度下，decode 在 prefill 的超时设定之前就读取",
    "a tensor-parallel worker hangs under speculative decoding until the call times out":
        "推测解码下有张量并行 worker 停住，直到调用超时",
    "a worker does not answer and the engine ends": "有 worker 没有应答，引擎退出",
}  # fmt: skip

BASES: Final[dict[str, str]] = {
    "stated": "明确给出",
    "the default": "默认值",
    "derived from tokens and usage": "由 token 数与使用率推算",
    "inferred from where it stands still": "由停滞处推断",
    "never seen: running kept rising": "从未见到：运行数一直在上升",
    "counters": "counter",
    "characters": "字符",
    "prefill lines": "prefill 行",
    "times": "倍",
    "per minute": "每分钟",
    "tokens/s": "token/s",
    "s/token": "s/token",
}

PHRASES: Final[dict[str, str]] = {
    **{
        en: zh for name, texts in ASKS_EN.items() for en, zh in zip(texts, ASKS[name], strict=True)
    },
    **{text: HELD[key] for key, text in HELD_EN.items()},
    **LOOKS, **ACTIONS, **SUITED, **PRICES, **SWITCHES, **NEXT, **THREADS, **BASES, **SIM, **COMPARING, **PREFIX,
    **NAMED, **NOTES,
}  # fmt: skip
