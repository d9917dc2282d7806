"""Chinese of the notes that readers leave beside a source; the source's own name stands before them, or is left out."""

from typing import Final

NOTES: Final[dict[str, str]] = {
    "times carry no zone; read as UTC (give --tz if the server's clock was elsewhere)":
        "时间不带时区；按 UTC 读取（若服务的时钟在别处，请给 --tz）",
    "times carry no zone; taken as UTC ({why})": "时间不带时区；取为 UTC（{why}）",
    "times carry no zone; taken as UTC{shift} ({why})": "时间不带时区；取为 UTC{shift}（{why}）",
    "requests shared with other sources: {n} agree": "与其他来源共有的请求中 {n} 个吻合",
    "times carry no zone; the wrapper's UTC times show them at UTC{shift}, read so":
        "时间不带时区；外层的 UTC 时间表明为 UTC{shift}，按此读取",
    "some times carry a zone and some none; the latter are read as UTC (give --tz)":
        "有的时间带时区、有的不带；不带的按 UTC 读取（可给 --tz）",
    "times without a zone were read as UTC; give --tz if they are local":
        "不带时区的时间按 UTC 读取；若为本地时间请给 --tz",
    "times carry no date; read as seconds of 1970-01-01, so only gaps mean anything":
        "时间不带日期；按 1970-01-01 的秒数读取，因此只有间隔有意义",
    "{n} impossible dates; those lines have no time": "{n} 个不可能的日期；这些行没有时间",
    "the clock goes back by {n} s ({jumps} such jumps); order is by line":
        "时钟倒退 {n} s（共 {jumps} 次）；按行序排列",
    "{n} samples are infinite; their values are left out": "{n} 个样本为无穷；其数值略去",
    "has the same bytes as {other}, which was read; it was left out": "与已读取的 {other} 内容相同；略去",
    "looks like {kind} and nothing in it could be read as that; it may be cut or of another version "
    "(`ridgeline sources --unread` shows its lines)":
        "看似 {kind}，但没有一处能按此读取；可能被截断或属于其他版本（`ridgeline sources --unread` 显示其行）",
    "some request-log lines were cut; only values complete before the cut were used":
        "有的请求日志行被截断；只用截断之前完整的数值",
    "some batch lines have keys of no known release; they were read by key":
        "有的 batch 行带有已知版本之外的键；按键读取",
    "batch lines of a prefill and of a decode server in one file": "同一文件中既有 prefill 又有 decode 服务的 batch 行",
    "lines in the forms of different releases ({shown})": "各行的形式分属不同版本（{shown}）",
    "the form of its lines fits releases {shown}; /server_info would settle it":
        "各行的形式符合版本 {shown}；/server_info 可以确定",
    "an export; each record's message was read as a log line": "导出文件；每条记录的 message 按日志行读取",
    "UTF-16 text; read as such": "UTF-16 文本；按此读取",
    "holds NUL bytes; left out": "含有 NUL 字节；略去",
    "free text; {n} lines are kept as they are": "自由文本；{n} 行原样保留",
    "{n} prompts, compared as they are written: lengths are in characters": "{n} 个 prompt，按原文比较：长度以字符计",
}  # fmt: skip
