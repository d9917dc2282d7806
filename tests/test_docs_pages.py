"""The pages of docs: each can be reached, each thing of the program has one, each option they name exists."""

import re
from pathlib import Path
from typing import Final

import pytest

from ridgeline.causes import CAUSES
from ridgeline.cli import VERBS
from ridgeline.signals.read import READERS
from ridgeline.words.flags import SWITCHES

ROOT: Final = Path(__file__).resolve().parents[1]
DOCS: Final = ROOT / "docs"
PAGES: Final = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])
LINK: Final = re.compile(r"\]\(([^)#\s]+)")
COMMAND: Final = re.compile(r"(?:^|[`$ ])ridgeline ([a-z]+)((?:[ ][^\n`|#]*)?)")
OPTION: Final = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def test_every_page_is_reached_from_the_entrance() -> None:
    reached, waiting = set[Path](), [DOCS / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md" or not page.is_relative_to(DOCS):
            continue
        reached.add(page)
        waiting += [(page.parent / link).resolve() for link in LINK.findall(text_of(page)) if "://" not in link]
    assert {p for p in PAGES if p.is_relative_to(DOCS)} - reached == set()


def test_contracts_are_linked() -> None:
    linked = set(LINK.findall(text_of(DOCS / "README.md")))
    assert {p.name for p in DOCS.glob("*.schema.json")} <= linked


def test_every_verb_cause_format_and_ladder_has_a_page() -> None:
    wanted = [f"reference/verbs/{verb}.md" for _, verb, _, _ in VERBS]
    wanted += [f"reference/causes/{cause.id}.md" for cause in CAUSES]
    wanted += [f"reference/formats/{kind}.md" for kind in READERS]
    wanted += [f"adding/{what}.md" for what in ("reader", "measure", "cause", "policy", "fault")]
    assert [name for name in wanted if not (DOCS / name).is_file()] == []
    assert sorted(p.name[0] for p in (DOCS / "ladders").glob("*.md")) == ["a", "b", "c", "d"]


def test_every_cause_is_on_a_ladder_or_in_its_layer() -> None:
    layers = {cause.id.partition(".")[0] for cause in CAUSES}
    said = "".join(text_of(page) for page in (DOCS / "ladders").glob("*.md"))
    assert {layer for layer in layers if f"`{layer}" not in said} <= {"client"}


def commands(page: Path) -> list[tuple[str, str]]:
    """(verb, the rest of the line) of every command of the program that a page shows."""
    joined = re.sub(r"\\\n\s*", " ", text_of(page))
    return [(m[1], m[2]) for m in COMMAND.finditer(joined)]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_option_shown_beside_a_verb_is_one_of_it(page: Path) -> None:
    verbs = {verb for _, verb, _, _ in VERBS}
    wrong = []
    for verb, rest in commands(page):
        if verb not in verbs:
            continue
        known = set(OPTION.findall(text_of(DOCS / "reference" / "verbs" / f"{verb}.md")))
        if verb in ("lab", "dump"):
            continue  # verbs of verbs: their options are on the pages of their parts, tested by their own
        wrong += [(verb, option) for option in OPTION.findall(rest) if option not in known | {"--help"}]
    # what follows in the same code span may be the server's own flag
    assert [w for w in wrong if w[1] not in OURS_NOT] == []


ENGINE_FLAGS: Final = {flag for switch in SWITCHES for flag in OPTION.findall(switch.how)}
OURS_NOT: Final = ENGINE_FLAGS | {"--load-balance-method", "--policy"}


def test_the_flags_to_turn_on_are_those_of_the_vocabulary() -> None:
    text = text_of(DOCS / "flags-before-you-need-them.md")
    ours = {"--raise-logging"}
    named = set(OPTION.findall(text)) - ours
    assert len(named) >= 7
    assert named <= ENGINE_FLAGS, named - ENGINE_FLAGS
    for said in ("POST /configure_logging", "GET /metrics"):
        assert any(said in switch.how for switch in SWITCHES), said
    rungs = set(re.findall(r"\b[ABCD][0-5]b?\b", text))
    on_ladders = set(re.findall(r"\b[ABCD][0-5]b?\b", "".join(text_of(p) for p in (DOCS / "ladders").glob("*.md"))))
    assert rungs <= on_ladders


def test_the_whole_list_has_every_switch() -> None:
    text = text_of(DOCS / "reference" / "flags.md")
    for switch in SWITCHES:
        if switch.kind != "absent":
            assert switch.how.replace("|", "\\|") in text, switch.how
