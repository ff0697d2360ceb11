"""What a quantised model really stores, part by part, read from the quantization_config of its config.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rooflens.dtypes import Dtype
from rooflens.errors import RooflensError
from rooflens.models.config import Config
from rooflens.models.ignored import shares
from rooflens.models.schemes import METHODS, Stored
from rooflens.operators.rows import Part
from rooflens.records import replace

__all__ = ["Stored", "stored"]

WIDE_BITS = 16
KEYS = ("quantization_config", "quantization", "compression_config")  # the last: compressed-tensors before 2024-10
_LISTS = ("modules_to_not_convert", "ignored_layers", "ignore", "exclude_modules", "llm_int8_skip_modules")
_UNREAD = ("dynamic", "modules_in_block_to_quantize", "modules_to_convert", "sparsity_config", "expert_dtype")


def stored(data: Mapping[str, Any], where: str, layers: int, width: int) -> Stored | None:
    """What the model of this config.json stores; None when it is not quantised.

    Raises RooflensError for a method that is not known, by its name, and BadFile for facts that make no sense.
    """
    facts = next((data[key] for key in KEYS if data.get(key)), None)
    if not facts:
        return None
    if not isinstance(facts, Mapping):
        raise RooflensError(f"{where}: quantization_config: expected an object, found a {type(facts).__name__}")
    inner = facts.get("quantization")  # hf_quant_config.json has its facts one level down
    config = Config(inner if isinstance(inner, Mapping) else facts, f"{where}: quantization_config")
    scheme = METHODS[_method(config)](config, width)
    names = tuple(_listed(config))
    config.close()
    left, unread = shares(names, layers, config.where)
    parts = {part: _mixed(scheme.weights, share) for part, share in left.items()}
    return replace(scheme, parts={**parts, **scheme.parts}, warnings=(*unread, *_partly(left), *_unread(config)))


def _method(config: Config) -> str:
    """The method's name. Raises RooflensError unless it is modelled."""
    name = config.text("quant_method", "") or _unnamed(config.data)
    if name not in METHODS:
        said = f"{name!r} is not modelled" if name else "is missing"
        raise RooflensError(f"{config.where}: quant_method {said}; modelled are: {', '.join(METHODS)}")
    return name


def _unnamed(facts: Mapping[str, Any]) -> str:
    """Three formats are known by their keys alone."""
    if facts.get("load_in_4bit") or facts.get("load_in_8bit"):
        return "bitsandbytes"
    if "quant_algo" in facts:
        return "modelopt"
    return "mlx" if {"bits", "group_size"} <= set(facts) else ""


def _listed(config: Config) -> Iterator[str]:
    for key in _LISTS:
        names = config.data.get(key) or []
        good = isinstance(names, list) and all(isinstance(name, str) for name in names)
        config.must(f"{key}: expected a list of names", holds=good)
        yield from names if good else ()


def _mixed(narrow: Dtype, share: float) -> Dtype | None:
    if share == 1:
        return None
    bits = narrow.bits + share * (WIDE_BITS - narrow.bits)
    return Dtype(f"{narrow.name} and {WIDE_BITS} bit", bits, narrow.math)


def _partly(left: Mapping[Part, float]) -> Iterator[str]:
    for part, share in left.items():
        if share < 1:
            yield f"about {share:.0%} of the {part} weights are left in {WIDE_BITS} bit; counted with their mean"


def _unread(config: Config) -> Iterator[str]:
    for key in _UNREAD:
        said = config.data.get(key)
        if said and said != "fp8" and not (isinstance(said, Mapping) and said.get("format") == "dense"):
            yield f"quantization_config.{key} is not read, so the bytes of some layers may differ"
