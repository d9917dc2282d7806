"""Values of settings that must never be kept: told by the key's words or by the look of the value."""

import re
from typing import Final

HIDDEN: Final = "<redacted>"
SECRET_WORDS: Final = frozenset(
    {"secret", "password", "passwd", "pwd", "credential", "credentials", "bearer", "authorization", "cookie", "apikey"}
)
# `key` and `token` name ordinary settings too (routing_key, max_total_tokens): only together with one of these.
KEY_BEFORE: Final = frozenset(
    {"api", "access", "secret", "private", "admin", "auth", "encryption", "signing", "ssh", "watermark"}
)
SECRET_VALUE: Final = re.compile(
    r"\b(?:sk|pk|rk)-[A-Za-z0-9_\-]{16,}|\bhf_[A-Za-z0-9]{16,}|\bgh[pousr]_[A-Za-z0-9]{16,}|\bAKIA[0-9A-Z]{12,}"
    r"|\bBearer\s+[\w\-.=+/]{8,}|\beyJ[\w\-]{10,}\.[\w\-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
SECRET_ARGUMENT: Final = re.compile(
    r"((?:--|\b)(?:[\w-]*[-_])?(?:api[-_]?key|password|passwd|secret|token|access[-_]key)(?:[-_]password)?)(\s*=\s*|\s+)"
    r"(?!--)(\"[^\"]*\"|'[^']*'|\S+)",
    re.IGNORECASE,
)
USER_IN_URL: Final = re.compile(r"(\w+://)[^/\s:@]+:[^/\s@]+@")


def is_secret(key: str) -> bool:
    """True where a setting of that name holds a secret."""
    words = [word for word in re.split(r"[^a-z0-9]+", key.lower()) if word]
    if SECRET_WORDS & set(words):
        return True
    if not words:
        return False
    if "key" in words[1:] and words[words.index("key", 1) - 1] in KEY_BEFORE:
        return True
    return words[-1] == "token"


def clean(key: str, value: str | None) -> str | None:
    """The value of a setting as it may be kept; null stays null, so that "not set" is still known."""
    if not value:
        return value
    return HIDDEN if is_secret(key) else clean_text(value)


def clean_text(text: str) -> str:
    """A text (a command line, an address) with secrets inside it taken out."""
    text = SECRET_VALUE.sub(HIDDEN, text)
    text = SECRET_ARGUMENT.sub(lambda found: f"{found[1]}{found[2]}{HIDDEN}", text)
    return USER_IN_URL.sub(lambda found: f"{found[1]}{HIDDEN}@", text)
