"""Text to token ids and back, with the small byte-level BPE that ships beside this file.

What the modelled server answers means nothing: words of the vocabulary in an order that follows from the prompt,
so that the same prompt gets the same answer (as a greedy model would give).
"""

import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from ridgeline.model.errors import InputError

PLACE: Final = Path(__file__).with_name("bpe.json")
STRIDE: Final = 31


@cache
def tokenizer() -> Any:
    """The BPE.

    Raises:
        InputError: the ``live`` extra is not installed.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError as e:
        raise InputError("lab serve needs the live extra: pip install 'ridgeline[live]'") from e
    return Tokenizer.from_file(str(PLACE))


def encode(text: str) -> list[int]:
    """Token ids of ``text``."""
    ids: list[int] = tokenizer().encode(text).ids
    return ids


def decode(ids: Sequence[int]) -> str:
    """Text of token ids; ids beyond the vocabulary (a bigger model's) leave nothing."""
    found: str = tokenizer().decode(list(ids))
    return found


@cache
def words() -> tuple[tuple[int, str], ...]:
    """Tokens that are a whole plain word with its space: (id, text), by id."""
    size = tokenizer().get_vocab_size()
    pieces = [(i, decode([i])) for i in range(size)]
    return tuple((i, text) for i, text in pieces if len(text) > 3 and text[0] == " " and text[1:].isalpha())


def start_of(prompt: Sequence[int], seed: int, choice: int) -> int:
    """Where in `words` the answer to ``prompt`` begins."""
    return zlib.crc32(repr((seed, choice, list(prompt[-64:]))).encode())


def word(start: int, j: int) -> tuple[int, str]:
    """The ``j``-th token of an answer: (id, text)."""
    return words()[(start + STRIDE * j) % len(words())]


def natural_length(prompt: Sequence[int], seed: int, choice: int) -> int:
    """How many tokens the model would say before its end token: 8 to 391, by prompt."""
    return 8 + zlib.crc32(repr((choice, seed, list(prompt[-64:]))).encode()) % 384
