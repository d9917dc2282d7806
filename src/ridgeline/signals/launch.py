"""Launch commands → `config` (origin `launch`) and `servers`.

Read: shell command lines (`python -m sglang.launch_server …`, `sglang serve`, `vllm serve`, with continuations,
environment before or inside), Kubernetes and compose snippets (`command:`/`args:` lists, `env:`), and `run.json`
(`{"cmd": […]}`). Keys are named as in server_info: `--tp 8` of SGLang is `tp_size`.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ridgeline.signals.launch_commands import ENV, STOPS, commands, engine_of
from ridgeline.signals.rows import Reading, Rows, rows_of
from ridgeline.signals.secrets import clean
from ridgeline.signals.settings import ROLES, VALUE_CHARS, config_rows, server_columns
from ridgeline.signals.stream import Blob
from ridgeline.signals.unread import unread_rows
from ridgeline.words.launch import launch_arg
from ridgeline.words.versions import Engine

# A word that begins with a dash and is still a value.
NEGATIVE: Final = re.compile(r"-\d+(?:\.\d+)?$")
KV_ROLE: Final = re.compile(r"kv_role\W+kv_(producer|consumer)")


def read(blob: Blob, reading: Reading) -> Iterator[Rows]:
    """Rows of `config` and `servers`; text without a command goes to `unread`."""
    text = blob.whole(reading).decode("utf-8", "replace")
    reading.lines += text.count("\n") + (not text.endswith("\n") and bool(text))
    config: list[dict[str, Any]] = []
    servers: list[dict[str, Any]] = []
    unread: list[tuple[int, str]] = []
    for line, words, ts in commands(text, reading, unread):
        engine, settings = settings_of(words)
        config += [{"key": k, "value": v, "origin": "launch", "ts": ts, "line": line} for k, v in settings.items()]
        role = _role(engine, settings)
        reading.role = role or reading.role
        reading.saw(ts, ts)
        servers.append(
            {
                "engine": engine,
                "role": role,
                "model": settings.get("served_model_name") or settings.get("model_path") or settings.get("model"),
                **server_columns(settings),
                "line": line,
            }
        )
        reading.understood += 1
    if servers:
        columns = {name: [row[name] for row in servers] for name in servers[0]}
        yield rows_of("servers", {**columns, "source": [reading.source] * len(servers)})
    yield from config_rows(reading, config)
    if unread:
        yield unread_rows(reading, unread)


def settings_of(words: Sequence[str]) -> tuple[Engine, dict[str, str]]:
    """(engine, settings) of a command in words; flags without a value are `true`, environment is `env.NAME`."""
    found = engine_of(words)
    engine, at = found if found is not None else ("sglang", 0)
    out = {f"env.{m[1]}": clean(m[1], m[2]) or "" for word in words[:at] if (m := ENV.fullmatch(word))}
    if engine == "vllm" and at < len(words) and not words[at].startswith("-"):
        out["model"] = words[at]
        at += 1
    while at < len(words):
        word = words[at]
        at += 1
        if word in STOPS:
            break
        if not word.startswith("--"):
            continue
        flag, given, value = word.partition("=")
        values = [value] if given else []
        while not given and at < len(words) and words[at] not in STOPS and _is_value(words[at]):
            values.append(words[at])
            at += 1
        out.update([_setting(engine, flag, values)])
    return engine, out


def _setting(engine: Engine, flag: str, values: Sequence[str]) -> tuple[str, str]:
    name = flag.lstrip("-").replace("-", "_")
    entry = None if engine == "gateway" else launch_arg(flag, engine)
    off = entry is None and name.startswith("no_")
    key = entry.name if entry is not None else name.removeprefix("no_") if off else name
    text = "false" if off else "true" if not values else values[0] if len(values) == 1 else json.dumps(list(values))
    return key, (clean(key, text) or "")[:VALUE_CHARS] if values else text


def _role(engine: Engine, settings: Mapping[str, str]) -> str | None:
    if engine == "gateway":
        return "gateway"
    if engine == "vllm":
        told = KV_ROLE.search(settings.get("kv_transfer_config", ""))
        return None if told is None else "prefill" if told[1] == "producer" else "decode"
    return ROLES.get(settings.get("disaggregation_mode", "null"))


def _is_value(word: str) -> bool:
    return not word.startswith("-") or NEGATIVE.match(word) is not None
