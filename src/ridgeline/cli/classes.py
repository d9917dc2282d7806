"""`ridgeline classes`: which classes of requests are slow, by how much, and what length alone explains."""

from __future__ import annotations

import json
from math import isinf
from typing import TYPE_CHECKING, Any, Literal

from ridgeline.model.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ridgeline.facts.classes import Slow
    from ridgeline.stats.class_search import SlowClass


def classes(
    *sources: str,
    label: tuple[str, ...] = (),
    tz: str | None = None,
    year: int | None = None,
    lang: Literal["en", "zh"] = "en",
    format: Literal["text", "json", "md"] = "text",
    quiet: bool = False,
) -> int:
    """Which input attributes (and pairs of them) mark the slow requests, with lift, coverage and interval.

    Parameters
    ----------
    sources
        Files, folders, globs, - for standard input, or one bundle.
    label
        ROLE=FILE or ROLE:NAME=FILE where content does not tell.
    tz
        Zone of log times that name none.
    year
        Year of log times that name none.
    lang
        Language of the sentences: en or zh.
    format
        How to print.
    quiet
        No progress bar.
    """
    from ridgeline.cli.evidence import watched
    from ridgeline.facts.classes import slow_classes
    from ridgeline.facts.points import ready

    with watched(sources, for_="60s", label=label, tz=tz, year=year, quiet=quiet) as view:
        slow = slow_classes(ready(view))
    if slow is None:
        raise InputError(
            "fewer than thirty requests with times were read; classes need the request log or the exporter "
            "(--log-requests --log-requests-level 1)"
        )
    if format == "json":
        print(json.dumps(_contract(slow), indent=1))
    else:
        print("\n".join(_lines(slow, format == "md", lang)))
    return 0


def _row(slow: Slow, one: SlowClass) -> dict[str, Any]:
    return {
        "class": slow.label(one),
        "attributes": {name: slow.names[name][code] for name, code in one.key},
        "requests": one.rows,
        "slow": one.slow,
        "share": one.share,
        "low": one.interval.low,
        "high": one.interval.high,
        "lift": one.lift,
        "coverage": one.coverage,
        "lift_within_lengths": None if one.within_lift is None or isinf(one.within_lift) else one.within_lift,
        "only_slow_ones_of_their_length": one.within_lift is not None and isinf(one.within_lift),
        "q_value": one.q_value,
        "cannot_be_told_from": [
            " and ".join(f"{name}={slow.names[name][code]}" for name, code in key) for key in one.same_rows
        ],
    }


def _contract(slow: Slow) -> dict[str, Any]:
    search = slow.search
    return {
        "schema": "ridgeline.classes/1",
        "slow_is": {"what": slow.what, "at_least_s": slow.threshold_s},
        "requests": search.rows,
        "slow": search.slow,
        "in_no_class": search.unexplained,
        "classes": [_row(slow, c) for c in search.classes],
        "explained_by_length": [_row(slow, c) for c in search.explained_by_strata],
        "no_peers_to_compare_with": [_row(slow, c) for c in search.no_peers],
        "outlier": None if search.outlier is None else slow.table["rid"][search.outlier].as_py(),
    }


def _lines(slow: Slow, md: bool, lang: str) -> list[str]:
    from ridgeline.report.escape import markdown, plain
    from ridgeline.words.catalogue import say

    escape = markdown if md else plain
    search = slow.search
    of = {"slow": search.slow, "n": search.rows, "what": slow.what, "threshold": slow.threshold_s}
    out = [say("classes.slow", of, lang)]
    if search.outlier is not None:
        rid = escape(str(slow.table["rid"][search.outlier].as_py()), 80)
        out.append(say("classes.outlier", {"rid": rid}, lang))
    if not search.classes and search.outlier is None:
        out.append(say("classes.none", {}, lang))
    for title, found in (
        (None, search.classes),
        ("classes.by-length", search.explained_by_strata),
        ("classes.no-peers", search.no_peers),
    ):
        if found and title is not None:
            out.append(say(title, {}, lang))
        for c in found:
            out.append(f"{'- ' if md else '  '}{escape(_class_said(slow, c, lang))}")
            for key in c.same_rows:
                same = say("classes.same", {"attributes": _attributes(slow, key)}, lang)
                out.append(f"{'  - ' if md else '    '}{escape(same)}")
    if search.classes and search.unexplained:
        out.append(say("classes.rest", {"n": search.unexplained}, lang))
    return out


def _class_said(slow: Slow, c: SlowClass, lang: str) -> str:
    from ridgeline.words.catalogue import say

    alone = c.within_lift is not None and isinf(c.within_lift)
    of = {
        "attributes": _attributes(slow, c.key), "slow": c.slow, "n": c.rows, "low": c.interval.low,
        "high": c.interval.high, "lift": c.lift, "within": None if alone else c.within_lift,
        "alone": ", and no other request of its lengths is" if alone else None, "coverage": c.coverage,
    }  # fmt: skip
    return say("classes.class", of, lang)


def _attributes(slow: Slow, key: Sequence[tuple[str, int]]) -> tuple[str, ...]:
    return tuple(f"{name}={slow.names[name][code]}" for name, code in key)
