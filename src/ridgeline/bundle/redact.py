"""What a stored bundle hides: ids and names become keyed hashes, secrets never enter.

The key lies outside the bundle (`$RIDGELINE_KEY_FILE` or `~/.config/ridgeline/key`, made on first use, readable by its
owner only): the same id hashes alike in every bundle of one user, and nobody else can try ids out against it.
"""

import hashlib
import os
import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import duckdb

from ridgeline.bundle.prose import own_words, quiet, without_quotes
from ridgeline.model.errors import InputError
from ridgeline.signals.secrets import SECRET_KEY, scrubbed

KEY_BYTES: Final = 32
HASH_CHARS: Final = 24
SHORT_CHARS: Final = 12
PREFIX: Final = "h:"
FUNCTIONS: Final = ("clean_text", "clean_message", "clean_quotes")

# Columns whose values are hashed in a stored bundle.
HASHED: Final[dict[str, tuple[str, ...]]] = {
    "records": (
        *("rid", "client_rid", "parent_rid", "trace_id", "lora", "routing_key", "extra_key", "session_id"),
        *("user", "client"),
    ),
    "requests": (
        *("rid", "client_rid", "parent_rid", "trace_id", "lora", "routing_key", "extra_key", "session_id"),
        *("user", "client"),
    ),
    "request_attrs": ("rid",),
    "stages": ("rid",),
    "events": ("rid",),
    "prompts": ("rid", "neighbour", "namespace"),
    "spans": ("rid", "trace_id"),
}
# Messages of errors, and the kinds of event whose lines are such: they may quote what a caller sent.
MESSAGES: Final[dict[str, tuple[str, ...]]] = {
    "records": ("abort_message",),
    "requests": ("abort_message",),
    "spans": ("status",),
}
MESSAGE_KINDS: Final = ("abort", "request-error")
QUOTING: Final[dict[str, tuple[str, ...]]] = {"events": ("text", "template"), "unread": ("text", "template")}
# Columns of free text: secrets and prompts are cut out, the row's own id replaced.
TEXT: Final[dict[str, tuple[str, ...]]] = {
    "unread": ("text", "template"),
    "events": ("text", "template", "attrs"),
    "records": ("abort_message",),
    "requests": ("abort_message",),
    "spans": ("name", "attrs", "status"),
    "config": ("value",),
    "batches": ("extra",),
    "loads": ("extra",),
    "scrapes": ("endpoint", "error"),
    "series": ("labels",),
}
# A quote in a text that goes through `clean_quotes`. The one request line of an access log, which is most of the lines
# that have a quote, does not: `prose.QUOTED` leaves it as it is, and a call into Python for each is dear.
QUOTE_SQL: Final = r"""
    regexp_matches(TEXT, '["''`]')
    AND NOT regexp_full_match(TEXT, '[^"''`]*"(GET|POST|PUT|DELETE|HEAD|OPTIONS) [^"''`\\\n]*"[^"''`]*')
"""
# Settings whose values are people's words or names, whatever server adds them.
WORDS_KEY: Final = r"(?i)(^|[._])(last_)?(text|prompt|content|query|output|input|messages?)$"
NAME_KEY: Final = r"(?i)(^|[._])(user|user_?name|user_id|enduser|email)$"
HIDE_SQL: Final = """
    CREATE OR REPLACE TEMP MACRO hide(t) AS
        CASE WHEN starts_with(t, 'HEALTH_CHECK_') THEN 'HEALTH_CHECK_' ELSE '' END
        || 'h:' || substr(sha256('{key}:' || t), 1, 24)
"""
# Hashes of prefixes token by token would give the tokens away to whoever tries them out; equal stays equal.
HIDE_LIST_SQL: Final = """
    CREATE OR REPLACE TEMP MACRO hide_list(l) AS
        list_transform(l, lambda h: (('0x' || substr(sha256('{key}:' || h), 1, 16))::UBIGINT >> 1)::BIGINT)
"""
# Only a text with one of these in it goes through Python; every pattern here needs at least one.
MAY_HOLD: Final = (
    r"(?i)bearer|basic|(hf|sk|pk|rk|gh[oprsu]|glpat|xox[abprs])[_-]|akia|asia|aiza|eyj|private key|:[^\s]*@|api[_-]?key"
    r"|secret|passw|access[_-]?key|(auth|access|hf)[_-]?token|--[\w-]*token|authoriz|admin[_-]?key|cookie"
    r"|(text|prompt|content|message|detail|reason|error|input|outputs?|query|stop)[^:=]{0,24}[:=\x22\x27]"
    r"|\b(end)?user|\bemail|\brid\b|\breq(uest)? |session_id|routing_key|\d,[ \t]*\d+,"
)
SCRUB_SQL: Final = f"CASE WHEN regexp_matches(TEXT, '{MAY_HOLD}') THEN clean_text(TEXT) ELSE TEXT END"
CONFIG_VALUE_SQL: Final = f"""
    CASE
        WHEN regexp_matches("key", '{SECRET_KEY}')
            AND lower("value") NOT IN ('', 'none', 'null', 'false', 'true') THEN '<secret>'
        WHEN regexp_matches("key", '{NAME_KEY}') THEN hide("value")
        WHEN regexp_matches("key", '{WORDS_KEY}') AND regexp_matches("value", '[^ ] +[^ ]+ +[^ ]')
            THEN '<' || length("value") || ' characters>'
        WHEN "value" IS NOT NULL THEN scrub("value", '')
    END AS "value"
"""
# Attributes of a request whose values are names of the software; all other values are hashed.
OPEN_ATTRS: Final = ("err_type", "weight_version", "model", "prefix_group", "arrival", "endpoint")
ATTR_SQL: Final = f"""
    CASE
        WHEN "name" IN ('{"', '".join(OPEN_ATTRS)}') OR lower("value") IN ('true', 'false') THEN "value"
        ELSE hide("value")
    END AS "value"
"""
# A prompt in a line: a text-like key with a quoted value, closed or cut; quotes may be escaped (JSON within JSON).
_PROMPTS: Final = re.compile(
    r"""(?ix) ( \b (?: text | (?:\w+_)? prompt | content | input | outputs? | query ) (?: (?:[ ][a-z]+){0,3} | \\*["'] )
            (?: [ \t]* [:=] [ \t]* | [ ] (?=['"]) ) )
        (?: (\\+") ( (?: [^"\\\n] | \\(?!") ){12,}? ) (?: \2 | $ )
          | (") ( (?: [^"\\\n] | \\. ){12,} ) "?
          | (') ( (?: [^'\\\n] | \\. ){12,} ) '? )"""
)
# A prompt said without quotes, to the end of its line.
_SAID: Final = re.compile(r"(?i)(\bprompt(?: (?:was|is|text))?: )(?![\"'<\\{\[])((?:[^\s\"\\]+ ){3,}[^\n\"\\]+)")
# What an error said, in a record or a log line.
_REASONS: Final = re.compile(
    r"""(?i)(\b(?:message|detail|reason|error)["']?[ \t]*[:=][ \t]*)(["'])((?:\\.|(?!\2)[^\\\n]){12,})(?:\2|$)"""
)
# Who asked, and which request, where a line says it beside its own columns.
_NAMES: Final = (
    re.compile(
        r"""(?ix) ( \b (?: rid | user | user_?name | user_id | user\.name | enduser\.id | session_id | routing_key
            | email ) (?: \\*["'] )? [ \t]* [:=] [ \t]* \\*["']? )
            (?! (?:None|null|True|False|h:|HEALTH_CHECK_|<|\*)) ( [^\s"'\\,;)}\]:=&]{3,} )"""
    ),
    re.compile(r"(?i)(\bfor user )((?!h:|<)[\w.@+-]*\w)"),
    re.compile(r"(?i)(\b(?:request|req|rid) )(?=[\w-]*\d)([\w-]{16,})"),
)
# Several at once, and a trace's attributes, whose name and value stand apart.
_LISTS: Final = re.compile(
    r"""(?i)(\b(?:text|prompt|input|outputs?|stop)\\*["']?[ \t]*[:=][ \t]*)"""
    r"""\[((?:[ ]*\\*"[^"\n]*",?|[ ]*'[^'\n]*',?)+)\]"""
)
_SPANS: Final = re.compile(
    r"""(?i)("key":[ ]*"[^"]*"""
    r"""(?:prompt|completion|messages|content|user)[^"]*",[ ]*"value":[ ]*\{[ ]*"stringValue":[ ]*")"""
    r"""((?:[^"\\\n]|\\.){3,})"""
)
_TOKENS: Final = re.compile(r"\[[ \t]*\d+(?:[ \t]*,[ \t]*\d+){15,}[^\]\n]*\]?")


def load_key(path: Path | None = None) -> bytes:
    """The user's key, made if absent. Raises InputError where it can be neither read nor made."""
    at = path or _key_path()
    try:
        if at.exists():
            key = at.read_bytes()
            if len(key) < KEY_BYTES:
                raise InputError(f"{at}: is no key ({len(key)} bytes); move it away, a new one is made")
            return key[:KEY_BYTES]
        at.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        key = secrets.token_bytes(KEY_BYTES)
        with os.fdopen(os.open(at, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as f:
            f.write(key)
        return key
    except OSError as e:
        raise InputError(
            f"{at}: the key for hashing ids cannot be used ({e.strerror}); set RIDGELINE_KEY_FILE, or --keep-text"
        ) from e


def _key_path() -> Path:
    given = os.environ.get("RIDGELINE_KEY_FILE")
    return Path(given) if given else Path.home() / ".config" / "ridgeline" / "key"


def key_id(key: bytes) -> str:
    """Names the key in a manifest without giving it away."""
    return hashlib.blake2s(b"ridgeline key id", key=key, digest_size=4).hexdigest()


def hashed(text: str, key: bytes) -> str:
    """The keyed hash of an id or name; a health check stays visible as one.

    SHA-256 over key and text, cut to 96 bits: the cut leaves nothing to extend, and DuckDB computes the same.
    """
    front = "HEALTH_CHECK_" if text.startswith("HEALTH_CHECK_") else ""
    digest = hashlib.sha256(f"{key.hex()}:{text}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"{front}{PREFIX}{digest[:HASH_CHARS]}"


def without_prompts(text: str) -> str:
    """Free text without quoted prompts, outputs and token id lists; their length stays."""

    def shortened(match: re.Match[str]) -> str:
        quote = match.group(2) or match.group(4) or match.group(6)
        words = match.group(3) or match.group(5) or match.group(7)
        return f"{match.group(1)}{quote}<{len(words)} characters>{quote}"

    def emptied(match: re.Match[str]) -> str:
        return f"{match.group(1)}<{len(match.group(2))} characters>"

    def listed(match: re.Match[str]) -> str:
        quote = match.group(2).strip()[:1]
        if len(match.group(2)) < 14:
            return match.group(0)
        return (
            f"{match.group(1)}[<{len(match.group(2))} characters>]"
            if quote == "\\"
            else (f"{match.group(1)}[{quote}<{len(match.group(2))} characters>{quote}]")
        )

    def foreign(match: re.Match[str]) -> str:
        if own_words(match.group(3)):
            return match.group(0)
        return f"{match.group(1)}{match.group(2)}<{len(match.group(3))} characters>{match.group(2)}"

    text = _REASONS.sub(foreign, text)
    text = _SPANS.sub(emptied, _LISTS.sub(listed, text))
    text = _SAID.sub(emptied, text)
    return _TOKENS.sub("<token ids>", _PROMPTS.sub(shortened, text))


def without_names(text: str, key: bytes) -> str:
    """Free text in which ids and user names that it states beside their word (`rid=`, `user:`) are hashed."""
    for pattern in _NAMES:
        text = pattern.sub(lambda m: m.group(1) + hashed(m.group(2), key), text)
    return text


def install(con: duckdb.DuckDBPyConnection, key: bytes | None) -> None:
    """Make the SQL functions `hide(text)`, `hide_list(hashes)` and `scrub(text, rid)`.

    Without a key (`--keep-text`) ids and prompts stay; secrets are cut out either way. `hide` is `hashed` in SQL: the
    same digest without a call into Python for every row.
    """

    def clean(text: str) -> str:
        return scrubbed(text) if key is None else without_names(without_prompts(scrubbed(text)), key)

    def message(text: str) -> str:
        return text if key is None else quiet(text, lambda hidden: hashed(hidden, key)[: len(PREFIX) + SHORT_CHARS])

    def quoting(text: str) -> str:
        return text if key is None else without_quotes(text)

    for name, function in zip(FUNCTIONS, (clean, message, quoting), strict=True):
        con.create_function(name, function, ["VARCHAR"], "VARCHAR")
    macros(con, key)


def macros(con: duckdb.DuckDBPyConnection, key: bytes | None) -> None:
    """What of `install` is of one connection: a cursor needs its own, beside the function that all share."""
    if key is None:
        con.execute("CREATE OR REPLACE TEMP MACRO hide(t) AS t")
        con.execute("CREATE OR REPLACE TEMP MACRO hide_list(l) AS l")
        con.execute(f"CREATE OR REPLACE TEMP MACRO scrub(t, rid) AS {SCRUB_SQL.replace('TEXT', 't')}")
        return
    con.execute(HIDE_SQL.format(key=key.hex()))
    con.execute(HIDE_LIST_SQL.format(key=key.hex()))
    text = "(CASE WHEN length(rid) >= 4 THEN replace(t, rid, hide(rid)) ELSE t END)"
    con.execute(f"CREATE OR REPLACE TEMP MACRO scrub(t, rid) AS {SCRUB_SQL.replace('TEXT', text)}")


def uninstall(con: duckdb.DuckDBPyConnection) -> None:
    """Take the functions of `install` away, so that they can be made anew with another key."""
    for name in FUNCTIONS:
        con.remove_function(name)


def redacted_sql(table: str, columns: Sequence[str]) -> str:
    """The select list of a table as it is stored; column order as given."""
    rid = "coalesce(rid, '')" if "rid" in columns else "''"
    parts: list[str] = []
    for name in columns:
        if table == "config" and name == "value":
            parts.append(CONFIG_VALUE_SQL)
        elif name in HASHED.get(table, ()):
            parts.append(f'hide("{name}") AS "{name}"')
        elif table == "prompts" and name == "hashes":
            parts.append('hide_list("hashes") AS "hashes"')
        elif name in TEXT.get(table, ()):
            parts.append(_text_sql(table, name, rid))
        elif table == "request_attrs" and name == "value":
            parts.append(ATTR_SQL)
        else:
            parts.append(f'"{name}"')
    return ", ".join(parts)


def _text_sql(table: str, name: str, rid: str) -> str:
    scrub = f'scrub("{name}", {rid})'
    if name in MESSAGES.get(table, ()):
        scrub = f"clean_message({scrub})"
    elif name in QUOTING.get(table, ()):
        quoted = QUOTE_SQL.replace("TEXT", f'"{name}"')
        quotes = f"CASE WHEN {quoted} THEN clean_quotes({scrub}) ELSE {scrub} END"
        kinds = "', '".join(MESSAGE_KINDS)
        scrub = (
            quotes
            if table != "events"
            else f"CASE WHEN kind IN ('{kinds}') THEN clean_message({scrub}) ELSE {quotes} END"
        )
    return f'CASE WHEN "{name}" IS NOT NULL THEN {scrub} END AS "{name}"'
