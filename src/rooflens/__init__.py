"""rooflens: how fast could an LLM run on this machine, how fast does it, what stands between, what to change."""

from __future__ import annotations

TYPE_CHECKING = False  # what typing.TYPE_CHECKING is, without loading typing: `import rooflens` costs nearly nothing

if TYPE_CHECKING:
    from typing import Any

    from rooflens.api import accelerator, machine, model, place
    from rooflens.asked import ceilings, claim, trend

__version__ = "0.1.0"
__all__ = ["__version__", "accelerator", "ceilings", "claim", "machine", "model", "place", "trend"]
ASKED = ("ceilings", "claim", "trend")  # of `asked`; the others of `api`


def __getattr__(name: str) -> Any:
    """The public API, loaded when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module 'rooflens' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("rooflens.asked" if name in ASKED else "rooflens.api"), name)
