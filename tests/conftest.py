"""What every test may ask for."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[1] / ".." / "shared"


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder of labelled cases and recorded runs; tests that need it skip where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("needs ../shared (cases and recorded runs), which is not here")
    return SHARED.resolve()
