"""Quantisation methods: the bits that each stores, read from its own keys.

    bits a value = bits of the value + (bits of scale + bits of zero point) / values that share them

A scale for a whole matrix is not counted (a few bytes a layer); one for each output channel is, over `width` values.
Sources: the file formats of AutoGPTQ, AutoAWQ, bitsandbytes, compressed-tensors, TensorRT Model Optimizer, MLX.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rooflens.dtypes import DTYPES, Dtype
from rooflens.models.config import Config
from rooflens.operators.rows import Part
from rooflens.records import field, record, replace

KEPT: tuple[Part, ...] = ("head", "embed", "router", "norm", "conv")
LISTED: tuple[Part, ...] = ("embed", "router", "norm", "conv")  # of formats that name the head when they leave it wide
BUT_EXPERTS: tuple[Part, ...] = (*KEPT, "linear", "project", "shared", "ssm")
WEIGHT_ONLY = "fp16"  # the math of a weight-only format: the activations' 16 bit, whichever that is


@record
class Stored:
    """What is stored. parts: those that differ from `weights`; None is the model's own 16-bit format."""

    weights: Dtype
    parts: Mapping[Part, Dtype | None] = field(default_factory=lambda: dict.fromkeys(KEPT))
    kv: Dtype | None = None
    warnings: tuple[str, ...] = ()


def _grouped(name: str, config: Config, width: int, *, shared_bits: float, default: int | None = 128) -> Dtype:
    """Whole numbers, with `shared_bits` for each group of them."""
    bits, group = config.size("bits", 4), _group(config, default, width)
    return Dtype(f"{name} int{bits} g{group}", bits + shared_bits / group, WEIGHT_ONLY)


def _group(config: Config, default: int | None, width: int) -> int:
    """Values that share a scale; -1 is an output channel, as is null or nothing where there is no default."""
    said = config.data.get("group_size")
    return width if said == -1 or (said is None and default is None) else config.size("group_size", default)


def _gptq(config: Config, width: int) -> Stored:
    """A 16-bit scale and a zero point a group, the latter also where it is always the same."""
    found = Stored(_grouped("gptq", config, width, shared_bits=16 + config.size("bits", 4)))
    return replace(found, parts=dict.fromkeys(LISTED)) if config.flag("lm_head", default=False) else found


def _awq(config: Config, width: int) -> Stored:
    zero_bits = config.size("bits", 4) if config.flag("zero_point", default=True) else 0
    return Stored(_grouped("awq", config, width, shared_bits=16 + zero_bits))


def _mlx(config: Config, width: int) -> Stored:
    """A 16-bit scale and a 16-bit offset a group; embedding and head are quantised too."""
    return Stored(_grouped("mlx", config, width, shared_bits=32, default=None), dict.fromkeys(("norm", "conv")))


def _bitsandbytes(config: Config, width: int) -> Stored:
    """4 bit: an fp32 maximum for 64 values, or (double) an 8-bit one and an fp32 for 256 of these. 8 bit: a channel."""
    if config.flag("load_in_8bit", default=False):
        return Stored(Dtype("bitsandbytes int8", 8 + 32 / width, "int8"))
    double = config.flag("bnb_4bit_use_double_quant", default=False)
    shared_bits = 8 / 64 + 32 / (64 * 256) if double else 32 / 64
    return Stored(Dtype(f"bitsandbytes {config.text('bnb_4bit_quant_type', 'fp4')}", 4 + shared_bits, WEIGHT_ONLY))


def _fp8(config: Config, _: int) -> Stored:
    """An fp32 scale (8 bits where scale_fmt says ue8m0) for a block, or one for a whole matrix."""
    if config.data.get("weight_block_size") is None:
        return Stored(Dtype("fp8 per tensor", 8, "fp8"))
    rows, columns = _block(config, "weight_block_size")
    scale_bits = 8 if config.text("scale_fmt", "float") == "ue8m0" else 32
    return Stored(Dtype(f"fp8 {rows}x{columns}", 8 + scale_bits / (rows * columns), "fp8"))


def _fbgemm(_: Config, width: int) -> Stored:
    return Stored(Dtype("fp8 per channel", 8 + 32 / width, "fp8"))


def _mxfp4(_: Config, __: int) -> Stored:
    """Experts only, and weights only: their activations are 16 bit."""
    return Stored(Dtype("mxfp4", DTYPES["mxfp4"].bits, WEIGHT_ONLY), dict.fromkeys(BUT_EXPERTS))


def _modelopt(config: Config, width: int) -> Stored:
    algorithm, group = config.text("quant_algo", "").upper(), _group(config, 128, width)
    formats = {
        "FP8": Dtype("fp8 per tensor", 8, "fp8"),
        "FP8_PER_CHANNEL_PER_TOKEN": Dtype("fp8 per channel", 8 + 32 / width, "fp8"),
        "MXFP8": DTYPES["mxfp8"],
        "NVFP4": DTYPES["nvfp4"],
        "NVFP4_AWQ": DTYPES["nvfp4"],
        "W4A16_AWQ": Dtype(f"int4 g{group}", 4 + 16 / group, WEIGHT_ONLY),
        "W4A8_AWQ": Dtype(f"int4 g{group}", 4 + 16 / group, "fp8"),
        "W8A8_SQ_PER_CHANNEL": Dtype("int8 per channel", 8 + 32 / width, "int8"),
    }
    good = algorithm in formats
    config.must(f"quant_algo {algorithm!r} is not modelled; modelled are: {', '.join(formats)}", holds=good)
    return Stored(formats.get(algorithm, DTYPES["fp8"]), dict.fromkeys(LISTED), _kv(config))


def _compressed(config: Config, width: int) -> Stored:
    """One format for all: several would need to be told apart by module."""
    groups = config.data.get("config_groups")
    found = [_one_group(config, group, width) for group in groups.values()] if isinstance(groups, Mapping) else []
    config.must("config_groups: expected an object of groups", holds=bool(found))
    config.must("config_groups: several formats in one model are not modelled", holds=len(set(found)) <= 1)
    return Stored(found[0] if found else DTYPES["fp8"], dict.fromkeys(LISTED), _kv(config))


def _one_group(config: Config, group: Any, width: int) -> Dtype:
    """The weights of a group; computed in the format of its activations, in 16 bit when these are not quantised."""
    facts, activations = _inner(config, group, "weights"), _inner(config, group, "input_activations")
    if facts is None:
        config.must("config_groups: a group without weights is not modelled", holds=False)
        return DTYPES["fp8"]
    math = _format(activations) if activations else WEIGHT_ONLY
    name, (shared_by, shared_bits) = _format(facts), _scales(facts, width)
    how = f"g{shared_by}" if facts.data.get("group_size") else f"per {facts.text('strategy', 'tensor')}"
    found = Dtype(f"{name} {how}", facts.size("num_bits", 8) + shared_bits / shared_by, math)
    config.faults += facts.faults + (activations.faults if activations else [])
    return found


def _scales(facts: Config, width: int) -> tuple[int, float]:
    """How many values share a scale and a zero point, and the bits of these."""
    strategy = facts.text("strategy", "tensor")
    known = ("tensor", "channel", "group", "tensor_group", "block")
    facts.must(f"strategy {strategy!r} is not modelled; modelled are: {', '.join(known)}", holds=strategy in known)
    zero_bits = 0 if facts.flag("symmetric", default=True) else facts.size("num_bits", 8)
    scale_bits = 8 if strategy == "tensor_group" or "uint8" in facts.text("scale_dtype", "") else 16
    if strategy == "tensor":
        return 1, 0
    if strategy == "block":
        rows, columns = _block(facts, "block_structure")
        return rows * columns, scale_bits + zero_bits
    return _group(facts, None, width), scale_bits + zero_bits


def _format(facts: Config) -> str:
    bits, kind = facts.size("num_bits", 8), facts.text("type", "int")
    facts.must(f"type {kind!r} is not modelled; modelled are: int, float", holds=kind in ("int", "float"))
    return f"{'fp' if kind == 'float' else 'int'}{bits}"


def _kv(config: Config) -> Dtype | None:
    """The cache's format where the file says one; None: the activations'."""
    algorithm, scheme = config.data.get("kv_cache_quant_algo"), _inner(config, config.data, "kv_cache_scheme")
    name = str(algorithm).lower() if algorithm else _format(scheme) if scheme else "none"
    config.must(f"a KV cache in {name!r} is not modelled", holds=name in ("none", *DTYPES))
    return DTYPES.get(name)


def _inner(config: Config, data: Any, key: str) -> Config | None:
    found = data.get(key) if isinstance(data, Mapping) else None
    return Config(found, f"{config.where}: {key}") if isinstance(found, Mapping) else None


def _block(config: Config, key: str) -> tuple[int, int]:
    said = config.data.get(key)
    if isinstance(said, list) and len(said) == 2 and all(type(n) is int and n > 0 for n in said):
        return said[0], said[1]
    config.must(f"{key}: expected two sizes above 0, found {said!r:.40}", holds=False)
    return 1, 1


METHODS: dict[str, Callable[[Config, int], Stored]] = {
    "gptq": _gptq,
    "awq": _awq,
    "auto-round": _gptq,
    "bitsandbytes": _bitsandbytes,
    "compressed-tensors": _compressed,
    "fbgemm_fp8": _fbgemm,
    "fp8": _fp8,
    "mlx": _mlx,
    "modelopt": _modelopt,
    "modelopt_fp4": _modelopt,
    "mxfp4": _mxfp4,
}
