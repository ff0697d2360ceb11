"""What a quantised model really stores, matrix by matrix, read from the quantization_config of its config.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rooflens.dtypes import Dtype
from rooflens.errors import RooflensError
from rooflens.models.config import Config
from rooflens.models.ignored import MOST_LOOKED_AT, Meant, meant
from rooflens.models.model import Block
from rooflens.models.schemes import METHODS, Stored, mlx_format
from rooflens.models.wrappers import QUANTISED
from rooflens.operators.rows import Apart, Part, Row
from rooflens.records import record, replace
from rooflens.units import percent

__all__ = ["Stored", "quantised"]

WIDE_BITS = 16
_LISTS = ("modules_to_not_convert", "ignored_layers", "ignore", "exclude_modules", "llm_int8_skip_modules")
_UNREAD = ("dynamic", "modules_in_block_to_quantize", "modules_to_convert", "sparsity_config", "expert_dtype")
_KNOWN_PARTS: tuple[Part, ...] = ("linear", "project", "expert", "shared", "ssm", "router", "head", "embed")
_STORED = ("weight", "table", "tied")


@record
class Other:
    """Modules that are stored in another way than the rest: in this format, or (None) as wide as the activations."""

    modules: Meant
    format: Dtype | None


def quantised(
    data: Mapping[str, Any], where: str, blocks: tuple[Block, ...]
) -> tuple[Stored | None, tuple[Block, ...]]:
    """What the model of this config.json stores, None when it is not quantised; and its blocks with what is special.

    Raises RooflensError for a method that is not known, by its name, and BadFile for facts that make no sense.
    """
    facts = next((data[key] for key in QUANTISED if data.get(key)), None)
    if not facts:
        return None, blocks
    if not isinstance(facts, Mapping):
        raise RooflensError(f"{where}: quantization_config: expected an object, found a {type(facts).__name__}")
    inner = facts.get("quantization")  # hf_quant_config.json has its facts one level down
    config = Config(inner if isinstance(inner, Mapping) else facts, f"{where}: quantization_config")
    method = _method(config)
    scheme = METHODS[method](config)
    wide, unread = meant(_listed(config), config.where)
    others = [Other(wide, None), *(_of_modules(config) if method == "mlx" else [])]
    config.close()
    blocks = tuple(_told_apart(block, others) for block in blocks)
    shares = {part: _shares(part, blocks) for part in _KNOWN_PARTS if part not in scheme.parts}
    whole = {part: next(iter(found)) for part, found in shares.items() if len(found) == 1 and max(found.values()) == 1}
    warnings = (*unread, *_partly(shares), *_unread(config))
    return replace(scheme, parts={**whole, **scheme.parts}, warnings=warnings), blocks


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


def _of_modules(config: Config) -> Iterator[Other]:
    """MLX says what is special of a module under its name: a format of its own, or false for none."""
    named: dict[Dtype | None, list[str]] = {}
    for key, value in config.data.items():
        if value is False and "." in key:
            named.setdefault(None, []).append(key)
        elif isinstance(value, Mapping) and "bits" in value:
            own = Config(value, f"{config.where}: {key:.80}")
            named.setdefault(mlx_format(own), []).append(key)
            config.faults += own.faults
    for of, keys in named.items():
        yield Other(meant(keys, config.where)[0], of)


def _told_apart(block: Block, others: Sequence[Other]) -> Block:
    """The block, with what its matrices are stored in where that is not what the rest is stored in."""
    layers = (block.layers or tuple(range(block.count)))[:MOST_LOOKED_AT]
    rows = tuple(_row(row, layers, others) for row in block.rows)
    return replace(block, rows=rows)


def _row(row: Row, layers: Sequence[int], others: Sequence[Other]) -> Row:
    if row.home not in _STORED or row.part not in _KNOWN_PARTS or row.apart:
        return row
    apart = tuple(_apart(row.part, matrix.module, layers, others) for matrix in row.matrices)
    return replace(row, apart=apart) if any(apart) else row


def _apart(part: Part, module: str, layers: Sequence[int], others: Sequence[Other]) -> Apart:
    """The formats of a matrix in those layers in which it is an exception; the first that means it counts."""
    found: list[tuple[Dtype | None, float]] = []
    left = frozenset(layers)
    for other in others:
        alone = part in ("head", "embed")
        at = left if alone and other.modules.name(module) else frozenset[int]()
        at = at or (frozenset() if alone else other.modules.layers(part, module, layers) & left)
        if at:
            found.append((other.format, len(at) / len(layers)))
            left -= at
    return tuple(found)


def _shares(part: Part, blocks: Sequence[Block]) -> dict[Dtype | None, float]:
    """The share of a part's matrices in each format other than the usual one; and of those in that, under no key."""
    found: dict[Dtype | None, float] = {}
    total = 0.0
    for block in blocks:
        for row in block.rows:
            if row.part == part and row.home in _STORED:
                total += block.count * len(row.matrices)
                for of, share in (pair for apart in row.apart for pair in apart):
                    found[of] = found.get(of, 0.0) + share * block.count
    return {of: share / total for of, share in found.items()}


def _partly(shares: Mapping[Part, Mapping[Dtype | None, float]]) -> Iterator[str]:
    for part, found in shares.items():
        share = found.get(None, 0.0)
        if 0 < share < 1:
            wide = f"about {percent(share, 2)} of the {part} weights are left in {WIDE_BITS} bit"
            yield f"{wide}; counted with their mean"


def _unread(config: Config) -> Iterator[str]:
    for key in _UNREAD:
        said = config.data.get(key)
        if said and said != "fp8" and not (isinstance(said, Mapping) and said.get("format") == "dense"):
            yield f"quantization_config.{key} is not read, so the bytes of some layers may differ"
