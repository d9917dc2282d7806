"""Which release wrote a log: lines narrow the candidates; what stays open is said, not guessed."""

from typing import Final

from ridgeline.signals.rows import Reading

BETWEEN: Final = "|"


def narrow(reading: Reading, versions: tuple[str, ...]) -> None:
    """A line was seen whose form only these releases have; no release at all means that nothing was learnt."""
    if not versions:
        return
    if reading.version is None:
        reading.version = BETWEEN.join(versions)
        return
    had = reading.version.split(BETWEEN)
    both = [version for version in had if version in versions]
    if both:
        reading.version = BETWEEN.join(both)
    elif len(had) > 1 or len(versions) == 1:
        shown = f"{', '.join(had)} and {', '.join(versions)}"
        reading.note(f"{reading.path}: lines in the forms of different releases ({shown})")


def settle(reading: Reading) -> None:
    """At the end of a source: several candidates left means that the version is not known."""
    if reading.version and BETWEEN in reading.version:
        shown = reading.version.replace(BETWEEN, ", ")
        reading.note(f"{reading.path}: the form of its lines fits releases {shown}; /server_info would settle it")
        reading.version = None
