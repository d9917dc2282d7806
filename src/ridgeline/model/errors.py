"""Everything Ridgeline raises on purpose.

RidgelineError
├── InputError          a file, argument or answer that cannot be used: says what, where, what to do
├── SourceUnavailable   an endpoint or path that does not answer
└── Unsupported         a known thing this build does not do
"""


class RidgelineError(Exception):
    """Base of every error shown to the user as one line and exit status 1."""


class InputError(RidgelineError):
    """A file, argument or answer that cannot be used."""


class SourceUnavailable(RidgelineError):
    """An endpoint or path that does not answer."""


class Unsupported(RidgelineError):
    """A known thing this build does not do, with what to use instead."""
