"""A file of prompts: what somebody copied out to show that "the same" prompt is sent again and again.

Three forms: message objects as LangChain prints them (`SystemMessage(content='…`), whole or cut; sections behind
lines such as `--- prompt 2 ---`; JSON lines with `messages` or `prompt` (also inside `body`, as batch files have them).
Lengths are in characters of what is shown, without any chat template.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from ridgeline.signals.prompt.book import Book, Prompt, prompt_rows
from ridgeline.signals.rows import Reading, Rows
from ridgeline.signals.stream import Blob
from ridgeline.signals.unread import unread_rows

MESSAGE: Final = re.compile(r"\s*[\[(]?\s*((?:System|Human|AI|Tool|Function|Chat)Message)(?:Chunk)?\(content=(['\"]?)")
# `=== request 2 ===` or `Prompt 2:`; a bare "Turn 2" heads many a benchmark's table.
SECTION: Final = re.compile(
    r"(?i)(?:[-=#*<]{3,12}\s{0,2}(?:prompt|request|turn)|\s{0,4}prompt)\s{0,2}[#:]?\s{0,2}\d{1,6}\b[-=#*>:\s]{0,12}$"
)
TEXT_LIMIT: Final = 4_000_000


def looks_like_prompts(lines: list[str]) -> bool:
    """Whether text lines are prompts of one of the two forms that are no JSON."""
    if MESSAGE.match(lines[0]):
        return True
    return bool(SECTION.match(lines[0])) and sum(1 for line in lines if SECTION.match(line)) >= 2


def read(blob: Blob, reading: Reading) -> Iterator[Rows]:
    """Rows of `prompts`, one for each prompt of the file; `unread` for what stands before the first."""
    data = blob.whole(reading)
    lines = data.decode("utf-8", "replace").removesuffix("\n").split("\n")
    reading.lines += len(lines)
    found, unread, blank = split(lines)
    reading.blank += blank
    reading.understood += len(lines) - blank - len(unread)
    prompts = [Prompt(line, None, "chars", text[:TEXT_LIMIT], len(text), None) for line, text in found]
    reading.note(f"{reading.path}: {len(prompts)} prompts, compared as they are written: lengths are in characters")
    yield from prompt_rows(prompts, reading, Book())
    if unread:
        yield unread_rows(reading, unread)


def split(lines: list[str]) -> tuple[list[tuple[int, str]], list[tuple[int, str]], int]:
    """(number of its first line and text of each prompt, lines that belong to none, blank lines) of a file's lines."""
    found: list[tuple[int, list[str]]] = []
    unread: list[tuple[int, str]] = []
    blank = 0
    opener: str | None = None
    sections = any(SECTION.match(line) for line in lines[:60]) and not any(MESSAGE.match(line) for line in lines[:60])
    for number, line in enumerate((line.rstrip("\r") for line in lines), 1):
        message = MESSAGE.match(line)
        if sections and SECTION.match(line):
            found.append((number, []))
        elif message and opener in (None, message.group(1)):
            opener = message.group(1)
            found.append((number, [line[message.end() :]]))
        elif line.lstrip().startswith("{") and (text := of_json(line)) is not None:
            found.append((number, [text]))
            opener = ""
        elif not line.strip() and not (found and sections):
            blank += 1
        elif found and opener != "":
            found[-1][1].append(line)
        else:
            unread.append((number, line[:500]))
    return [(number, "\n".join(parts).strip("\n")) for number, parts in found], unread, blank


def of_json(line: str) -> str | None:
    """The prompt of one JSON line as text, messages in order with their roles; None where it holds none."""
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None
    if not isinstance(value, dict):
        return None
    body = value["body"] if isinstance(value.get("body"), dict) else value
    messages, prompt = body.get("messages"), body.get("prompt")
    if isinstance(messages, list):
        tools = [json.dumps(body["tools"], ensure_ascii=False)] if body.get("tools") else []
        return "\n".join([*tools, *(_message(one) for one in messages)])
    return prompt if isinstance(prompt, str) else None


def _message(one: Any) -> str:
    if not isinstance(one, dict):
        return json.dumps(one, ensure_ascii=False)
    content = one.get("content")
    said = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return f"<{one.get('role')}>\n{said}"
