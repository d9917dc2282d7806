"""Text in columns of a terminal, where a Chinese character takes two."""

from rich.cells import cell_len


def padded(text: str, width: int, right: bool = False) -> str:
    """The text with blanks behind it (``right``: before it) up to so many columns."""
    blanks = " " * max(0, width - cell_len(text))
    return blanks + text if right else text + blanks
