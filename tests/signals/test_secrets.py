"""What must never be kept, and what must not be hidden."""

import pytest

from ridgeline.signals.secrets import HIDDEN, clean, clean_text, is_secret


@pytest.mark.parametrize(
    "key",
    ["api_key", "admin_api_key", "env.HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "ssl_keyfile_password", "OPENAI_API_KEY",
     "auth.bearer", "x-api-key", "watermark_key", "db.password", "cookie"],
)  # fmt: skip
def test_secret_keys(key: str) -> None:
    assert is_secret(key)
    assert clean(key, "abc") == HIDDEN
    assert clean(key, None) is None


@pytest.mark.parametrize(
    "key",
    ["max_total_num_tokens", "tokenizer_path", "routing_key", "extra_key", "num_reserved_decode_tokens", "page_size",
     "new_token_ratio", "ssl_keyfile", "tokenizer_worker_num", ""],
)  # fmt: skip
def test_ordinary_keys(key: str) -> None:
    assert not is_secret(key)
    assert clean(key, "8192") == "8192"


@pytest.mark.parametrize(
    "text",
    ["--api-key SECRETVALUE --tp 8", "--api-key=SECRETVALUE", "HF_TOKEN=SECRETVALUE python",
     "--api-key 'SECRETVALUE x'",
     "http://user:SECRETVALUE@host/x", "Authorization: Bearer SECRETVALUE123", "--ssl-keyfile-password SECRETVALUE"],
)  # fmt: skip
def test_secrets_inside_a_text(text: str) -> None:
    assert "SECRETVALUE" not in clean_text(text)


@pytest.mark.parametrize("text", ["--tokenizer-path /m --max-total-tokens 4096", "http://host:30000/metrics", "--tp 8"])
def test_harmless_texts_stay(text: str) -> None:
    assert clean_text(text) == text
