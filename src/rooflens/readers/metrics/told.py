"""What engines tell of their settings beside their metrics: /v1/models of most, /props of llama.cpp's server."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

PATHS = {"llama.cpp": "/props"}  # by engine; others answer at MODELS
MODELS = "/v1/models"
LONGEST = 256
_KEPT = ("max_model_len", "n_ctx", "total_slots", "model_alias", "build_info")


def told(text: str) -> dict[str, str]:
    """Settings by their own names, with `model` for what is served. Empty where the text is of another kind."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return dict(_pairs(said)) if isinstance(said, dict) else {}


def _pairs(said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    served = said.get("data")
    if isinstance(served, list) and len(served) == 1 and isinstance(served[0], dict):
        yield from _kept({**served[0], "model": served[0].get("id")})
        return
    own = said.get("default_generation_settings")
    path = said.get("model_path")
    name = path.replace("\\", "/").rpartition("/")[2] if isinstance(path, str) else None
    alias = said.get("model_alias")
    yield from _kept({**(own if isinstance(own, dict) else {}), **said, "model": alias or name})


def _kept(said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in ("model", *_KEPT):
        value = said.get(name)
        if isinstance(value, (str, int, float)) and not isinstance(value, bool) and str(value):
            yield name, str(value)[:LONGEST]
