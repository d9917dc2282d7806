"""Text from logs and requests is written by strangers: make it safe to print.

Terminal control sequences, other control characters and bidirectional overrides are shown as visible escapes.
"""

import re
from typing import Final

_UNSAFE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def plain(text: str, limit: int = 500) -> str:
    """One printable line: newlines and tabs become spaces, unsafe characters `\\xNN` or `\\uNNNN`, cut at `limit`."""
    flat = text.replace("\n", " ").replace("\t", " ")
    safe = _UNSAFE.sub(_shown, flat)
    return safe if len(safe) <= limit else safe[: limit - 1] + "…"


def markdown(text: str, limit: int = 500) -> str:
    """`plain`, with the characters that Markdown or HTML would act on escaped."""
    return re.sub(r"([\\`*\[\]<>|])", r"\\\1", plain(text, limit))


def _shown(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
