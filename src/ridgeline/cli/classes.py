"""`ridgeline classes`: which classes of requests are slow, by how much, and what length alone explains."""

from __future__ import annotations

import json
from math import isinf
from typing import TYPE_CHECKING, Any, Literal

from ridgeline.model.errors import InputError

if TYPE_CHECKING:
    from ridgeline.facts.classes import Slow
    from ridgeline.stats.class_search import SlowClass


def classes(
    *sources: str,
    label: tuple[str, ...] = (),
    tz: str | None = None,
    year: int | None = None,
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
        print("\n".join(_lines(slow, format == "md")))
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


def _lines(slow: Slow, md: bool) -> list[str]:
    from ridgeline.report.escape import markdown, plain

    escape = markdown if md else plain
    search = slow.search
    out = [f"{search.slow} of {search.rows} requests are slow ({slow.what} of at least {slow.threshold_s:.3g} s)"]
    if search.outlier is not None:
        out.append(f"one outlier, no class: {escape(str(slow.table['rid'][search.outlier].as_py()), 80)}")
    if not search.classes and search.outlier is None:
        out.append("no input attribute marks them")
    for title, found in (
        ("", search.classes),
        ("explained by length alone:", search.explained_by_strata),
        ("nothing of the same length to compare with:", search.no_peers),
    ):
        if found and title:
            out.append(title)
        for c in found:
            within = "" if c.within_lift is None else f", {c.within_lift:.2f} within its lengths"
            if c.within_lift is not None and isinf(c.within_lift):
                within = ", and no other request of its lengths is"
            words = (
                f"{slow.label(c)}: {c.slow} of {c.rows} are slow ({c.interval.low:.0%} to {c.interval.high:.0%}), "
                f"lift {c.lift:.2f}{within}, holds {c.coverage:.0%} of the slow"
            )
            out.append(f"{'- ' if md else '  '}{escape(words)}")
            for key in c.same_rows:
                same = " and ".join(f"{name}={slow.names[name][code]}" for name, code in key)
                out.append(f"{'  - ' if md else '    '}{escape(f'the same requests as {same}')}")
    if search.classes and search.unexplained:
        out.append(f"{search.unexplained} slow requests are in none of these classes")
    return out
