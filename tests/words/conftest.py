"""The machine is shared: a slow first call is no failure of a property."""

from hypothesis import settings

settings.register_profile("ridgeline-words", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("ridgeline-words")
