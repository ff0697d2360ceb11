"""rooflens: how fast could an LLM run on this machine, how fast does it, what stands between, what to change."""

from __future__ import annotations

TYPE_CHECKING = False  # what typing.TYPE_CHECKING is, without loading typing: `import rooflens` costs nearly nothing

if TYPE_CHECKING:
    from typing import Any

    from rooflens.api import accelerator, machine, model, place
    from rooflens.api.benches import bench
    from rooflens.api.claims import ceilings, claim, trend
    from rooflens.api.live import watch
    from rooflens.api.nodes import doctor
    from rooflens.api.profiles import kernels
    from rooflens.api.serving import advise, fit, plan, predict

__version__ = "0.1.0"
__all__ = [
    "__version__", "accelerator", "advise", "bench", "ceilings", "claim", "doctor", "fit", "kernels", "machine",
    "model", "place", "plan", "predict", "trend", "watch",
]  # fmt: skip
HOMES = {
    "api": ("accelerator", "machine", "model", "place"),
    "api.benches": ("bench",),
    "api.claims": ("ceilings", "claim", "trend"),
    "api.live": ("watch",),
    "api.nodes": ("doctor",),
    "api.profiles": ("kernels",),
    "api.serving": ("advise", "fit", "plan", "predict"),
}  # module of this package -> what it answers


def __getattr__(name: str) -> Any:
    """The public API, loaded when it is first asked for."""
    home = next((module for module, names in HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module 'rooflens' has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"rooflens.{home}"), name)
    globals()[name] = found
    return found
