import json
import stat
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.bundle.prose import without_quotes
from ridgeline.bundle.redact import (
    hashed,
    install,
    key_id,
    load_key,
    redacted_sql,
    uninstall,
    without_names,
    without_prompts,
)
from ridgeline.model.errors import InputError
from ridgeline.signals.secrets import scrubbed

KEY = bytes(range(32))


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Authorization: Bearer abcDEF123456789", "abcDEF123456789"),
        ("headers={'authorization': 'Basic dXNlcjpwYXNzd29yZA=='}", "dXNlcjpwYXNzd29yZA"),
        ("using token hf_AbCdEfGhIjKlMnOp", "hf_AbCdEfGhIjKlMnOp"),
        ("key sk-proj-abcdefghij1234567890", "sk-proj-abcdefghij1234567890"),
        ("cloning https://bob:hunter2@example.org/x.git", "hunter2"),
        ("server_args=ServerArgs(api_key='topsecretvalue', host='::')", "topsecretvalue"),
        ("--admin-api-key=abc123 --port 1", "abc123"),
        ("--admin-api-key abc123 --port 1", "abc123"),
        ("--ssl-keyfile-password k1 --port 1", " k1"),
        ("headers={'cookie': 'session=abc123; b=2'}", "abc123"),
        ("Set-Cookie: sid=abc123; Path=/; k=zzz", "zzz"),
        ('{"instance": "bob:hunter2@127.0.0.1:30000"}', "hunter2"),
        ("key sk-live-ab*c*d*e*f*g*h", "live-ab"),
        ('{"password": "p w d", "x": 1}', "p w d"),
        ("AWS AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
        ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "eyJzdWIiOiIxIn0"),
    ],
)
def test_secrets_are_cut_out(text: str, secret: str) -> None:
    assert secret not in scrubbed(text)
    assert "<secret>" in scrubbed(text)


@pytest.mark.parametrize(
    "text",
    [
        "api_key=None, admin_api_key=None, skip_tokenizer_init=False, skip_server_warmup=True",
        "Decode batch, #running-req: 3, #token: 512, token usage: 0.12, gen throughput (token/s): 81.20",
        "input throughput (token/s): 3501.25, basic configuration of the bearer of bad news",
        "http://127.0.0.1:30000/v1/loads?include=all",
        "--max-total-tokens 180000 --tokenizer-path x --chat-token 5 --max-token 7",
        '{"instance": "10.0.0.1:30000", "cause": "a@b:1"}',
        "max_new_tokens: 128, token_usage_threshold=0.9",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert scrubbed(text) == text


def test_prompts_become_their_length() -> None:
    ids = ", ".join(map(str, range(1, 18)))
    line = f"""Receive: obj=GenerateReqInput(rid='r', text='tell me \\'all\\' of it', input_ids=[{ids}])"""
    clean = without_prompts(line)
    assert "tell me" not in clean
    assert "<token ids>" in clean
    assert "rid='r'" in clean
    assert without_prompts('{"prompt": "cut in the mid') == '{"prompt": "<14 characters>"'


WORDS = "tell me why the merger is secret to us"


@pytest.mark.parametrize(
    "line",
    [
        f'{{"request_parameters": "{{\\"text\\": \\"{WORDS}\\", \\"stream\\": true}}"}}',
        f"ValueError: Prompt too long: '{WORDS}'",
        f"ValueError: input '{WORDS}' is not valid",
        f"failed: prompt was: {WORDS}",
        f'{{"stop": ["{WORDS}", "and {WORDS}"]}}',
        f'{{"last_prompt": "{WORDS}"}}',
        f'{{"key": "gen_ai.prompt", "value": {{"stringValue": "{WORDS}"}}}}',
    ],
)
def test_prompts_are_found_where_a_line_holds_them(line: str) -> None:
    clean = without_prompts(line)
    assert "merger" not in clean
    assert " characters>" in clean
    if line.startswith("{"):
        json.loads(clean)


@pytest.mark.parametrize(
    "line",
    [
        "Prefill batch, #new-seq: 1, #new-token: 531, input throughput (token/s): 7556.27",
        "The input is longer than the context: 40960 tokens, prompt tokens: 40000",
        '{"input": 3, "finish_reason": {"type": "stop", "matched": 2}, "stop": ["</s>"]}',
    ],
)
def test_figures_beside_the_words_of_prompts_stay(line: str) -> None:
    assert without_prompts(line) == line


@pytest.mark.parametrize(
    "line",
    [
        "failed for user gertrude.b",
        "user=gertrude.b asked",
        "{'user': 'gertrude.b'}",
        '{"a": "{\\"session_id\\": \\"gertrude.b\\"}"}',
        '{"enduser.id": "gertrude.b"}',
    ],
)
def test_who_asked_is_hashed_alike(line: str) -> None:
    assert without_names(line, KEY) == line.replace("gertrude.b", hashed("gertrude.b", KEY))
    assert without_names(without_names(line, KEY), KEY) == without_names(line, KEY)


@given(st.text(max_size=200))
def test_cleaning_never_adds_or_loses_lines(text: str) -> None:
    assert without_prompts(scrubbed(text)).count("\n") == text.count("\n")


@settings(max_examples=20, deadline=None)
@given(st.lists(st.text(max_size=60).filter(lambda t: "\x00" not in t and t.isprintable()), max_size=40))
def test_sql_and_python_hash_alike(texts: list[str]) -> None:
    with duckdb.connect() as con:
        install(con, KEY)
        rows = con.execute("SELECT hide(unnest($texts::VARCHAR[]))", {"texts": texts}).fetchall()
        assert [text for (text,) in rows] == [hashed(text, KEY) for text in texts]


def test_hashes_depend_on_the_key_and_hide_the_text() -> None:
    assert hashed("req-1", KEY) == hashed("req-1", KEY)
    assert hashed("req-1", KEY) != hashed("req-1", KEY[::-1])
    assert "req-1" not in hashed("req-1", KEY)
    assert hashed("HEALTH_CHECK_1", KEY).startswith("HEALTH_CHECK_h:")


def test_a_rid_inside_its_own_text_is_replaced_by_its_hash() -> None:
    with duckdb.connect() as con:
        install(con, KEY)
        ((text,),) = con.execute("SELECT scrub('Aborted request(s) req-12345.', 'req-12345')").fetchall()
        assert text == f"Aborted request(s) {hashed('req-12345', KEY)}."
        uninstall(con)
        install(con, None)
        assert con.execute("SELECT scrub('a req-12345 password=x1', 'req-12345'), hide('u')").fetchall() == [
            ("a req-12345 password=<secret>", "u")
        ]


@pytest.mark.parametrize(
    "text",
    [
        'INFO:     10.0.0.1:33175 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
        '"GET /v1?api_key=abcdefgh1234 HTTP/1.1" 200 OK',
        '"POST /v1 HTTP/1.1" 400 "my dear old uncle writes you"',
        'error: "POST my dear old uncle a letter"',
        'said "my dear old uncle writes you" 200',
        "it's \"POST my uncle\" that's said",
        "access_token=abcd1234, authtoken=abcd1234, --chat-token 5 --hub-token abcd1234",
        "email=gertrude.b@example.org asked",
        "for user gertrude.b: request 0123456789abcdef",
        "#new_tokens_gained: 8192, #new_token_ratio: 0.2210 -> 0.6432",
    ],
)
def test_what_sql_leaves_alone_python_would_leave_alone(text: str) -> None:
    with duckdb.connect() as con:
        install(con, KEY)
        con.execute("CREATE TABLE unread AS SELECT $text AS text", {"text": text})
        found = con.execute(f"SELECT {redacted_sql('unread', ['text'])} FROM unread").fetchall()
    assert found == [(without_quotes(without_names(without_prompts(scrubbed(text)), KEY)),)]


def test_the_key_is_made_once_readable_by_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "key"
    key = load_key(path)
    assert load_key(path) == key
    assert len(key) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert key.hex()[:8] != key_id(key)


def test_a_key_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"short")
    with pytest.raises(InputError, match="is no key"):
        load_key(tmp_path / "key")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match="cannot be used"):
        load_key(tmp_path / "file" / "key")
