"""What `ridgeline --version` says: the build, and what it runs on."""

from typing import Final

from ridgeline import __version__

CORE: Final = ("duckdb", "pyarrow", "numpy", "numba", "scipy", "msgspec", "prometheus-client", "rich", "cyclopts",
               "zstandard")  # fmt: skip
EXTRAS: Final = (
    ("live", "aiohttp"),
    ("page", "vl-convert-python"),
    ("search", "optuna"),
    ("mcp", "mcp"),
    ("ray", "ray"),
)
"""Extra → the package that tells whether it is there."""


def installed(name: str) -> str | None:
    """The version of an installed package."""
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def facts() -> str:
    """The version first, alone on its line, then Python, libraries and extras: what a bug report needs."""
    import platform

    libraries = ", ".join(f"{name} {installed(name) or 'missing'}" for name in CORE)
    extras = ", ".join(f"{extra} {'yes' if installed(package) else 'no'}" for extra, package in EXTRAS)
    return (
        f"ridgeline {__version__}\n"
        f"python {platform.python_version()} on {platform.system()} {platform.machine()}\n"
        f"{libraries}\n"
        f"extras: {extras}"
    )
