"""`rooflens --version`: which version this is, and with --json what it runs on and which schemas it writes."""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from rooflens import __version__, artefacts

SCHEMA = "rooflens/version/1"
PACKAGE = Path(__file__).resolve().parents[1]
_WRITTEN = re.compile(r'"rooflens/([a-z_-]+)/(\d+)"')
_BESIDE = (
    "click",
    "numpy",
    "matplotlib",
    "rich",
    "torch",
    "cupy-cuda13x",
    "cupy-cuda12x",
    "ray",
    "pyarrow",
    "starlette",
)


def told(*, as_json: bool) -> str:
    """The version as a line, or as JSON: `git_commit` is there in a checkout, `packages` are those installed."""
    if not as_json:
        return f"rooflens, version {__version__}"
    found: dict[str, object] = {
        "version": __version__,
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "platform": platform.platform(),
        "git_commit": _commit(),
        "packages": _packages(),
        "schemas": _schemas(),
    }
    return artefacts.to_json({key: value for key, value in found.items() if value}, SCHEMA)


def _commit() -> str | None:
    """The commit of the checkout that this code lies in; None for installed code."""
    checkout = PACKAGE.parents[1]
    if not (checkout / ".git").exists() or not (checkout / "src" / "rooflens").is_dir():
        return None
    with suppress(OSError, subprocess.SubprocessError):
        line = ["git", "-C", str(checkout), "rev-parse", "HEAD"]
        return subprocess.run(line, capture_output=True, text=True, check=True, timeout=5).stdout.strip()
    return None


def _packages() -> dict[str, str]:
    found = {}
    for name in _BESIDE:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _schemas() -> dict[str, int]:
    """The newest number of each kind of artefact, from the code that writes it."""
    found: dict[str, int] = {}
    for source in sorted(PACKAGE.rglob("*.py")):
        for kind, number in _WRITTEN.findall(source.read_text(encoding="utf-8")):
            found[kind] = max(found.get(kind, 0), int(number))
    return dict(sorted(found.items()))
