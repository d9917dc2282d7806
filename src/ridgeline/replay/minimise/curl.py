"""The reduced requests as files and as the literal commands that send them."""

import json
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from ridgeline.replay.body import Manner, body_of, json_of, path_of
from ridgeline.replay.shot import Shot
from ridgeline.replay.target import Target

REQUESTS: Final = "minimal.jsonl"
SCRIPT: Final = "reproduce.sh"
INLINE_CHARS: Final = 2_000
"""A body up to this long stands in the command itself, a longer one in a file beside it."""


def request_rows(shots: Sequence[Shot], manner: Manner, due_s: Sequence[float]) -> list[dict[str, Any]]:
    """Endpoint, seconds after the first, headers and body of each."""
    return [
        {
            "recorded_rid": shot.rid,
            "after_s": round(at_s, 6),
            "path": path_of(shot, manner),
            "headers": dict(shot.headers),
            "body": body_of(shot, manner),
        }
        for shot, at_s in zip(shots, due_s, strict=True)
    ]


def curls(rows: Sequence[dict[str, Any]], target: Target, folder: Path) -> list[str]:
    """One command for each; bodies that are too long for a line are written to `folder`."""
    out: list[str] = []
    for number, row in enumerate(rows, 1):
        body = json.dumps(row["body"], separators=(",", ":"))  # ASCII: what is printed can be pasted
        words = ["curl", "-sS", "-N", target.base + row["path"], "-H", "Content-Type: application/json"]
        for name, value in row["headers"].items():
            words += ["-H", f"{name}: {value}"]
        if len(body) > INLINE_CHARS or "```" in body:
            path = folder / f"request-{number}.json"
            write_private(path, body.encode() + b"\n")
            words += ["--data-binary", f"@{path}"]
        else:
            words += ["--data-raw", body]
        line = shlex.join(words)
        if target.headers:
            line += ' -H "Authorization: Bearer $API_KEY"'
        out.append(line)
    return out


def write_requests(
    folder: Path, shots: Sequence[Shot], manner: Manner, due_s: Sequence[float], target: Target
) -> list[str]:
    """Write `minimal.jsonl` and `reproduce.sh` (readable by the owner only); returns the commands."""
    rows = request_rows(shots, manner, due_s)
    commands = curls(rows, target, folder)
    write_private(folder / REQUESTS, b"".join(json_of(row) + b"\n" for row in rows))
    lines = ["#!/bin/sh", "# Sends the reduced requests at their times."]
    at_s = 0.0
    for row, command in zip(rows, commands, strict=True):
        if row["after_s"] > at_s:
            lines.append(f"sleep {row['after_s'] - at_s:.3f}")
            at_s = row["after_s"]
        lines.append(command + (" &" if len(rows) > 1 else ""))
    lines += ["wait"] if len(rows) > 1 else []
    write_private(folder / SCRIPT, "\n".join([*lines, ""]).encode("utf-8", "surrogatepass"))
    return commands


def write_private(path: Path, data: bytes) -> None:
    """A file only its owner can read: it holds what people wrote to a model."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as f:
        f.write(data)
