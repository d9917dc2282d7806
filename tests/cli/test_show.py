"""`show` prints the lines that make a figure before the span that holds them."""

import json
import re

from ridgeline.bundle.cite import parse
from tests.cli.test_verbs import INCIDENT, run


def shown(name: str, *more: str) -> dict[str, object]:
    answer: dict[str, object] = json.loads(run("show", name, str(INCIDENT), "--format", "json", *more).stdout)
    return answer


def test_the_largest_comes_first_and_every_line_is_one_that_is_cited() -> None:
    diagnosis = json.loads(run("diagnose", str(INCIDENT), "--format", "json").stdout)
    seen = 0
    for name, evidence in diagnosis["evidence"].items():
        answer = shown(name)
        counted = answer["deciding"]
        if counted is None:
            continue
        spans = [parse(citation) for citation in evidence["sources"]]
        assert isinstance(counted, dict) and counted["rows"] >= len(counted["lines"]) > 0
        for line in counted["lines"]:
            assert any(line["source"] == path and a <= line["line"] <= b for path, a, b in spans), name
        if counted["largest"] == "usage":
            usages = [
                float(m[1]) for line in counted["lines"] if (m := re.search(r"token usage: ([\d.]+)", line["text"]))
            ]
            assert usages == sorted(usages, reverse=True)
        seen += 1
        if seen == 3:
            break
    assert seen == 3


def test_no_lines_asked_for_none_printed() -> None:
    assert shown("E1", "--lines", "0")["deciding"] is None


def test_lines_come_before_the_span() -> None:
    text = run("show", "E1", str(INCIDENT)).stdout
    assert text.index("what makes the figure") < text.index("what it cites")
