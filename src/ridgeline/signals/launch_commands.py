"""Text → the commands in it that start an engine: shell lines, YAML lists, JSON lists, as lists of words."""

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from ridgeline.signals.answers import decoded
from ridgeline.signals.rows import Reading
from ridgeline.signals.scrapes import epoch
from ridgeline.words.versions import Engine

SGLANG: Final = re.compile(r"sglang[\w.]*\.(?:launch_server|launch_pd_server)$|sglang\.launch_server$")
GATEWAY: Final = re.compile(r"sglang_router[\w.]*$|sglang[\w.]*\.launch_router$")
VLLM: Final = re.compile(r"vllm\.entrypoints[\w.]*$|vllm\.[\w.]+$")
ENV: Final = re.compile(r"([A-Z][A-Z0-9_]{2,})=(.*)", re.DOTALL)
YAML_ITEM: Final = re.compile(r"^\s*-\s+(?P<item>[^\s].*?)\s*$")
YAML_NAME: Final = re.compile(r"^(?:name:\s*)(?P<name>[\"']?[A-Z][A-Z0-9_]+[\"']?)$")
YAML_VALUE: Final = re.compile(r"^\s*value:\s*(?P<value>.+?)\s*$")
STOPS: Final = frozenset({"|", "||", "&&", ";", "&", ">", ">>", "2>&1", "<"})


class Command(NamedTuple):
    """A command in words, the line it starts at, and when it was given, if the text says."""

    line: int
    words: list[str]
    ts: float | None


def commands(text: str, reading: Reading, unread: list[tuple[int, str]]) -> Iterator[Command]:
    """The commands of a text; lines that are none go to `unread`, the keys around YAML lists are passed over."""
    if text.lstrip()[:1] in ("{", "["):
        yield from _of_json(text, unread)
        return
    joined = _joined(text)
    hits = {number: words for number, line in joined if engine_of(words := _split(line)) is not None}
    listed = _of_yaml(text)
    if listed is not None and all(len(words) < 4 for words in hits.values()):
        yield listed
        return
    environment = [word for _, line in joined for word in _exported(line)]
    for number, line in joined:
        if number in hits:
            yield Command(number, [*environment, *hits[number]], None)
        elif not line.strip() or line.lstrip().startswith("#"):
            reading.blank += 1
        elif not _exported(line):
            unread.append((number, line.strip()))


def engine_of(words: Sequence[str]) -> tuple[Engine, int] | None:
    """The engine that a command starts, and the index behind the words that say so."""
    for i, word in enumerate(words):
        name = word.rpartition("/")[2]
        if SGLANG.search(word):
            return "sglang", i + 1
        if GATEWAY.match(word):
            return "gateway", i + 1
        if name == "sglang" and words[i + 1 : i + 2] == ["serve"]:
            return "sglang", i + 2
        if name == "vllm" and words[i + 1 : i + 2] == ["serve"]:
            return "vllm", i + 2
        if VLLM.match(word) and i and words[i - 1] == "-m":
            return "vllm", i + 1
    return None


def _of_json(text: str, unread: list[tuple[int, str]]) -> Iterator[Command]:
    for at, end, value in decoded(text):
        line = text.count("\n", 0, at) + 1
        words = _words_of_json(value)
        if words is None:
            unread.append((line, text[at:end].strip()))
        else:
            yield Command(line, words, epoch(value.get("started")))


def _exported(line: str) -> list[str]:
    """The settings of a line that only sets environment variables."""
    words = _split(line.strip().removeprefix("export "))
    return words if words and all(ENV.fullmatch(word) for word in words) else []


def _words_of_json(value: Any) -> list[str] | None:
    for key in ("cmd", "command", "args", "launch_command"):
        words = value.get(key) if isinstance(value, dict) else None
        if isinstance(words, str):
            return _split(words)
        if isinstance(words, list) and words and all(isinstance(word, str) for word in words):
            return words
    return None


def _joined(text: str) -> list[tuple[int, str]]:
    """Lines with backslash continuations joined, each with the number of its first line."""
    out: list[tuple[int, str]] = []
    held, first = "", 1
    for number, line in enumerate(text.splitlines(), 1):
        if not held:
            first = number
        if line.rstrip().endswith("\\"):
            held += line.rstrip()[:-1] + " "
            continue
        out.append((first, held + line))
        held = ""
    if held:
        out.append((first, held))
    return out


def _split(line: str) -> list[str]:
    try:
        words = shlex.split(line.strip().removeprefix("$ "), comments=False)
    except ValueError:  # an open quote: the line is cut, or it is no shell
        words = line.split()
    # `bash -c "python -m …"` and quoted lists hold a command in one word.
    out: list[str] = []
    for word in words:
        inner = word.split() if "sglang" in word or "vllm" in word else []
        out += _split(word) if len(inner) > 2 and word != line.strip() else [word]
    return out


def _of_yaml(text: str) -> Command | None:
    """The command in the `command:`/`args:` lists of a YAML snippet; None where it has none that start an engine."""
    words: list[str] = []
    first = 1
    name = None
    for number, line in enumerate(text.splitlines(), 1):
        flow = re.search(r"(?:command|args):\s*(\[.*\])\s*$", line)
        value = YAML_VALUE.match(line)
        item = YAML_ITEM.match(line)
        if flow:
            items = [part.strip().strip("\"'") for part in flow[1].strip("[]").split(",")]
            first = first if words else number
            words += [part for part in items if part]
        elif item and (named := YAML_NAME.match(item["item"])):
            name = named["name"].strip("\"'")
        elif value and name:
            words.insert(0, f"{name}={value['value'].strip(chr(34) + chr(39))}")
            name = None
        elif item and not item["item"].startswith(("name:", "image:", "{")):
            first = first if words else number
            words += _split(item["item"])
    return Command(first, words, None) if engine_of(words) is not None else None
