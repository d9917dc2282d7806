"""Is it a pickle? Told by its first bytes; protocols 0 and 1 have no header: their first opcodes tell."""

import re
from typing import Final

HEADER: Final = 0x80
NEWEST: Final = 5
# How a pickler of protocol 0 or 1 begins a container (with a memo entry behind it), or a hand-written one a call.
OPENINGS: Final = re.compile(
    rb"""(?xs)
    \([dlt]p\d{1,9}\n                                                  # protocol 0: an empty container, put as 0
    | [\]}]q\x00[(UXKMJNGae.s]                                         # protocol 1: the same
    | \(?c[A-Za-z_][\w.]{0,99}\n[A-Za-z_][\w.]{0,99}\n (?: p\d{1,9}\n | q. )? [()RtotbX]   # a name, then its arguments
    | \([SV][^\n]{1,200}\n[io(tlp]                                     # a mark and a text
    """
)


def looks_like_pickle(head: bytes) -> bool:
    """Whether `head`, the first unpacked bytes of a file, begins a pickle."""
    if len(head) > 1 and head[0] == HEADER:
        return 2 <= head[1] <= NEWEST
    return OPENINGS.match(head) is not None
