import json

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.signals.reading import tables_of

TRACE = [
    "Traceback (most recent call last):",
    '  File "/srv/a.py", line 7, in step',
    "    run(x)",
    "    ~~~^^^",
    '  File "/srv/b.py", line 9, in run',
    "    raise KeyError(x)",
    "app.errors.ShapeError: bad shape 7",
]


def test_a_trace_behind_prefixes_is_one_event() -> None:
    text = "\n".join(f"(APIServer pid=1) ERROR 11-30 03:41:00 [api.py:72] {part}" for part in TRACE)
    reading, tables = tables_of(text + "\n")
    (event,) = tables["events"]
    assert event["kind"] == "traceback"
    assert event["text"] == "app.errors.ShapeError: bad shape 7"
    assert json.loads(event["attrs"]) == {"exception": "app.errors.ShapeError", "frame": "/srv/b.py:9 in run"}
    assert (event["line"], reading.understood) == (7, 7)


def test_traces_of_two_processes_at_once_are_kept_apart() -> None:
    text = []
    for part in TRACE:
        text += [
            f"(APIServer pid={pid}) ERROR 11-30 03:41:00 [api.py:72] {part.replace('7', str(pid))}" for pid in (1, 2)
        ]
    _, tables = tables_of("\n".join([*text, ""]))
    assert sorted(event["text"] for event in tables["events"]) == [
        "app.errors.ShapeError: bad shape 1",
        "app.errors.ShapeError: bad shape 2",
    ]


def test_a_trace_cut_at_either_end_is_still_one() -> None:
    for part in (TRACE[:-1], TRACE[1:]):
        reading, tables = tables_of("\n".join([*["2026-03-07 06:20:44 ERROR boom"] * 3, *part, ""]))
        assert [event["kind"] for event in tables["events"]] == ["traceback"]
        assert reading.understood == len(part)


def test_a_line_behind_a_trace_is_not_taken_with_it() -> None:
    _, tables = tables_of("\n".join([*TRACE, "2026-03-07 06:20:44 INFO quota table rotated", ""]))
    assert [row["text"] for row in tables["unread"]] == ["quota table rotated"]
    assert len(tables["events"]) == 1


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from([*TRACE, "", "x", "During handling of the above exception, another exception occurred:"]),
        max_size=20,
    )
)
def test_any_order_of_such_lines_is_read_and_counted(parts: list[str]) -> None:
    reading, tables = tables_of("\n".join([TRACE[0], *parts, ""]))
    assert reading.lines == reading.blank + reading.understood + reading.unparsed
    assert len(tables["events"]) <= reading.understood


def test_the_idle_check_that_ends_a_scheduler_is_a_line_of_its_own() -> None:
    check = "ValueError: token_to_kv_pool_allocator memory leak detected! full_available_size=10, full_evictable_size=5"
    text = [
        "[2026-11-30 03:41:00 TP3] Scheduler hit an exception: Traceback (most recent call last):",
        *TRACE[1:6],
        check,
    ]
    _, tables = tables_of("\n".join([*text, ""]))
    kinds = {event["kind"]: event for event in tables["events"]}
    assert set(kinds) == {"crash", "traceback", "pool-leak-check"}
    assert kinds["pool-leak-check"]["text"] == check and kinds["pool-leak-check"]["line"] == 7
