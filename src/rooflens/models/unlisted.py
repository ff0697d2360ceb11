"""Kinds of layers that a file leaves to its class, where no period says them. Source: the classes of transformers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rooflens.models.config import MOST_LAYERS

Facts = dict[str, Any]
KindOf = Callable[[int], str]
FULL, LOCAL, LINEAR = "full_attention", "sliding_attention", "linear_attention"
_SAID = ("layer_types", "hybrid_layer_pattern")


def listed(family: str, facts: Facts) -> Facts:
    """The facts with a kind for each layer, where this class has kinds and the file does not list them."""
    layers = facts.get("num_hidden_layers")
    if family not in _CLASSES or not isinstance(layers, int) or not 0 < layers < MOST_LAYERS:
        return facts
    more, kind = _CLASSES[family](facts, layers)
    said = kind is None or any(facts.get(key) is not None for key in _SAID)
    return {**facts, **more, **({} if said or kind is None else {"layer_types": [kind(i) for i in range(layers)]})}


def _flint(facts: Facts, layers: int) -> tuple[Facts, KindOf]:
    """The first two layers, every fourth and the last attend to all positions; the first two have no experts."""
    dense = {"mlp_only_layers": [0, 1]} if facts.get("mlp_only_layers") is None else {}
    return dense, lambda i: FULL if i in (0, 1, layers - 1) or i % 4 == 1 else LOCAL


def _kimi_linear(_: Facts, __: int) -> tuple[Facts, KindOf]:
    return {}, lambda i: FULL if i and i % 4 == 0 else LINEAR


def _lfm3(_: Facts, __: int) -> tuple[Facts, KindOf]:
    return {}, lambda i: {2: FULL, 0: LOCAL if i else "conv"}.get(i % 4, "conv")


def _mimo(_: Facts, __: int) -> tuple[Facts, KindOf]:
    return {}, lambda i: FULL if i == 0 or i % 6 == 5 else LOCAL


def _qwen2_moe(facts: Facts, _: int) -> tuple[Facts, KindOf | None]:
    """Where its window is on, every second of the first layers is local."""
    most = facts.get("max_window_layers")
    if facts.get("use_sliding_window") is not True or not isinstance(most, int):
        return {}, None
    return {}, lambda i: LOCAL if i % 2 == 0 and i < most else FULL


def _smollm3(facts: Facts, layers: int) -> tuple[Facts, KindOf | None]:
    """Where its window is on, layers without rotary positions are local: those that are written, or every fourth."""
    rotary, every = facts.get("no_rope_layers"), facts.get("no_rope_layer_interval", 4)
    if facts.get("use_sliding_window") is not True:
        return {}, None
    if isinstance(rotary, list) and len(rotary) == layers:
        return {}, lambda i: FULL if rotary[i] else LOCAL
    step = every if isinstance(every, int) and every > 0 else 4
    return {}, lambda i: LOCAL if (i + 1) % step == 0 else FULL


_CLASSES: dict[str, Callable[[Facts, int], tuple[Facts, KindOf | None]]] = {
    "flint": _flint, "kimi_linear": _kimi_linear, "lfm3": _lfm3, "mimo_v2_flash": _mimo, "qwen2_moe": _qwen2_moe,
    "smollm3": _smollm3,
}  # fmt: skip
