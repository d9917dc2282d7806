"""Prompts for requests whose content nobody kept: token ids or words, the same for the same seed.

A segment's text depends on the seed and the segment's id only, so equal segments give equal leading text; what lies
behind the segments belongs to one request. Each position is drawn by the finaliser of SplitMix64
(`signals.prompt.hashes.mixed`) over (seed, stream, position).
"""

from typing import Final

import numpy as np

from ridgeline.replay.shot import Drawn
from ridgeline.signals.prompt.hashes import I64, mixed

FIRST_ID: Final = 1_000
"""Below it lie bytes and control tokens of the usual tokenizers."""
IDS: Final = 19_000
"""How many ids are drawn from: 1,000 to 19,999 exist in every vocabulary of 20,000 and more."""
_LISTED: Final = (
    "time year people way day man thing woman life child world school state family student group country problem "
    "hand part place case week company system program question work government number night point home water room "
    "mother area money story fact month lot right study book eye job word business issue side kind head house "
    "service friend father power hour game line end member law car city community name president team minute idea "
    "body information back parent face others level office door health person art war history party result change "
    "morning reason research girl guy moment air teacher force education"
)
WORDS: Final = tuple(_LISTED.split())
"""Words that most vocabularies hold as one token each, with the blank in front."""


def ids_of(drawn: Drawn, seed: int) -> I64:
    """Token ids of the prompt, exactly `drawn.tokens` of them."""
    return FIRST_ID + _draws(drawn, seed) % IDS


def text_of(drawn: Drawn, seed: int) -> str:
    """About as many tokens as text: one common word for each."""
    return " ".join(WORDS[at] for at in (_draws(drawn, seed) % len(WORDS)).tolist())


def _draws(drawn: Drawn, seed: int) -> I64:
    parts: list[I64] = []
    left = drawn.tokens
    for segment, tokens in drawn.segments:
        take = min(tokens, left)
        if take > 0:
            parts.append(_stream(seed, 2 * segment, take))
            left -= take
    if left > 0:
        parts.append(_stream(seed, 2 * drawn.own + 1, left))
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _stream(seed: int, number: int, length: int) -> I64:
    """Non-negative draws of one stream: even numbers are segments, odd ones a request's own text."""
    key = mixed(np.array([seed], np.int64)) ^ mixed(np.array([number], np.int64) + (1 << 41))
    drawn = mixed(np.arange(length, dtype=np.int64).astype(np.uint64) ^ mixed(key))
    return (drawn >> np.uint64(1)).astype(np.int64)
