"""Values of settings that must never be kept: told by the key's words or by the look of the value."""

import re
from typing import Final

HIDDEN: Final = "<secret>"
CUT_BEFORE: Final = "<redacted>"  # how the engine itself shows a secret
SECRET_WORDS: Final = frozenset(
    {"secret", "password", "passwd", "pwd", "credential", "credentials", "bearer", "authorization", "cookie", "apikey"}
)
# `key` and `token` name ordinary settings too (routing_key, max_total_tokens): only together with one of these.
KEY_BEFORE: Final = frozenset(
    {"api", "access", "secret", "private", "admin", "auth", "encryption", "signing", "ssh", "watermark"}
)
# Only where a whole text is a command line: there `token X` is a setting, in a log line it is a word.
SECRET_ARGUMENT: Final = re.compile(
    r"((?:--|\b)(?:[\w-]*[-_])?(?:api[-_]?key|password|passwd|secret|token|access[-_]key)(?:[-_]password)?)(\s*=\s*|\s+)"
    r"(?!--)(\"[^\"]*\"|'[^']*'|\S+)",
    re.IGNORECASE,
)
# `*` stands for digits in templates, which are made before anything is cut out.
_SECRETS: Final = (
    # A token has a digit or padding in it; "bearer of" and "basic setup" have not.
    (re.compile(r"(?i)\b(bearer|basic)[ \t]+(?=[^\s\"']*[0-9=*])[A-Za-z0-9._~+/=*-]{8,}"), r"\1 <secret>"),
    (re.compile(r"\b(?:hf|sk|pk|rk|gh[oprsu]|glpat|xox[abprs])[_-][A-Za-z0-9._*-]{12,}"), "<secret>"),
    (re.compile(r"\b(?:(?:AKIA|ASIA)[0-9A-Z*]{12,}|AIza[\w*-]{20,}|eyJ[\w*-]{8,}\.[\w*-]+(?:\.[\w*-]+)?)"), "<secret>"),
    (re.compile(r"(://)[^\s:/@'\"]*:[^\s@/'\"]+@"), r"\1<secret>@"),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----[^\n]*"), "<secret>"),
    # An address without its scheme, as a scrape's instance.
    (re.compile(r"((?:^|[\s\"'])[\w.-]+):[^\s:@/'\"]+@(?=[\w.-]+:\d)"), r"\1:<secret>@"),
    (
        re.compile(
            r"(?i)((?:api[_-]?key|secret|password|passwd|access[_-]?key|auth[_-]?token|access[_-]?token|hf[_-]?token"
            r"|admin[_-]?key|authorization|cookie)(?P<end>\\*[\"'])?[ \t]*[:=][ \t]*)"
            r"(?:(?P<quote>\\*\")[^\"\n]*?(?P=quote)|(?P<single>')[^'\n]*'"
            r"|(?!None\b|null\b|False\b|True\b|\\*[\"']|<secret>)[^\s,;)}\]&\"'\\]+(?:;[ ]?[\w.-]+=[^\s;\"'\\]+)*)"
        ),
        r"\1\g<quote>\g<single><secret>\g<quote>\g<single>",
    ),
    # A flag with its value behind a blank.
    (
        re.compile(
            r"(?i)(--[\w-]*(?:api[_-]key|secret|password|passwd|access[_-]key|admin[_-]key|(?<!max-)(?<!chat-)token)"
            r"[ \t]+)"
            r"(?!-|<secret>)(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s\"',;)}\]]+)"
        ),
        r"\1<secret>",
    ),
)
# Names of settings that hold secrets, for SQL's `regexp_matches`: what is stored was cleaned by `clean` before.
SECRET_KEY: Final = r"(?i)(api_?key|secret|passw|admin_?key|(auth|hf)_?token|access_?(token|key)|authorization|cookie)"


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
    if not value or value == CUT_BEFORE:
        return value
    return HIDDEN if is_secret(key) else clean_text(value)


def clean_text(text: str) -> str:
    """A command line or an address with secrets inside it taken out."""
    return SECRET_ARGUMENT.sub(lambda found: f"{found[1]}{found[2]}{HIDDEN}", scrubbed(text))


def scrubbed(text: str) -> str:
    """Free text without secrets: bearer tokens, API keys, passwords in URLs and in key=value pairs."""
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text
