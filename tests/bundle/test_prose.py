"""Messages of errors: the engines' own words stay, a caller's do not."""

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.bundle.prose import own_words, quiet, without_quotes
from ridgeline.bundle.redact import hashed, install, redacted_sql, uninstall, without_prompts
from ridgeline.model.tables import TABLES
from ridgeline.words.known import KNOWN

KEY = bytes(range(32))


def named(text: str) -> str:
    return hashed(text, KEY)[:14]


@pytest.mark.parametrize(
    "message",
    [
        "The request queue is full.",
        "Aborted by AbortReq.",
        "The request is aborted by a higher priority request.",
        "Request 12 timed out after 300.0s in KVPoll.WaitingForInput",
        "Decode transfer failed for request rank=0 decode_req.req.bootstrap_room=7789842509238457791 with exception "
        "KVTransferError(bootstrap_room=7789842509238457791): Failed to get kvcache from prefill instance",
        "CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 79.15 GiB total capacity)",
        "The input (4097 tokens) is longer than the model's context length (4096 tokens).",
        "Failed to compile json grammar: Expected ',' or ']' at line 1",
        "HTTP 503: Service Unavailable",
    ],
)
def test_what_engines_say_stays_with_its_figures(message: str) -> None:
    assert quiet(message, named) == message
    assert without_quotes(message) == message


@pytest.mark.parametrize(
    ("message", "stays"),
    [
        ("ValueError: Invalid JSON schema: {'title': 'Salaries of John Smith'}", "ValueError: Invalid JSON schema: {"),
        ("Prompt 'Tell me about my ex wife' is too long: 9000 > 8192 tokens", "is too long: 9000 > 8192 tokens"),
        ("please sum up: the queue is full of my patients", "; queue is full>"),
        ("no such user: +49 170 1234567", "characters"),
        ("\u6211\u7684\u75c5\u4eba", "<4 characters"),
    ],
)
def test_a_callers_words_become_a_hash_and_what_causes_look_for_stays(message: str, stays: str) -> None:
    hidden = quiet(message, named)
    assert stays in hidden
    assert quiet(message, named) == hidden
    for word in ("Salaries", "Smith", "wife", "patients", "1234567", "\u75c5"):
        assert word not in hidden


def test_public_issues_are_still_found_by_their_words() -> None:
    for known in KNOWN:
        assert known.text in quiet(f"Frobnicated! {known.text} 'Anna'", named).lower()


@given(st.text(alphabet="abcdefgh '\"{}:.,0123456789\u00e9", max_size=200))
def test_hiding_twice_changes_nothing_more_and_never_fails(text: str) -> None:
    once = quiet(text, named)
    assert own_words(text) == (once == text)
    assert len(once.split("\n")) <= len(text.split("\n"))


def test_quoted_sentences_of_a_trace_are_cut_and_names_of_things_stay() -> None:
    line = "jsonschema.ValidationError: 'the salary of my neighbour' is not of type 'object' in model_config.py"
    assert without_quotes(line) == line.replace("the salary of my neighbour", "<26 characters>")
    assert (
        without_quotes('"POST /v1/chat/completions HTTP/1.1" 200 OK') == '"POST /v1/chat/completions HTTP/1.1" 200 OK'
    )
    assert without_quotes("can't find what it didn't ask for") == "can't find what it didn't ask for"


def test_a_message_inside_a_record_is_cut_unless_it_is_the_engines() -> None:
    own = '{"finish_reason": {"type": "abort", "message": "The request queue is full."}}'
    assert without_prompts(own) == own
    said = '{"finish_reason": {"type": "abort", "message": "bad schema: salary of Anna"}}'
    assert "Anna" not in without_prompts(said)


def test_a_stored_bundle_holds_no_callers_words_unless_asked_to() -> None:
    for key, stays in ((KEY, False), (None, True)):
        con = duckdb.connect()
        install(con, key)
        try:
            con.execute("CREATE TABLE requests (rid VARCHAR, abort_message VARCHAR)")
            con.execute("INSERT INTO requests VALUES ('r1', 'bad schema: salary of Anna'), ('r2', NULL)")
            rows = con.execute(f"SELECT {redacted_sql('requests', ['rid', 'abort_message'])} FROM requests").fetchall()
            con.execute("CREATE TABLE events (kind VARCHAR, rid VARCHAR, text VARCHAR)")
            con.execute("INSERT INTO events VALUES ('request-error', NULL, 'Anna said no')")
            con.execute("INSERT INTO events VALUES ('crash', NULL, ?)", ["no 'my dear Anna is here'"])
            texts = con.execute(f"SELECT {redacted_sql('events', ['kind', 'rid', 'text'])} FROM events").fetchall()
        finally:
            uninstall(con)
        assert (("Anna" in str(rows)) is stays) and (("Anna" in str(texts)) is stays)
        assert rows[1][1] is None


def test_every_column_of_messages_is_one_of_free_text() -> None:
    from ridgeline.bundle.redact import MESSAGES, QUOTING, TEXT

    for table, columns in (*MESSAGES.items(), *QUOTING.items()):
        assert set(columns) <= set(TEXT[table]) <= set(TABLES[table])
