"""rooflens: how fast could an LLM run on this machine, how fast does it, what stands between, what to change."""

from __future__ import annotations

__version__ = "0.1.0"
