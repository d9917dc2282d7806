"""Chinese of names that pictures carry: groups of requests, classes, decisions."""

from typing import Final

LOTS: Final = {"slowest tenth": "最慢的十分之一", "the others": "其余", "baseline": "基线"}
NAMED: Final[dict[str, str]] = {
    **LOTS,
    **{f"{side}: {en}": f"{side}：{zh}" for side in ("prefill", "decode", "unified") for en, zh in LOTS.items()},
    "{name} (length explains it)": "{name}（由长度即可解释）",
    "unpinned": "不再指定 rank",
    "{settings}, unpinned": "{settings}，不再指定 rank",
    "not shown by the source": "来源未给出",
    "nothing": "无",
    "no date": "无日期",
}  # fmt: skip
